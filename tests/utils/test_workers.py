"""DataLoader with worker processes: the same batches, clear errors, and no process left behind."""

import gc
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from multiprocessing import resource_tracker
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minigrad as torch
from minigrad.utils.data import DataLoader, IterableDataset, TensorDataset, get_worker_info

from . import samples
from .samples import Fails, Shared, Squares

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are forked")


def lists(loader):
    return [b.tolist() for b in loader]


def children():
    """Return the ids of this process's children, but for the one that multiprocessing keeps for itself where it spawns."""
    tracker = str(resource_tracker._resource_tracker._pid)
    return set(Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split()) - {tracker}


def gone(pids, seconds=20.0):
    """Return whether processes end within a time that is long enough for any machine."""
    end = time.monotonic() + seconds
    while time.monotonic() < end and any(map(running, pids)):
        time.sleep(0.01)
    return not any(map(running, pids))


def running(pid):
    """Return whether a process is alive, and no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.fixture(autouse=True)
def none_left():
    before = children()
    yield
    gc.collect()
    assert gone(children() - before)


@settings(max_examples=12)
@given(st.integers(0, 20), st.integers(1, 7), st.booleans(), st.sampled_from([1, 2]), st.sampled_from([1, 3]))
def test_batches_are_those_of_one_process(n, size, drop_last, workers, ahead):
    rows = torch.arange(2 * n).reshape(n, 2)
    loader = [
        DataLoader(TensorDataset(rows), size, drop_last=drop_last, num_workers=k, prefetch_factor=ahead if k else None)
        for k in (0, workers)
    ]
    assert [[x.tolist() for (x,) in dl] for dl in loader[:1]] == [[x.tolist() for (x,) in dl] for dl in loader[1:]]


@settings(max_examples=8)
@given(st.integers(1, 20), st.integers(1, 7), st.sampled_from([1, 2]), st.booleans())
def test_shuffled_every_sample_comes_once(n, size, workers, in_order):
    loader = DataLoader(range(n), size, shuffle=True, num_workers=workers, in_order=in_order)
    assert sorted([x for batch in lists(loader) for x in batch]) == list(range(n))


def test_large_arrays_arrive_whole_and_can_be_written():
    data = TensorDataset(torch.arange(600_000.0).reshape(6, 100_000), torch.arange(6, dtype=torch.bfloat16))
    for (x, y), (a, b) in zip(DataLoader(data, 4, num_workers=2), DataLoader(data, 4)):
        assert torch.equal(x, a)
        assert torch.equal(y, b)
        x += 1
        assert torch.equal(x, a + 1)


def test_of_a_view_the_part_is_sent_alone():
    (row,) = next(iter(DataLoader(TensorDataset(torch.zeros(1000, 3)), batch_size=None, num_workers=1)))
    assert row._a.nbytes == 12
    assert row._a.base is None or row._a.base.nbytes == 12


def test_a_parameter_stays_one():
    loader = DataLoader([torch.nn.Parameter(torch.ones(2))], batch_size=None, num_workers=1)
    (p,) = loader
    assert type(p) is torch.nn.Parameter
    assert p.requires_grad


# ---------------------------------------------------------------------- workers
def test_workers_compute_with_one_thread_after_the_parent_has_used_several():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    expected = samples.computes(0)[0]  # two threads, in BLAS and in the kernels
    torch.softmax(torch.ones(2000, 1000), 1)
    found = list(DataLoader(Fails(4, samples.computes), 1, sampler=[3, 3], num_workers=2))
    torch.set_num_threads(before)
    assert [(float(x), int(n)) for x, n in found] == [(pytest.approx(float(expected)), 1)] * 2


def info_of(i):
    """Return the worker's info, and its random numbers."""
    info = get_worker_info()
    return (
        info.id,
        info.num_workers,
        info.seed,
        type(info.dataset).__name__,
        int(torch.initial_seed()),
        np.random.rand(),
    )


def test_each_worker_knows_its_number_and_has_its_seed():
    assert get_worker_info() is None
    torch.manual_seed(0)
    base_seed = torch.empty((), dtype=torch.int64).random_().item()
    torch.manual_seed(0)
    found = list(DataLoader(Fails(4, info_of), None, sampler=[3, 3], num_workers=2))
    assert [f[:5] for f in found] == [[k, 2, base_seed + k, "Fails", base_seed + k] for k in (0, 1)]
    assert found[0][5] != found[1][5]


