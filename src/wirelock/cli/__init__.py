"""The command line: arguments, files, progress, exit codes; nothing else.

Exit codes: 0 done; 1 faults or differences that were asked for (under --strict, of an inspected record, of a
check, a diff, a verification, a comparison); 2 a wrong command or unreadable input; 130 interrupted; 143
terminated; 141 the reader of the output went away.
Errors are one line. Nothing heavy is imported before a command runs.
"""

from __future__ import annotations

import errno
import io
import os
import sys
from contextlib import suppress
from typing import Final

import click

from wirelock import __version__, signals
from wirelock.cli import (
    capture,
    compare,
    decode,
    diff,
    explain,
    export,
    golden,
    inspect,
    lock,
    release,
    show,
    start,
    stats,
    verify,
)
from wirelock.cli.sources import was_interrupted
from wirelock.errors import CaptureError, WirelockError
from wirelock.shown import escaped

COMMANDS: Final = (
    capture.command,
    compare.command,
    decode.command,
    diff.command,
    explain.command,
    export.command,
    golden.command,
    inspect.command,
    lock.check,
    lock.lock,
    release.release,
    release.retire,
    show.command,
    start.init,
    start.new_version,
    stats.command,
    verify.command,
)


_FULL: Final = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)


@click.group(
    commands=COMMANDS, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(__version__, prog_name="wirelock")
def command() -> None:
    """Versioned wire protocols: decode captures, read records, show layouts, keep released bytes."""


def run() -> int:
    """Run the command line; return the exit code. Raises whatever a signal came to, once one was noted."""
    _open_streams()
    try:
        return _run()
    except BaseException as problem:
        if signals.noted() is not None:
            raise
        return _told(problem)


def _told(problem: BaseException) -> int:
    """Say in one line why a command could not be done; return its exit code. Raises what says no reason."""
    match problem:
        case click.exceptions.Abort() | KeyboardInterrupt():
            return _say(str(problem) or "interrupted", 130)
        case click.exceptions.NoArgsIsHelpError():
            click.echo(problem.format_message(), err=True)
            return 2
        case click.UsageError():
            where = problem.ctx.command_path if problem.ctx else "wirelock"
            return _say(f"{problem.format_message()} (see {where} --help)", 2)
        case click.ClickException():
            return _say(problem.format_message(), 2)
        case WirelockError():
            return _say(_one_line(problem), 2)
        case BrokenPipeError():
            return 141
        case OSError():
            # Files of ours are named where they are written.
            where = problem.filename or ("standard output" if problem.errno in _FULL else "")
            return _say(f"{f'{where}: ' if where else ''}{problem.strerror or problem}", 2)
    raise problem


def _run() -> int:
    # Not click's own main: it takes a closed pipe for itself, and exits with 1.
    try:
        with command.make_context("wirelock", sys.argv[1:]) as context:
            code = _invoke(context)
    except click.exceptions.Exit as done:
        code = done.exit_code
    sys.stdout.flush()
    return code


def _invoke(context: click.Context) -> int:
    """Run the command. Raises KeyboardInterrupt behind all that it does, where Ctrl-C ended its input."""
    try:
        code = command.invoke(context) or 0
    except CaptureError:
        if was_interrupted(context):  # before there was as much as a header
            raise KeyboardInterrupt from None
        raise
    if was_interrupted(context):
        sys.stdout.flush()
        raise KeyboardInterrupt("interrupted, and ended with what had come until then")
    return int(code)


def _open_streams() -> None:
    """Give streams that were closed something to write to, and let every file name be printed."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode, encoding="utf-8"))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _say(text: str, code: int) -> int:
    with suppress(OSError):
        click.echo(f"wirelock: {escaped(text)}", err=True)
    return code


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
