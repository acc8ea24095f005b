"""`wirelock stats`: what came when, and what each field costs, as tables, JSON or a page."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from wirelock.cli import decode
from wirelock.cli.options import (
    as_option,
    captures_argument,
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
from wirelock.cli.sources import sources
from wirelock.shown import escaped

if TYPE_CHECKING:
    from wirelock.capture.stats import Statistics

_LINES = 24
"""The intervals of time in text at most."""


@click.command("stats")
@captures_argument
@port_option
@skip_option
@tunnels_option
@as_option
@format_option
@click.option(
    "--html",
    "page",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Write one page with plots to FILE too; it needs nothing besides.",
)
@click.option(
    "--sort",
    "order",
    type=click.Choice(("layout", "bits")),
    default="layout",
    help="The order of fields: that of the layout, or what costs most first.",
)
@protocols_option
def command(
    captures: tuple[Path, ...],
    ports: tuple[int, ...],
    skip: int,
    tunnels: bool,
    as_version: str | None,
    form: str,
    page: Path | None,
    order: str,
    protocols: str | None,
) -> int:
    """Count what captures hold over time, and the bits a second that each field costs.

    Elements of arrays are counted together, as entities[].id. The fields of a version sum up to all bits of
    its payload. --port chooses which datagrams to decode: packets and bytes are those of the whole capture.
    """
    from wirelock.capture import outputs
    from wirelock.capture.decode import Summary
    from wirelock.capture.decode import decode as decoded
    from wirelock.capture.stats import Statistics

    registry = project_of(protocols).load()
    selection = selection_of(registry, as_version, ports, skip, tunnels)
    refuse_folders(captures)
    if page is not None and page.is_file() and any(it.is_file() and page.samefile(it) for it in captures):
        raise click.UsageError(f"{page} is one of the captures: write to another file")
    summary = Summary()
    stats = Statistics(summary, skip, by_bits=order == "bits")
    for path, source, name in sources(captures):
        with decode.progress(path, summary.read_bytes, rows_on_stdout=False) as advance:
            if decode.columnar(path, registry, selection):
                from wirelock.capture.bulk import decode_columns

                for part in decode_columns(source, registry, selection, summary, name):
                    stats.take_part(part)
                    advance(summary.read_bytes)
                continue
            for item in decoded(source, registry, selection, summary, name, stats.see):
                stats.take((item,))
                advance(summary.read_bytes)
    if page is not None:
        from wirelock.capture.page import page_of

        with outputs.output(page) as stream:
            stream.write(page_of(stats, [opened(path)[1] for path in captures]))
    click.echo(
        json.dumps(stats.to_json(), indent=2) if form == "json" else "\n".join(map(escaped, _lines(stats)))
    )
    return 0


def _lines(stats: Statistics) -> Iterator[str]:
    from wirelock.capture import words

    yield from decode.summary_lines(stats.summary)
    timeline = stats.timeline.coarser(_LINES)
    if timeline.intervals():
        yield ""
        yield f"intervals of {words.intervals_text(timeline)}:"
        yield from _table(words.time_head(timeline), list(words.time_rows(timeline)), left=())
    for found in stats.versions():
        yield ""
        yield words.version_text(found, stats)
        yield from _table(words.FIELD_HEAD, list(words.field_rows(found, stats)), left=(0, 1))
        if found.groups:
            yield ""
            yield from _table(words.GROUP_HEAD, list(words.group_rows(found, stats)), left=(0,))


def _table(head: Sequence[str], rows: Iterable[Sequence[str]], left: Sequence[int]) -> Iterator[str]:
    from rich.cells import cell_len

    table = [head, *rows]
    widths = [max(cell_len(row[column]) for row in table) for column in range(len(head))]
    for row in table:
        cells = []
        for column, (cell, width) in enumerate(zip(row, widths, strict=True)):
            gap = " " * (width - cell_len(cell))
            cells.append(cell + gap if column in left else gap + cell)
        yield "  ".join(["", *cells]).rstrip()
