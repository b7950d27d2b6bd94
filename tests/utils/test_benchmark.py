"""utils.benchmark: what a Timer runs, what its measurements say, and tables of them. No test depends on a time."""

import pickle

import pytest

import minigrad
from minigrad.utils.benchmark import Compare, Measurement, TaskSpec, Timer


class Clock:
    """A clock whose statements take a second each."""

    now = 0.0

    def __call__(self):
        return self.now

    def tick(self):
        self.now += 1.0


def timer(**options):
    clock = Clock()
    return Timer("clock.tick()", globals={"clock": clock}, timer=clock, **options)


def test_timeit_measures_one_block_after_a_warm_up():
    m = timer().timeit(5)
    assert (m.number_per_run, m.raw_times, m.times, m.mean, m.median, m.iqr) == (5, [5.0], [1.0], 1.0, 1.0, 0.0)
    assert m.stmt == "clock.tick()" and m.num_threads == 1 and not m.has_warnings


def test_blocked_autorange_measures_blocks_for_a_time_and_calls_back():
    blocks = []
    m = timer().blocked_autorange(callback=lambda runs, seconds: blocks.append((runs, seconds)), min_run_time=3.0)
    assert m.raw_times == [1.0, 1.0, 1.0] and blocks == [(1, 1.0)] * 3


def test_adaptive_autorange_ends_when_the_times_are_steady():
    assert len(timer().adaptive_autorange(min_run_time=0.1).raw_times) == 4


def test_statements_see_globals_setup_and_torch():
    m = Timer("z = f(x)", "\n    x = torch.ones(3)\n", globals={"f": lambda x: x + 1}).timeit(2)
    assert (m.stmt, m.setup) == ("z = f(x)", "x = torch.ones(3)")
    with pytest.raises(NameError):
        Timer("y").timeit(1)


def test_threads_are_those_that_were_asked_for_and_restored():
    seen, before = [], minigrad.get_num_threads()
    Timer("seen.append(torch.get_num_threads())", globals={"seen": seen}, num_threads=1).timeit(1)
    assert set(seen) == {1} and minigrad.get_num_threads() == before


def test_a_measurement_prints_title_median_and_warnings():
    spec = TaskSpec("f(x)", "x = 1", label="sum", sub_label="small", description="eager", num_threads=2)
    text = repr(Measurement(10, [1e-5, 2e-5, 3e-5, 9e-5], spec))
    assert "sum: small\neager\nsetup: x = 1\n  Median: 2.50 us\n  IQR:" in text
    assert "4 measurements, 10 runs per measurement, 2 threads\n  WARNING: Interquartile range" in text
    assert "  2.00 ms\n  1 measurement, 1 runs, 1 thread" in repr(Measurement(1, [2e-3], TaskSpec("g()", "")))


def test_measurements_can_be_pickled_and_compared_later():
    spec = TaskSpec("f()", "", sub_label="a", description="now")
    again = pickle.loads(pickle.dumps([Measurement(1, [2e-3], spec), Measurement(1, [4e-3], spec)]))
    table = Compare(again)
    table.trim_significant_figures()
    table.colorize()
    assert "\033[32m" in str(table) and "3" in str(table) and str(table).endswith("Times are in ms.")


def test_rows_are_sub_labels_columns_descriptions_and_a_missing_cell_is_empty():
    spec = lambda row, column, n: TaskSpec("f()", "", sub_label=row, description=column, num_threads=n)
    found = [Measurement(1, [1.0], spec("a", "x", 1)), Measurement(1, [2.0], spec("b", "y", 4))]
    lines = str(Compare(found)).splitlines()
    assert [line.partition("  |")[0].strip() for line in lines] == [
        "[]",
        "",
        "1 threads",
        "a",
        "4 threads",
        "b",
        "Times are in s.",
    ]
    assert lines[1].split() == ["|", "x", "|", "y"] and lines[3].endswith("1.0  |")


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Timer(lambda: 1), "stmt has to be a string, got function"),
        (lambda: Timer("x * y;", language="c++"), "only Python is timed, got language='c\\+\\+'"),
        (lambda: Compare([1.0]), "expected a Measurement, got float"),
    ],
)
def test_wrong_arguments_are_named(make, says):
    with pytest.raises(ValueError, match=says):
        make()
