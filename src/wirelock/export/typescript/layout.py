"""Source text that is broken into lines where it is too long: documents of groups, indents and lines.

The algorithm is P. Wadler's ("A prettier printer", 1998) as the formatter Prettier has it: a group stands on
one line if it fits, otherwise all of its own lines break, and those of inner groups only where they must.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

__all__ = [
    "HARD", "LINE", "SOFT", "WIDTH", "Doc", "Group", "IfBroken", "Indent", "arguments", "flat", "joined",
    "octets", "render", "table",
]  # fmt: skip

WIDTH: Final = 100
STEP: Final = 2


@dataclass(frozen=True, slots=True)
class Newline:
    """A new line if the group around it breaks, otherwise `flat`; `hard` breaks every group around it."""

    flat: str
    hard: bool = False


LINE: Final = Newline(" ")
SOFT: Final = Newline("")
HARD: Final = Newline("", hard=True)


@dataclass(frozen=True, slots=True)
class Group:
    """A part that stands on one line if it fits."""

    doc: Doc


@dataclass(frozen=True, slots=True)
class Indent:
    """A part whose new lines begin one step further in."""

    doc: Doc


@dataclass(frozen=True, slots=True)
class IfBroken:
    """Text that stands only where the group around it breaks."""

    text: str


@dataclass(frozen=True, slots=True)
class Filled:
    """Parts with commas between them, as many a line as fit where the group around them breaks."""

    parts: tuple[str, ...]


Doc: TypeAlias = "str | tuple[Doc, ...] | Group | Indent | Newline | IfBroken | Filled"


def joined(separator: Doc, parts: Sequence[Doc]) -> Doc:
    """Return parts with a separator between them."""
    found: list[Doc] = []
    for number, part in enumerate(parts):
        found += [separator, part] if number else [part]
    return tuple(found)


def arguments(opening: str, parts: Sequence[Doc], closing: str, space: bool = False) -> Doc:
    """Return parts in brackets, on one line or one a line, with a comma behind the last one there."""
    if not parts:
        return opening + closing
    edge = LINE if space else SOFT
    inside = joined((",", LINE), parts)
    return Group((opening, Indent((edge, inside)), IfBroken(","), edge, closing))


def table(parts: Sequence[Doc]) -> Doc:
    """Return a list of lists or objects: one a line where there are several."""
    if len(parts) < 2:
        return arguments("[", parts, "]")
    return ("[", Indent((HARD, joined((",", HARD), parts))), ",", HARD, "]")


def octets(opening: str, values: bytes, closing: str) -> Doc:
    """Return bytes in brackets, as many a line as fit."""
    parts = tuple(f"0x{value:02x}" for value in values)
    return Group((opening, Indent((SOFT, Filled(parts))), IfBroken(","), SOFT, closing))


def flat(doc: Doc) -> str:
    """Return a document on one line."""
    match doc:
        case str():
            return doc
        case tuple():
            return "".join(map(flat, doc))
        case Group(doc=inner) | Indent(doc=inner):
            return flat(inner)
        case Newline(flat=text):
            return text
        case Filled(parts=parts):
            return ", ".join(parts)
    return ""


def render(doc: Doc) -> str:
    """Return the text of a document; lines have no spaces at their ends."""
    found: list[str] = []
    column = 0
    waiting: list[tuple[int, bool, Doc]] = [(0, True, doc)]
    while waiting:
        indent, broken, item = waiting.pop()
        match item:
            case str():
                found.append(item)
                column += len(item)
            case tuple():
                waiting += [(indent, broken, part) for part in reversed(item)]
            case Indent(doc=inner):
                waiting.append((indent + STEP, broken, inner))
            case Group(doc=inner):
                fits = not _forced(inner) and _fits(inner, WIDTH - column, waiting)
                waiting.append((indent, not fits, inner))
            case IfBroken(text=text):
                if broken:
                    found.append(text)
                    column += len(text)
            case Filled(parts=parts):
                for number, part in enumerate(parts):
                    if broken and number and column + len(part) + 3 > WIDTH:
                        found.append(",\n" + " " * indent)
                        column = indent
                    elif number:
                        found.append(", ")
                        column += 2
                    found.append(part)
                    column += len(part)
            case Newline(flat=text, hard=hard):
                if broken or hard:
                    while found and found[-1] == " ":
                        found.pop()
                    found.append("\n")
                    found.append(" " * indent)
                    column = indent
                else:
                    found.append(text)
                    column += len(text)
    return "\n".join(line.rstrip() for line in "".join(found).split("\n"))


def _forced(doc: Doc) -> bool:
    match doc:
        case tuple():
            return any(map(_forced, doc))
        case Group(doc=inner) | Indent(doc=inner):
            return _forced(inner)
        case Newline(hard=hard):
            return hard
    return False


def _fits(doc: Doc, left: int, behind: Iterable[tuple[int, bool, Doc]]) -> bool:
    """Whether a document on one line fits, with what stands behind it up to the first possible new line."""
    rest = list(behind)
    waiting: list[tuple[bool, Doc]] = [(False, doc)]
    while left >= 0:
        if not waiting:
            if not rest:
                return True
            _, broken, item = rest.pop()
            waiting.append((broken, item))
            continue
        broken, item = waiting.pop()
        match item:
            case str():
                left -= len(item)
            case tuple():
                waiting += [(broken, part) for part in reversed(item)]
            case Indent(doc=inner):
                waiting.append((broken, inner))
            case Group(doc=inner):
                waiting.append((broken and _forced(inner), inner))
            case IfBroken(text=text):
                left -= len(text) if broken else 0
            case Filled():
                left -= len(flat(item))
            case Newline(flat=text, hard=hard):
                if broken or hard:
                    return True
                left -= len(text)
    return False
