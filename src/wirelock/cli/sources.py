"""The captures that a command reads one behind the other, and what Ctrl-C is to those still being written.

A capture that comes out of a pipe is over where Ctrl-C is pressed: the command goes on with what has come,
ends as it would at the end of the pipe, and exits with 130. A second Ctrl-C aborts, as the first one does
while a file is read.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, BinaryIO, Final

import click

from wirelock.cli.options import opened

if TYPE_CHECKING:
    from wirelock.capture.live import Live

__all__ = ["sources", "was_interrupted"]

_INTERRUPTED: Final = "wirelock.interrupted"


def sources(captures: tuple[Path, ...]) -> Iterator[tuple[Path, Path | BinaryIO, str]]:
    """Yield each capture with what to read it from and what to call it, up to one that Ctrl-C ended.

    Of those that come out of a pipe the first Ctrl-C is the end. Needs a context of click, with which all
    that it opens is closed.
    """
    from wirelock.capture.live import Live, is_live

    context = click.get_current_context()
    for path in captures:
        source, name = opened(path)
        if not is_live(source):
            yield path, source, name
            continue
        if isinstance(source, Path):
            source = source.open("rb", buffering=0)
            context.call_on_close(source.close)
        live = Live(source)
        context.call_on_close(live.close)
        restore = _end_at_interrupt(live, context)
        context.call_on_close(restore)
        yield path, live, name  # type: ignore[misc]
        if live.ended:
            return
        restore()


def was_interrupted(context: click.Context) -> bool:
    """Whether Ctrl-C ended the input of the command of a context, or of one inside of it."""
    return bool(context.meta.get(_INTERRUPTED))


def _end_at_interrupt(live: Live, context: click.Context) -> Callable[[], object]:
    """Let Ctrl-C end an input, once; return what lets it abort again, as it did."""
    before = signal.getsignal(signal.SIGINT)
    if not callable(before):  # ignored, as in the background of a shell
        return lambda: None

    def end(number: int, frame: FrameType | None) -> Any:
        signal.signal(signal.SIGINT, before)
        context.meta[_INTERRUPTED] = True
        live.end()

    signal.signal(signal.SIGINT, end)
    return lambda: signal.signal(signal.SIGINT, before)
