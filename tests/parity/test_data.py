"""torch.utils.data: the same batches, lengths and errors, and random numbers drawn as often and in the same order."""

import importlib
import itertools
import warnings

import numpy as np
import pytest
import torch

import minigrad
from tests.utils import test_dataloader

BOTH = [minigrad, torch]


def data(module):
    return importlib.import_module(f"{module.__name__}.utils.data")


# ---------------------------------------------------------------------- random numbers
class Draws:
    """Patches what both libraries draw with: it counts up, and notes each draw and whether it was the default generator's."""

    def __init__(self, module, monkeypatch):
        self.log, self.seeds, self.default = [], itertools.count(1000), module.default_generator
        for name in ("randperm", "randint", "multinomial"):
            self.replace(module, monkeypatch, name)
        monkeypatch.setattr(module.Tensor, "random_", self.random_(module))

    def note(self, name, generator, *facts):
        """Note a draw; the number that stands for the generator's state."""
        seed = None if generator in (None, self.default) else generator.initial_seed()
        self.log.append((name, seed, *facts))
        return next(self.seeds) if seed is None else seed

    def random_(self, module):
        def draw(t, *, generator=None):
            return t.fill_(self.note("random_", generator))

        return draw

    def replace(self, module, monkeypatch, name):
        def randperm(n, *, generator=None, device=None):
            seed = self.note(name, generator, n)
            return module.tensor(np.random.RandomState(seed).permutation(n), dtype=module.int64)

        def randint(high, size, *, generator=None, dtype=None, device=None):
            seed = self.note(name, generator, high, tuple(size))
            return module.tensor(np.random.RandomState(seed).randint(0, high, size), dtype=module.int64)

        def multinomial(weights, n, replacement, generator=None):
            seed = self.note(name, generator, tuple(weights.shape), n, replacement)
            return module.tensor(np.random.RandomState(seed).permutation(n), dtype=module.int64)

        new = {"randperm": randperm, "randint": randint, "multinomial": multinomial}[name]
        files = [importlib.import_module(f"{module.__name__}.utils.data.{file}") for file in ("sampler", "dataset")]
        for where in (module, *files):
            if hasattr(where, name):
                monkeypatch.setattr(where, name, new)


def generator(module, seed=5):
    return module.Generator().manual_seed(seed)


class Drawing:
    """A sampler that draws when it is asked for its iterator."""

    def __init__(self, module):
        self.module = module

    def __iter__(self):
        return iter([int(self.module.empty((), dtype=self.module.int64).random_()) % 4 for _ in range(2)])


PASSES = {
    "in order": lambda d, m: d.DataLoader(range(7), 2),
    "shuffled": lambda d, m: d.DataLoader(range(7), 2, shuffle=True),
    "shuffled, drop_last": lambda d, m: d.DataLoader(range(7), 2, shuffle=True, drop_last=True),
    "shuffled by a generator": lambda d, m: d.DataLoader(range(7), 2, shuffle=True, generator=generator(m)),
    "shuffled by workers": lambda d, m: d.DataLoader(range(9), 2, shuffle=True, num_workers=2),
    "shuffled by workers that persist": lambda d, m: d.DataLoader(
        range(9), 2, shuffle=True, num_workers=2, persistent_workers=True
    ),
    "single samples": lambda d, m: d.DataLoader(range(5), None, shuffle=True),
    "with replacement": lambda d, m: d.DataLoader(range(70), 8, sampler=d.RandomSampler(range(70), True)),
    "more than there are": lambda d, m: d.DataLoader(range(5), 2, sampler=d.RandomSampler(range(5), num_samples=12)),
    "a subset": lambda d, m: d.DataLoader(range(5), 2, sampler=d.SubsetRandomSampler([4, 2, 1])),
    "weighted": lambda d, m: d.DataLoader(range(5), 2, sampler=d.WeightedRandomSampler([1, 2, 3.0], 3)),
    "a sampler that draws": lambda d, m: d.DataLoader(range(5), None, sampler=Drawing(m)),
    "a sampler that draws, for workers": lambda d, m: d.DataLoader(range(5), None, sampler=Drawing(m), num_workers=1),
    "split": lambda d, m: d.DataLoader(d.random_split(range(9), [0.5, 0.5])[0], 2, shuffle=True),
}


@pytest.mark.parametrize("make", PASSES.values(), ids=PASSES)
def test_numbers_are_drawn_in_pytorchs_order(make):
    found = []
    for module in BOTH:
        with pytest.MonkeyPatch.context() as patch:
            draws = Draws(module, patch)
            loader = make(data(module), module)
            passes = [[np.asarray(b).tolist() for b in loader] for _ in range(2)]
            begun = iter(loader)  # the draws of a pass that is not gone through
            del begun
            found.append((passes, draws.log))
    assert found[0] == found[1]


class Seeds:
    """Each sample is what its worker draws from the other generators."""

    def __getitem__(self, i):
        import random

        return random.random(), float(np.random.rand())


def test_python_and_numpy_draw_pytorchs_numbers_in_workers():
    found = []
    for module in BOTH:
        with pytest.MonkeyPatch.context() as patch:
            Draws(module, patch)
            found.append(list(data(module).DataLoader(Seeds(), None, sampler=[0, 1], num_workers=2)))
    assert found[0] == found[1]


