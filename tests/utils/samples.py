"""Datasets at the top of a module, where spawned workers find them."""

import os
import time

import minigrad
from minigrad.utils.data import Dataset, IterableDataset, get_worker_info


class Squares(Dataset):
    """i * i as a tensor."""

    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        return minigrad.tensor(i) * i


class Fails(Squares):
    """Does something else at index 3: `does(i)`."""

    def __init__(self, n, does):
        super().__init__(n)
        self.does = does

    def __getitem__(self, i):
        return self.does(i) if i == 3 else i


class Shared(IterableDataset):
    """The numbers below n, of which each worker gives its share; at `fails` it raises ValueError."""

    def __init__(self, n, fails=None):
        self.n, self.fails = n, fails

    def __iter__(self):
        info = get_worker_info()
        for i in range(self.n) if info is None else range(info.id, self.n, info.num_workers):
            if i == self.fails:
                raise ValueError(f"{i} is bad")
            yield i


class NeedsTwo(Exception):
    """An exception that cannot be made of a message alone."""

    def __init__(self, a, b):
        super().__init__(a, b)


def sleeps(i):
    """Take longer than any test."""
    time.sleep(60)


def exits(i):
    """Leave without a word."""
    os._exit(7)


def is_killed(i):
    """Be killed, as by a system without memory."""
    os.kill(os.getpid(), 9)


def needs_two(i):
    """Raise what cannot be made again."""
    raise NeedsTwo(1, 2)


def misses(i):
    """Raise a KeyError."""
    return {}["no such key"]


def adds(i):
    """Raise minigrad's own error."""
    return minigrad.ones(2) + minigrad.ones(3)


def computes(i):
    """Compute with kernels and BLAS."""
    a = minigrad.ones(600, 600)
    return minigrad.softmax(a @ a, 1).sum(), minigrad.get_num_threads()


def gives_a_lambda(i):
    """Give what cannot be pickled."""
    return lambda: i
