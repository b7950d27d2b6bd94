"""Writes among plain tensors take a short way; what it leaves out is done by the general one."""

import warnings

import numpy as np
import pytest

import minigrad as torch


def test_the_fast_path_writes_the_result_of_the_operation():
    x, y = torch.tensor([1.0, 2.0, 3.0]), torch.tensor([4.0, 5.0, 6.0])
    assert x.sub_(y, alpha=0.5).tolist() == [-1.0, -0.5, 0.0] and x._version == 1
    assert x.mul_(x).tolist() == [1.0, 0.25, 0.0] and x.copy_(y).tolist() == y.tolist()
    assert x.fill_(2).tolist() == [2.0] * 3 and x.div_(0.0).tolist() == [np.inf] * 3 and x._version == 5


def test_overlapping_memory_is_read_before_it_is_written():
    x = torch.arange(4.0)
    x[1:].add_(x[:-1])
    assert x.tolist() == [0.0, 1.0, 3.0, 5.0]


def test_broadcast_operands_are_written_and_larger_results_refused():
    x = torch.zeros(2, 3)
    assert x.add_(torch.tensor([1.0, 2.0, 3.0])).tolist() == [[1.0, 2.0, 3.0]] * 2
    with pytest.raises(RuntimeError, match="output with shape"):
        torch.zeros(3).add_(torch.zeros(2, 3))


def test_expanded_memory_is_refused():
    with pytest.raises(RuntimeError, match="add_: unsupported operation: several elements"):
        torch.zeros(1).expand(3).add_(1.0)
    with torch.no_grad(), pytest.raises(RuntimeError, match="add_: unsupported operation: several elements"):
        torch.zeros(1).expand(3).add_(1.0)


def test_an_operand_of_another_dtype_is_converted():
    x = torch.tensor([1.0, 2.0])
    assert x.add_(torch.tensor([1, 2])).dtype is torch.float32
    with pytest.raises(RuntimeError, match="can't be cast"):
        torch.tensor([1, 2]).add_(torch.tensor([0.5, 0.5]))


def test_warnings_as_errors_do_not_write_twice():
    x = torch.tensor([1.0, 4.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x.div_(torch.tensor([0.0, 2.0]))
    assert x.tolist() == [np.inf, 2.0] and x._version == 1


def test_a_tracked_operand_gives_the_written_tensor_a_history():
    x, y = torch.zeros(2), torch.ones(2, requires_grad=True)
    x.add_(y)
    x.sum().backward()
    assert y.grad.tolist() == [1.0, 1.0]


def test_a_leaf_is_written_only_without_gradients():
    w = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        w.add_(1.0)
    with torch.no_grad():
        w.add_(1.0)
    assert w.tolist() == [2.0, 2.0] and w.is_leaf


def test_a_write_to_a_saved_tensor_is_detected():
    x, w = torch.ones(2), torch.ones(2, requires_grad=True)
    y = w * x
    with torch.no_grad():
        x.mul_(2.0)
    with pytest.raises(RuntimeError, match="last written by mul_ at .*test_inplace_plain"):
        y.sum().backward()


def test_a_view_made_under_no_grad_may_be_written_there():
    x = torch.zeros(3, requires_grad=True)
    with torch.no_grad():
        x[1:].fill_(5.0)
    assert x.tolist() == [0.0, 5.0, 5.0]


@pytest.mark.parametrize("view", [lambda x: x[:1], lambda x: x.reshape(2), lambda x: x.detach(), lambda x: x[:2][1:]])
def test_a_view_that_was_made_a_leaf_is_not_written(view):
    leaf = view(torch.ones(2)).requires_grad_()
    with pytest.raises(
        RuntimeError, match="leaf Variable that requires grad, of shape .*, is being used in an in-place operation"
    ):
        leaf += 1
    with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad"):
        leaf[:1].mul_(2)
    assert leaf.is_leaf and leaf.tolist() == [1] * len(leaf)
    with torch.no_grad():
        leaf += 1
    (leaf * 3).sum().backward()
    assert leaf.grad.tolist() == [3] * len(leaf)


WRITES = {
    "add_": lambda x: x.add_(1),
    "relu_": lambda x: x.relu_(),
    "clamp_": lambda x: x.clamp_(0, 1),
    "index_add_": lambda x: x.index_add_(0, torch.tensor([0]), torch.ones(1, 2)),
    "index_fill_": lambda x: x.index_fill_(0, torch.tensor([0]), 3.0),
    "index_put_": lambda x: x.index_put_((torch.tensor([0]),), torch.ones(2)),
    "index_copy_": lambda x: x.index_copy_(0, torch.tensor([0]), torch.ones(1, 2)),
    "scatter_": lambda x: x.scatter_(0, torch.tensor([[0]]), 1.0),
    "scatter_add_": lambda x: x.scatter_add_(0, torch.tensor([[0]]), torch.ones(1, 1)),
    "put_": lambda x: x.put_(torch.tensor([0]), torch.tensor([1.0])),
    "masked_scatter_": lambda x: x.masked_scatter_(x > 0, torch.ones(4)),
    "fill_diagonal_": lambda x: x.fill_diagonal_(0),
    "uniform_": lambda x: x.uniform_(),
    "cumsum_": lambda x: x.cumsum_(0),
}


@pytest.mark.parametrize("name", WRITES)
def test_a_write_to_a_leaf_is_reported_by_the_name_of_the_method(name):
    x = torch.ones(2, 2, requires_grad=True)
    with pytest.raises(RuntimeError, match=rf"^{name}: a leaf Variable that requires grad, of shape \(2, 2\)"):
        WRITES[name](x)
    with pytest.raises(RuntimeError, match="a view of a leaf"):
        WRITES[name](x.T)
    with torch.no_grad():
        WRITES[name](x)


def test_an_index_assignment_to_a_leaf_is_reported():
    for write in ("x[0] = 1", "x[[0, 1]] = 3", "x[x > 0] = 3", "x.T[[0, 1]] += 3", "x.T[0] = x[1]"):
        with pytest.raises(RuntimeError, match="a( view of a)? leaf Variable that requires grad"):
            exec(write, {"x": torch.ones(2, 2, requires_grad=True)})
