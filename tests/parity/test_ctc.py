"""CTC loss behind log_softmax: values and gradients are PyTorch's."""

import numpy as np
import pytest
import torch

import minigrad


@pytest.mark.parametrize("zero_infinity", [True, False])
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("form", ["padded", "concatenated", "one"])
@pytest.mark.parametrize("lengths", [tuple, "tensor"])
def test_values_and_gradients(form, reduction, zero_infinity, lengths):
    random = np.random.default_rng(0)
    x, rows, times, sizes = random.standard_normal((9, 4, 5)), random.integers(0, 4, (4, 4)), (9, 7, 9, 8), (3, 0, 4, 1)
    if form == "one":
        x, rows, times, sizes = x[:, 0], rows[0], times[:1], (4,)
    elif form == "concatenated":
        rows = np.concatenate([row[:n] for row, n in zip(rows, sizes)])
    found = []
    for library in (torch, minigrad):
        scores = library.tensor(x, requires_grad=True)
        how_many = [n if lengths is tuple else library.tensor(n) for n in (times, sizes)]
        loss = library.nn.CTCLoss(4, reduction, zero_infinity)(scores.log_softmax(-1), library.tensor(rows), *how_many)
        (loss * library.arange(1, 1 + loss.numel()).reshape(loss.shape)).sum().backward()
        found.append((loss.detach().numpy(), scores.grad.numpy()))
    for theirs, ours in zip(*found):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)
