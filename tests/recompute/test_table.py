"""Every operation of the table in pages: its call, formulas and pushes give the recorded numbers, in JavaScript."""

from contextlib import nullcontext

import numpy as np
import pytest

from minigrad.ops.base.registry import TABLE
from tests.table import NAMES
from viz.recompute.definitions import WORDS
from viz.recompute.kernels import public

from .node import LiveError, Page, evaluate, whole
from .sayings import compare, recorded, sayings

SPECTRAL = "singular values and eigenvalues: their vectors have the signs that the library chooses"
RANDOM = "random draws keep their recorded numbers"
SELDOM = "not in the library for pages"
# the operations of which some sample cannot be computed again, with the reason
FROZEN = {
    **dict.fromkeys("linalg.cond linalg.eigh linalg.eigvalsh linalg.lstsq linalg.matrix_norm linalg.norm linalg.pinv "
                    "linalg.svd linalg.svdvals linalg.matrix_rank norm pinverse svd".split(), SPECTRAL),
    **dict.fromkeys("bernoulli binomial gumbel_softmax multinomial normal poisson".split(), RANDOM),
    **dict.fromkeys("grid_sample linalg.qr qr embedding_bag bincount equal histc isin unique unique_consecutive "
                    "unravel_index gcd lcm bitwise_left_shift bitwise_right_shift".split(), SELDOM),
    "einsum": "lists of indices are " + SELDOM,
    "interpolate": "antialias is " + SELDOM,
}  # fmt: skip


# what lessons compute most; the sweep over all others takes minutes
COMMON = (
    "add sub mul div pow neg exp log tanh sigmoid relu matmul sum mean amax max softmax logsumexp var cat stack".split()
)
COMMON += (
    "reshape transpose index_select where gather linear mse_loss nll_loss cross_entropy layer_norm conv2d sort".split()
)


def wrong(name, dtype, small=False):
    """Return the expressions of an operation that are not live, with their errors; fail for those that give other numbers.

    A small page has only what these expressions need.
    """
    missing = []
    said = [s for sample in TABLE[name].samples for s in sayings(*recorded(TABLE[name], sample, dtype))]
    with Page({text for text, _, _ in said}) if small else nullcontext(whole()) as page:
        for text, names, expected in said:
            try:
                found = page.evaluate(text, names)
            except LiveError as e:
                missing.append(f"{text}: {e}")
            else:
                compare(found, expected, f"{name}: {text}")
    return missing


@pytest.mark.parametrize("name", COMMON)
def test_the_texts_of_common_operations_give_their_numbers_in_a_page(name):
    assert not wrong(name, "float32")


@pytest.mark.slow
@pytest.mark.parametrize("name", [n for n in NAMES if n not in FROZEN])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_the_texts_of_a_record_give_its_numbers_in_a_page(name, dtype):
    if (name, dtype) == ("matrix_exp", "float32"):
        pytest.skip("the recorded numbers have five digits: the page agrees with those of float64")
    assert not wrong(name, dtype, small=dtype == "float64")


def test_a_definition_hides_no_operation():
    heads = {head.partition("(")[0] for head in WORDS}
    assert not heads & {name for name, _ in public()}


@pytest.mark.slow
@pytest.mark.parametrize("name", FROZEN)
def test_an_operation_that_is_not_live_has_an_error_and_no_wrong_number(name):
    missing = wrong(name, "float64")
    assert missing and all("is not live" in text or "is not one of" in text for text in missing)


@pytest.mark.parametrize("edge_order", [1, 2])
def test_gradient_over_coordinates(edge_order):
    x, rows, columns = np.arange(12.0).reshape(4, 3) ** 2, np.array([0.0, 1.0, 3.0, 3.5]), np.array([0.0, -1.0, 4.0])
    expected = np.gradient(x, rows, columns, edge_order=edge_order)
    text = f"gradient(x, spacing=(rows, columns), edge_order={edge_order})"
    for found, one in zip(evaluate(text, {"x": x, "rows": rows, "columns": columns}), expected, strict=True):
        np.testing.assert_allclose(found, one)


def test_nearly_all_differentiable_operations_are_live():
    known = [n for n in NAMES if TABLE[n].differentiable]
    assert len([n for n in known if n not in FROZEN]) >= 0.95 * len(known) and set(FROZEN) <= set(NAMES)
