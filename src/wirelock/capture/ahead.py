"""An iterator that works ahead in a thread, while what it made before is used: a core more.

Worth it where both sides spend their time in code that releases Python's global lock.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Generator, Iterable
from typing import Any, Final, TypeVar

__all__ = ["ahead", "on_close"]

Item = TypeVar("Item")
_END: Final = object()


def ahead(items: Iterable[Item], depth: int = 2) -> Generator[Item]:
    """Yield the items of an iterable, which is run in a thread, at most `depth` items ahead.

    What it raises is raised here, behind the items before. Closing this ends the thread first, which may
    have to be told: see on_close.
    """
    made: queue.Queue[object] = queue.Queue(depth)
    stopped = threading.Event()

    def put(item: object) -> bool:
        while not stopped.is_set():
            try:
                made.put(item, timeout=0.05)
            except queue.Full:
                continue
            return True
        return False

    def work() -> None:
        try:
            for item in items:
                if not put(item):
                    return
            put(_END)
        except BaseException as problem:
            put(_Problem(problem))

    thread = _Thread(target=work, name="wirelock-ahead", daemon=True)
    thread.start()
    try:
        while (item := made.get()) is not _END:
            if isinstance(item, _Problem):
                raise item.problem
            yield item  # type: ignore[misc]
    finally:
        stopped.set()
        thread.close()
        thread.join()


def on_close(call: Callable[[], object]) -> None:
    """Have `call` called when what is made in this thread is not wanted any more, to end what it waits for.

    In a thread that is not one of `ahead` this does nothing: there nobody waits for it.
    """
    thread = threading.current_thread()
    if isinstance(thread, _Thread):
        thread.calls[call] = None
        if thread.closed:
            call()


class _Thread(threading.Thread):
    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.calls: dict[Callable[[], object], None] = {}
        self.closed = False

    def close(self) -> None:
        self.closed = True
        for call in tuple(self.calls):
            call()


class _Problem:
    def __init__(self, problem: BaseException) -> None:
        self.problem = problem
