"""wirelock: versioned wire-protocol schemas, one construct layout a version, locked to the last bit.

The rooms, in the direction in which data flows:

    layout    an author's construct -> Layout: fields, positions in bits, expressions
    codec     Layout -> engines that parse and build: `generated` and `reference`
    schema    Record, Protocol, Registry: versions, rules, dispatch
    golden    golden vectors and the pytest plugin
    lock      released layouts and their digests; what drifted
    capture   captured packets -> typed rows and faults
    quaternion    smallest three, scalar and array; knows nothing of layouts

The names below are loaded when they are first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wirelock.errors import (
        CaptureError,
        DecodeError,
        EncodeError,
        Fault,
        MigrationError,
        NegotiationError,
        SchemaError,
        WirelockError,
    )
    from wirelock.layout.adapters import LsbBitStruct, opaque, quantised, scaled, ticks
    from wirelock.layout.expression import abs_, max_, min_
    from wirelock.schema.columns import columns
    from wirelock.schema.migration import Lossy, Migration
    from wirelock.schema.negotiation import Hello
    from wirelock.schema.pose import SmallestThree
    from wirelock.schema.record import Record, derived, layout_of
    from wirelock.schema.registry import Parsed, Protocol, Registry
    from wirelock.schema.rules import Rule
    from wirelock.schema.state import state_hash
    from wirelock.schema.validators import versioned

__version__ = "0.1.0.dev0"

_HOMES = {
    "wirelock.errors": (
        "CaptureError",
        "DecodeError",
        "EncodeError",
        "Fault",
        "MigrationError",
        "NegotiationError",
        "SchemaError",
        "WirelockError",
    ),
    "wirelock.layout.adapters": ("LsbBitStruct", "opaque", "quantised", "scaled", "ticks"),
    "wirelock.layout.expression": ("abs_", "max_", "min_"),
    "wirelock.schema.columns": ("columns",),
    "wirelock.schema.migration": ("Lossy", "Migration"),
    "wirelock.schema.negotiation": ("Hello",),
    "wirelock.schema.pose": ("SmallestThree",),
    "wirelock.schema.record": ("Record", "derived", "layout_of"),
    "wirelock.schema.registry": ("Parsed", "Protocol", "Registry"),
    "wirelock.schema.rules": ("Rule",),
    "wirelock.schema.validators": ("versioned",),
    "wirelock.schema.state": ("state_hash",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "Record", "Protocol", "Registry", "Rule", "derived", "layout_of", "Parsed", "Migration", "Lossy", "Hello",
    "state_hash", "versioned", "columns", "SmallestThree",
    "abs_", "min_", "max_", "LsbBitStruct", "scaled", "quantised", "ticks", "opaque",
    "SchemaError", "DecodeError", "EncodeError", "CaptureError", "MigrationError", "NegotiationError",
    "WirelockError", "Fault",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
