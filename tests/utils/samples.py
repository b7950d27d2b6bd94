"""Datasets for the tests of loaders."""

import minigrad
from minigrad.utils.data import Dataset, IterableDataset


class Squares(Dataset):
    """i * i as a tensor."""

    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        return minigrad.tensor(i) * i


class Shared(IterableDataset):
    """The numbers below n."""

    def __init__(self, n):
        self.n = n

    def __iter__(self):
        return iter(range(self.n))
