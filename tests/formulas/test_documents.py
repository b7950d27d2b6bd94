"""The texts in a record can be evaluated: those of random programs, and in which form they are written."""

import warnings

import numpy as np
import pytest

import minigrad
from minigrad.nn import functional as F
from tests.compile import random_programs

from .evaluated import check, document


@pytest.mark.parametrize("dtype", [minigrad.float16, minigrad.bfloat16])
def test_formulas_of_half_precision_equal_those_of_float32(dtype):
    def f(x, w):
        return ((x * w).tanh().softmax(-1) ** 2).sum()

    half, whole = (
        [t.to(d) for t in (minigrad.tensor([0.5, 1.0]), minigrad.tensor([2.0, -1.0]))]
        for d in (dtype, minigrad.float32)
    )
    said = [[e.formula for op in document(f, *given)[0].ops for e in op.edges] for given in (half, whole)]
    assert said[0] == said[1] and len(said[0]) == 6


@pytest.mark.parametrize("seed", range(100))
def test_the_texts_of_a_random_program_evaluate_to_its_numbers(seed):
    program = random_programs.write(seed, minigrad)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            made, arrays = document(program.function(minigrad), *program.arguments(minigrad)())
        except RuntimeError as e:
            assert "modified by an inplace operation" in str(e), program.source  # it cannot run backward
            return
        assert check(made, arrays), program.source


def test_a_value_keeps_its_variables_name_and_tangents_give_way():
    def f(d, x, dx, x_t):
        return (d * x * dx * x_t).sum()

    made, arrays = document(f, *[minigrad.tensor([1.0, 2.0]) for _ in range(4)])
    assert [v.label for v in made.values if v.name] == ["d", "x", "dx", "x_t"]
    assert made.ops[0].pushes[0]["formula"] == "d_t * x + x_tangent * d"
    assert check(made, arrays)


def test_several_indices_share_one_pair_of_brackets():
    made, arrays = document(lambda x, i: x[1:, i], minigrad.rand(3, 2), minigrad.tensor([1, 0]))
    assert made.ops[0].call == "x[1:, i]" and check(made, arrays)


@pytest.mark.parametrize(
    "program, formula",
    [
        (lambda x: F.scaled_dot_product_attention(x, x, x, is_causal=True), "ones(3, 3, dtype=bool).tril()"),
        (lambda x: F.avg_pool1d(x, 2, 2, 1, False, False), "tensor([1, 2, 1]"),
        (lambda x: F.adaptive_avg_pool1d(x, 2), "/ 2"),
        (lambda x: F.interpolate(x, 7), "tensor([0, 0, 1, 1, 2, 2, 3])"),
    ],
)  # fmt: skip
def test_internal_tensors_of_an_operation_are_no_inputs_and_appear_in_its_formula(program, formula):
    made, arrays = document(program, minigrad.rand(1, 3, 4, dtype=minigrad.float64).requires_grad_())
    (op,) = [op for op in made.ops if op.phase == "forward"]
    assert [i for i in op.inputs if isinstance(i, int)] == [0] and formula in "".join(edge.formula for edge in op.edges)
    assert check(made, arrays)


def test_random_numbers_that_an_operation_draws_are_an_input():
    made, arrays = document(lambda x: F.dropout(x, 0.5), minigrad.rand(2, 3).requires_grad_())
    (op,) = [op for op in made.ops if op.phase == "forward"]
    assert len(op.inputs) == 2 and "tensor(" not in op.edges[0].formula
    assert check(made, arrays)


@pytest.mark.parametrize("groups", [1, 2, 4])
def test_a_default_weight_of_ones_is_left_out(groups):
    made, _ = document(lambda x: F.group_norm(x, groups), minigrad.rand(2, 4, 3).requires_grad_())
    assert "ones" not in made.ops[0].edges[0].formula + made.ops[0].pushes[0]["formula"]


def test_a_number_that_decides_the_dtype_keeps_its_dtype():
    made, arrays = document(
        lambda x: minigrad.nanquantile(x, 0.5), minigrad.rand(5, dtype=minigrad.float64).requires_grad_()
    )
    assert check(made, arrays)


@pytest.mark.parametrize(
    "write, call",
    [
        (lambda y, x: y.copy_(x, False), "v0.copy_(x)"),
        (lambda y, x: y.fill_(2.0), "v0.fill_(2)"),
        (lambda y, x: y.normal_(), "v0.normal_()"),
        (lambda y, x: y.uniform_(-1.0, 1.0), "v0.uniform_(-1)"),
        (lambda y, x: y.clamp_(min=0.0), "v0.clamp_(min=0)"),
    ],
)
def test_the_call_of_a_write_leaves_out_defaults(write, call):
    made, _ = document(lambda x: write(x * 1, x), minigrad.rand(3).requires_grad_())
    assert [op.call for op in made.ops if op.inplace] == [call]


@pytest.mark.parametrize(
    "index, value, call",
    [
        (slice(1, 3), 2.0, "v0[1:3] = 2"),
        ((slice(1, None), 0), 0, "v0[1:, 0] = 0"),
        (minigrad.tensor([2, 0]), -1.5, "v0[v1] = -1.5"),
        (..., minigrad.tensor([5.0, 6.0]), "v0[...] = v1"),
    ],
)
def test_a_write_by_index_is_an_assignment_that_can_be_typed_in(index, value, call):
    with minigrad.record() as rec:
        y = minigrad.full((3, 2), 9.0)
        y[index] = value
    (op,) = [op for op in rec.to_dict()["ops"] if op["inplace"]]
    assert op["call"] == call
    names = {"v0": minigrad.full((3, 2), 9.0), "v1": value if isinstance(value, minigrad.Tensor) else index}
    exec(call, names)
    assert minigrad.equal(names["v0"], y)


def test_internal_tensors_of_an_operation_are_no_results_of_another():
    def program(x):
        return F.avg_pool1d(F.group_norm(F.group_norm(x, 2), 1), 2, 2, 1, False, False)

    made, arrays = document(program, minigrad.rand(1, 4, 3, dtype=minigrad.float64).requires_grad_())
    forward = [op for op in made.ops if op.phase == "forward"]
    assert [len(op.outputs) for op in forward] == [1, 1, 1]
    assert [op.inputs[:1] for op in forward[1:]] == [op.outputs for op in forward[:-1]]
    assert check(made, arrays)
