"""The command line: arguments, files, progress, exit codes; nothing else.

Exit codes: 0 done; 1 faults or differences that were asked for (under --strict, of an inspected record, of a
check, a diff, a verification, a comparison); 2 a wrong command or unreadable input; 130 interrupted; 141 the
reader of the output went away.
Errors are one line. Nothing heavy is imported before a command runs.
"""

from __future__ import annotations

import io
import os
import signal
import sys
from contextlib import suppress
from typing import Final, NoReturn

import click

from wirelock import __version__
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


@click.group(
    commands=COMMANDS, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(__version__, prog_name="wirelock")
def command() -> None:
    """Versioned wire protocols: decode captures, read records, show layouts, keep released bytes."""


def main() -> NoReturn:
    """Run the command line and exit."""
    _open_streams()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        code = _run()
    except (click.exceptions.Abort, KeyboardInterrupt) as error:
        code = _say(str(error) or "interrupted", 130)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        code = 2
    except click.UsageError as error:
        where = error.ctx.command_path if error.ctx else "wirelock"
        code = _say(f"{error.format_message()} (see {where} --help)", 2)
    except click.ClickException as error:
        code = _say(error.format_message(), 2)
    except WirelockError as error:
        code = _say(_one_line(error), 2)
    except BrokenPipeError:
        code = 141
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        code = _say(f"{where}{error.strerror or error}", 2)
    _leave(code)


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
        click.echo(f"wirelock: {text}", err=True)
    return code


def _leave(code: int) -> NoReturn:
    """Exit without another attempt to write to a pipe that is closed."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    sys.exit(code)


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
