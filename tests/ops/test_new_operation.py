"""An operation declared in a few lines, outside the package, has everything: one of each family."""

import inspect
import math
import os
import subprocess
import sys

import numpy as np
import pytest

import minigrad
from minigrad import func
from minigrad.errors import error
from minigrad.kernels import row_kernels
from minigrad.ops.base.families import Bilinear, Linear, NonDifferentiable, Operation, Pointwise, Reduce, View
from minigrad.ops.base.layouts import row_major
from minigrad.ops.base.program import Program
from minigrad.ops.base.registry import TABLE, functions, op
from minigrad.ops.dimensions import axes, axis
from minigrad.ops.elementary import exp
from minigrad.ops.order import Amax
from minigrad.ops.reduce import Sum
from minigrad.testing.operations import row
from minigrad.testing.samples import call
from tests import table
from tests.recompute.again import computed
from tests.recompute.node import LiveError, Page
from tests.recompute.test_record import compare
from tests.recompute.test_table_again import record
from viz.recompute.library import Library
from viz.recompute.record import texts_of
from viz.recompute.translated import Writer


class Bump(Pointwise):
    """exp(-x * x)."""

    accepts = "f"
    kernel = lambda x: math.exp(-x * x)
    dx = lambda x, out: -2 * x * out
    samples = ("T(3, 4)", "T()")


(bump,) = functions(Bump)


class SumOfSquares(Reduce):
    """The sum of squares over dimensions."""

    impl = lambda x, dims, keepdim: np.add.reduce(x * x, axis=dims, keepdims=keepdim)
    dx = lambda x: 2 * x


@op("T(3, 4)", "T(2, 2, 3), (0, -1), True", "T(2, 2, 3), 1")
def sum_of_squares(input, dim=None, keepdim=False):
    """Return the sum of squares over the dimensions `dim`."""
    return SumOfSquares.apply(input, axes(input, dim, "sum_of_squares"), keepdim)


class Doubled(Linear):
    """Each element twice, side by side."""

    impl = lambda x, dim: np.repeat(x, 2, dim)
    dx = lambda g, shape, dim: g.unflatten(dim, (shape[dim], 2)).sum(dim + 1)
    batch = lambda x, dim: (x, dim + 1)


@op("T(2, 3), 0", "T(2, 3), -1")
def doubled(input, dim):
    """Return each element twice along a dimension."""
    return Doubled.apply(input, axis(dim, input.ndim, "doubled"))


