"""Tensors into Python and back: numbers, lists, NumPy, copies, pickles, text."""

import copy
import pickle

from tests.parity.harness import attempt, gives, leaf


@gives(
    [
        2.5,
        2.5,
        2,
        True,
        3,
        True,
        [1.0, 2.0],
        2.5,
        [[1], [2]],
        False,
        RuntimeError,
        RuntimeError,
        ValueError,
        ValueError,
        RuntimeError,
    ]
)
def conversions_to_python(torch):
    t, many = torch.tensor(2.5), torch.tensor([1.0, 2.0])
    return [
        t.item(), float(t), int(t), bool(t), torch.tensor([[3]]).item(), torch.tensor(True).item(),
        many.tolist(), t.tolist(), torch.tensor([[1], [2]]).tolist(), bool(torch.zeros(1, 1)),
        attempt(many.item), attempt(bool, many), attempt(float, many), attempt(int, many),
        attempt(bool, torch.zeros(0)),
    ]  # fmt: skip


@gives([1.5, 1.5, [1.5], RuntimeError, [1.5]])
def conversions_of_tracked_tensors(torch):
    x = leaf(torch, [1.5])
    return x.item(), float(x), x.tolist(), attempt(x.numpy), x.detach().numpy().tolist()


@gives([[5.0, 7.0, 9.0], [5.0, 7.0, 9.0], "float32"])
def numpy_shares_memory_both_ways(torch):
    x = torch.zeros(3)
    array = x.numpy()
    array[0] = 5.0
    x[1] = 7.0
    back = torch.from_numpy(array)
    back[2] = 9.0
    return x, array.tolist(), str(array.dtype)


@gives([[3.0, 0.0], [0.0, 0.0], True])
def as_tensor_shares_tensor_copies(torch):
    array = torch.zeros(2).numpy()
    shared, copied = torch.as_tensor(array), torch.tensor(array)
    array[0] = 3.0
    return shared, copied, torch.as_tensor(shared) is shared


@gives([TypeError, TypeError, TypeError, 0])
def length_and_iteration_of_zero_dimensional_raise(torch):
    t = torch.tensor(1.0)
    return attempt(len, t), attempt(iter, t), attempt(list, t), len(torch.zeros(0, 3))


@gives([[True, False], [False, True], "a", True, False, True])
def equality_is_elementwise_and_hash_is_identity(torch):
    a, b = torch.tensor([1.0, 2.0]), torch.tensor([1.0, 3.0])
    table = {a: "a", b: "b"}
    return a == b, a != b, table[a], a in [a], hash(a) == hash(a.view(2)), torch.equal(a, a.clone())


@gives([True, False, True])
def containment(torch):
    a = torch.tensor([1.0, 2.0])
    return 2.0 in a, 3.0 in a, torch.tensor(1.0) in a


@gives([[1.0, 2.0], [0.0, 0.0], True, [2.0, 4.0], False])
def deepcopy_of_a_leaf(torch):
    x = leaf(torch, [1.0, 2.0])
    (x * x).sum().backward()
    y = copy.deepcopy(x)
    with torch.no_grad():
        y.zero_()
    return x, y, y.is_leaf, y.grad, y.grad is x.grad


@gives([RuntimeError, [2.0]])
def deepcopy_of_a_result_raises(torch):
    x = leaf(torch, [1.0])
    return attempt(copy.deepcopy, x * 2), copy.deepcopy((x * 2).detach())


@gives([[0.0, 5.0, 0.0, 0.0], [5.0, 0.0], True, [0.0, 0.0, 0.0, 0.0]])
def deepcopy_keeps_sharing(torch):
    x = torch.zeros(4)
    y, v, same = copy.deepcopy([x, x[1:3], x])
    y[1] = 5.0
    return y, v, same is y, x


@gives([[[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]], [1, 3]])
def deepcopy_keeps_layout(torch):
    x = torch.arange(6.0).view(2, 3).t()
    y = copy.deepcopy(x)
    return y, y.stride()


@gives([[1.0, 2.0], [1, 2], True, []])
def pickle_keeps_values_dtype_and_flag(torch):
    tensors = [leaf(torch, [1.0, 2.0]), torch.tensor([1, 2], dtype=torch.int16), torch.tensor(True), torch.zeros(0, 2)]
    return [pickle.loads(pickle.dumps(t)) for t in tensors]


@gives([[[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]], [1, 3]])
def pickle_keeps_layout(torch):
    x = pickle.loads(pickle.dumps(torch.arange(6.0).view(2, 3).t()))
    return x, x.stride()


@gives(None)
def pickle_of_a_leaf_keeps_its_grad_apart(torch):
    x = leaf(torch, [1.0])
    (x * 2).sum().backward()
    return pickle.loads(pickle.dumps(x)).grad


def repr_of_tensors(torch):
    tensors = [
        torch.tensor([1.0, 2.5]), torch.tensor([1.0, 2.0]), torch.tensor(3), torch.tensor([True, False]),
        torch.tensor([[1, 2], [30, 4]]), torch.tensor([1.0], dtype=torch.float64), torch.tensor([1], dtype=torch.int8),
        torch.tensor([]), torch.zeros(2, 0), torch.tensor([1.0], requires_grad=True), torch.tensor([1e-8, 1.0]),
        torch.tensor([float("nan"), float("inf"), -1.0]), torch.tensor([0.1, 123456.0]), torch.tensor(0.5),
        torch.tensor([[1.5, -2.0], [3.0, 4.0]]), torch.arange(12.0).view(3, 2, 2),
    ]  # fmt: skip
    return [repr(t).replace(f"{torch.__name__}.", "") for t in tensors]


@gives([True, True])
def repr_of_a_result_names_its_grad_fn(torch):
    text = repr(leaf(torch, [1.0]) * 2)
    return text.startswith("tensor([2.], grad_fn=<Mul"), str(torch.ones(1)) == repr(torch.ones(1))


@gives(["1.23", "7", "2.0e+00"])
def format_of_zero_dimensional(torch):
    return f"{torch.tensor(1.23456):.2f}", f"{torch.tensor(7):d}", format(torch.tensor(2.0), ".1e")


def python_number_on_the_left(torch):
    x = leaf(torch, [2.0, 4.0])
    results = [1 + x, 1 - x, 3 * x, 1 / x, 2**x, 5 // x.detach(), 7 % x.detach()]
    (results[1] + results[3] + results[4]).sum().backward()
    return results, x.grad


@gives([True, [2.0, 4.0], [1.0, 1.0]])
def numpy_array_on_the_left(torch):
    x = leaf(torch, [2.0, 4.0])
    number = torch.ones(1).numpy()[0]
    y = number * x
    y.sum().backward()
    return isinstance(y, torch.Tensor), y, x.grad


@gives([7.0, 4.0, []])
def backward_through_zero_dimensional_and_python_mix(torch):
    x = leaf(torch, 3.0)
    y = (x**2 + 2 * x - 1) / 2
    y.backward()
    return y, x.grad, list(x.grad.shape)
