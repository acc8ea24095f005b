"""`wirelock compare`: two recorded sessions record by record, down to the first field that differs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from wirelock.cli.options import (
    as_option,
    format_option,
    opened,
    port_option,
    project_of,
    protocols_option,
    refuse_folders,
    selection_of,
    skip_option,
    tunnels_option,
)
from wirelock.shown import escaped, file_text

if TYPE_CHECKING:
    from wirelock.capture.compare import Comparison, Divergence, KeysByVersion, Recorded
    from wirelock.capture.decode import Selection, Summary
    from wirelock.capture.divergence import Side
    from wirelock.schema.keys import Keys
    from wirelock.schema.registry import Registry

_SHOWN: Final = 10
"""The records of one capture alone that are shown in text."""


@click.command("compare")
@click.argument("a", metavar="A", type=click.Path(path_type=Path, allow_dash=True))
@click.argument("b", metavar="B", type=click.Path(path_type=Path, allow_dash=True))
@click.option(
    "--key", "keys", metavar="FIELD", multiple=True,
    help="Pair by this field, such as tick or entities[].id, in place of the keys that protocols declare.",
)  # fmt: skip
@click.option("--by-order", is_flag=True, help="Pair the n-th record of a version with the n-th, by no keys.")
@port_option
@skip_option
@tunnels_option
@as_option
@format_option
@protocols_option
def command(
    a: Path,
    b: Path,
    keys: tuple[str, ...],
    by_order: bool,
    ports: tuple[int, ...],
    skip: int,
    tunnels: bool,
    as_version: str | None,
    form: str,
    protocols: str | None,
) -> int:
    """Compare two captures record by record; exit with 1 if they differ.

    Records are paired by the keys of their protocol (a tick, the ids of elements), or by their order. Shown
    are the first field that differs, how often which field does, and records that are in one capture only.
    """
    from wirelock.capture.compare import compare, keys_by_version
    from wirelock.capture.decode import Summary
    from wirelock.schema.keys import check_keys

    if keys and by_order:
        raise click.UsageError("--key and --by-order are two ways to pair records: say one of them")
    if str(a) == str(b) == "-":
        raise click.UsageError("only one of the captures can be standard input")
    registry = project_of(protocols).load()
    selection = selection_of(registry, as_version, ports, skip, tunnels)
    refuse_folders((a, b))
    check_keys("--key", [known.layout(number) for known in registry for number in known.versions], keys)
    chosen = keys_by_version(registry, () if by_order else keys or None)
    summaries = Summary(), Summary()
    ours, theirs = (
        _records(path, registry, selection, summary, chosen)
        for path, summary in zip((a, b), summaries, strict=True)
    )
    found = compare(ours, theirs, chosen)
    faults = _fault_differences(*summaries)
    names = file_text(str(a)), file_text(str(b))
    if form == "json":
        click.echo(json.dumps(_document(found, names, summaries, faults, chosen), indent=1))
    else:
        shown = escaped(names[0]), escaped(names[1])
        for line in _lines(found, shown, summaries, faults, chosen):
            click.echo(escaped(line))
    return 1 if found.different or found.only_a or found.only_b or faults else 0


def _records(
    path: Path, registry: Registry, selection: Selection, summary: Summary, keys: KeysByVersion
) -> Iterator[Recorded]:
    from wirelock.capture.compare import recorded
    from wirelock.capture.decode import decode

    source, name = opened(path)
    return recorded(decode(source, registry, selection, summary, name), selection.skip, keys)


def _fault_differences(a: Summary, b: Summary) -> dict[str, tuple[int, int]]:
    """Return the faults that one capture has more of, by code."""
    codes = sorted({*a.faults, *b.faults})
    return {code: (a.faults[code], b.faults[code]) for code in codes if a.faults[code] != b.faults[code]}


def _keyed(record: Recorded, keys: Keys) -> dict[str, str]:
    from wirelock.capture.divergence import key_text

    return {name: key_text(value) for name, value in zip(keys.records, record.key, strict=True)}


# -- text


def _lines(
    found: Comparison,
    names: tuple[str, str],
    summaries: tuple[Summary, Summary],
    faults: dict[str, tuple[int, int]],
    keys: KeysByVersion,
) -> Iterator[str]:
    if found.first is not None:
        yield from _first_lines(found.first, names)
    if found.fields:
        yield "differences by field:"
    ordered = sorted(found.fields.items(), key=lambda item: (-item[1], item[0]))
    yield from (f"{count:>8}  {label}  {path}" for (label, path), count in ordered)
    if found.reordered:
        yield f"{found.reordered:>8}  records with their elements in another order and nothing else"
    for name, records in zip(names, (found.only_a, found.only_b), strict=True):
        if records:
            yield f"only in {name}: {_count(len(records), 'record')}"
        for record in records[:_SHOWN]:
            told = " ".join(f"{key}={text}" for key, text in _keyed(record, _of(record, keys)).items())
            yield f"    {record.where}  {record.label} {told}".rstrip()
        if len(records) > _SHOWN:
            yield f"    and {len(records) - _SHOWN} more"
    for code, (one, other) in faults.items():
        yield f"fault {code}: {one} in {names[0]}, {other} in {names[1]}"
    one, other = (summary.records.total() for summary in summaries)
    yield f"{_count(one, 'record')} in {names[0]}, {other} in {names[1]}: {_counts(found)}"


def _counts(found: Comparison) -> str:
    alone = len(found.only_a) + len(found.only_b)
    return f"{found.same} the same, {found.different} different, {alone} in one only"


def _of(record: Recorded, keys: KeysByVersion) -> Keys:
    return keys[record.protocol.name, record.version]


def _first_lines(first: Divergence, names: tuple[str, str]) -> Iterator[str]:
    record = f"{first.a.label} {first.key}".rstrip()
    if first.field is None:
        yield f"first difference: {record}: its elements are in another order"
        table = [[name, where.where] for name, where in zip(names, (first.a, first.b), strict=True)]
    else:
        yield f"first difference: {record}: {first.field.path}"
        sides = (first.a, first.field.a), (first.b, first.field.b)
        table = [
            [name, where.where, *(("absent",) if side is None else (side.place, side.octets, side.value))]
            for name, (where, side) in zip(names, sides, strict=True)
        ]
    columns = range(max(map(len, table)))
    widths = [max(len(row[i]) for row in table if i < len(row)) for i in columns]
    for row in table:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=False))
        yield f"    {'  '.join(cells)}".rstrip()


def _count(number: int, unit: str) -> str:
    return f"{number} {unit}{'' if number == 1 else 's'}"


# -- JSON


def _document(
    found: Comparison,
    names: tuple[str, str],
    summaries: tuple[Summary, Summary],
    faults: dict[str, tuple[int, int]],
    keys: KeysByVersion,
) -> dict[str, Any]:
    ordered = sorted(found.fields.items(), key=lambda item: (-item[1], item[0]))
    return {
        "a": names[0],
        "b": names[1],
        "records": {"a": summaries[0].records.total(), "b": summaries[1].records.total()},
        "same": found.same,
        "different": found.different,
        "reordered": found.reordered,
        "first": None if found.first is None else _first_json(found.first, keys),
        "fields": [{"record": label, "path": path, "count": count} for (label, path), count in ordered],
        "only_in_a": [_record_json(record, keys) for record in found.only_a],
        "only_in_b": [_record_json(record, keys) for record in found.only_b],
        "faults": {code: {"a": one, "b": other} for code, (one, other) in faults.items()},
    }


def _record_json(record: Recorded, keys: KeysByVersion) -> dict[str, Any]:
    return {
        "packet": record.packet,
        "number": record.number,
        "record": record.label,
        "key": _keyed(record, _of(record, keys)),
    }


def _first_json(first: Divergence, keys: KeysByVersion) -> dict[str, Any]:
    sides = (None, None) if first.field is None else (first.field.a, first.field.b)
    return {
        "record": first.a.label,
        "key": _keyed(first.a, _of(first.a, keys)),
        "path": None if first.field is None else first.field.path,
        "a": _side_json(first.a, sides[0]),
        "b": _side_json(first.b, sides[1]),
    }


def _side_json(record: Recorded, side: Side | None) -> dict[str, Any]:
    found: dict[str, Any] = {"packet": record.packet, "number": record.number}
    if side is None:
        return found | {"bytes": None, "place": None, "octets": None, "value": None}
    return found | {
        "bytes": [side.first, side.last],
        "place": side.place,
        "octets": side.octets,
        "value": side.value,
    }
