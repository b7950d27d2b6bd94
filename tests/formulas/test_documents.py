"""The texts in a record run: calls give the results, formulas the gradients along the edges, pushes the tangents."""

import re
import warnings

import numpy as np
import pytest

import minigrad
from minigrad.core.tensor import wrap
from minigrad.nn import functional as F
from minigrad.ops.base.registry import TABLE
from minigrad.record.build import numbered
from tests import table
from tests.compile import random_programs

from .test_formulas import NAMES, leaves

RANDOM = {"bernoulli", "normal", "poisson", "multinomial", "gumbel_softmax", "dropout", "rand", "randn", "randint"}


def document(f, *args):
    """Return the document of a program, and the arrays of its values by their numbers."""
    rec = minigrad.record(f, *args)
    made, number = numbered(rec)
    arrays = {new: held(rec.values[old]) for old, new in number.new.items()}
    arrays = {new: a for new, a in arrays.items() if a is not None}
    assert not rec.notes or all("no formula" not in note for note in rec.notes), rec.notes
    return made, arrays


def held(noted):
    """Return a value's numbers: all, or the summary's if the value is small; None if they are unknown."""
    if noted.lost:
        numbers = noted.summary.get("values")
        return None if numbers is None else np.array(numbers, noted.dtype).reshape(noted.shape)
    return None if noted.array is None else np.asarray(noted.numbers())


def check(made, arrays):
    """Evaluate all that the document says of values that are known; return how many sayings there were."""
    labels = {v.label: wrap(arrays[v.id].copy()) for v in made.values if v.id in arrays}
    assert len({v.label for v in made.values}) == len(made.values) and all(v.label.isidentifier() for v in made.values)
    unknown = re.compile(rf"\b({'|'.join([v.label for v in made.values if v.id not in arrays] or ['(?!)'])})\b")
    said = 0
    for op in made.ops:
        if (
            op.phase == "forward"
            and op.name not in RANDOM
            and set(op.outputs) <= set(arrays)
            and not unknown.search(op.call)
        ):
            check_call(op, labels, arrays)
            said += 1
        for edge in op.edges:
            ids = {edge.gives, *edge.upstreams} - {None}
            if not ids <= set(arrays) or unknown.search(edge.formula):
                continue
            given = [zeros(op, k, arrays) if u is None else wrap(arrays[u]) for k, u in enumerate(edge.upstreams)]
            names = {**NAMES, **labels, "g": given[0] if len(given) == 1 else given}
            same(eval(edge.formula, names), arrays[edge.gives], edge.formula)
            assert edge.latex.startswith(r"\bar{") or len(edge.formula) > 3000  # too long to typeset
            said += 1
        tangents = {f"d{made.values[v].label}": wrap(arrays[t]) for v, t in op.tangents.items() if t in arrays}
        for push in op.pushes if set(op.tangents.values()) <= set(arrays) else ():
            if unknown.search(push["formula"]):
                continue
            same(
                eval(push["formula"], {**NAMES, **labels, **tangents}),
                arrays[op.tangents[push["output"]]],
                push["formula"],
            )
            said += 1
    return said


def zeros(op, k, arrays):
    return wrap(np.zeros_like(arrays[op.outputs[k]]))


def check_call(op, labels, arrays):
    found = eval(op.call, {**NAMES, **{k: t.clone() for k, t in labels.items()}})
    flat = [t for t in table.tensors(found)]
    assert len(flat) >= len(op.outputs), op.call
    for o, t in zip(op.outputs, flat if len(flat) == len(op.outputs) else matching(flat, op.outputs, arrays)):
        same(t, arrays[o], op.call)


def matching(flat, outputs, arrays):
    """Return those results of several that the program uses."""
    return [
        next(t for t in flat if tuple(t.shape) == arrays[o].shape and np.allclose(t.numpy(), arrays[o]))
        for o in outputs
    ]


def same(found, expected, text):
    assert tuple(found.shape) == expected.shape, text
    few = 1e-4 if expected.dtype == np.float32 else 1e-8
    largest = max(1.0, np.max(np.abs(expected), initial=0, where=np.isfinite(expected)))
    assert np.allclose(found.numpy(), expected, few, few * largest, equal_nan=True), text