# ---------------------------------------------------------------------- errors
LOADERS = [case for case in test_dataloader.REFUSED if case[0] != {"num_workers": 1.0}]  # which is an error later there


@pytest.mark.parametrize(
    "options, kind, words", LOADERS, ids=[f"{kind.__name__}: {words}" for _, kind, words in LOADERS]
)
def test_the_loaders_errors_are_of_pytorchs_type(options, kind, words):
    class Numbers(torch.utils.data.IterableDataset):
        def __iter__(self):
            return iter([1])

    if isinstance(options.get("dataset"), minigrad.utils.data.IterableDataset):
        options = {**options, "dataset": Numbers()}
    with pytest.raises(kind):
        torch.utils.data.DataLoader(**{"dataset": range(3), **options})


CALLS = [
    ("TensorDataset(torch.ones(3), torch.ones(4))", AssertionError),
    ("ConcatDataset([])", AssertionError),
    ("ConcatDataset([[1], [2]])[2]", IndexError),
    ("ConcatDataset([[1], [2]])[-3]", ValueError),
    ("random_split(range(5), [1, 2])", ValueError),
    ("random_split(range(5), [1.5, -0.5])", ValueError),
    ("Dataset()[0]", NotImplementedError),
    ("RandomSampler([1], replacement=1)", TypeError),
    ("RandomSampler([])", ValueError),
    ("WeightedRandomSampler([1.0], True)", ValueError),
    ("WeightedRandomSampler([[1.0]], 1)", ValueError),
    ("BatchSampler([1], 0, False)", ValueError),
    ("BatchSampler([1], 2, None)", ValueError),
    ("iter(Sampler())", NotImplementedError),
    ("iter(DataLoader([1], timeout=1))", AssertionError),
    ("iter(DataLoader([1], num_workers=1, prefetch_factor=0))", AssertionError),
    ("default_collate([None])", TypeError),
    ("default_collate([[1], [1, 2]])", RuntimeError),
    ("default_collate([torch.ones(1), torch.ones(2)])", RuntimeError),
    ("default_collate([{'a': 1}, {}])", KeyError),
]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # PyTorch, of a pass half begun
@pytest.mark.parametrize("call, kind", CALLS, ids=[call for call, _ in CALLS])
def test_errors_are_of_pytorchs_type(call, kind):
    for module in BOTH:
        with pytest.raises(kind):
            eval(call, {"torch": module, **vars(data(module))})


# ---------------------------------------------------------------------- batches
@pytest.mark.parametrize(
    "batch, expected", test_dataloader.COLLATED, ids=[repr(b) for b, _ in test_dataloader.COLLATED]
)
def test_batches_are_pytorchs(batch, expected):
    def theirs(x):
        """Return the sample with PyTorch's tensors."""
        if isinstance(x, minigrad.Tensor):
            return torch.from_numpy(x.numpy())
        return type(x)(map(theirs, x)) if type(x) in (list, tuple) else x

    compare(expected, data(torch).default_collate(theirs(batch)))


@pytest.mark.parametrize(
    "sample, expected", test_dataloader.CONVERTED, ids=[repr(s) for s, _ in test_dataloader.CONVERTED]
)
def test_converted_samples_are_pytorchs(sample, expected):
    compare(expected, data(torch).default_convert(sample))


def compare(a, b):
    """Return whether both have the same structure, and tensors the same dtype and numbers."""
    if isinstance(a, minigrad.Tensor):
        assert str(a.dtype).partition(".")[2] == str(b.dtype).partition(".")[2]
        assert a.tolist() == b.tolist()
        return
    assert type(a) is type(b)
    if isinstance(a, dict):
        assert list(a) == list(b)
        a, b = list(a.values()), list(b.values())
    if isinstance(a, (list, tuple)):
        assert len(a) == len(b)
        for x, y in zip(a, b):
            compare(x, y)
    else:
        assert a == b


@pytest.mark.parametrize("workers", [2, 3])
@pytest.mark.parametrize("size", [None, 2])
def test_workers_take_turns_as_pytorchs_do(workers, size):
    def dataset(module):
        class Uneven(data(module).IterableDataset):
            def __iter__(self):
                number = data(module).get_worker_info().id
                return iter([10 * number + i for i in range(1 + 3 * number)])

        return Uneven()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of more workers than processors
        found = [
            [np.asarray(b).tolist() for b in data(m).DataLoader(dataset(m), size, num_workers=workers)] for m in BOTH
        ]
    assert found[0] == found[1]


def test_public_names_are_pytorchs():
    left_out = {  # the pipes that PyTorch has given up, and two datasets
        "ChainDataset", "StackDataset",
        "functional_datapipe", "guaranteed_datapipes_determinism", "runtime_validation",
        "runtime_validation_disabled", "argument_validation", "non_deterministic",
        "DataChunk", "_DatasetKind", *[n for n in torch.utils.data.__all__ if "DataPipe" in n or "DFI" in n],
    }  # fmt: skip
    assert set(data(minigrad).__all__) == set(torch.utils.data.__all__) - left_out
