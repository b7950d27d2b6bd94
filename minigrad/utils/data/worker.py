"""Fetching batches, in this process or in a worker, and a worker's information about itself.

A `Fetcher` makes batches from a dataset.  `work` is the main function of a worker process: it takes tasks from its pipe,
fetches, and sends back a batch, a `Failure` or `Ended`.  worker_pool.py starts it, batch_transfer.py sends the batches.
"""

from __future__ import annotations

import os
import pickle
import queue
import random
import re
import signal
import traceback
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from threading import Thread
from typing import Any

import numpy as np

from ...core.tensor import Tensor
from ...errors import MinigradError, error
from ...kernels.threads import set_num_threads
from ...ops.from_data import tensor
from ...ops.generator import manual_seed
from ...places import users_part
from .batch_transfer import Packed, packed, send
from .collate import collate_tensors, default_collate, default_collate_fn_map
from .dataset import IterableDataset, Subset, TensorDataset

CHECK = 5.0  # seconds between two checks that the other side is alive
AGAIN = "begin another pass"
ours: weakref.WeakSet[Connection] = weakref.WeakSet()  # this process's ends of the pipes to its workers


# ---------------------------------------------------------------------- fetching
class Fetcher:
    """Makes batches from the samples at given indices, or from the next ones of an IterableDataset.

    `doing()` describes the current step, for the message if it fails.
    """

    def __init__(self, dataset: Any, batched: bool, collate_fn: Callable, drop_last: bool):
        self.dataset, self.batched, self.collate_fn, self.drop_last = dataset, batched, collate_fn, drop_last
        self.iterable, self.yielded = isinstance(dataset, IterableDataset), 0
        self.at: tuple = ("iter(dataset)",)
        self.iterator = iter(dataset) if self.iterable else iter(())

    def doing(self) -> str:
        """Describe the current step."""
        return self.at[0].format(*[short(x) for x in self.at[1:]])

    def fetch(self, index: Any) -> Any:
        """Return the batch for a list of indices, or the sample at one.  Raises StopIteration when an iterable ends."""
        if self.batched and self.collate_fn is default_collate and (rows := rows_of(self.dataset, index)) is not None:
            return rows
        data = self.next_samples(index) if self.iterable else self.samples(index)
        self.at = ("collate_fn of the samples {}" if self.batched else "collate_fn of sample {}", index)
        if self.iterable:
            self.at = ("collate_fn, after {} samples", self.yielded)
        return self.collate_fn(data)

    def samples(self, index: Any) -> Any:
        """Return the samples at indices."""
        if self.batched and callable(at := getattr(self.dataset, "__getitems__", None)):
            self.at = ("dataset.__getitems__({})", index)
            return at(index)
        found = []
        for i in index if self.batched else (index,):
            self.at = ("dataset[{}]", i)
            found.append(self.dataset[i])
        return found if self.batched else found[0]

    def next_samples(self, index: Any) -> Any:
        """Return the next samples of the iterable, as many as there are indices."""
        wanted, found = len(index) if self.batched else 1, []
        for _ in range(wanted):
            self.at = ("next(iter(dataset)), after {} samples", self.yielded)
            try:
                found.append(next(self.iterator))
            except StopIteration:
                self.iterator = iter(())  # do not ask it again
                break
            self.yielded += 1
        if not found or self.drop_last and len(found) < wanted:
            raise StopIteration
        return found if self.batched else found[0]


def rows_of(dataset: Any, indices: list) -> list[Tensor] | None:
    """Return the batch of rows of tensors, which default_collate would stack one by one; None for anything else."""
    if type(dataset) is Subset and all([type(i) is int and 0 <= i < len(dataset.indices) for i in indices]):
        return rows_of(dataset.dataset, [dataset.indices[i] for i in indices])
    if type(dataset) is not TensorDataset or default_collate_fn_map[Tensor] is not collate_tensors:
        return None
    if any([type(t) is not Tensor or t.requires_grad for t in dataset.tensors]):
        return None
    n = len(dataset)
    if not all([type(i) is int and 0 <= i < n for i in indices]):
        return None
    chosen = tensor(indices)
    return [t[chosen] for t in dataset.tensors]


def short(index: Any) -> str:
    """Return an index or a list of them as text, shortened if it is long."""
    if not isinstance(index, list) or len(index) <= 8:
        return repr(index)
    return f"[{', '.join(map(repr, index[:6]))}, ...], {len(index)} in all"


# ---------------------------------------------------------------------- a worker's information about itself
@dataclass(frozen=True)
class WorkerInfo:
    """A worker's number, the number of workers, its seed, and its copy of the dataset."""

    id: int
    num_workers: int
    seed: int
    dataset: Any


_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """Return a DataLoader worker's `id`, `num_workers`, `seed` and `dataset`; None outside a worker.

    >>> from minigrad.utils.data import get_worker_info
    >>> get_worker_info() is None
    True
    """
    return _info


