"""torch.futures: results that arrive later, based on Python's `concurrent.futures`."""

from __future__ import annotations

from collections.abc import Callable
from concurrent import futures
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Future(Generic[T]):
    """A result that a thread sets later.

    >>> import minigrad
    >>> future = minigrad.futures.Future()
    >>> doubled = future.then(lambda done: 2 * done.value())
    >>> future.set_result(3)
    >>> doubled.wait()
    6
    """

    def __init__(self, *, devices: Any = None):
        self._future: futures.Future = futures.Future()

    def done(self) -> bool:
        """Return True if the result, or an exception, is set."""
        return self._future.done()

    def wait(self) -> T:
        """Wait for the result and return it, or raise the exception that was set."""
        return self._future.result()

    def value(self) -> T:
        """Return the result of a future that is done."""
        return self._future.result(0)

    def set_result(self, result: T) -> None:
        """Set the result, once."""
        self._future.set_result(result)

    def set_exception(self, result: BaseException) -> None:
        """Set an exception that `wait` raises."""
        self._future.set_exception(result)

    def add_done_callback(self, callback: Callable[[Future[T]], Any]) -> None:
        """Call `callback(self)` when the result is set, or at once if it already is."""
        self._future.add_done_callback(lambda _: callback(self))

    def then(self, callback: Callable[[Future[T]], Any]) -> Future[Any]:
        """Return a future for `callback(self)`, which is called when the result is set."""
        following: Future[Any] = Future()

        def call(done: Future[T]) -> None:
            try:
                following.set_result(callback(done))
            except Exception as e:
                following.set_exception(e)

        self.add_done_callback(call)
        return following


def collect_all(futures: list[Future[Any]]) -> Future[list[Future[Any]]]:
    """Return a future for the list of these futures, which is done when all of them are.

    >>> import minigrad
    >>> both = [minigrad.futures.Future(), minigrad.futures.Future()]
    >>> together = minigrad.futures.collect_all(both)
    >>> both[1].set_result(1); together.done()
    False
    >>> both[0].set_result(0); [done.value() for done in together.wait()]
    [0, 1]
    """
    together: Future[list[Future[Any]]] = Future()
    left = set(range(len(futures)))

    def arrived(i: int) -> None:
        left.discard(i)
        if not left and not together.done():
            together.set_result(futures)

    for i, future in enumerate(futures):
        future.add_done_callback(lambda _, i=i: arrived(i))
    if not futures:
        together.set_result(futures)
    return together


def wait_all(futures: list[Future[Any]]) -> list[Any]:
    """Wait for futures and return their results.

    >>> import minigrad
    >>> future = minigrad.futures.Future()
    >>> future.set_result(1)
    >>> minigrad.futures.wait_all([future])
    [1]
    """
    return [future.wait() for future in futures]
