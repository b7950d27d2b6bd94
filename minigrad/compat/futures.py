"""torch.futures: results that are set later, with callbacks in a chain. They are Python's futures under PyTorch's names."""

from __future__ import annotations

from collections.abc import Callable
from concurrent import futures
from typing import Any

__all__ = ["Future", "collect_all", "wait_all"]


class Future(futures.Future):
    """A result that `set_result` or `set_exception` sets later; `wait` returns or raises it.

    >>> import minigrad
    >>> first = minigrad.futures.Future()
    >>> second = first.then(lambda done: done.wait() + 1)
    >>> first.set_result(2)
    >>> second.wait()
    3
    """

    def __init__(self, *, devices: Any = None):
        super().__init__()

    wait = futures.Future.result

    def value(self) -> Any:
        """Return the result of a future that is done; RuntimeError for any other."""
        if not self.done():
            raise RuntimeError(
                "Future.value: the future is not done yet. To fix: call wait(), which waits for the result"
            )
        return self.wait()

    def then(self, callback: Callable[[Future], Any]) -> Future:
        """Return a future of `callback(self)`, which runs as soon as this future is done."""
        after = Future()

        def run(_: Any) -> None:
            try:
                after.set_result(callback(self))
            except Exception as e:
                after.set_exception(e)

        self.add_done_callback(run)
        return after


def collect_all(futures: list[Future]) -> Future:
    """Return a future of the list of these futures, which is done when all of them are."""
    collected, left = Future(), list(futures)

    def done(future: Any) -> None:
        left.remove(future)
        if not left:
            collected.set_result(list(futures))

    if not left:
        collected.set_result([])
    for future in futures:
        future.add_done_callback(done)
    return collected


def wait_all(futures: list[Future]) -> list:
    """Return the results of all futures, when all are done; raise the first one's error."""
    return [future.wait() for future in collect_all(futures).wait()]
