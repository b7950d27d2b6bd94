"""Tensors from data and from shapes: values, dtypes, sharing of memory and refusals."""

import pickle
from collections import UserList, deque

import numpy as np
import pytest

import minigrad
from minigrad.errors import MinigradWarning


@pytest.mark.parametrize(
    ("data", "dtype"),
    [(3, "int64"), (3.0, "float32"), (True, "bool"), ([True, 2], "int64"), ([True, 2.0], "float32"),
     ([1, 2.5], "float32"), ([], "float32"), ([[], []], "float32"), (range(3), "int64"), (np.float64(1), "float64"),
     ([np.float32(1), 1.0], "float32"),
     ([np.int32(1), 2], "int64"), (np.zeros(2, np.int8), "int8"), ([np.zeros(2), np.ones(2)], "float64")],
    ids=str,
)  # fmt: skip
def test_dtype_of_data_is_inferred(data, dtype):
    assert minigrad.tensor(data).dtype == getattr(minigrad, dtype)


@pytest.mark.parametrize("sequence", [deque, UserList], ids=lambda t: t.__name__)
def test_other_sequences_than_lists_are_data(sequence):
    assert minigrad.tensor(sequence([1, 2.5])).tolist() == minigrad.Tensor(sequence([1, 2.5])).tolist() == [1, 2.5]
    nested = [sequence([minigrad.tensor(1), 2]), sequence((3, 4))]
    assert minigrad.tensor(nested).tolist() == minigrad.as_tensor(sequence(nested)).tolist() == [[1, 2], [3, 4]]


def test_list_of_scalar_tensors():
    assert minigrad.tensor([minigrad.tensor(1), minigrad.tensor(2.5)]).tolist() == [1.0, 2.5]


def test_list_of_tracked_tensors_warns_that_gradients_are_lost():
    x = minigrad.tensor(1.0, requires_grad=True)
    with pytest.warns(MinigradWarning, match="loses its gradient"):
        assert not minigrad.tensor([x, x]).requires_grad


def test_copy_of_a_tensor_warns_and_is_a_leaf():
    x = minigrad.ones(2, requires_grad=True) * 2
    with pytest.warns(MinigradWarning, match="detach"):
        y = minigrad.tensor(x, requires_grad=True)
    assert y.is_leaf and y.requires_grad
    y.detach().fill_(0.0)
    assert x.tolist() == [2.0, 2.0]


def test_values_that_the_dtype_cannot_hold_raise():
    for value, dtype in ((300, minigrad.uint8), (float("nan"), minigrad.int64), (2**40, minigrad.int32)):
        with pytest.raises(RuntimeError, match="overflow"):
            minigrad.tensor([value], dtype=dtype)
    assert minigrad.tensor([-1], dtype=minigrad.uint8).tolist() == [255]
    assert minigrad.tensor([1.9, -1.9], dtype=minigrad.int64).tolist() == [1, -1]
    assert minigrad.tensor([1e300]).tolist() == [float("inf")]


def test_integers_cannot_require_grad():
    with pytest.raises(RuntimeError):
        minigrad.tensor([1, 2], requires_grad=True)
    with pytest.raises(RuntimeError):
        minigrad.ones(2, dtype=minigrad.int64, requires_grad=True)


@pytest.mark.cpu("arrays of NumPy lie in the computer's memory")
def test_from_numpy_and_as_tensor_share_memory():
    a = np.zeros(3)
    for t in (minigrad.from_numpy(a), minigrad.as_tensor(a), minigrad.asarray(a), minigrad.from_dlpack(a)):
        t[0] += 1
    assert a.tolist() == [4.0, 0.0, 0.0]
    assert minigrad.as_tensor(a, dtype=minigrad.float32).dtype == minigrad.float32
    t = minigrad.ones(2)
    assert minigrad.as_tensor(t) is t


def unpickled(a):
    return pickle.loads(pickle.dumps(a))


