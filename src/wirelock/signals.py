"""Ctrl-C and SIGTERM while the command line runs: whatever code they meet, the process ends by them.

Both raise KeyboardInterrupt, wherever the code is. Code in between may make another error of it (pydantic
does, and so may a project), or lose it (what is raised while an object is freed has no caller): so the signal
is noted, for the exit code and the message, and raised again until it arrives. `held` keeps it out of what
must not be left half done. Where nobody listens, as in a program that imports wirelock, nothing is changed.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final

__all__ = ["held", "ignore", "listen", "noted"]

_AGAIN: Final = 0.05
"""Seconds after which a signal that was lost is raised again."""


class _Ended(KeyboardInterrupt):
    """A kind of its own: Python kills itself by SIGINT if the plain one once came out of a text in `exec`."""


class _State:
    """There is one: signals are of the process."""

    noted: int | None = None
    raised: KeyboardInterrupt | None = None
    holds = 0
    over = False


def listen() -> None:
    """Note signals from now on, but those that the process was started to ignore."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _arrived)
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _arrived)
    usual = sys.unraisablehook
    sys.unraisablehook = lambda lost: None if isinstance(lost.exc_value, _Ended) else usual(lost)


def noted() -> int | None:
    """Return the signal that ended the run, the first one; None if none did."""
    return _State.noted


def ignore() -> None:
    """Let no signal change any more how the process ends."""
    _State.over = True
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) is _arrived:
            signal.signal(number, signal.SIG_IGN)
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, 0)


@contextmanager
def held() -> Iterator[None]:
    """Let signals wait until the end of the block. Raises KeyboardInterrupt there if one came.

    One that came before, and was lost, is raised before the block.
    """
    if _State.noted is not None and not _State.holds and not _is_handled():
        _raise()
    before = _State.noted
    _State.holds += 1
    try:
        yield
    finally:
        _State.holds -= 1
    if _State.noted is not None and before is None and not _State.holds:
        _raise()


def _arrived(number: int, frame: FrameType | None) -> Any:
    if _State.over:
        return
    if _State.noted is None:
        _State.noted = number
    if not _State.holds and not _is_handled():
        _raise()


def _raise() -> None:
    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, _arrived)
        signal.setitimer(signal.ITIMER_REAL, _AGAIN, _AGAIN)
    _State.raised = _Ended()
    raise _State.raised


def _is_handled() -> bool:
    """Whether what was raised is on its way through the code that is interrupted."""
    problem = sys.exception()
    while problem is not None and problem is not _State.raised:
        problem = problem.__context__
    return problem is not None and _State.raised is not None
