"""A hash of a record's state, for peers who must agree on it: of bytes and never of values.

Two runtimes that hold the same state may print, round or compare its values differently; the bytes of its
record are the same everywhere, to the last bit. docs/verify.md says what is hashed, for other runtimes.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache

from wirelock.layout.canonical import digest
from wirelock.schema.record import Record, layout_of
from wirelock.schema.registry import Parsed

__all__ = ["state_hash"]


def state_hash(record: Record | Parsed) -> str:
    """Return the SHA-256, as 64 hex digits, of a record's layout and bytes.

    Hashed are the digest of the record's layout as text (`sha256:` and 64 hex digits), a line feed, and the
    bytes that the record is. A Parsed is hashed as its record. Raises EncodeError for a record that cannot
    be sent, such as a copy with other values.
    """
    if isinstance(record, Parsed):
        record = record.record
    return hashlib.sha256(_layout_line(type(record)) + record.build()).hexdigest()


@lru_cache(maxsize=1024)
def _layout_line(record: type[Record]) -> bytes:
    return f"{digest(layout_of(record))}\n".encode()
