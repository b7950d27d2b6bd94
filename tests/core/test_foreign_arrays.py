"""Arrays of other classes than NumPy's own, masked ones, those of other byte orders and of elements that are no numbers."""

import pickle

import numpy as np
import pytest

import minigrad as torch

pytestmark = pytest.mark.cpu("arrays of NumPy lie in the computer's memory")
MASKED = np.ma.array([1.0, 2.0, 3.0], mask=[0, 1, 0])
MATRIX = np.array([[1.0, 2.0], [3.0, 4.0]]).view(np.matrix)
CONVERSIONS = {
    "tensor": torch.tensor,
    "as_tensor": torch.as_tensor,
    "asarray": torch.asarray,
    "from_numpy": torch.from_numpy,
    "from_dlpack": torch.from_dlpack,
    "a list": lambda a: torch.tensor([a])[0],
    "new_tensor": torch.ones(1).new_tensor,
    "Tensor": torch.Tensor,
    "copy_": lambda a: torch.zeros(a.shape, dtype=torch.float64).copy_(a),
    "add": lambda a: torch.zeros(a.shape, dtype=torch.float64) + a,
}


class Own(np.ndarray):
    """A class of a user's."""


@pytest.mark.parametrize("convert", CONVERSIONS.values(), ids=CONVERSIONS)
@pytest.mark.parametrize(
    "array", [MATRIX, np.ones((2, 2)).view(Own), np.ma.array([[1.0, 2.0]])], ids=["matrix", "own", "masked"]
)
def test_a_tensor_holds_plain_memory_whatever_the_class_of_the_array(convert, array):
    t = convert(array)
    assert type(t._a) is np.ndarray and type(t.numpy()) is np.ndarray
    np.testing.assert_array_equal(t.numpy(), np.asarray(array))
    assert (t * t).tolist() == (np.asarray(array) ** 2).tolist()  # of matrices, * would be their product


@pytest.mark.parametrize("convert", CONVERSIONS.values(), ids=CONVERSIONS)
@pytest.mark.parametrize("array", [MASKED, MASKED[1:2], np.ma.masked], ids=["one of three", "all", "the constant"])
def test_masked_elements_are_refused_with_their_number(convert, array):
    with pytest.raises(ValueError, match=r"1 of the array's \d elements are masked.*\n[^\n]*\n.*array.filled"):
        convert(array)


@pytest.mark.parametrize("f", [torch.mul, torch.atan2, torch.where], ids=["mul", "atan2", "where"])
def test_operations_refuse_masked_operands_too(f):
    x = torch.ones(3, dtype=torch.float64)
    with pytest.raises(ValueError, match="1 of the array's 3 elements are masked"):
        f(x > 0, x, MASKED) if f is torch.where else f(x, MASKED)


def test_memory_is_shared_with_an_array_of_another_class():
    for array in (np.ones((1, 2)).view(np.matrix), np.ma.array([[1.0, 2.0]])):
        t = torch.from_numpy(array)
        t[0, 0] = 5.0
        assert array[0, 0] == 5


def test_memory_of_a_file_is_shared(tmp_path):
    array = np.memmap(tmp_path / "numbers", "f4", "w+", shape=3)
    t = torch.as_tensor(array)
    t += 2
    assert type(t._a) is np.ndarray and np.array_equal(array, [2, 2, 2])


@pytest.mark.parametrize("array", [
    np.zeros(2, [("a", "f4")]), np.rec.array([(1.0, 2)], dtype=[("a", "f8"), ("b", "i8")]), np.array([1, 2.5], object),
    np.array(["2020-01-01"], "M8[D]"), np.array([1], "m8[s]"), np.ones(2, complex), np.array(["a"]), np.ones(2, np.uint16),
], ids=["structured", "record", "object", "date", "time", "complex", "text", "uint16"])  # fmt: skip
@pytest.mark.parametrize("convert", [torch.tensor, torch.as_tensor, torch.from_numpy, torch.asarray])
def test_elements_that_tensors_do_not_have_are_refused_by_their_dtype(convert, array):
    with pytest.raises(TypeError, match="is not a dtype of minigrad"):
        convert(array)


def test_a_field_of_a_structured_array_is_an_array():
    records = np.rec.array([(1.0, 2), (3.0, 4)], dtype=[("a", "f8"), ("b", "i8")])
    assert torch.as_tensor(records["a"]).tolist() == [1, 3] and torch.tensor(records.b).tolist() == [2, 4]


@pytest.mark.parametrize("kind", [">f8", ">f4", ">i4"])
def test_another_byte_order_is_converted_where_memory_is_copied_and_refused_where_it_is_shared(kind):
    array = np.array([1, 2, 3], kind)
    assert torch.tensor(array).tolist() == [1, 2, 3] and torch.tensor(array)._a.dtype.isnative
    assert torch.tensor([array, array]).tolist() == [[1, 2, 3]] * 2
    for share in (torch.as_tensor, torch.from_numpy, torch.asarray):
        with pytest.raises(ValueError, match="byte order"):
            share(array)


def test_a_write_to_a_read_only_array_is_refused():
    array = np.ones(3)
    array.flags.writeable = False
    with pytest.warns(torch.MinigradWarning, match="read-only"):
        x = torch.from_numpy(array)
    for write in (lambda: x.add_(1), lambda: x.zero_(), lambda: x.__setitem__(0, 2.0), lambda: x[1:].mul_(2)):
        with pytest.raises(RuntimeError, match=r"memory of an array that is not writable[^$]*clone\(\) it first"):
            write()
    assert x.tolist() == [1, 1, 1]


def test_an_array_from_a_pickle_does_not_change_the_dtype_of_cached_numbers():
    """Its dtype is equal to NumPy's own and not the same object; numbers beside it are kept for all tensors of that dtype."""
    pickled = pickle.loads(pickle.dumps(np.ones(3, np.float32)))
    assert pickled.dtype is not np.dtype(np.float32)
    number = 3.4567
    first = torch.from_numpy(pickled) * number
    x = torch.ones(3, requires_grad=True)
    y = x**number
    assert first.tolist() == pytest.approx([number] * 3) and (torch.ones(3) * number)._a.dtype is np.dtype(np.float32)
    (torch.from_numpy(pickled) ** number).sum()
    (slope,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    assert slope.grad_fn.name() == "MulBackward0"  # as it is where the exponent is known to be a number
