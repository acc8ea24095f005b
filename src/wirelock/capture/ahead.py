"""An iterator that works ahead in a thread, while what it made before is used: a core more.

Worth it where both sides spend their time in code that releases Python's global lock.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Generator, Iterable
from typing import Final, TypeVar

__all__ = ["ahead"]

Item = TypeVar("Item")
_END: Final = object()


def ahead(items: Iterable[Item], depth: int = 2) -> Generator[Item]:
    """Yield the items of an iterable, which is run in a thread, at most `depth` items ahead.

    What it raises is raised here, behind the items before. Closing this ends the thread first.
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

    thread = threading.Thread(target=work, name="wirelock-ahead", daemon=True)
    thread.start()
    try:
        while (item := made.get()) is not _END:
            if isinstance(item, _Problem):
                raise item.problem
            yield item  # type: ignore[misc]
    finally:
        stopped.set()
        thread.join()


class _Problem:
    def __init__(self, problem: BaseException) -> None:
        self.problem = problem