@pytest.mark.parametrize(("name", "sample"), [(n, s) for n in table.SMOOTH for s in TABLE[n].samples])
def test_what_a_record_of_a_sample_says_is_true(name, sample):
    def run(*given):
        result, _ = table.run(name, sample, leaves=list(given))
        return [t for t in table.floats(result) if t.requires_grad]

    given = leaves(TABLE[name], sample)
    made, arrays = document(run, *given)
    assert check(made, arrays) or not made.ops


@pytest.mark.parametrize("dtype", [minigrad.float16, minigrad.bfloat16])
def test_formulas_of_half_precision_are_those_of_others(dtype):
    def f(x, w):
        return ((x * w).tanh().softmax(-1) ** 2).sum()

    half, whole = (
        [t.to(d) for t in (minigrad.tensor([0.5, 1.0]), minigrad.tensor([2.0, -1.0]))]
        for d in (dtype, minigrad.float32)
    )
    said = [[e.formula for op in document(f, *given)[0].ops for e in op.edges] for given in (half, whole)]
    assert said[0] == said[1] and len(said[0]) == 6


@pytest.mark.parametrize("seed", range(100))
def test_what_a_record_of_a_random_program_says_is_true(seed):
    program = random_programs.write(seed, minigrad)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            made, arrays = document(program.function(minigrad), *program.arguments(minigrad)())
        except RuntimeError as e:
            assert "modified by an inplace operation" in str(e), program.source  # it cannot run backward
            return
        assert check(made, arrays), program.source


def test_a_variable_is_called_by_its_name_unless_a_tangent_is_called_so():
    def f(d, x, dx):
        return (d * x * dx).sum()

    made, _ = document(f, *[minigrad.tensor([1.0, 2.0]) for _ in range(3)])
    assert [v.label for v in made.values[:2]] == ["d", "x"]
    (dx,) = [v for v in made.values if v.name == "dx"]
    assert dx.label == f"v{dx.id}"


def test_an_index_of_several_steps_is_written_in_brackets():
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
def test_what_an_operation_makes_for_itself_is_no_input_and_stands_in_the_formula(program, formula):
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
def test_a_weight_of_ones_that_nobody_gave_is_left_out(groups):
    made, _ = document(lambda x: F.group_norm(x, groups), minigrad.rand(2, 4, 3).requires_grad_())
    assert "ones" not in made.ops[0].edges[0].formula + made.ops[0].pushes[0]["formula"]


def test_a_number_keeps_its_dtype_where_the_result_has_it_from_there():
    made, arrays = document(
        lambda x: minigrad.nanquantile(x, 0.5), minigrad.rand(5, dtype=minigrad.float64).requires_grad_()
    )
    assert check(made, arrays)


@pytest.mark.parametrize(
    "write, call",
    [
        (lambda y, x: y.copy_(x, False), "v1.copy_(x)"),
        (lambda y, x: y.fill_(2.0), "v1.fill_(2)"),
        (lambda y, x: y.normal_(), "v1.normal_()"),
        (lambda y, x: y.uniform_(-1.0, 1.0), "v1.uniform_(-1, 1)"),
        (lambda y, x: y.clamp_(min=0.0), "v1.clamp_(min=0)"),
    ],
)
def test_a_write_is_called_without_what_goes_without_saying(write, call):
    made, _ = document(lambda x: write(x * 1, x), minigrad.rand(3).requires_grad_())
    assert [op.call for op in made.ops if op.inplace] == [call]


def test_what_one_operation_makes_for_itself_is_no_result_of_another():
    def program(x):
        return F.avg_pool1d(F.group_norm(F.group_norm(x, 2), 1), 2, 2, 1, False, False)

    made, arrays = document(program, minigrad.rand(1, 4, 3, dtype=minigrad.float64).requires_grad_())
    forward = [op for op in made.ops if op.phase == "forward"]
    assert [len(op.outputs) for op in forward] == [1, 1, 1]
    assert [op.inputs[:1] for op in forward[1:]] == [op.outputs for op in forward[:-1]]
    assert check(made, arrays)
