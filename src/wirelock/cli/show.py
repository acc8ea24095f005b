"""`wirelock show`: protocols, layouts and engines in words."""

from __future__ import annotations

from typing import Any

import click

from wirelock.cli.options import find, project_of, protocols_option


@click.command("show")
@click.argument("what", metavar="[PROTOCOL[/vN]]", required=False)
@click.option("--source", is_flag=True, help="Print the Python code that the generated engine runs.")
@protocols_option
def command(what: str | None, source: bool, protocols: str | None) -> int:
    """Show the protocols, or one's fields with their places, rules and digest."""
    from wirelock.layout.describe import size_text
    from wirelock.layout.sizes import size_of

    registry = project_of(protocols).load()
    if what is None:
        if source:
            raise click.UsageError("--source needs a PROTOCOL or PROTOCOL/vN")
        for protocol in registry:
            for number in protocol.versions:
                layout = protocol.layout(number)
                click.echo(f"{protocol.name}/v{number}  {size_text(size_of(layout))}  {layout.doc}".rstrip())
        return 0
    protocol, version = find(registry, what)
    shown = [version] if version is not None else [*protocol.versions]
    for number in shown:
        if source:
            from wirelock.schema.record import source_of

            click.echo(source_of(protocol.versions[number]))
        else:
            _show_version(protocol, number)
    return 0


def _show_version(protocol: Any, version: int) -> None:
    from wirelock.layout.describe import describe, expression_text, size_text
    from wirelock.layout.nodes import layouts_in
    from wirelock.layout.sizes import size_of

    layout = protocol.layout(version)
    click.echo(f"{protocol.name}/v{version}: {layout.name}, {size_text(size_of(layout))}")
    if layout.doc:
        click.echo(layout.doc)
    click.echo(f"digest {protocol.digest(version)}")
    if protocol.tag:
        click.echo(f"tag {', '.join(protocol.tag)}")
    rows = [(f"{'  ' * row.depth}{row.name}", row.place, row.type, row.doc) for row in describe(layout)]
    widths = [max((len(row[i]) for row in rows), default=0) for i in range(3)]
    widths[2] = min(widths[2], 44)
    for name, place, kind, doc in rows:
        line = f"  {name:<{widths[0]}}  {place:<{widths[1]}}  {kind:<{widths[2]}}"
        if doc and len(kind) > widths[2]:
            click.echo(line.rstrip())
            line = " " * (sum(widths) + 6)
        click.echo(f"{line}  {doc}".rstrip())

    def rules(inside: Any) -> None:
        for rule in inside.rules:
            click.echo(f"  rule {rule.name} of {inside.name}: {rule.message}".rstrip(": "))
            click.echo(f"    {expression_text(rule.expression)}")
        for item in inside.fields:
            for inner in layouts_in(item.type):
                rules(inner)

    rules(layout)
    click.echo()