class FirstHalf(View):
    """The first half of a dimension."""

    impl = lambda x, dim: x[(*[slice(None)] * dim, slice(x.shape[dim] // 2))]
    dx = lambda g, shape, dim: minigrad.cat(
        [g, g.new_zeros((*g.shape[:dim], shape[dim] - g.shape[dim], *g.shape[dim + 1 :]))], dim
    )
    batch = lambda x, dim: (x, dim + 1)


@op("T(4, 3), 0", "T(2, 6), 1")
def first_half(input, dim):
    """Return a view of the first half of a dimension."""
    return FirstHalf.apply(input, axis(dim, input.ndim, "first_half"))


class WeightedSum(Bilinear):
    """The sum over the last dimension, with weights."""

    impl = lambda x, w: np.sum(x * w, axis=-1)
    dx = lambda g, w: g.unsqueeze(-1) * w
    dw = lambda g, x: g.unsqueeze(-1) * x
    batch = lambda x, w: (x, w)


@op("T(3, 4), T(3, 4)")
def weighted_sum(input, weights):
    """Return the sum of products over the last dimension."""
    return WeightedSum.apply(input, weights)


class Centre(Operation):
    """x minus its mean over a dimension."""

    impl = lambda x, dim: x - x.mean(dim, keepdims=True)
    dx = lambda g, dim: g - g.mean(dim, True)
    batch = lambda x, dim: (x, dim + 1)


@op("T(3, 4), 1", "T(2, 2, 3), 0")
def centre(input, dim=0):
    """Return x minus its mean over a dimension."""
    return Centre.apply(input, axis(dim, input.ndim, "centre"))


class Bell(Program):
    """exp(-((place - summit) / breadth) ** 2 / 2)."""

    program = lambda place, summit, breadth: (-(((place - summit) / breadth) ** 2) / 2).exp()


@op("T(3, 4), T(4), P(4)", "T(4), T(3, 1), P()")
def bell(place, summit, breadth):
    """Return the height of a bell curve."""
    return Bell.apply(place, summit, breadth)


class Raised(Program):
    """2 (ground + 1), with a write on the way, which a page does not translate."""

    @staticmethod
    def program(ground):
        grown = ground.clone()
        grown.add_(1)
        return grown * 2


@op("T(3)")
def raised(ground):
    """Return twice what is one higher."""
    return Raised.apply(ground)


class Shares(Program):
    """x over its sum; its gradient by a formula."""

    program = lambda x, dim: x / x.sum(dim, True)
    dx = lambda g, x, out, dim: (g - (g * out).sum(dim, True)) / x.sum(dim, True)
    batch = lambda x, dim: (x, dim + 1)


@op("P(3, 4), 1", "P(2, 2, 3), 0")
def shares(input, dim):
    """Return x over its sum along a dimension."""
    return Shares.apply(input, axis(dim, input.ndim, "shares"))


class Ends(Program):
    """The first and the last row, of which the first is a view."""

    program = lambda x: (x[0], (last := x[-1] * 2), last[:2])


class Tempered(Program):
    """exp(loads / heat) over its sum along lines."""

    gives, along, scalars = (row_kernels.ALL,), "lines", ("heat",)
    layout = row_major

    @staticmethod
    def program(loads, lines, heat):
        grown = exp((loads - Amax.apply(loads, lines, True)) / heat)
        return grown / Sum.apply(grown, lines, True)

    dloads = lambda g, out, lines, heat: (g - Sum.apply(g * out, lines, True)) * out / heat


@op("T(3, 4), 1, 2.0", "T(2, 2, 3), 0, 0.5")
def tempered(loads, line, heat=1.0):
    """Return shares that are the more equal the hotter it is."""
    if heat <= 0:
        raise error(ValueError, "tempered", f"heat must be positive, got {heat}", "write heat=1.0")
    return Tempered.apply(loads, (axis(line, loads.ndim, "tempered"),), float(heat))


@op("T(3, 4)")
def ends(input):
    """Return the first row, twice the last, and the beginning of that."""
    return Ends.apply(input)


class CountAbove(NonDifferentiable):
    """Count of the elements above a limit."""

    impl = lambda x, limit: np.asarray((x > limit).sum())
    batch = None


@op("T(3, 4), 0.5", vmap=False, differentiable=False)
def count_above(input, limit):
    """Return the number of elements above a limit."""
    return CountAbove.apply(input, limit)


NAMES = "bump sum_of_squares doubled first_half weighted_sum centre bell raised shares tempered ends".split()
LIVE = ["bump", "bell", "shares", "tempered", "ends"]  # stated by a kernel or a program
CALLS = [(name, sample) for name in NAMES for sample in TABLE[name].samples]
FUNCTIONS = {name: TABLE[name].function for name in NAMES}


# other tests go through the whole table, so the operations are in it only while those of this file run
DECLARED = {name: TABLE.pop(name) for name in (*NAMES, "count_above")}


@pytest.fixture(autouse=True)
def declared():
    """Enter the operations into the table for one test."""
    TABLE.update(DECLARED)
    yield
    for name in DECLARED:
        del TABLE[name]


def made(name, sample):
    """Return the function of the sample's float tensors, and these."""
    _, leaves = table.run(name, sample)
    return (lambda *xs: table.run(name, sample, leaves=list(xs))[0]), [x.detach() for x in leaves]


def summed(result):
    """Return a number that depends on all results."""
    return sum(((t * (k + 1)).sin().sum() for k, t in enumerate(table.floats(result))), minigrad.zeros(()))


@pytest.mark.parametrize(("name", "sample"), CALLS)
def test_it_has_derivatives_of_both_orders_in_both_modes(name, sample):
    f, xs = made(name, sample)
    given = [x.requires_grad_() for x in xs]
    assert minigrad.autograd.gradcheck(f, given, check_forward_ad=True)
    assert minigrad.autograd.gradgradcheck(f, given)


@pytest.mark.parametrize(("name", "sample"), CALLS)
def test_it_runs_under_vmap_in_both_modes(name, sample):
    f, xs = made(name, sample)
    batches = [minigrad.stack([x, x * 1.25, x * 0.5]) for x in xs]
    places = tuple(range(len(xs)))
    for g in (
        f,
        func.grad(lambda *a: summed(f(*a)), places),
        lambda *a: func.jvp(f, a, tuple([x + 0.5 for x in a]))[1],
    ):
        together = table.floats(func.vmap(g)(*batches))
        alone = [table.floats(g(*[b[k] for b in batches])) for k in range(3)]
        for t, parts in zip(together, zip(*alone), strict=True):
            assert minigrad.allclose(t, minigrad.stack(list(parts)))


@pytest.mark.parametrize("name", NAMES)
def test_it_compiles(name):
    f, xs = made(name, TABLE[name].samples[0])

    def program(*xs):
        return summed(FUNCTIONS[name](*xs, *settings))

    settings = [a for a in arguments(name) if not isinstance(a, minigrad.Tensor)]
    expected = func.grad(program, tuple(range(len(xs))))(*xs)
    given = [x.clone().requires_grad_() for x in xs]
    minigrad.compile(program)(*given).backward()
    for x, g in zip(given, expected, strict=True):
        assert minigrad.allclose(x.grad, g)


def arguments(name):
    """Return the arguments of an operation's first sample."""
    entry = TABLE[name]
    return minigrad.testing.samples.call(minigrad, lambda *a: a, entry, entry.samples[0])[0]


@pytest.mark.parametrize(("name", "sample"), CALLS)
def test_a_record_writes_its_call_and_formulas_that_evaluate(name, sample):
    f, xs = made(name, sample)
    given = [x.requires_grad_() for x in xs]
    with minigrad.record() as rec:
        results = table.floats(f(*given))
        grads = minigrad.autograd.grad(results, given, [minigrad.ones_like(r) * 0.7 for r in results])
    assert rec.notes == []
    record = rec.to_dict()
    (done,) = [o for o in record["ops"] if o["name"] == name and o["phase"] == "forward"]
    labels = {v["label"]: minigrad.tensor(v["summary"]["values"], dtype=minigrad.float64) for v in record["values"]}
    names = {**vars(minigrad.nn.functional), **vars(minigrad), **FUNCTIONS, **labels}
    again = table.floats(eval(done["call"], dict(names)))
    assert all(minigrad.allclose(a, r.detach(), atol=1e-4) for a, r in zip(again, results, strict=True))
    gs = [minigrad.ones_like(r).detach() * 0.7 for r in results]
    names["g"] = gs[0] if len(gs) == 1 else gs
    found = [eval(edge["formula"], dict(names)) for edge in done["edges"]]
    assert len(found) == len(grads)
    assert all(minigrad.allclose(a, g, atol=1e-4) for a, g in zip(found, grads))
    assert all(edge["latex"].startswith(r"\bar{") for edge in done["edges"])


@pytest.mark.parametrize("name", NAMES)
def test_explain_finds_a_reason_for_each_dimension_and_gradient(name):
    f, xs = made(name, TABLE[name].samples[0])
    given = [x.requires_grad_() for x in xs]
    with minigrad.record() as rec:
        result = table.floats(f(*given))[0]
        result.sum().backward()
    assert name in str(minigrad.explain(given[0].grad))
    assert name in str(minigrad.explain_shape(result))
    assert rec.notes == []


@pytest.mark.parametrize("name", NAMES)
def test_the_documentations_table_has_its_row(name):
    entry = TABLE[name]
    assert f"`{name}" in row(entry) or name in row(entry)
    assert inspect.getdoc(entry.function).split(".")[0] in row(entry)


def test_a_page_leaves_what_it_cannot_translate_as_it_was_recorded():
    with Page(["raised(x)"]) as page, pytest.raises(LiveError, match="raised is not live"):
        page.evaluate("raised(x)", {"x": np.ones(3)})


def grown_in_place(ground):
    same = ground
    same += 1
    return ground


def answered(ground):
    try:
        return ground.reshape(2, 2)
    except RuntimeError:
        return ground


@pytest.mark.parametrize("program", [grown_in_place, answered])
def test_a_page_translates_no_write_to_a_value_of_two_names_and_no_answer_to_an_error(program):
    with pytest.raises(NotImplementedError):
        Writer(Library.of(0).functions, program, (), False).text()


@pytest.mark.parametrize(("name", "sample"), [(n, s) for n, s in CALLS if n in LIVE])
def test_a_page_computes_it_again_with_other_numbers(name, sample):
    leaves = [x.detach().numpy() for x in call(minigrad, FUNCTIONS[name], TABLE[name], sample)[1]]
    live, document, arrays = record(TABLE[name], sample, leaves)
    _, other, expected = record(TABLE[name], sample, [x * 0.75 + 0.1 for x in leaves])
    given = [v["id"] for v in document["values"] if v["kind"] in ("parameter", "input", "constant")]
    given = {i: expected[i] for i in given if i in expected and not any(i in s["outputs"] for s in live["steps"])}
    with Page(texts_of(live)) as page:
        for found, numbers in ((computed(live, page=page), arrays), (computed(live, given, page=page), expected)):
            assert not found.frozen and not found.behind
            compare(found, numbers)


def test_without_a_formula_or_a_rule_for_vmap_it_is_refused():
    x = minigrad.ones(2, 3, requires_grad=True)
    assert not count_above(x, 0.5).requires_grad
    with pytest.raises(NotImplementedError, match="count_above: has no vmap rule"):
        func.vmap(lambda x: count_above(x, 0.5))(x)


def test_a_program_does_not_return_the_memory_of_an_argument():
    x = minigrad.ones(3, 4)
    first, last, part = ends(x)
    first.zero_()
    part.zero_()
    assert x.sum() == 12 and last.sum() == 8


def test_an_error_inside_a_program_names_the_operation_that_the_user_called():
    given = minigrad.zeros(3), minigrad.zeros(4), minigrad.ones(4)
    calls = [lambda: bell(*given), lambda: func.jvp(lambda x: bell(x, *given[1:]), given[:1], given[:1])]
    calls.append(lambda: func.vmap(lambda x: bell(x, *given[1:]))(minigrad.zeros(2, 3)))
    for run in calls:
        with pytest.raises(RuntimeError, match=r"^bell: in its sub, .*sizes 3 and 4") as e:
            run()
        assert "with place (3,), summit (4,), breadth (4,)" in str(e.value)


SIMULATED = """
import numpy as np
import minigrad
from tests.ops.test_new_operation import bump, ends

z = minigrad.ones(3, 4, device="cuda")
first, last, part = ends(z)
first.zero_()
part.zero_()
assert z.sum().item() == 12 and last.sum().item() == 8

x = np.linspace(-2, 2, 3000, dtype=np.float32).reshape(3, 1000)
y = minigrad.tensor(x, device="cuda", requires_grad=True)
out = bump(y)
out.sum().backward()
assert np.allclose(out.detach().cpu().numpy(), np.exp(-x * x), rtol=1e-5)
assert np.allclose(y.grad.cpu().numpy(), -2 * x * np.exp(-x * x), atol=1e-5)
"""


def test_an_elementwise_one_has_a_kernel_for_gpus():
    run = subprocess.run(
        [sys.executable, "-c", SIMULATED],
        env={**os.environ, "NUMBA_ENABLE_CUDASIM": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert run.returncode == 0, run.stderr
