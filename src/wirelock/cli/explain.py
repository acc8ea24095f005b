"""`wirelock explain`: what somebody's construct is to wirelock: a layout and classes, or what is in the way.

What is printed for a schema that can be read is Python source, its layout in comments. Everything in the
way of one that cannot be read is told at once.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from wirelock.errors import ProjectError, SchemaError

if TYPE_CHECKING:
    from types import ModuleType

    from wirelock.layout.nodes import Layout


@click.command("explain")
@click.argument("what", metavar="MODULE:NAME")
def command(what: str) -> int:
    """Print the layout of a construct and Record classes for it, or everything that is in the way.

    NAME may be dotted. Modules are imported from the working directory too. Exit code 1 says that there
    are obstacles.
    """
    from wirelock.layout.explain import explain
    from wirelock.schema.suggest import names_taken, suggest

    module, path, source = _find(what)
    layout, obstacles = explain(source)
    text = ""
    if layout is not None and not obstacles:
        text, obstacles = suggest(layout, source, module, path)
    elif layout is not None:
        obstacles = [*obstacles, *names_taken(layout)]
    if layout is None or obstacles:
        _tell(path, obstacles)
        return 1
    _show(path, layout)
    click.echo(f"\n{text}", nl=False)
    return 0


def _find(what: str) -> tuple[ModuleType, str, Any]:
    """Import what is named. Raises ProjectError for a module or name that is not there."""
    from wirelock.layout.walk import Construct
    from wirelock.schema.project import import_from

    module_name, _, path = what.partition(":")
    names = path.split(".")
    if not module_name or not all(map(str.isidentifier, [*module_name.split("."), *names])):
        raise click.UsageError(f"{what!r} names no construct: write module:NAME")
    module = import_from(Path.cwd(), module_name)
    found: Any = module
    for name in names:
        if not hasattr(found, name):
            raise ProjectError(f"{module_name} has no {path}")
        found = getattr(found, name)
    if not isinstance(found, Construct):
        remedy = f": say {what}.layout" if isinstance(getattr(found, "layout", None), Construct) else ""
        raise ProjectError(f"{path} of {module_name} is no construct but a {type(found).__name__}{remedy}")
    return module, path, found


def _tell(path: str, obstacles: list[SchemaError]) -> None:
    count = f"{len(obstacles)} obstacle{'' if len(obstacles) == 1 else 's'}"
    click.echo(f"{path} cannot be a Record yet: {count}")
    for error in obstacles:
        click.echo(f"\n  {f'{error.path}: ' if error.path else ''}{error.problem}")
        if error.remedy:
            click.echo(f"    {error.remedy}")


def _show(path: str, layout: Layout) -> None:
    """Print a layout as `show` does, in comments."""
    from wirelock.layout.describe import describe, expression_text, size_text
    from wirelock.layout.sizes import size_of

    click.echo(f"# {path}: {size_text(size_of(layout))}")
    rows = [(f"{'  ' * row.depth}{row.name}", row.place, row.type) for row in describe(layout)]
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(2)]
    for name, place, kind in rows:
        click.echo(f"#   {name:<{widths[0]}}  {place:<{widths[1]}}  {' '.join(kind.split())}".rstrip())
    for rule in layout.rules:
        click.echo(f"#   rule {rule.name}: {expression_text(rule.expression)}")
