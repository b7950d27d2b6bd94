"""Captures and compiled programs keep no tensor longer than they need it."""

import gc
import tracemalloc
import weakref

import pytest

import minigrad as torch
from minigrad import compile
from minigrad.compile.specialization import Specialisation

F = torch.nn.functional


class Counter:
    calls = 0


def test_nothing_of_the_first_call_is_kept():
    counter = Counter()

    def f(x, k):
        y = (x * 2).detach() + counter.calls
        return y.sum().item(), k + 1, y

    c = compile(f, fullgraph=True)
    for k in range(3):
        counter.calls = k
        given = torch.ones(5) * k
        seen = [weakref.ref(given), weakref.ref(c(given, k)[2])]
        del given
        gc.collect()
        assert [one() for one in seen] == [None] * 2


@pytest.mark.cpu("tracemalloc sees the computer's memory")
def test_nothing_of_a_capture_is_kept():
    def f(x, k):
        return (x.sin() * x.cos() * k).sum().item() + k

    c, x = compile(f, fullgraph=True), torch.ones(1000, 1000)
    tracemalloc.start()
    try:
        made = Specialisation(c, (x, 2), {})  # runs nothing yet
        gc.collect()
        assert tracemalloc.get_traced_memory()[0] < 1.5 * x._a.nbytes  # an example of the argument, for graph()
    finally:
        tracemalloc.stop()
    assert made.results


@pytest.mark.cpu("tracemalloc sees the computer's memory")
def test_a_capture_waits_for_no_collector():
    def f(x, k):
        for _ in range(20):
            x = (x * k).sin()
        return x

    compile(f, fullgraph=True)(torch.ones(3), 2.0)  # imports what writes programs
    c, x = compile(f, fullgraph=True), torch.ones(1000, 1000)
    gc.collect()
    gc.disable()
    tracemalloc.start()
    try:
        Specialisation(c, (x, 2.0), {})
        kept, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
        gc.enable()
    assert kept < 1.5 * x._a.nbytes  # an example of the argument
    assert most < 60 * x._a.nbytes  # the 40 results of the capture


@pytest.mark.cpu("tracemalloc sees the computer's memory")
def test_between_compiled_parts_nothing_is_kept_that_is_not_needed_any_more():
    def f(x):
        for _ in range(10):
            x = x.sin().cumsum(0)  # no rule: a call
        return x

    c, x = compile(f, fullgraph=True), torch.ones(1000, 100)
    c(x)
    tracemalloc.start()
    try:
        c(x)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert c.source().count("call(") == 10
    assert most < 5 * x._a.nbytes
