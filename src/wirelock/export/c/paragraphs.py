"""The runtime of an exported codec in C: of the texts under runtime/, those paragraphs that a header needs.

A paragraph is a declaration or a function with its comment, between blank lines. Those that a text names are
taken, and those that they name, in the order of the files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import Final

__all__ = ["defined_in", "needed", "paragraphs", "reserved"]

HEADER: Final = (
    "core.h", "memory.h", "numbers.h", "text.h", "quaternion.h", "negotiate.h",
)  # fmt: skip
TEST: Final = ("test_json.c", "test_codec.c", "test_golden.c", "test_lines.c")

_DEFINED: Final = re.compile(
    r"^#define (\w+)"
    r"|^\}? ?(?:typedef [^;{]*)?\b(\w+);$"
    r"|^(?:static|WL_COLD|WL_INLINE) [^=;{(]*?\b(\w+)[(;]"
    r"|^enum \{([^}]*)\};"
    r"|^typedef enum \{([^}]*)\} (\w+);",
    re.MULTILINE,
)


@cache
def paragraphs(*names: str) -> tuple[str, ...]:
    """Return the paragraphs of files of the runtime."""
    folder = files("wirelock.export.c") / "runtime"
    texts = [(folder / name).read_text("utf-8") for name in names] + accessors(names)
    return tuple(paragraph for text in texts for paragraph in text.strip("\n").split("\n\n"))


def accessors(names: tuple[str, ...]) -> list[str]:
    """Return the functions that read and write integers of 2 to 8 bytes in either order."""
    if names != HEADER:
        return []
    return [_get(bytes_, order) for bytes_ in range(2, 9) for order in ("little", "big")] + [
        _put(bytes_, order) for bytes_ in range(2, 9) for order in ("little", "big")
    ]


def _get(count: int, order: str) -> str:
    kind = _stored(count)
    shifts = [8 * at if order == "little" else 8 * (count - 1 - at) for at in range(count)]
    parts = [f"({kind})at[{at}]" + (f" << {shift}" if shift else "") for at, shift in enumerate(shifts)]
    if count == 2:
        parts = [part.replace(f"({kind})", "") for part in parts]
    joined = _broken(parts, " | ", "           | ")
    value = f"({kind})({joined})" if count == 2 else joined
    end = "least" if order == "little" else "most"
    return (
        f"/* An integer of {count} bytes, the {end} significant first. */\n"
        f"static inline {kind} wl_get_{order[0]}e{8 * count}(const uint8_t *at)\n{{\n    return {value};\n}}"
    )


def _put(count: int, order: str) -> str:
    shifts = [8 * at if order == "little" else 8 * (count - 1 - at) for at in range(count)]
    lines = [
        f"    at[{at}] = (uint8_t){f'(value >> {shift})' if shift else 'value'};"
        for at, shift in enumerate(shifts)
    ]
    end = "least" if order == "little" else "most"
    return (
        f"/* Writes the low {count} bytes of an integer, the {end} significant first. */\n"
        f"static inline void wl_put_{order[0]}e{8 * count}(uint8_t *at, {_stored(count)} value)\n{{\n"
        + "\n".join(lines)
        + "\n}"
    )


def _stored(count: int) -> str:
    return f"uint{next(bits for bits in (16, 32, 64) if bits >= 8 * count)}_t"


def _broken(parts: list[str], joint: str, indented: str) -> str:
    half = len(parts) if len(parts) <= 4 else 4
    return f"\n{indented}".join(filter(None, (joint.join(parts[:half]), joint.join(parts[half:]))))


def defined_in(paragraph: str) -> Iterator[str]:
    """Yield the names that a paragraph defines."""
    for found in _DEFINED.finditer(paragraph):
        for group in found.groups():
            yield from re.findall(r"\w+", group or "")


@cache
def reserved() -> frozenset[str]:
    """Return all names of the runtime without their beginning: no record may be called so."""
    return frozenset(
        name[3:] for paragraph in paragraphs(*HEADER) for name in defined_in(paragraph) if name[:3] == "wl_"
    )


def needed(text: str, *names: str) -> list[str]:
    """Return the paragraphs of files that a text needs, those that define nothing among them."""
    known = paragraphs(*names)
    owners: dict[str, list[int]] = {}
    for number, paragraph in enumerate(known):
        for name in defined_in(paragraph):
            owners.setdefault(name, []).append(number)
    wanted = {number for number, paragraph in enumerate(known) if not any(defined_in(paragraph))}
    waiting = [text, *(known[number] for number in wanted)]
    while waiting:
        for name in set(re.findall(r"\w+", waiting.pop())):
            for number in owners.get(name, ()):
                if number not in wanted:
                    wanted.add(number)
                    waiting.append(known[number])
    return [known[number] for number in sorted(wanted)]
