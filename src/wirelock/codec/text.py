"""Text and the ends of sized regions: what is text in an encoding, where a mark lies, which NULs are padding.

Text is refused where it would be read otherwise elsewhere: a byte-order mark, unpaired surrogates, and in a
region padded with NULs a NUL of its own.
"""

from __future__ import annotations

from wirelock.errors import Fault

BYTE_ORDER_MARK = "\ufeff"


def decode_text(raw: bytes, encoding: str, closed: bool) -> str | None:
    """Return bytes as text; None if they are none. `closed` text holds no NUL."""
    try:
        text = raw.decode(encoding)
    except UnicodeDecodeError:
        return None
    return None if text.startswith(BYTE_ORDER_MARK) or (closed and "\0" in text) else text


def encode_text(text: str, encoding: str, closed: bool) -> bytes | None:
    """Return text as bytes; None where they would not be read as the same text."""
    if text.startswith(BYTE_ORDER_MARK) or (closed and "\0" in text):
        return None
    try:
        return text.encode(encoding)
    except UnicodeEncodeError:
        return None


def text_fault(raw: bytes, encoding: str, closed: bool, path: str, byte: int | None) -> Fault | None:
    """Return why bytes are not text; None if they are.

    `bad-text` is a fault of the value; the others, `not-canonical`, of the structure.
    """
    try:
        text = raw.decode(encoding)
    except UnicodeDecodeError:
        try:
            raw.decode(encoding, "surrogatepass")
        except UnicodeDecodeError:
            return Fault("bad-text", path, raw.hex(" "), encoding, byte)
        return Fault("not-canonical", path, "unpaired surrogates", f"text in {encoding}", byte)
    if text.startswith(BYTE_ORDER_MARK):
        return Fault("not-canonical", path, "a byte-order mark", f"text in {encoding}", byte)
    if closed and "\0" in text:
        return Fault("not-canonical", path, "text after its terminator", "NUL bytes", byte)
    return None


def find_mark(data: bytes, at: int, end: int, mark: bytes) -> int:
    """Return the byte at which a mark lies first, in steps of its length from `at`; -1 if nowhere."""
    step = len(mark)
    found = data.find(mark, at, end)
    while found >= 0 and (found - at) % step:
        found = data.find(mark, found + 1, end)
    return found


def strip_nuls(data: bytes, unit: int) -> bytes:
    """Return bytes without the NULs at their end, taken off in units of so many bytes."""
    return data[: -(-len(data.rstrip(b"\0")) // unit) * unit]
