"""`wirelock show`: protocols, layouts and engines in words, and the map of their bytes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from wirelock.cli.options import find, project_of, protocols_option

if TYPE_CHECKING:
    from wirelock.layout.nodes import Layout
    from wirelock.schema.registry import Protocol, Registry

_TYPE: Final = 44
"""The widest column of types; behind a longer one the meaning has a line of its own."""


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
    """Show the protocols, or one's bytes as a map, its fields with their places, its rules and digest.

    In the map a row is four bytes, bit 7 of each on the left. Dots say that a field goes on in the next
    row, a wavy edge that it has no fixed size; behind one, bytes are counted from its end.
    """
    if source and svg:
        raise click.UsageError("--source and --svg are two things: ask for one of them")
    if what is None and (source or svg):
        raise click.UsageError(f"--{'source' if source else 'svg'} needs a PROTOCOL or PROTOCOL/vN")
    registry = project_of(protocols).load()
    text = "".join(f"{line}\n" for line in _lines(registry, what, source, svg))
    if target is None or str(target) == "-":
        click.echo(text, nl=False)
    else:
        from wirelock.capture.sinks import output

        with output(target) as stream:
            stream.write(text)
    return 0


def _lines(registry: Registry, what: str | None, source: bool, svg: bool) -> Iterator[str]:
    if what is None:
        for protocol in registry:
            for number in protocol.versions:
                name, size, layout = _named(protocol, number)
                yield f"{name}  {size}  {layout.doc}".rstrip()
        return
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
            yield from _version_lines(protocol, number)


def _named(protocol: Protocol, version: int) -> tuple[str, str, Layout]:
    from wirelock.layout.describe import size_text
    from wirelock.layout.sizes import size_of

    layout = protocol.layout(version)
    return f"{protocol.name}/v{version}", size_text(size_of(layout)), layout


def _version_lines(protocol: Protocol, version: int) -> Iterator[str]:
    from wirelock.layout.textmap import text_map

    name, size, layout = _named(protocol, version)
    yield f"{name}: {layout.name}, {size}"
    if layout.doc:
        yield layout.doc
    if protocol.tag:
        yield f"tag {', '.join(protocol.tag)}"
    yield ""
    yield from text_map(layout)
    yield ""
    yield from _field_lines(layout)
    yield from _rule_lines(layout, [])
    yield f"digest {protocol.digest(version)}"
    yield ""


def _field_lines(layout: Layout) -> Iterator[str]:
    from wirelock.layout.describe import describe

    rows = [(f"{'  ' * row.depth}{row.name}", row.place, row.type, row.doc) for row in describe(layout)]
    widths = [max((len(row[i]) for row in rows), default=0) for i in range(3)]
    widths[2] = min(widths[2], _TYPE)
    for name, place, kind, doc in rows:
        line = f"  {name:<{widths[0]}}  {place:<{widths[1]}}  {kind:<{widths[2]}}"
        if doc and len(kind) > widths[2]:
            yield line.rstrip()
            line = " " * (sum(widths) + 6)
        yield f"{line}  {doc}".rstrip()


def _rule_lines(layout: Layout, told: list[Layout]) -> Iterator[str]:
    """Yield the rules of a layout and of those inside of it, each once."""
    from wirelock.layout.describe import expression_text
    from wirelock.layout.nodes import layouts_in

    if layout in told:
        return
    told.append(layout)
    for rule in layout.rules:
        yield f"  rule {rule.name} of {layout.name}: {rule.message}".rstrip(": ")
        yield f"    {expression_text(rule.expression)}"
    for item in layout.fields:
        for inner in layouts_in(item.type):
            yield from _rule_lines(inner, told)
