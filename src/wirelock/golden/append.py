"""New cases behind those that a golden file has; every other byte of the file stays as it is.

The file is read, checked and replaced by one writer at a time, so that of two who add at once neither
loses the other's case.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from wirelock.errors import GoldenError
from wirelock.golden.case import Case, GoldenFile
from wirelock.golden.reader import read_text
from wirelock.golden.vectors import flag_text, read, text_of, vector_text
from wirelock.schema.registry import Protocol
from wirelock.whole import replacing

__all__ = ["SCHEMA", "append", "first_file", "write_schema"]

SCHEMA: Final = "golden.schema.json"
"""The format as JSON Schema: its name in the folder of the golden files."""
_COLON: Final = re.compile(r"\s*:\s*")
_COMMA: Final = re.compile(r"\s*,?\s*")


def first_file(protocol: Protocol, version: int) -> GoldenFile:
    """Return the golden file with which a version begins: no cases, and the digest that it has today."""
    return GoldenFile(
        protocol=protocol.name,
        version=version,
        digest=protocol.digest(version),
        flags={},
        cases=(),
        schema=f"../{SCHEMA}",
    )


def write_schema(fixtures: Path) -> None:
    """Write the JSON Schema of golden files into their folder, unless one is there."""
    path = fixtures / SCHEMA
    if not path.exists():
        with replacing(path, GoldenError, make_folder=True) as stream:
            stream.write(files("wirelock.golden").joinpath(SCHEMA).read_text("utf-8"))


def append(path: Path, case: Case, first: GoldenFile, flags: Mapping[str, str] | None = None) -> GoldenFile:
    """Write a case behind those of the file at `path`, or behind none of `first` where there is no file.

    `flags` are new flags with their explanations. Raises GoldenError for an id or bytes that the file has,
    for a flag that is explained otherwise or not at all, and where the file is not of the version and
    digest of `first`; OSError where the disk refuses. The file then is as it was.
    """
    with replacing(path, GoldenError, make_folder=True) as stream:
        there = path.exists()
        file = read(path) if there else first
        _check(path, file, case, first)
        new = {name: told for name, told in (flags or {}).items() if file.flags.get(name) != told}
        for name in new:
            if name in file.flags:
                raise GoldenError(
                    f"{path}: the flag {name} is there with another explanation: write --flag {name}"
                )
        wanted = replace(file, flags={**file.flags, **new}, cases=(*file.cases, case))
        text = _grown(path.read_bytes().decode(), case, new) if there else text_of(wanted)
        if read_text(text, str(path)) != wanted:
            raise GoldenError(f"{path}: what would be written does not read back as the same")
        stream.write(text)
    return wanted


def _check(path: Path, file: GoldenFile, case: Case, first: GoldenFile) -> None:
    """Raise GoldenError where a case cannot go into a file."""
    wanted = f"{first.protocol} v{first.version}"
    if (file.protocol, file.version) != (first.protocol, first.version):
        raise GoldenError(f"{path}: holds {file.protocol} v{file.version}, not {wanted}")
    if file.digest != first.digest:
        raise GoldenError(
            f"{path}: is of another layout than {wanted} has now, which may read old bytes otherwise;"
            " undo the change of the layout, or write the new digest if no one uses it yet"
        )
    same = next((known.id for known in file.cases if known.data == case.data), None)
    if same is not None:
        raise GoldenError(f"{path}: case {same} has the same bytes")
    if any(vector.id == case.id for vector in file.vectors):
        raise GoldenError(
            f"{path}: there is a case {case.id} already, and cases never change: say another --id"
        )


def _grown(text: str, case: Case, flags: Mapping[str, str]) -> str:
    """Return the text of a file with a case and flags more, and nothing else changed."""
    places = _members(text)
    items = [(places["cases"], [vector_text(case)])]
    if flags:
        items.append((places["flags"], [flag_text(name, told) for name, told in flags.items()]))
    end = "\r\n" if "\r\n" in text else "\n"
    for place, added in sorted(items, reverse=True):  # from the back, so that places stay right
        text = _with_items(text, place, [item.replace("\n", end) for item in added], end)
    return text


def _with_items(text: str, place: tuple[int, int], items: list[str], end: str) -> str:
    """Return a text with items behind those of the array or object at a place."""
    start, stop = place[0] + 1, place[1] - 1
    inside = text[start:stop].rstrip()
    added = f",{end}".join(items)
    if inside:
        at = start + len(inside)
        return f"{text[:at]},{end}{added}{text[at:]}"
    return f"{text[:start]}{end}{added}{end}  {text[stop:]}"


def _members(text: str) -> dict[str, tuple[int, int]]:
    """Return where each value of a JSON object begins and ends. The text is one, and is read already."""
    decoder: Any = json.JSONDecoder()
    found = {}
    at = _after(_COMMA, text, text.index("{") + 1)
    while text[at] != "}":
        key, at = decoder.raw_decode(text, at)
        start = _after(_COLON, text, at)
        _, end = decoder.raw_decode(text, start)
        found[key] = start, end
        at = _after(_COMMA, text, end)
    return found


def _after(pattern: re.Pattern[str], text: str, at: int) -> int:
    match = pattern.match(text, at)
    assert match is not None
    return match.end()
