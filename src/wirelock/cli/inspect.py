"""`wirelock inspect`: one datagram's bytes, field by field, up to the first fault in them."""

from __future__ import annotations

import click


@click.command("inspect")
def command() -> int:
    """Read bytes field by field."""
    return 0
