"""`wirelock show`: protocols, layouts and engines in words, and the map of their bytes."""

from __future__ import annotations

import os
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from wirelock.cli.lock import lock_of
from wirelock.cli.options import find, project_of, protocols_option

if TYPE_CHECKING:
    from wirelock.layout.nodes import Layout
    from wirelock.schema.project import Project
    from wirelock.schema.registry import Protocol, Registry

_TYPE: Final = 44
"""The widest column of types; behind a longer one the meaning has a line of its own."""
_MEANING: Final = 24
"""Where a terminal has less room for meanings, each has a line of its own."""


@click.command("show")
@click.argument("what", metavar="[PROTOCOL[/vN]]", required=False)
@click.option("--source", is_flag=True, help="Print the Python code that the generated engine runs.")
@click.option("--svg", is_flag=True, help="Print the map of the bytes as an SVG document, for web pages.")
@click.option(
    "-o",
    "--output",
    "target",
    metavar="FILE",
    type=click.Path(path_type=Path, allow_dash=True),
    help="Write to FILE (- for standard output, the default).",
)
@protocols_option
def command(what: str | None, source: bool, svg: bool, target: Path | None, protocols: str | None) -> int:
    """Show the protocols with the status of each version, or the layout of one.

    Of one: the map of its bytes, the fields with their places and types, the rules and the digest.

    In the map a row is four bytes, bit 7 of each on the left. Dots say that a field goes on in the next
    row, a wavy edge that it has no fixed size; behind one, bytes are counted from its end.
    """
    if source and svg:
        raise click.UsageError("--source and --svg are two things: ask for one of them")
    if what is None and (source or svg):
        raise click.UsageError(f"--{'source' if source else 'svg'} needs a PROTOCOL or PROTOCOL/vN")
    project = project_of(protocols)
    registry = project.load()
    to_stdout = target is None or str(target) == "-"
    width = os.get_terminal_size(sys.stdout.fileno()).columns if to_stdout and sys.stdout.isatty() else 0
    if what is None:
        lines = _listing(project, registry)
    else:
        lines = _lines(registry, what, source, svg, width or sys.maxsize)
    text = "".join(f"{line}\n" for line in lines)
    if target is None or to_stdout:
        click.echo(text, nl=False)
    else:
        from wirelock.capture.outputs import output

        with output(target) as stream:
            stream.write(text)
    return 0


def _listing(project: Project, registry: Registry) -> Iterator[str]:
    entries = lock_of(project).entries
    for protocol in registry:
        for number in protocol.versions:
            name, size, layout = _named(protocol, number)
            entry = entries.get((protocol.name, number))
            status = "draft" if entry is None else "retired" if entry.retired else "released"
            yield f"{name}  {status}  {size}  {layout.doc}".rstrip()


def _lines(registry: Registry, what: str, source: bool, svg: bool, width: int) -> Iterator[str]:
    protocol, version = find(registry, what)
    shown = [version] if version is not None else [*protocol.versions]
    if svg and len(shown) > 1:
        versions = ", ".join(f"{protocol.name}/v{number}" for number in shown)
        raise click.UsageError(f"an SVG document shows one version: say which, of {versions}")
    for number in shown:
        if source:
            from wirelock.schema.record import source_of

            yield source_of(protocol.versions[number])
        elif svg:
            from wirelock.layout.svgmap import svg_map

            name, size, layout = _named(protocol, number)
            yield svg_map(layout, f"{name}: {layout.name}, {size}").rstrip("\n")
        else:
            yield from _version_lines(protocol, number, width)


def _named(protocol: Protocol, version: int) -> tuple[str, str, Layout]:
    from wirelock.layout.describe import size_text
    from wirelock.layout.sizes import size_of

    layout = protocol.layout(version)
    return f"{protocol.name}/v{version}", size_text(size_of(layout)), layout


def _version_lines(protocol: Protocol, version: int, width: int) -> Iterator[str]:
    from wirelock.layout.textmap import text_map

    name, size, layout = _named(protocol, version)
    yield f"{name}: {layout.name}, {size}"
    yield from _wrapped(layout.doc, "", "", width)
    if protocol.tag:
        yield f"tag {', '.join(protocol.tag)}"
    yield ""
    yield from text_map(layout)
    yield ""
    yield from _field_lines(layout, width)
    yield from _rule_lines(layout, [], width)
    yield f"digest {protocol.digest(version)}"
    yield ""


def _field_lines(layout: Layout, width: int) -> Iterator[str]:
    from wirelock.layout.describe import describe

    rows = [(f"{'  ' * row.depth}{row.name}", row.place, row.type, row.doc) for row in describe(layout)]
    names, places, types = (max((len(row[i]) for row in rows), default=0) for i in range(3))
    types = min(types, _TYPE)
    to_type = names + places + 6
    beside = width - to_type - types - 2 >= _MEANING
    for name, place, kind, doc in rows:
        start = f"  {name:<{names}}  {place:<{places}}  "
        if doc and beside and len(kind) <= types:
            yield from _wrapped(doc, f"{start}{kind:<{types}}  ", " " * (to_type + types + 2), width)
        else:
            indent = " " * (to_type + types + 2 if beside else to_type)
            yield from _wrapped(kind, start, " " * to_type, width)
            yield from _wrapped(doc, indent, indent, width)


def _rule_lines(layout: Layout, told: list[Layout], width: int) -> Iterator[str]:
    """Yield the rules of a layout and of those inside of it, each once."""
    from wirelock.layout.describe import expression_text
    from wirelock.layout.nodes import layouts_in

    if layout in told:
        return
    told.append(layout)
    for rule in layout.rules:
        yield from _wrapped(
            f"rule {rule.name} of {layout.name}: {rule.message}".rstrip(": "), "  ", "    ", width
        )
        yield from _wrapped(expression_text(rule.expression), "    ", "      ", width)
    for item in layout.fields:
        for inner in layouts_in(item.type):
            yield from _rule_lines(inner, told, width)


def _wrapped(text: str, start: str, indent: str, width: int) -> Iterator[str]:
    """Yield text in lines of a width, the first behind `start` and the others behind `indent`."""
    yield from textwrap.wrap(
        text, width, initial_indent=start, subsequent_indent=indent, break_long_words=False,
        break_on_hyphens=False, drop_whitespace=True,
    )  # fmt: skip
