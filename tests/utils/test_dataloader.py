"""DataLoader in one process, and collating."""

from collections import OrderedDict, defaultdict, namedtuple
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minigrad as torch
from minigrad.utils.data import (
    BatchSampler,
    DataLoader,
    Subset,
    TensorDataset,
    default_collate,
    default_convert,
    pin_memory,
)
from minigrad.utils.data.collate import collate, default_collate_fn_map

from .samples import Shared, Squares

Point = namedtuple("Point", ["x", "y"])


def lists(loader):
    return [b.tolist() for b in loader]


@given(st.integers(0, 30), st.integers(1, 9), st.booleans())
def test_batches_are_slices(n, size, drop_last):
    rows = torch.arange(2 * n).reshape(n, 2)
    loader = DataLoader(TensorDataset(rows), batch_size=size, drop_last=drop_last)
    expected = [rows[i : i + size].tolist() for i in range(0, n, size)]
    if drop_last:
        expected = [b for b in expected if len(b) == size]
    assert [x.tolist() for (x,) in loader] == expected
    assert len(loader) == len(expected)
    assert lists(DataLoader(Shared(n), size, drop_last=drop_last)) == [[r[0] // 2 for r in b] for b in expected]


@given(st.integers(1, 30), st.integers(1, 9))
def test_shuffled_every_sample_comes_once(n, size):
    found = [x for batch in lists(DataLoader(range(n), size, shuffle=True)) for x in batch]
    assert sorted(found) == list(range(n))


def test_without_a_batch_size_the_samples_come_themselves():
    assert list(DataLoader(["a", "b"], batch_size=None)) == ["a", "b"]
    assert lists(DataLoader(Squares(3), batch_size=None)) == [0, 1, 4]
    assert list(DataLoader(Shared(3), batch_size=None)) == [0, 1, 2]


def test_a_batch_sampler_decides_what_a_batch_is():
    loader = DataLoader(range(9), batch_sampler=[[4, 2], [8]])
    assert lists(loader) == [[4, 2], [8]]
    assert (loader.batch_size, len(loader), loader.sampler.__class__.__name__) == (None, 2, "SequentialSampler")
    assert lists(DataLoader(torch.arange(4) * 2, sampler=BatchSampler(range(4), 2, False), batch_size=None)) == [
        [0, 2],
        [4, 6],
    ]


def test_the_settings_are_attributes():
    loader = DataLoader(range(4), 3, shuffle=True, drop_last=True, pin_memory=True)
    assert (loader.batch_size, loader.drop_last, loader.num_workers, loader.pin_memory) == (3, True, 0, True)
    assert (loader.timeout, loader.prefetch_factor, loader.collate_fn) == (0, None, default_collate)
    assert (loader.sampler.data_source, loader.batch_sampler.batch_size) == (range(4), 3)
    loader.num_workers = 1  # allowed in PyTorch
    with pytest.raises(ValueError, match="batch_size attribute should not be set after DataLoader is initialized"):
        loader.batch_size = 2


@pytest.mark.parametrize("workers", [0, 1])
def test_without_a_gpu_pin_memory_only_warns(workers, monkeypatch):
    monkeypatch.setattr(pin_memory, "transfer", SimpleNamespace(count=lambda: 0))
    with pytest.warns(torch.MinigradWarning, match="pin_memory=True has no effect: there is no GPU") as given:
        assert list(DataLoader(["a", "b", "c"], 2, pin_memory=True, num_workers=workers)) == [["a", "b"], ["c"]]
    assert len([w for w in given if issubclass(w.category, torch.MinigradWarning)]) == 1  # Python warns of forks


def test_the_length_of_an_iterable_is_its_own_divided():
    class Sized(Shared):
        def __len__(self):
            return self.n

    sizes = [len(DataLoader(Sized(7), b, drop_last=d)) for b, d in ((2, False), (2, True), (None, False))]
    assert sizes == [4, 3, 7]
    with pytest.raises(TypeError):
        len(DataLoader(Shared(7)))


REFUSED = [
    (dict(num_workers=-1), ValueError, "non-negative, got -1"),
    (dict(num_workers=1.0), TypeError, "got float"),
    (dict(timeout=-1), ValueError, "non-negative, got -1"),
    (dict(prefetch_factor=2), ValueError, "prefetch_factor=2 is for workers"),
    (dict(prefetch_factor=-2, num_workers=1), ValueError, "got -2"),
    (dict(persistent_workers=True), ValueError, "needs num_workers > 0"),
    (dict(multiprocessing_context="fork"), ValueError, "num_workers is 0"),
    (dict(multiprocessing_context="spoon", num_workers=1), ValueError, "'spoon' is not a start method"),
    (dict(multiprocessing_context=3, num_workers=1), TypeError, "got int"),
    (dict(sampler=[0], shuffle=True), ValueError, "exclusive with shuffle"),
    (dict(batch_sampler=[[0]], batch_size=2), ValueError, "batch_sampler option is mutually exclusive"),
    (dict(batch_sampler=[[0]], drop_last=True), ValueError, "batch_sampler option is mutually exclusive"),
    (dict(batch_size=None, drop_last=True), ValueError, "exclusive with drop_last"),
    (dict(batch_size=0), ValueError, "batch_size=0"),
    (dict(dataset=Shared(3), shuffle=True), ValueError, "unspecified shuffle option, but got shuffle=True"),
    (dict(dataset=Shared(3), sampler=[0]), ValueError, "unspecified sampler option"),
    (dict(dataset=Shared(3), batch_sampler=[[0]]), ValueError, "unspecified batch_sampler option"),
    (dict(dataset=[], shuffle=True), ValueError, "num_samples=0"),
]


@pytest.mark.parametrize("options, kind, words", REFUSED, ids=[words for _, _, words in REFUSED])
def test_arguments_that_exclude_each_other_are_refused(options, kind, words):
    with pytest.raises(kind, match="To fix: ") as raised:
        DataLoader(**{"dataset": range(3), **options})
    assert words in str(raised.value)


@pytest.mark.parametrize(
    "options, words", [(dict(timeout=1), "timeout=1"), (dict(num_workers=1, prefetch_factor=0), "=0")]
)
def test_settings_that_cannot_run_are_refused_when_a_pass_begins(options, words):
    with pytest.raises(AssertionError, match=words):
        iter(DataLoader(range(3), **options))


# ---------------------------------------------------------------------- collating
def same(a, b):
    """Return whether two batches have the same types and numbers."""
    assert type(a) is type(b)
    if isinstance(a, torch.Tensor):
        assert a.dtype == b.dtype
        assert torch.equal(a, b)
    elif isinstance(a, dict):
        assert list(a) == list(b)
        [same(a[k], b[k]) for k in a]
    elif isinstance(a, (list, tuple)):
        assert len(a) == len(b)
        [same(x, y) for x, y in zip(a, b)]
    else:
        assert a == b


T = torch.tensor
COLLATED = [
    ([1, 2], T([1, 2])),
    ([True, False], T([True, False])),
    ([0.5, 1.5], T([0.5, 1.5], dtype=torch.float64)),
    (["a", "b"], ["a", "b"]),
    ([b"a"], [b"a"]),
    ([T(1.0), T(2.0)], T([1.0, 2.0])),
    ([np.array([1, 2]), np.array([3, 4])], T([[1, 2], [3, 4]])),
    ([np.array([1, 2]), np.array([0.5, 1.5])], T([[1.0, 2.0], [0.5, 1.5]], dtype=torch.float64)),
    ([np.arange(4)[::2], np.arange(4)[1::2]], T([[0, 2], [1, 3]])),
    ([np.array([1, 2]), T([3, 4])], T([[1, 2], [3, 4]])),
    ([np.zeros((0, 2))] * 3, torch.zeros(3, 0, 2, dtype=torch.float64)),
    ([np.float32(1), np.float32(2)], T([1.0, 2.0])),
    ([np.float64(1), np.float64(2)], T([1.0, 2.0], dtype=torch.float64)),
    ([(1, "a"), (2, "b")], [T([1, 2]), ("a", "b")]),
    ([[1, 0.5], [2, 1.5]], [T([1, 2]), T([0.5, 1.5], dtype=torch.float64)]),
    ([Point(1, 2), Point(3, 4)], Point(T([1, 3]), T([2, 4]))),
    ([{"a": {"b": 1}}, {"a": {"b": 2}}], {"a": {"b": T([1, 2])}}),
    ([OrderedDict(b=1, a=2)], OrderedDict(b=T([1]), a=T([2]))),
    ([defaultdict(list, {"a": 1})], defaultdict(list, {"a": T([1])})),
]


@pytest.mark.parametrize("batch, expected", COLLATED, ids=[repr(batch) for batch, _ in COLLATED])
def test_samples_of_every_kind_become_a_batch(batch, expected):
    same(default_collate(batch), expected)


def test_a_batch_of_arrays_shares_no_memory_and_takes_the_users_way_to_stack():
    a, b = np.zeros(2), np.ones(2)
    batch = default_collate([a, b])
    a[0] = 5
    assert batch.tolist() == [[0, 0], [1, 1]]
    kinds = {**default_collate_fn_map, torch.Tensor: lambda batch, *, collate_fn_map: [t.tolist() for t in batch]}
    assert collate([a, b], collate_fn_map=kinds) == [[5, 0], [1, 1]]
    a.flags.writeable = False
    with pytest.warns(UserWarning, match="read-only"):
        default_collate([a, b])


CONVERTED = [
    (np.array([1, 2]), T([1, 2])),
    (np.float32(2), T(2.0)),
    (3, 3),
    ("abc", "abc"),
    ((np.array(1), "a"), [T(1), "a"]),
    ([np.array(1)], [T(1)]),
    (Point(np.array(1), 2), Point(T(1), 2)),
    ({"a": np.array(1)}, {"a": T(1)}),
]


@pytest.mark.parametrize("sample, expected", CONVERTED, ids=[repr(sample) for sample, _ in CONVERTED])
def test_the_arrays_of_a_sample_become_tensors(sample, expected):
    same(default_convert(sample), expected)


def test_text_arrays_stay_arrays():
    a = np.array(["a", "b"])
    assert default_convert(a) is a


UNCOLLATED = [
    ([None], TypeError, "found NoneType"),
    ([np.array(["a"])], TypeError, "found arrays of <U1"),
    ([[1, 2], [1]], RuntimeError, "sample 0 has 2 parts, sample 1 has 1"),
    ([T([1.0]), T([1.0, 2.0])], RuntimeError, "sample 0 has shape (1,), sample 1 has (2,)"),
    ([np.ones(3), np.ones(4)], RuntimeError, "sample 0 has shape (3,), sample 1 has (4,)"),
    ([np.array([1], ">i8"), np.array([1], ">i8")], ValueError, "byte order"),
]


@pytest.mark.parametrize("batch, kind, words", UNCOLLATED, ids=[words for _, _, words in UNCOLLATED])
def test_samples_that_make_no_batch_are_refused(batch, kind, words):
    with pytest.raises(kind, match="To fix: ") as raised:
        default_collate(batch)
    assert words in str(raised.value)


# ---------------------------------------------------------------------- rows of tensors
class Doubled(TensorDataset):
    """A dataset with other rows than those of its tensors."""

    def __getitem__(self, index):
        return tuple([2 * t for t in super().__getitem__(index)])


def rows(dataset=TensorDataset, n=7):
    return dataset(torch.arange(2.0 * n).view(n, 2), torch.arange(n))


@pytest.mark.parametrize(
    "dataset",
    [
        rows(),
        rows(Doubled),
        Subset(rows(), [6, 0, -1, 3]),
        Subset(Subset(rows(), [5, 2, 0, 1]), [3, 0]),
        Subset(rows(), np.array([1, 2])),
        TensorDataset(torch.randn(5, 3, 4).mT, torch.arange(5) > 2),
        TensorDataset(torch.randn(5, 2, requires_grad=True)),
    ],
)
def test_rows_of_tensors_are_batched_as_the_stack_of_samples(dataset):
    for batch, indices in zip(DataLoader(dataset, batch_size=2), BatchSampler(range(len(dataset)), 2, False)):
        expected = default_collate([dataset[i] for i in indices])
        assert type(batch) is list and len(batch) == len(expected)
        for found, wanted in zip(batch, expected):
            assert torch.equal(found, wanted) and found.dtype == wanted.dtype and found.is_contiguous()
            assert found.requires_grad == wanted.requires_grad


def test_a_batch_of_rows_has_separate_memory():
    dataset = rows()
    next(iter(DataLoader(dataset, batch_size=3)))[0].zero_()
    assert dataset[1][0].tolist() == [2.0, 3.0]


def test_rows_are_stacked_by_a_function_that_was_put_in(monkeypatch):
    monkeypatch.setitem(default_collate_fn_map, torch.Tensor, lambda batch, collate_fn_map=None: len(batch))
    assert next(iter(DataLoader(rows(), batch_size=3))) == [3, 3]


def test_a_row_out_of_range_is_reported_with_its_index():
    with pytest.raises(IndexError, match="index 9"):
        list(DataLoader(rows(), batch_sampler=[[0, 1], [2, 9]]))