class Offset(Squares):
    by = 0

    def __getitem__(self, i):
        return i + self.by


def shift(worker):
    get_worker_info().dataset.by = 100 * (worker + 1)


def test_worker_init_fn_runs_in_each_worker_first():
    loader = DataLoader(Offset(4), 2, num_workers=2, worker_init_fn=shift)
    assert lists(loader) == [[100, 101], [202, 203]]


def test_an_iterable_dataset_is_shared_by_what_get_worker_info_says():
    for workers in (1, 2, 3):
        loader = DataLoader(Shared(11), 2, num_workers=workers)
        assert sorted([x for b in lists(loader) for x in b]) == list(range(11))


class Whole(IterableDataset):
    def __iter__(self):
        return iter([1, 2])


def test_each_worker_reads_all_of_an_iterable_dataset_that_does_not_ask():
    assert lists(DataLoader(Whole(), None, num_workers=2, collate_fn=torch.tensor)) == [1, 1, 2, 2]


def test_persistent_workers_are_those_of_the_first_pass():
    loader = DataLoader(
        Fails(4, lambda i: os.getpid()), None, sampler=[3, 0, 3, 1], num_workers=2, persistent_workers=True
    )
    first, second = list(loader), list(loader)
    assert first == second
    next(iter(loader))  # and after a pass that was left
    assert list(loader) == first


def test_persistent_workers_begin_an_iterable_dataset_again():
    loader = DataLoader(Shared(5), None, num_workers=2, persistent_workers=True)
    assert list(loader) == list(loader) == [0, 1, 2, 3, 4]


def test_spawned_workers_give_the_same_batches():
    assert lists(DataLoader(Squares(5), 2, num_workers=1, multiprocessing_context="spawn")) == [[0, 1], [4, 9], [16]]


def test_what_cannot_be_given_to_a_spawned_worker_is_named():
    loader = DataLoader(Fails(5, lambda i: i), num_workers=1, multiprocessing_context="spawn")
    with pytest.raises((AttributeError, TypeError, Exception)) as raised:
        next(iter(loader))
    assert "define their classes and functions at the top of a module" in raised.value.__notes__[0]


# ---------------------------------------------------------------------- errors
def test_an_error_in_a_worker_names_worker_sample_and_line():
    loader = DataLoader(Fails(6, samples.misses), 2, num_workers=2)
    with pytest.raises(KeyError) as raised:
        list(loader)
    text = str(raised.value)
    assert "DataLoader: caught KeyError in worker process 1, in dataset[3]" in text
    assert 'return {}["no such key"]' in text  # the worker's own line
    assert f"at {__file__}" in text  # and the loop's


ERRORS = [
    (lambda: Fails(4, samples.adds), dict(), RuntimeError, ["in dataset[3]", "shapes"]),
    (lambda: Fails(4, samples.needs_two), dict(), RuntimeError, ["caught NeedsTwo", "in dataset[3]"]),
    (lambda: Fails(4, samples.gives_a_lambda), dict(batch_size=None), Exception, ["pickling what collate_fn returned"]),
    (lambda: Shared(9, fails=4), dict(num_workers=2), ValueError, ["worker process 0", "after 2 samples", "4 is bad"]),
    (lambda: range(9), dict(collate_fn=lambda batch: 1 / 0), ZeroDivisionError, ["collate_fn of the samples [0]"]),
    (
        lambda: range(9),
        dict(batch_size=2, collate_fn=lambda batch: 1 / 0),
        ZeroDivisionError,
        ["To fix: correct collate_fn;"],
    ),
    (lambda: range(9), dict(worker_init_fn=lambda worker: 1 / 0), ZeroDivisionError, ["worker_init_fn(0)"]),
]


@pytest.mark.parametrize("dataset, options, kind, words", ERRORS, ids=[str(words[0]) for *_, words in ERRORS])
def test_an_error_has_its_type_and_says_what_ran(dataset, options, kind, words):
    with pytest.raises(kind) as raised:
        list(DataLoader(dataset(), **{"num_workers": 1, **options}))
    assert all(word in str(raised.value) for word in words), str(raised.value)


def test_a_local_exception_is_raised_as_the_closest_one_that_is_known():
    class Mine(ValueError):
        pass

    def fails(i):
        raise Mine("mine")

    with pytest.raises(ValueError, match="caught ValueError(?s:.*)Mine: mine"):
        list(DataLoader(Fails(4, fails), num_workers=1))


