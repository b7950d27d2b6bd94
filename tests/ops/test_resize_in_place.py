"""resize_ and resize_as_: another size for the elements of a tensor; set_: the memory of another."""

import numpy as np
import pytest

import minigrad


def test_resizing_to_fewer_elements_keeps_the_first():
    x = minigrad.arange(6)
    assert x.resize_(2, 2) is x and x.tolist() == [[0, 1], [2, 3]]


def test_resizing_keeps_the_offset_of_the_tensor():
    a = np.arange(6)
    x = minigrad.from_numpy(a[2:]).resize_(2, 1)
    x[0] = 9
    assert x.tolist() == [[9], [3]] and a.tolist() == [0, 1, 9, 3, 4, 5]


def test_resizing_to_more_elements_adds_zeros():
    assert minigrad.arange(3).resize_(5).tolist() == [0, 1, 2, 0, 0]
    assert minigrad.empty(0).resize_((2, 2)).tolist() == [[0, 0], [0, 0]]


def test_resizing_to_the_size_of_another_tensor():
    assert minigrad.arange(6).resize_as_(minigrad.ones(2, 3)).tolist() == [[0, 1, 2], [3, 4, 5]]


def test_a_tensor_shares_its_memory_after_it_too():
    x = minigrad.arange(6)
    y = x.view(2, 3)
    assert y.resize_(2).tolist() == [0, 1] and y.resize_(6).tolist() == x.tolist()
    y[0] = 7
    assert x[0] == 7 and x.resize_(3, 2).shape == (3, 2) and y.shape == (6,)


def test_a_memory_that_is_too_small_for_a_tensor_with_views_is_refused():
    x = minigrad.arange(6)
    y = x.view(2, 3)
    for t in (x, y, x[3:]):
        with pytest.raises(RuntimeError, match="memory is too small, and shared"):
            t.resize_(7)


def test_resizing_a_saved_tensor_is_detected():
    x, w = minigrad.arange(3.0), minigrad.ones(3, requires_grad=True)
    y = (w * x).sum()
    x.resize_(2)
    with pytest.raises(RuntimeError, match="modified"):
        y.backward()


def test_meta_tensors_are_resized():
    assert minigrad.empty(2, 3, device="meta").resize_(4, 4).shape == (4, 4)


def test_a_tensor_uses_the_memory_of_another():
    x, y = minigrad.zeros(2), minigrad.ones(2, 3).mT
    assert x.set_(y) is x and x.shape == y.shape and x.stride() == y.stride() and x.data_ptr() == y.data_ptr()
    w = minigrad.ones(2, requires_grad=True)
    with minigrad.no_grad():
        w.set_(minigrad.full((3,), 2.0))
    (w * w).sum().backward()
    assert w.is_leaf and w.grad.tolist() == [4, 4, 4]


def test_without_another_a_tensor_becomes_empty():
    x = minigrad.ones(2, 3, dtype=minigrad.float64)
    assert x.set_().shape == (0,) and x.dtype is minigrad.float64


def test_the_memory_of_a_saved_tensor_is_replaced():
    x, w = minigrad.arange(3.0), minigrad.ones(3, requires_grad=True)
    y = (w * x).sum()
    x.set_(minigrad.ones(3))
    with pytest.raises(RuntimeError, match="modified"):
        y.backward()
