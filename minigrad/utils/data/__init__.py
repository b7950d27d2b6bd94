"""Datasets, samplers and the DataLoader: torch.utils.data's names.

A dataset returns samples, a sampler chooses their order, `collate_fn` combines several into a batch, and a DataLoader joins
the three.  The parts are in dataset.py, sampler.py, distributed.py and collate.py; dataloader.py joins them.  worker.py and
worker_pool.py run them in other processes; batch_transfer.py sends the batches back.
"""

from ...diagnose.boundary import guard as _guard
from .collate import default_collate, default_convert
from .dataloader import DataLoader
from .dataset import (
    ConcatDataset,
    Dataset,
    IterableDataset,
    Subset,
    TensorDataset,
    random_split,
)
from .distributed import DistributedSampler
from .sampler import (
    BatchSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)
from .worker import get_worker_info

__all__ = [
    "BatchSampler",
    "ConcatDataset",
    "DataLoader",
    "Dataset",
    "DistributedSampler",
    "IterableDataset",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "Subset",
    "SubsetRandomSampler",
    "TensorDataset",
    "WeightedRandomSampler",
    "default_collate",
    "default_convert",
    "get_worker_info",
    "random_split",
]

_guard(__name__)
