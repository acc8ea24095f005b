"""Text of others, made fit to be shown: what a peer or a file's name holds is text and no command.

Nothing that a terminal acts on and nothing that begins a line comes through `escaped`; what is printable is
as it was. For programs text stays as it is, which JSON and CSV can hold.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = ["escaped", "file_text"]

_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_UNDECODED: Final = range(0xDC80, 0xDD00)
"""What Python makes of the bytes 80 to ff of a file's name that are no UTF-8."""


def file_text(name: str) -> str:
    r"""Return a file's name as text that UTF-8 can hold: a byte that is none is `\xff`."""
    return _SURROGATE.sub(_byte, name)


def _byte(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code - 0xDC00:02x}" if code in _UNDECODED else f"\\u{code:04x}"


def escaped(text: str) -> str:
    r"""Return text as one printable line: ESC is `\x1b`, a line feed `\n`, a byte that is no text `\xff`.

    As in Python's own texts, but without quotes, and a backslash stays one. What was escaped stays as it is.
    """
    text = file_text(text)
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)
