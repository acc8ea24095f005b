"""Two types -> which of the types inside of them belong together, by number, and what paths call them."""

from __future__ import annotations

from collections.abc import Iterator

from wirelock.layout.nodes import Framed, Select, Switch, Type, parts_of

__all__ = ["paired_parts"]


def paired_parts(was: Type, now: Type) -> Iterator[tuple[int, int, str]]:
    """Yield the numbers among parts_of on both sides, and what the place is called behind the path.

    Not for layouts: their fields pair by more than their order. Types of two kinds have no pairs.
    """
    if type(was) is not type(now):
        return
    if isinstance(was, Switch | Select) and isinstance(now, Switch | Select):
        old = {key: number for number, key in enumerate(_keys(was))}
        for number, key in enumerate(_keys(now)):
            if key in old:
                yield old[key], number, f"{{{key}}}"
        return
    if isinstance(was, Framed) and isinstance(now, Framed):
        yield len(was.before), len(now.before), ""  # no other part has a name inside of it
        return
    word = {"Array": "[]", "Sequence": "[{}]"}.get(type(now).__name__, "")
    for number in range(min(len(parts_of(was)), len(parts_of(now)))):
        yield number, number, word.format(number)


def _keys(kind: Switch | Select) -> list[str]:
    if isinstance(kind, Select):
        return [start.hex(" ") for start, _ in kind.cases]
    return [str(key) for key, _ in kind.cases] + ["default"] * (kind.default is not None)