@pytest.mark.cpu("arrays of NumPy lie in the computer's memory")
@pytest.mark.parametrize(
    "entering",
    [minigrad.from_numpy, minigrad.as_tensor, minigrad.asarray, minigrad.from_dlpack, minigrad.tensor,
     lambda a: unpickled(minigrad.tensor(a)), lambda a: unpickled(minigrad.tensor(a)[:, 1:]),
     lambda a: unpickled(minigrad.tensor(a).T), lambda a: np.add(minigrad.from_numpy(a), a),
     lambda a: minigrad.tensor([*a]), lambda a: minigrad.from_numpy(a).detach().clone()],
)  # fmt: skip
def test_data_from_a_pickle_keep_their_precision(entering):
    # an unpickled dtype is another object than NumPy's: code that compares them with `is` would take it for a foreign one
    a = unpickled(np.random.default_rng(0).standard_normal((64, 8)))
    assert a.dtype is not np.dtype("f8")
    x = entering(a)
    assert x._np_dtype is np.dtype("f8")
    y = minigrad.nn.BatchNorm1d(x.shape[1], dtype=minigrad.float64)(x).detach().numpy()
    z = x.numpy() - x.numpy().mean(0)
    np.testing.assert_allclose(y, z / np.sqrt(z.var(0) + 1e-5), rtol=1e-12)


def test_asarray_copies_on_request_only():
    a = np.zeros(2)
    assert not np.may_share_memory(minigrad.asarray(a, copy=True).numpy(), a)
    with pytest.raises(ValueError, match="alias"):
        minigrad.asarray([1.0], copy=False)
    x = minigrad.ones(2)
    y = minigrad.asarray(x, requires_grad=True)
    assert y.requires_grad and not x.requires_grad


def test_asarray_keeps_the_history_of_a_tensor_by_default():
    x = minigrad.ones(2, requires_grad=True) * 2
    assert minigrad.asarray(x) is x and minigrad.asarray(x, requires_grad=True) is x
    assert minigrad.asarray(x, copy=True, requires_grad=True).grad_fn is not None
    y = minigrad.asarray(x, requires_grad=False)
    assert not y.requires_grad and y.data_ptr() == x.data_ptr()


def test_a_size_can_only_be_added_to_a_tuple():
    size, found = minigrad.ones(2, 3).shape, [1]
    assert (4,) + size == (4, 2, 3) and type((4,) + size) is type(size + (4,)) is minigrad.Size
    found += size
    assert found == [1, 2, 3]
    for add in (lambda: size + [4], lambda: [4] + size):
        with pytest.raises(TypeError):
            add()


def test_sizes_may_be_numbers_a_tuple_a_size_or_a_keyword():
    for t in (
        minigrad.zeros(2, 3),
        minigrad.zeros((2, 3)),
        minigrad.zeros([2, 3]),
        minigrad.zeros(minigrad.ones(2, 3).shape),
        minigrad.zeros(size=(2, 3)),
    ):
        assert t.shape == (2, 3)
    assert minigrad.zeros(()).shape == ()


def test_out_takes_the_result():
    out = minigrad.ones(2, dtype=minigrad.int64)
    assert minigrad.zeros(2, out=out) is out
    assert out.tolist() == [0, 0]
    assert minigrad.arange(3, out=minigrad.ones(3)).tolist() == [0.0, 1.0, 2.0]


def test_like_keeps_shape_dtype_and_order_of_memory():
    x = minigrad.ones(3, 2, dtype=minigrad.float64).mT
    for f in (minigrad.zeros_like, minigrad.ones_like, minigrad.empty_like):
        y = f(x)
        assert (y.shape, y.dtype, y.stride(), y.requires_grad) == (x.shape, x.dtype, x.stride(), False)
    assert minigrad.full_like(x, 2.5, dtype=minigrad.int64).tolist() == [[2, 2, 2], [2, 2, 2]]
    assert minigrad.zeros_like(x, requires_grad=True).requires_grad


