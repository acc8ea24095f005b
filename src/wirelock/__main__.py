"""The `wirelock` command, also as `python -m wirelock`: from its first signal to its exit code.

Nothing else is imported before signals are listened to: a command that has begun always ends by its own code.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from typing import Final, NoReturn

from wirelock import signals

_WORDS: Final = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated"}


def main() -> NoReturn:
    """Run the command line and exit: with 128 and the number of the signal where one ended it."""
    signals.listen()
    try:
        from wirelock.cli import run

        code = run()
        signals.ignore()
    except BaseException:
        signals.ignore()
        if signals.noted() is None:
            raise
    number = signals.noted()
    _leave(code if number is None else _ended(number))


def _ended(number: int) -> int:
    if sys.stderr is not None:
        with suppress(OSError):  # it is closed, or full
            sys.stderr.write(f"wirelock: {_WORDS[signal.Signals(number)]}\n")
    return 128 + number


def _leave(code: int) -> NoReturn:
    """Exit without another attempt to write to a pipe that is closed."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    sys.exit(code)


if __name__ == "__main__":
    main()
