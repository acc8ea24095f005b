"""What a capture was when somebody looked at it, as lines of JSON, and how that differs from what it is now.

The first line says how the packets were selected; then comes one line for each record and each fault, in
packet order (of packets that were never finished, behind those of later ones):

    {"packet": 5, "record": "snapshot v1", "fields": {"magic": "5753", ...}}
    {"packet": 9, "record": "snapshot v1", "fault": "truncated", "path": "tick", "byte": 3}

Datagrams of other protocols have no line. Reading is strict and takes one line at a time; what is not of the
format is an ExpectationError that names the line.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, Final

from wirelock.capture.decode import Selection
from wirelock.capture.verify import Verdict
from wirelock.codec.json_differences import NOTHING, json_differences
from wirelock.errors import ExpectationError

__all__ = ["Difference", "compared", "header", "line_of", "read_expectation"]

FORMAT: Final = 1
_OPTIONS: Final = (("as", "--as"), ("skip", "--skip"), ("ports", "--port"), ("tunnels", "--tunnels"))
_LATE: Final = "fragment-missing"
"""The code of faults that come when nothing more can come of their packet, and so out of order."""
_RECORD: Final = ("packet", "record", "fields")
_FAULT: Final = ("packet", "record", "fault", "path", "byte")


@dataclass(frozen=True, slots=True)
class Difference:
    """A packet that is not what it was. `fields` are (path, was, now) where it still is the same record."""

    packet: int | None
    was: str
    now: str
    fields: tuple[tuple[str, str, str], ...] = ()

    def __str__(self) -> str:
        where = "the file" if self.packet is None else f"packet {self.packet}"
        if not self.fields:
            return f"{where}: was {self.was}, now {self.now}"
        path, was, now = self.fields[0]
        more = f", and {len(self.fields) - 1} more" if len(self.fields) > 1 else ""
        return f"{where}: {self.now}: {path}: was {was}, now {now}{more}"


# -- writing


def header(selection: Selection) -> str:
    """Return the first line: the format and how the packets were selected."""
    return _line({"wirelock_expectation": FORMAT, **_selected(selection)})


def line_of(verdict: Verdict) -> str:
    """Return the line of one record or fault."""
    found: dict[str, Any] = {"packet": verdict.packet, "record": verdict.label}
    if verdict.code is None:
        return _line(found | {"fields": verdict.fields})
    return _line(found | {"fault": verdict.code, "path": verdict.path, "byte": verdict.byte})


def _selected(selection: Selection) -> dict[str, Any]:
    chosen = None
    if selection.protocol is not None:
        version = "" if selection.version is None else f"/v{selection.version}"
        chosen = f"{selection.protocol.name}{version}"
    tunnels = {"tunnels": True} if selection.tunnels else {}
    return {"as": chosen, "skip": selection.skip, "ports": sorted(selection.ports)} | tunnels


def _line(found: dict[str, Any]) -> str:
    text = json.dumps(found, ensure_ascii=False)
    return text if text.isprintable() else json.dumps(found)


# -- reading


def read_expectation(path: Path, selection: Selection) -> Iterator[Verdict]:
    """Yield what was expected, in order.

    Raises ExpectationError for a line that is not of the format, and where packets were selected otherwise.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="\n") as stream:
            yield from _verdicts(stream, str(path), selection)
    except UnicodeDecodeError as problem:
        raise ExpectationError(f"{path}: is not UTF-8: {problem.reason}") from None


def _verdicts(lines: Iterable[str], name: str, selection: Selection) -> Iterator[Verdict]:
    number, last = 0, 0
    for number, text in enumerate(lines, 1):
        where = f"{name}: line {number}"
        found = _object(text, where)
        if number == 1:
            _check_header(found, where, selection)
            continue
        verdict = _verdict(found, where)
        if verdict.packet is not None:
            if verdict.packet < last and verdict.code != _LATE:
                raise ExpectationError(f"{where}: packet {verdict.packet} comes behind packet {last}")
            last = max(last, verdict.packet)
        yield verdict
    if number == 0:
        raise ExpectationError(f"{name}: is empty: write it with --write")