def test_new_takes_the_dtype_of_self():
    x = minigrad.ones(1, dtype=minigrad.float64)
    made = [x.new_zeros(2), x.new_ones((2,)), x.new_full((2,), 3), x.new_empty(2), x.new_tensor([1, 2])]
    assert all(t.dtype == minigrad.float64 and t.shape == (2,) for t in made)
    assert x.new_zeros(2, dtype=minigrad.int64, requires_grad=False).dtype == minigrad.int64


def test_like_and_new_work_inside_transforms():
    def cube(x):
        total = minigrad.zeros_like(x)
        total += x * x * minigrad.ones_like(x) * x
        return (total + x.new_ones(3)).sum()

    assert minigrad.func.grad(cube)(minigrad.ones(2, 3)).tolist() == [[3.0] * 3] * 2
    assert minigrad.vmap(cube)(minigrad.ones(2, 3)).tolist() == [6.0, 6.0]


def test_factories_under_inference_mode_make_inference_tensors():
    with minigrad.inference_mode():
        assert minigrad.zeros(2).is_inference() and minigrad.rand(2).is_inference()
    assert not minigrad.zeros(2).is_inference()


def test_default_dtype_is_used_by_factories():
    minigrad.set_default_dtype(minigrad.float64)
    try:
        made = [
            minigrad.zeros(1),
            minigrad.tensor(1.0),
            minigrad.arange(0.0, 1.0, 0.5),
            minigrad.rand(1),
            minigrad.full((1,), 1.0),
        ]
        assert {t.dtype for t in made} == {minigrad.float64}
    finally:
        minigrad.set_default_dtype(minigrad.float32)


def test_questions():
    x = minigrad.ones(2, 3)
    assert minigrad.is_tensor(x) and not minigrad.is_tensor(3)
    assert minigrad.numel(x) == 6 and minigrad.is_floating_point(x) and not minigrad.is_complex(x)
    assert (x.type(), minigrad.typename(x), minigrad.typename(3)) == (
        "minigrad.FloatTensor",
        "minigrad.FloatTensor",
        "int",
    )
    assert x.type("torch.LongTensor").dtype == x.type(minigrad.int64).dtype == minigrad.int64
    assert minigrad.result_type(minigrad.tensor([1]), 1.5) == minigrad.float32
    with pytest.raises(ValueError):
        x.type("torch.StringTensor")


def test_empty_strided():
    t = minigrad.empty_strided((2, 3), (1, 4), dtype=minigrad.float64)
    assert t.shape == (2, 3) and t.stride() == (1, 4) and t.dtype == minigrad.float64
    t.fill_(2.0)
    assert t.sum().item() == 12.0 and minigrad.empty_strided((2, 0), (1, 1)).shape == (2, 0)


def test_frombuffer_shares_memory():
    memory = bytearray([1, 0, 2, 0])
    t = minigrad.frombuffer(memory, dtype=minigrad.int16)
    assert t.tolist() == [1, 2]
    t[0] = 3
    assert memory[0] == 3 and minigrad.frombuffer(memory, dtype=minigrad.int16, count=1, offset=2).tolist() == [2]
    assert minigrad.asarray(memory, dtype=minigrad.uint8).tolist() == [3, 0, 2, 0]
    for arguments in ({"offset": 4}, {"count": 3}, {"offset": 1}):
        with pytest.raises(ValueError, match="frombuffer"):
            minigrad.frombuffer(memory, dtype=minigrad.int16, **arguments)


def test_a_zero_keeps_its_sign():
    x = minigrad.ones(2, 3)
    for made in (
        minigrad.full((2, 3), -0.0),
        minigrad.full_like(x, -0.0),
        minigrad.nn.functional.pad(x, (1, 0), value=-0.0)[:, :1],
    ):
        assert np.signbit(made.numpy()).all()
    assert not np.signbit(minigrad.full_like(x, 0.0).numpy()).any()