def test_the_pass_goes_on_after_an_error():
    passes = iter(DataLoader(Fails(6, samples.misses), 1, num_workers=2))
    found = []
    for _ in range(6):
        try:
            found.append(next(passes).tolist())
        except KeyError:
            found.append("error")
    assert found == [[0], [1], [2], "error", [4], [5]]
    assert list(passes) == []


@pytest.mark.parametrize("does, how", [(samples.exits, "exited with code 7"), (samples.is_killed, "killed by SIGKILL")])
def test_a_worker_that_dies_is_an_error_that_names_it(does, how):
    passes = iter(DataLoader(Fails(8, does), 1, num_workers=2))
    pid = passes.pool.processes[1].pid
    with pytest.raises(RuntimeError, match=rf"worker 1 \(pid {pid}\) exited unexpectedly: it was {how}|{how}"):
        list(passes)
    with pytest.raises(RuntimeError, match="workers have stopped"):
        next(passes)


def test_persistent_workers_start_anew_after_one_has_died():
    loader = DataLoader(Squares(4), 2, num_workers=2, persistent_workers=True)
    list(loader)
    os.kill(loader._iterator.pool.processes[0].pid, signal.SIGKILL)
    with pytest.raises(RuntimeError, match="worker 0 .* killed by SIGKILL"):
        list(loader)
    assert lists(loader) == [[0, 1], [4, 9]]


def test_a_batch_that_does_not_come_in_time_is_an_error():
    loader = DataLoader(Fails(4, samples.sleeps), 4, num_workers=1, timeout=0.2)
    with pytest.raises(RuntimeError, match="worker 0 sent no batch for 0.2 seconds"):
        list(loader)
    for process in multiprocessing.active_children():
        process.kill()  # rather than to wait for it


# ---------------------------------------------------------------------- the end
def test_a_loop_that_is_left_leaves_no_process():
    before = children()
    for _ in DataLoader(torch.arange(9_000_000).reshape(90, 100_000), num_workers=2):  # they wait to be read
        pids = children() - before
        break
    gc.collect()
    assert len(pids) == 2
    assert gone(pids)


def test_workers_of_a_loader_inside_anothers_loop_do_not_keep_it_alive():
    outer = iter(DataLoader(torch.arange(3_000_000).reshape(30, 100_000), num_workers=2))
    next(outer)
    inner = DataLoader(Squares(4), num_workers=1, persistent_workers=True)
    next(iter(inner))
    processes = outer.pool.processes
    del outer
    assert [p.exitcode for p in processes] == [0, 0]  # they saw it and left; none was terminated


PROGRAM = """
import os, sys, time
from minigrad.utils.data import DataLoader
from tests.utils.samples import Fails, sleeps

def does(i):
    print(os.getpid(), flush=True)
    time.sleep(SECONDS)

it = iter(DataLoader(Fails(9, does), None, sampler=[0, 0, 3, 3], num_workers=2))
next(it), next(it)
"""


def program(end, busy=60):
    """Start a program with two workers, wait until they are busy for `busy` seconds, and return it and their ids."""
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM.replace("SECONDS", str(busy)) + end],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        text=True,
        preexec_fn=lambda: signal.signal(
            signal.SIGINT, signal.SIG_DFL
        ),  # which a shell ignores for what runs behind it
    )
    return process, [process.stdout.readline().strip() for _ in range(2)]


def test_ctrl_c_ends_all_without_a_heap_of_tracebacks():
    process, pids = program("next(it)")
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    _, complaint = process.communicate(timeout=60)
    assert complaint.count("Traceback") == 1
    assert complaint.rstrip().endswith("KeyboardInterrupt")
    assert gone(pids)


ENDS = ["", *[pytest.param(end, marks=pytest.mark.slow) for end in ("sys.exit(3)", "raise ValueError('mine')")]]


@pytest.mark.parametrize("end", ENDS)
def test_the_end_of_the_program_ends_the_workers(end):
    process, pids = program(end)
    _, complaint = process.communicate(timeout=60)
    assert "Exception ignored" not in complaint
    assert ("Traceback" in complaint) == ("mine" in end)
    assert gone(pids)


def test_workers_of_a_killed_program_end():
    process, pids = program("time.sleep(60)", busy=0)
    process.kill()
    process.communicate()
    assert gone(pids)
