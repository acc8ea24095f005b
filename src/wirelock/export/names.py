"""Names as a language's habits have them: from a layout's own, unique, and never a word of the language."""

from __future__ import annotations

import re
from collections.abc import Collection, Container

__all__ = ["camel", "pascal", "screaming", "snake", "unique"]

_WORDS = re.compile(r"[A-Z]+(?![a-z])[0-9]*|[A-Z]?[a-z]+[0-9]*|[0-9]+|[A-Z][0-9]*")


def _words(name: str) -> list[str]:
    """Return the words of a name in lower case: `RotationV1` has rotation and v1, `largest_index` two."""
    return [word.lower() for word in _WORDS.findall(name)] or ["value"]


def snake(name: str) -> str:
    """Return `rotation_v1` for RotationV1."""
    return "_".join(_words(name))


def screaming(name: str) -> str:
    """Return `ROTATION_V1` for RotationV1."""
    return snake(name).upper()


def pascal(name: str) -> str:
    """Return `LargestIndex` for largest_index."""
    return "".join(word[0].upper() + word[1:] for word in _words(name))


def camel(name: str) -> str:
    """Return `largestIndex` for largest_index."""
    text = pascal(name)
    return text[0].lower() + text[1:]


def unique(name: str, taken: Collection[str], words: Container[str] = ()) -> str:
    """Return a name that is neither taken nor a word of the language: itself, or with `_` or `_2` behind."""
    if name[:1].isdigit():
        name = f"_{name}"
    if name in words:
        name = f"{name}_"
    number, found = 2, name
    while found in taken or found in words:
        found, number = f"{name}_{number}", number + 1
    return found
