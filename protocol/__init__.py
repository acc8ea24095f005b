"""The protocols of this repository, one folder each, one file a version."""

from protocol.rotation import rotation
from protocol.snapshot import snapshot
from wirelock import Registry

PROTOCOLS = Registry(rotation, snapshot)