def _object(text: str, where: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except json.JSONDecodeError as problem:
        raise ExpectationError(f"{where}: {problem.msg} (column {problem.colno})") from None
    except (ValueError, RecursionError) as problem:
        raise ExpectationError(f"{where}: {type(problem).__name__} {problem}") from None
    if not isinstance(found, dict):
        raise ExpectationError(f"{where}: is no object")
    return found


def _check_header(found: dict[str, Any], where: str, selection: Selection) -> None:
    number = found.pop("wirelock_expectation", None)
    if type(number) is not int or number < 1:
        raise ExpectationError(f'{where}: an expectation begins with "wirelock_expectation": {FORMAT}')
    if number > FORMAT:
        raise ExpectationError(
            f"{where}: was written by a newer wirelock (format {number}, this one reads {FORMAT})"
        )
    wanted = _selected(selection)
    for key, option in _OPTIONS:
        if found.pop(key, None) != wanted.get(key):
            raise ExpectationError(
                f"{where}: was recorded with another {option}: say the same, or write it anew"
            )
    _check_keys(found, (), where)


def _verdict(found: dict[str, Any], where: str) -> Verdict:
    _check_keys(found, _FAULT if "fault" in found else _RECORD, where)
    packet, label = found["packet"], found["record"]
    if packet is not None and (type(packet) is not int or packet < 1):
        raise ExpectationError(f"{where}: packet {packet!r} is no packet's number")
    if "fault" not in found:
        if not isinstance(label, str) or not isinstance(found["fields"], dict):
            raise ExpectationError(f"{where}: record is no text, or fields is no object")
        return Verdict(packet, label, fields=found["fields"])
    code, path, byte = found["fault"], found["path"], found["byte"]
    texts = isinstance(code, str) and isinstance(path, str) and (label is None or isinstance(label, str))
    if not texts or (byte is not None and type(byte) is not int):
        raise ExpectationError(f"{where}: record, fault and path are texts, byte is a number or null")
    return Verdict(packet, label, code=code, path=path, byte=byte)


def _check_keys(found: dict[str, Any], keys: tuple[str, ...], where: str) -> None:
    for key in keys:
        if key not in found:
            raise ExpectationError(f"{where}: {key} is missing")
    for key in found:
        if key not in keys:
            raise ExpectationError(f"{where}: the key {key!r} is not known here")


# -- comparing


def compared(expected: Iterator[Verdict], found: Iterable[Verdict]) -> Iterator[Verdict | Difference]:
    """Yield what is found, and behind each packet how it differs from what was expected.

    Both are in packet order, and neither is kept.
    """
    waiting = _packets(expected)
    was = next(waiting, None)
    for packet, now in _packets(found):
        while was is not None and was[0] < packet:
            yield from _gone(was[1])
            was = next(waiting, None)
        yield from now
        if was is not None and was[0] == packet:
            yield from _differences(was[1], now)
            was = next(waiting, None)
        else:
            yield from _differences([], now)
    while was is not None:
        yield from _gone(was[1])
        was = next(waiting, None)


def _packets(verdicts: Iterable[Verdict]) -> Iterator[tuple[int, list[Verdict]]]:
    """Group verdicts by packet; a fault of the file, or that comes late, goes with the packet before it."""
    last = 0

    def place(verdict: Verdict) -> int:
        nonlocal last
        last = max(last, verdict.packet or 0)
        return last

    for packet, group in groupby(verdicts, key=place):
        yield packet, list(group)


def _gone(was: list[Verdict]) -> Iterator[Difference]:
    return _differences(was, [])


def _differences(was: list[Verdict], now: list[Verdict]) -> Iterator[Difference]:
    for number in range(max(len(was), len(now))):
        one = was[number] if number < len(was) else None
        other = now[number] if number < len(now) else None
        if one is None or other is None:
            packet = (one or other).packet  # type: ignore[union-attr]
            yield Difference(packet, str(one or NOTHING), str(other or NOTHING))
        elif line_of(one) != line_of(other):
            yield _difference(one, other)


def _difference(was: Verdict, now: Verdict) -> Difference:
    if was.code is None and now.code is None and was.label == now.label:
        fields = tuple(json_differences(was.fields, now.fields))
        if fields:
            return Difference(now.packet, str(was), str(now), fields)
        return Difference(now.packet, f"{was} with its fields in another order", str(now))
    return Difference(now.packet, str(was), str(now))
