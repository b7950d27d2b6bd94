"""Pooling and resizing at the edges of windows, at infinities and NaN, and back."""

import math

import numpy as np
import pytest

import minigrad
from minigrad.nn import functional as F
from tests.ops.linear import random


def test_settings_are_checked_at_each_call_whatever_their_form():
    x = minigrad.tensor(random(1, 1, 4, 6))
    assert F.max_pool2d(x, 2).equal(F.max_pool2d(x, [2, 2], stride=(2, 2), padding=[0, 0]))
    for _ in range(2):
        with pytest.raises(RuntimeError, match="no window of size"):
            F.max_pool2d(x, 5)
        with pytest.raises(TypeError):
            F.max_pool2d(x, 2.0)


def test_gradient_of_overlapping_maxima_adds_up():
    x = minigrad.tensor([[1.0, 5.0, 2.0, 0.0]]).requires_grad_()
    F.max_pool1d(x, 2, 1).sum().backward()
    assert x.grad.tolist() == [[0.0, 2.0, 1.0, 0.0]]


def test_max_pool_of_minus_infinity_points_into_the_input():
    values, places = F.max_pool2d(minigrad.full((1, 1, 2, 2), -math.inf), 2, padding=1, return_indices=True)
    assert np.isneginf(values.numpy()).all()
    assert places.numpy().tolist() == [[[[0, 1], [2, 3]]]]


@pytest.mark.parametrize("n", [1, 2, 3])
def test_a_window_inside_the_padding_is_minus_infinity_without_a_gradient(n):
    x = minigrad.ones(1, 1, *(2,) * n).requires_grad_()
    found = getattr(F, f"max_pool{n}d")(x, 2, 1, 1, 3)
    found.sum().backward()
    assert np.isneginf(found.detach().numpy()).all() and (x.grad == 0).all()


def test_max_pool_propagates_nan():
    x = minigrad.tensor([[1.0, math.nan, 2.0, 3.0]])
    found = F.max_pool1d(x, 2).numpy()
    assert np.isnan(found[0, 0]) and found[0, 1] == 3


def test_infinity_affects_only_its_part_of_an_adaptive_average():
    x = minigrad.tensor([[1.0, 2.0, math.inf, 4.0, 5.0]])
    assert F.adaptive_avg_pool1d(x, 3).tolist() == [[1.5, math.inf, 4.5]]


def test_linear_interpolation_with_aligned_corners_is_exact_for_a_line():
    x = minigrad.tensor([[[0.0, 1.0, 2.0]]])
    assert np.allclose(F.interpolate(x, 5, mode="linear", align_corners=True).numpy(), [0, 0.5, 1, 1.5, 2])


def test_cubic_interpolation_reproduces_the_elements_and_constants():
    x = minigrad.tensor(random(1, 2, 4, 3))
    found = F.interpolate(x, (7, 5), mode="bicubic", align_corners=True)
    assert np.allclose(found.numpy()[:, :, ::2, ::2], x.numpy())
    assert np.allclose(F.interpolate(x * 0 + 2, scale_factor=1.7, mode="bicubic").numpy(), 2)


def test_channel_shuffle_interleaves_the_groups_and_is_inverted_by_the_channels_per_group():
    x = minigrad.tensor(random(2, 6, 3))
    assert np.array_equal(F.channel_shuffle(x, 2).numpy(), x.numpy()[:, [0, 3, 1, 4, 2, 5]])
    assert np.array_equal(F.channel_shuffle(F.channel_shuffle(x, 2), 3).numpy(), x.numpy())


def test_pixel_unshuffle_undoes_pixel_shuffle():
    x = minigrad.tensor(random(2, 8, 3, 2))
    assert np.array_equal(F.pixel_unshuffle(F.pixel_shuffle(x, 2), 2).numpy(), x.numpy())


@pytest.mark.parametrize("n", [1, 2, 3])
def test_max_unpool_puts_the_maxima_back_and_passes_their_gradients(n):
    x = minigrad.tensor(random(2, 3, *(7, 6, 5)[:n]), requires_grad=True)
    pool, unpool = (getattr(minigrad.nn, f"Max{kind}{n}d")(3, 3, 1) for kind in ("Pool", "Unpool"))
    pooled, places = getattr(F, f"max_pool{n}d")(x, 3, 3, 1, return_indices=True)
    back = unpool(pooled, places, x.shape)
    assert back.shape == x.shape and pool(x).equal(pooled)
    assert sorted(back[back != 0].tolist()) == sorted(pooled.flatten().tolist()) and ((back == 0) | (back == x)).all()
    back.sum().backward()
    assert x.grad.equal((back != 0).double())


def test_max_unpool_takes_sizes_that_the_pool_could_have_had():
    pooled, places = F.max_pool2d(minigrad.arange(35.0).reshape(1, 5, 7), 2, return_indices=True)
    assert minigrad.nn.MaxUnpool2d(2)(pooled, places, (5, 7)).shape == (1, 5, 7)
    with pytest.raises(
        ValueError, match=r"output_size=\(9, 7\) does not fit(.|\n)*\(2, 4\) and \(6, 8\)(.|\n)*x.shape"
    ):
        F.max_unpool2d(pooled, places, 2, output_size=(9, 7))
    with pytest.raises(RuntimeError, match=r"scatter: index \d+ is out of bounds"):
        F.max_unpool2d(pooled, places, 2)
    with pytest.raises(
        RuntimeError, match=r"input has shape \(1, 2, 3\), but indices \(1, 2, 2\)(.|\n)*return_indices"
    ):
        F.max_unpool2d(pooled, places[..., 1:], 2)
    with pytest.raises(RuntimeError, match="takes 3 or 4 dimensions, not shape"):
        F.max_unpool2d(pooled[0], places[0], 2)
