"""Two values of JSON -> the places in which they differ.

1, 1.0 and true are three values, and 0.0 and -0.0 are two. What a terminal would not print as it is, is
escaped.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from wirelock.layout.terms import inner_path

__all__ = ["NOTHING", "json_differences"]

NOTHING: Final = "nothing"
"""What stands for a value that is on one side only."""
_ABSENT: Final = object()


def json_differences(one: Any, other: Any, path: str = "") -> Iterator[tuple[str, str, str]]:
    """Yield each place in which two JSON values differ, with the text of both."""
    if isinstance(one, dict) and isinstance(other, dict):
        for key in dict.fromkeys((*one, *other)):
            name = inner_path(path, key)
            yield from json_differences(one.get(key, _ABSENT), other.get(key, _ABSENT), name)
    elif isinstance(one, list) and isinstance(other, list):
        for i in range(max(len(one), len(other))):
            a, b = (items[i] if i < len(items) else _ABSENT for items in (one, other))
            yield from json_differences(a, b, f"{path}[{i}]")
    elif (text := _text(one)) != (found := _text(other)):
        yield path, text, found


def _text(value: Any) -> str:
    if value is _ABSENT:
        return NOTHING
    text = json.dumps(value, ensure_ascii=False)
    return text if text.isprintable() else json.dumps(value)
