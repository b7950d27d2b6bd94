"""Timer, Measurement and Compare, with a clock that the tests turn."""

import pytest

import minigrad as torch
from minigrad.utils.benchmark import Compare, Measurement, TaskSpec, Timer


class Clock:
    """A clock that each call of `work` moves on by the next of `steps` seconds; it stands still otherwise."""

    def __init__(self, *steps):
        self.now, self.steps, self.calls = 0.0, steps, 0

    def __call__(self):
        return self.now

    def work(self):
        self.now += self.steps[self.calls % len(self.steps)]
        self.calls += 1


def timed(clock, **options):
    return Timer("work()", timer=clock, globals={"work": clock.work}, **options)


def test_timeit_runs_as_often_as_it_is_told_after_a_block_that_warms_up():
    clock = Clock(0.5)
    found = timed(clock).timeit(300)
    assert (clock.calls, found.number_per_run, found.times) == (303, 300, [0.5])


def test_blocks_are_as_long_as_the_clock_needs_and_take_the_time_together():
    found = timed(Clock(1e-6)).blocked_autorange(min_run_time=0.5)
    assert found.number_per_run == 1000  # a thousandth of the time
    assert len(found.raw_times) in (500, 501)  # as sums of floats go
    assert found.median == pytest.approx(1e-6)


def test_it_goes_on_until_the_times_are_steady():
    clock = Clock(*[1.0, 3.0] * 4, *[1.0] * 40)
    found = timed(clock).adaptive_autorange(max_run_time=1000)
    assert found.iqr / found.median < 0.1
    assert timed(Clock(1.0, 3.0)).adaptive_autorange(max_run_time=20).has_warnings  # never: it stops for the time


def test_the_callback_is_told_of_each_block():
    told = []
    found = timed(Clock(0.1)).blocked_autorange(lambda n, seconds: told.append((n, seconds)), 0.25)
    assert told == [(1, t) for t in found.raw_times]
    assert len(told) == 3


def test_the_statement_runs_with_the_threads_that_are_asked_for_and_sees_minigrad():
    before, seen = torch.get_num_threads(), []
    Timer("seen.append((torch.get_num_threads(), torch))", globals={"seen": seen}, num_threads=3).timeit(1)
    assert set(seen) == {(3, torch)}
    assert torch.get_num_threads() == before


def test_statements_of_several_lines_are_moved_to_the_left():
    timer = Timer(
        """
        x = y + 1
        x + 1
        """,
        """
        y = 1
        """,
    )
    spec = timer.timeit(2).task_spec
    assert (spec.stmt, spec.setup) == ("x = y + 1\nx + 1", "y = 1")
    assert "stmt:\n  x = y + 1\n  x + 1" in repr(timer.timeit(2))


def test_a_measurement_says_what_was_measured_and_how_sure_it_is():
    spec = TaskSpec("f(x)", "x = 1", label="f", sub_label="small", description="eager", num_threads=2)
    m = Measurement(10, [1e-5, 2e-5, 3e-5, 4e-5], spec)
    assert repr(m).splitlines()[1:] == [
        "f: small",
        "eager",
        "setup: x = 1",
        "  Median: 2.50 us",
        "  IQR:    1.50 us (1.75 to 3.25)",
        "  4 measurements, 10 runs per measurement, 2 threads",
        "  WARNING: Interquartile range is 60.0% of the median measurement.",
        "           This suggests significant environmental influence.",
    ]
    assert (m.label, m.num_threads, m.description) == ("f", 2, "eager")
    with pytest.raises(AttributeError, match="no attribute 'colour'"):
        m.colour  # noqa: B018


REFUSED = [
    (lambda: Timer(torch.exp), "got builtin_function_or_method|got function"),
    (lambda: Timer("f()", language="c++"), "only Python is timed"),
    (lambda: Compare([1.0]), "expected a Measurement, got float"),
]


@pytest.mark.parametrize("call, words", REFUSED, ids=[words for _, words in REFUSED])
def test_what_cannot_be_timed_or_compared_is_refused(call, words):
    with pytest.raises(ValueError, match=f"({words})(?s:.*)To fix: "):
        call()


def test_a_table_has_rows_for_sizes_and_columns_for_descriptions():
    made = [
        Measurement(1, [t], TaskSpec("f()", "", label="sum", sub_label=size, description=how))
        for size, how, t in [("3", "eager", 2e-6), ("3", "compiled", 1e-6), ("300", "eager", 15e-6)]
    ]
    table = Compare(made)
    assert str(table).splitlines() == [
        "[------------ sum -------------]",
        "           |  eager  |  compiled",
        "1 threads: ---------------------",
        "      3    |    2.0  |    1.0   ",
        "      300  |   15.0  |          ",
        "",
        "Times are in microseconds (us).",
    ]
