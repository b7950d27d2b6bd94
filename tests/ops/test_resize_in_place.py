"""resize_ and resize_as_: another size for the elements of a tensor."""

import numpy as np
import pytest

import minigrad


def test_resizing_to_fewer_elements_keeps_the_first():
    x = minigrad.arange(6)
    assert x.resize_(2, 2) is x and x.tolist() == [[0, 1], [2, 3]]


def test_resizing_keeps_the_offset_of_the_tensor():
    assert minigrad.from_numpy(np.arange(6)[2:]).resize_(2).tolist() == [2, 3]


def test_resizing_to_more_elements_adds_zeros():
    assert minigrad.arange(3).resize_(5).tolist() == [0, 1, 2, 0, 0]
    assert minigrad.empty(0).resize_((2, 2)).tolist() == [[0, 0], [0, 0]]


def test_resizing_to_the_size_of_another_tensor():
    assert minigrad.arange(6).resize_as_(minigrad.ones(2, 3)).tolist() == [[0, 1, 2], [3, 4, 5]]


def test_a_tensor_with_views_is_refused():
    x = minigrad.arange(6)
    y = x.view(2, 3)
    for t in (x, y):
        with pytest.raises(RuntimeError, match="memory is shared"):
            t.resize_(2)


def test_resizing_a_saved_tensor_is_detected():
    x, w = minigrad.arange(3.0), minigrad.ones(3, requires_grad=True)
    y = (w * x).sum()
    x.resize_(2)
    with pytest.raises(RuntimeError, match="modified"):
        y.backward()


def test_meta_tensors_are_resized():
    assert minigrad.empty(2, 3, device="meta").resize_(4, 4).shape == (4, 4)