# ---------------------------------------------------------------------- results that are not batches
class Ended:
    """Marks the end of a worker's IterableDataset."""


@dataclass
class Failure:
    """A worker's exception, in a form that can be sent."""

    kind: type[Exception]
    text: str
    doing: str
    worker: int

    def error(self) -> Exception:
        """Return the exception to raise in the DataLoader's process, of the same type if that accepts a message."""
        what = f"caught {self.kind.__name__} in worker process {self.worker}, in {self.doing}"
        notes = ["The worker's traceback:", *self.text.rstrip().splitlines()]
        at_fault = re.split(" of |, after", self.doing)[0]
        fix = f"correct {at_fault}; with num_workers=0 it fails in this process, where a debugger can stop"
        try:
            return error(self.kind, "DataLoader", what, fix, notes=notes)
        except Exception:  # the class takes other arguments than a message
            return error(RuntimeError, "DataLoader", what, fix, notes=notes)


def failure(e: Exception, doing: str, worker: int) -> Failure:
    """Return the Failure for an exception, with its closest type that another process knows too."""
    kind: Any = next(filter(is_known, type(e).__mro__))
    text = "".join(traceback.format_exception(type(e), e, users_part(e.__traceback__) or e.__traceback__))
    return Failure(kind if kind is not MinigradError else RuntimeError, text, doing, worker)


def is_known(kind: type) -> bool:
    """Return True if another process can import a class; it cannot if a function defines the class."""
    try:
        return bool(pickle.dumps(kind))
    except Exception:
        return False


# ---------------------------------------------------------------------- the process
@dataclass
class Job:
    """The arguments of a worker."""

    dataset: Any
    batched: bool
    collate_fn: Callable
    drop_last: bool
    init: Callable[[int], Any] | None
    base_seed: int
    worker: int
    workers: int


def work(job: Job, pipe: Connection) -> None:
    """Run a worker: fetch the requested batches and send them, until the pipe is closed."""
    begin(job)
    tasks: queue.SimpleQueue = queue.SimpleQueue()
    results: queue.SimpleQueue = queue.SimpleQueue()
    # separate threads: neither side ever waits for the other to read, and fetching continues while a batch is sent
    Thread(target=take_tasks, args=(pipe, tasks), daemon=True).start()
    Thread(target=send_results, args=(pipe, results), daemon=True).start()
    failed = fetcher = None
    try:
        if job.init is not None:
            job.init(job.worker)
    except Exception as e:
        failed = failure(e, f"worker_init_fn({job.worker})", job.worker)
    while (task := tasks.get()) is not None:
        if task == AGAIN:
            fetcher = None
        elif failed is not None:
            results.put(packed(failed))
        else:
            fetcher = answer(job, fetcher, task[0], results)


def answer(job: Job, fetcher: Fetcher | None, index: Any, results: queue.SimpleQueue) -> Fetcher | None:
    """Put the batch of an index, or a failure, among the results; return the fetcher, created if None."""
    doing = None
    try:
        fetcher = fetcher or Fetcher(job.dataset, job.batched, job.collate_fn, job.drop_last)
        try:
            batch = fetcher.fetch(index)
        except StopIteration:
            if not fetcher.iterable:
                raise
            batch = Ended()
        doing = "pickling what collate_fn returned"
        results.put(packed(batch))
    except Exception as e:
        results.put(packed(failure(e, doing or (fetcher.doing() if fetcher else "iter(dataset)"), job.worker)))
    return fetcher


def begin(job: Job) -> None:
    """Make this process a worker: set its seeds, its info and one thread; leave Ctrl-C to the parent."""
    global _info
    for pipe in list(ours):  # copied by a fork: earlier workers would not notice that the parent closes its end
        pipe.close()
    signal.signal(signal.SIGINT, lambda *_: None)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})  # worker_pool.py blocked it
    set_num_threads(1)
    seed = job.base_seed + job.worker
    random.seed(seed)
    manual_seed(seed)
    words = [job.worker, job.base_seed & 0xFFFFFFFF, job.base_seed >> 32, 0]
    np.random.seed(np.random.SeedSequence(words).generate_state(4))  # PyTorch's way, for unrelated streams
    _info = WorkerInfo(job.worker, job.workers, seed, job.dataset)


def take_tasks(pipe: Connection, tasks: queue.SimpleQueue) -> None:
    """Take tasks from the pipe until the parent closes it or dies."""
    parent = os.getppid()
    try:
        while True:
            if pipe.poll(CHECK):
                tasks.put(pipe.recv())
            elif os.getppid() != parent:  # killed, while another process holds its end of the pipe
                break
    except (EOFError, OSError):
        pass
    tasks.put(None)


def send_results(pipe: Connection, results: queue.SimpleQueue) -> None:
    """Send results as they arrive."""
    while True:
        result: Packed = results.get()
        try:
            send(pipe, result)
        except OSError:  # the parent has continued without it
            return
