"""Pieces of C# text: literals, doc comments, and lines that are not too long."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Final
from xml.sax.saxutils import escape

__all__ = [
    "SUFFIXES", "bytes_text", "code", "folded", "integer_text", "new_array", "summary", "text_literal",
]  # fmt: skip

SUFFIXES: Final = {"uint": "U", "long": "L", "ulong": "UL"}
WIDTH: Final = 116
"""The longest line, within a namespace."""
OPERATORS: Final = (" || ", " && ", " | ", ", ")
"""Before which, or behind which of the last, a line is cut: of those outside of most brackets the first."""


def integer_text(value: int, kind: str = "int") -> str:
    """Return a constant integer of a type, int, long, uint or ulong."""
    if kind == "long" and value == -(1 << 63):
        return "long.MinValue"
    if kind == "int" and value == -(1 << 31):
        return "int.MinValue"
    return f"{value}{SUFFIXES.get(kind, '')}"


def bytes_text(octets: bytes) -> str:
    """Return an array of constant bytes."""
    return f"new byte[] {{ {', '.join(f'0x{octet:02X}' for octet in octets)} }}" if octets else "new byte[0]"


def text_literal(text: str) -> str:
    """Return a string literal; JSON's escapes are C#'s too."""
    return json.dumps(text)


def code(text: str) -> list[str]:
    """Return the lines of a piece of code."""
    return text.split("\n")


def new_array(element: str, count: str) -> str:
    """Return a new array: the size stands in the first of several pairs of brackets."""
    base = element.rstrip("[]")
    return f"new {base}[{count}]{element[len(base) :]}"


def summary(text: str, indent: str, tag: str = "summary") -> list[str]:
    """Return a doc comment of one line or of several."""
    told = escape(" ".join(text.split()))
    line = f"{indent}/// <{tag}>{told}</{tag}>"
    if len(line) <= WIDTH:
        return [line]
    wrapped = textwrap.wrap(told, WIDTH - len(indent) - 4, break_long_words=False, break_on_hyphens=False)
    return [f"{indent}/// <{tag}>", *(f"{indent}/// {part}" for part in wrapped), f"{indent}/// </{tag}>"]


def folded(lines: Iterable[str]) -> Iterator[str]:
    """Yield lines, the long ones in pieces: before the operators that bind least, or behind commas."""
    for line in lines:
        if len(line) <= WIDTH or line.lstrip().startswith("//"):
            yield line
            continue
        places = _places(line)
        if not places:
            yield line
            continue
        least = min(rank for rank, _ in places)
        outer = " " * (len(line) - len(line.lstrip()))
        inner = f"{outer}    "
        cuts = [0, *(place for rank, place in places if rank == least), len(line)]
        first, *others = (line[start:end].strip() for start, end in pairwise(cuts))
        if least[1] == len(OPERATORS) - 1:  # commas: as many on a line as fit
            first, *others = _packed([first, *others], WIDTH - len(inner))
        yield from folded([outer + first])
        yield from folded(inner + piece for piece in others)


def _packed(pieces: list[str], width: int) -> list[str]:
    found: list[str] = []
    for piece in pieces:
        if found and len(found[-1]) + 1 + len(piece) <= width:
            found[-1] += f" {piece}"
        else:
            found.append(piece)
    return found


def _places(line: str) -> list[tuple[tuple[int, int], int]]:
    """Return where a line can be cut, with a rank: outer brackets first, `||` before `&&` before commas."""
    found: list[tuple[tuple[int, int], int]] = []
    depth, quoted = 0, False
    for at, letter in enumerate(line):
        if letter == '"' and line[at - 1] != "\\":
            quoted = not quoted
        if quoted:
            continue
        depth += (letter in "([{") - (letter in ")]}")
        for rank, operator in enumerate(OPERATORS):
            if line.startswith(operator, at) and line[:at].strip():
                found.append(((depth, rank), at + (operator == OPERATORS[-1])))
    return found
