"""torch.futures: results come once, to those that wait and to those that asked to be called."""

import threading

import pytest

import minigrad
from minigrad.compat.futures import Future, collect_all, wait_all


def test_a_result_from_another_thread_is_waited_for():
    future = Future()
    threading.Timer(0.05, future.set_result, [minigrad.ones(2)]).start()
    assert future.wait() is future.value() and future.done()


def test_exceptions_reach_those_that_wait_and_those_that_follow():
    future = Future()
    after = future.then(lambda done: done.value())
    future.set_exception(KeyError("lost"))
    for waiting in (future, after, collect_all([after]).wait()[0]):
        with pytest.raises(KeyError):
            waiting.wait()


@pytest.mark.parametrize("when", ["before", "after"])
def test_callbacks_are_called_once_whether_they_came_before_the_result_or_after(when):
    future, seen = Future(), []
    if when == "after":
        future.set_result(1)
    future.add_done_callback(lambda done: seen.append(done.value()))
    if when == "before":
        future.set_result(1)
    assert seen == [1]


def test_all_results_are_collected_in_order():
    assert collect_all([]).wait() == wait_all([]) == []
    futures = [Future() for _ in range(3)]
    together = collect_all(futures)
    for i in (2, 0, 1):
        assert not together.done()
        futures[i].set_result(i)
    assert together.wait() == futures and wait_all(futures) == [0, 1, 2]
