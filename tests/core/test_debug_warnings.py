"""Debug mode warns where it is sure, and nowhere else."""

import warnings

import pytest

import minigrad


def quietly(run):
    with minigrad.debug(), warnings.catch_warnings():
        warnings.simplefilter("error")
        run()


def test_a_leaf_with_another_path_beside_a_flat_operation_is_no_warning():
    def run():
        x = minigrad.tensor([0.3, 1.7], requires_grad=True)
        (x - x.floor()).sum().backward()
        (x * x.sign()).sum().backward()

    quietly(run)


def test_one_of_two_operands_has_a_flat_operation_on_its_path():
    x, y = minigrad.ones(2, requires_grad=True), minigrad.ones(2, requires_grad=True)
    with minigrad.debug(), pytest.warns(minigrad.MinigradWarning, match="floor: has derivative 0 everywhere"):
        (x.floor() * y).sum().backward()


@pytest.mark.parametrize(
    "run",
    [
        lambda a, b: a[:, None] - b,
        lambda a, b: (a[:, None] * 2 - b).abs(),
        lambda a, b: minigrad.outer(a, b).mean(1, keepdim=True) - b,
        lambda a, b: a.reshape(-1, 1) - a,
    ],
)
def test_a_table_of_differences_is_no_warning(run):
    a, b = minigrad.ones(3, requires_grad=True), minigrad.ones(3)
    quietly(lambda: run(a, b).sum().backward())


def test_only_integers_that_overflow_are_reported():
    a = minigrad.tensor([100, 200], dtype=minigrad.uint8)
    quietly(lambda: (a - 50, a + 55, a * 1, a.int() * 1000))
    with minigrad.debug(), pytest.warns(minigrad.MinigradWarning, match="mul: 1 of 2 elements"):
        a * 2


def test_a_zero_gradient_of_the_second_operand_alone_is_told():
    y = minigrad.ones(4, requires_grad=True)
    with (
        minigrad.debug(),
        pytest.warns(minigrad.MinigradWarning, match=r"input of shape \(4,\): the gradient of a leaf"),
    ):
        minigrad.fmod(minigrad.ones(3, 4), y.floor()).sum().backward()
    with minigrad.debug(), pytest.warns(minigrad.MinigradWarning, match=r"input of shape \(3,\)"):
        minigrad.div(minigrad.ones(2, 3), minigrad.ones(3, requires_grad=True), rounding_mode="floor").sum().backward()
