"""The fast path gives what the definitions give, in every corner that it does not cover itself."""

import os
import subprocess
import sys
import tracemalloc
import warnings

import numpy as np
import pytest

import minigrad
from minigrad import fast as dispatch
from minigrad.core.graph import FullNode
from minigrad.nn import functional as F
from minigrad.ops.base.registry import TABLE
from tests.floats import some
from tests.forked import python

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
PARTLY = {"zeta"}  # whose derivative with respect to one operand is unknown
WRITTEN = [n for n, e in sorted(TABLE.items()) if e.cls and n not in PARTLY and dispatch.specialisable(e.cls)]


def operands(name, size=3):
    random = np.random.default_rng(0)
    cls, conditions = TABLE[name].cls, TABLE[name].cls.n_conditions
    numbers = [random.uniform(0.2, 0.9, size) for _ in cls.names[: len(cls.names) - cls.n_settings]]
    tensors = [
        minigrad.tensor(a < 0.5) if i < conditions else minigrad.tensor(a, requires_grad=True)
        for i, a in enumerate(numbers)
    ]
    return [*tensors, *[name == "equal_nan" or 1 for name in cls.names[len(tensors) :]]]


@pytest.mark.parametrize("name", WRITTEN)
@pytest.mark.parametrize("size", [(), (3,)])
def test_the_gradient_equals_the_definition(name, size):
    agree(name, size)


@pytest.mark.parametrize("name", some(WRITTEN, 4))
def test_the_gradient_by_kernels_equals_the_definition(name):
    agree(name, (70, 80))


@pytest.mark.parametrize("dtype", [minigrad.float16, minigrad.bfloat16], ids=lambda d: d.name)
@pytest.mark.parametrize("name", some(WRITTEN, 4))
def test_half_precision_equals_the_definition(name, dtype):
    """With numbers for all operands but the first, and for the second alone, whose formulas see float32."""
    cls = TABLE[name].cls
    n, plain = cls.n_conditions, len(cls.names) - cls.n_settings
    first = [x.to(dtype).detach().requires_grad_() if x.requires_grad else x for x in operands(name)[: n + 1]]
    others = [x.to(dtype).detach().requires_grad_() for x in operands(name)[n + 1 : plain]]
    settings = operands(name)[plain:]
    for given in (others, [0.3, 0.7][: len(others)], [0.3, *others[1:]][: len(others)]):
        args, found = [*first, *given, *settings], []
        xs = [x for x in args if isinstance(x, minigrad.Tensor) and x.requires_grad]
        for apply in (cls.apply, lambda *args: dispatch.definition(cls, *args)):
            out = apply(*args)
            grads = minigrad.autograd.grad(out.sum(), xs, allow_unused=True) if out.requires_grad else ()
            found.append([None if t is None else (t.dtype, t.tolist()) for t in (out.detach(), *grads)])
        np.testing.assert_equal(*found)


def test_a_number_among_three_operands_counts_as_given():
    x = minigrad.tensor([1.0, 2.0], requires_grad=True)
    y = minigrad.lerp(x, x * 2, 0.25)
    assert y.grad_fn.name() == "LerpBackward0" and y.grad_fn._saved[2] == 0.25
    assert minigrad.autograd.grad(y.sum(), x)[0].tolist() == [1.25, 1.25]
    low = minigrad.nn.functional.huber_loss(x, 2 * x, delta=0.5)
    assert minigrad.autograd.grad(low, x)[0].tolist() == [0.25, 0.25]


def agree(name, size):
    """Say whether what is written out for an operation gives what its definition gives."""
    cls = TABLE[name].cls
    fast, slow = operands(name, size), operands(name, size)
    results = cls.apply(*fast), dispatch.definition(cls, *slow)
    assert np.array_equal(results[0].detach().numpy(), results[1].detach().numpy(), equal_nan=True)
    if not results[1].requires_grad:
        assert not results[0].requires_grad
        return
    fast, slow = ([x for x in xs if isinstance(x, minigrad.Tensor) and x.requires_grad] for xs in (fast, slow))
    varied = minigrad.linspace(0.3, 0.9, results[0].numel(), dtype=minigrad.float64).reshape(results[0].shape)
    for weights in (
        varied,
        minigrad.tensor(0.7, dtype=minigrad.float64).expand(varied.shape),
    ):  # as a sum sends it back
        by_road = minigrad.autograd.grad(results[0], fast, weights, retain_graph=True, allow_unused=True)
        by_definition = minigrad.autograd.grad(results[1], slow, weights, retain_graph=True, allow_unused=True)
        for a, b in zip(by_road, by_definition, strict=True):
            assert (a is None) == (b is None)
            assert a is None or np.allclose(a.numpy(), b.numpy(), rtol=1e-12, atol=1e-12, equal_nan=True)


def test_the_generic_path_passes_the_same_programs():
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "tests/test_engine_programs.py"]
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, "MINIGRAD_GENERIC": "1"}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout[-3000:]


def test_infinities_are_no_warnings_even_where_warnings_are_errors():
    x = minigrad.tensor([0.0, 1.0], requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        y = 1.0 / x
        z = minigrad.log(x)
        y.backward(minigrad.ones(2))
        x.grad = None
        z.backward(minigrad.ones(2))
    assert (y[0].item(), z[0].item()) == (np.inf, -np.inf)


@pytest.mark.parametrize("name", ["relu", "sigmoid", "silu", "mish", "logsigmoid", "softsign", "gelu"])
def test_formulas_that_overflow_on_their_way_equal_the_definition_without_a_warning(name):
    x = minigrad.tensor([-3e38, -200.0, -0.0, 0.0, 200.0, 3e38, float("nan")])
    for part in (x, x[1], x.double()):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = TABLE[name].function(part)
        assert found.dtype == part.dtype
        np.testing.assert_array_equal(found.numpy(), TABLE[name].cls.compute(part.numpy()))


def test_a_number_that_backward_reads_counts_as_saved():
    x = minigrad.tensor([1.0], requires_grad=True)
    y = (x * 2).sum()
    y.backward()
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        y.backward()
    z = (x + 2).sum()
    z.backward()
    z.backward()
    assert x.grad.tolist() == [4.0]


def test_negative_zero_and_nan_are_not_mistaken_for_kept_numbers():
    x = minigrad.tensor([1.0])
    assert np.signbit((x * -0.0).numpy()).all() and not np.signbit((x * 0.0).numpy()).any()
    assert np.isnan((x * float("nan")).numpy()).all() and (x * 2.0).item() == 2.0


OF_TWO = [n for n in WRITTEN if len(TABLE[n].cls.names) == 2 and dispatch.is_pointwise(TABLE[n].cls)]


@pytest.mark.parametrize("name", OF_TWO)
def test_integer_operands_with_numbers_equal_the_definition(name):
    cls = TABLE[name].cls
    given = {
        dtype: minigrad.tensor([0, 1, 2, -5], dtype=dtype) for dtype in (minigrad.int64, minigrad.int32, minigrad.bool)
    }
    given["longlong"] = minigrad.from_numpy(np.array([3, -4], "q"))  # int64 by another name
    for x in given.values():
        for value in (0, 1, -3, 2**62, 2**63, 1.0, 2.5, -0.0, True, given[minigrad.int64][:2]):
            for args in ((x, value), (value, x)):
                said = [outcome(f, args) for f in (cls.apply, lambda *a: dispatch.definition(cls, *a))]
                assert said[0] == said[1], args


def outcome(f, args):
    """Return what a call gives, or says is wrong."""
    try:
        found = f(*args)
        return found.dtype, found.shape, str(found.tolist())
    except (minigrad.MinigradError, TypeError, ArithmeticError, ValueError) as e:
        return type(e), str(e).splitlines()[0]


def test_a_write_to_a_saved_operand_is_detected():
    x, y = minigrad.ones(2, requires_grad=True), minigrad.ones(2)
    z = x * y
    y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()


def test_an_operand_that_no_gradient_reads_is_not_kept():
    x, y = minigrad.ones(2, requires_grad=True), minigrad.ones(2)
    kept = lambda z: [saved is not None for saved in z.grad_fn._saved[:2]]
    assert (kept(x * y), kept(y * x), kept(x * x)) == ([False, True], [True, False], [True, True])


def test_a_leafs_gradient_never_shares_memory():
    x, y, seed = minigrad.ones(2, requires_grad=True), minigrad.ones(2, requires_grad=True), minigrad.ones(2)
    (x + y).backward(seed)
    x.grad.fill_(5.0)
    assert y.grad.tolist() == [1.0, 1.0] and seed.tolist() == [1.0, 1.0]


def test_adding_to_a_saved_gradient_is_detected():
    x, w = minigrad.ones(2, requires_grad=True), minigrad.ones(2, requires_grad=True)
    (x * 3).sum().backward()
    z = (w * x.grad).sum()
    (x * 5).sum().backward()  # adds to x.grad, which z has saved
    with pytest.raises(
        RuntimeError, match=r"at version 1, expected version 0\n  last written by backward at .*test_dispatch"
    ):
        z.backward()


def test_a_node_takes_few_bytes():
    x, n = minigrad.ones(1, requires_grad=True), 10_000
    y = x * 1.5
    tracemalloc.start()
    for _ in range(n):
        y = y * 1.5
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert size / n < 400  # the node, the tensor that is gone, and the kept shape


def test_the_text_of_an_operation_can_be_printed():
    done = subprocess.run([sys.executable, "-m", "minigrad.fast", "mul"], capture_output=True, text=True)
    assert "def mul(x, y):" in done.stdout and "def pull(node, g, free):" in done.stdout


def test_operations_that_are_not_pointwise_are_written_out_too():
    command = [sys.executable, "-m", "minigrad.fast", "sum", "matmul", "permute"]
    done = subprocess.run(command, capture_output=True, text=True)
    for line in (
        "def sum(x, dims, keepdim):",
        "def matmul(x, y):",
        "view.parent, view.fn, view.args = x, cls, (order,)",
        "result = impl(x._a, order)",
    ):
        assert line in done.stdout


@pytest.mark.parametrize("name, why", [("gcd", "takes the generic path"), ("nosuch", "is no operation")])
def test_an_operation_without_a_fast_path_is_named(name, why):
    done = subprocess.run([sys.executable, "-m", "minigrad.fast", name], capture_output=True, text=True)
    assert done.returncode == 1 and f"{name} has no generated code: it {why}" in done.stderr


def test_an_operation_of_any_number_of_tensors_is_shown_for_two():
    done = subprocess.run([sys.executable, "-m", "minigrad.fast", "cat"], capture_output=True, text=True)
    assert done.returncode == 0 and "def cat(dim, starts, xs0, xs1):" in done.stdout


@pytest.mark.parametrize("name", some(WRITTEN, 3))
def test_the_second_derivative_equals_the_definition(name):
    cls, found = TABLE[name].cls, []
    for apply in (cls.apply, lambda *xs: dispatch.definition(cls, *xs)):
        xs = operands(name)
        if not (out := apply(*xs)).requires_grad:
            return
        options = {"allow_unused": True, "materialize_grads": True}
        xs = [x for x in xs if isinstance(x, minigrad.Tensor) and x.requires_grad]  # no conditions, no settings
        first = minigrad.autograd.grad(out.sum(), xs, create_graph=True, **options)
        tracked = [g * g for g in first if g.requires_grad]
        found.append(minigrad.autograd.grad(sum(tracked).sum(), xs, **options) if tracked else ())
    for a, b in zip(*found, strict=True):
        assert np.allclose(a.numpy(), b.numpy(), rtol=1e-12, atol=1e-12, equal_nan=True)


@pytest.mark.parametrize(
    "program", [lambda x: x * 2, lambda x: 3 - x, lambda x: x.sum(), lambda x: x @ x, minigrad.relu]
)
def test_nodes_under_transforms_are_flat_and_know_their_layer(program):
    def f(x):
        node = program(x).grad_fn
        assert not isinstance(node, FullNode) and node._layer is x._layer
        assert {edge for edge in node._edges if edge is not None} == {x._edge}
        return (x * x).sum()

    minigrad.func.grad(f)(minigrad.rand(2, 2))


def test_operations_that_extend_another_have_their_own_nodes_and_gradients_under_transforms():
    names = []

    def f(x):
        views = x.reshape(4), x.unsqueeze(0), x.unsqueeze(0).squeeze(0), x.permute(1, 0), x.mT
        for y in (*views, x @ x, minigrad.bmm(x[None], x[None])):
            names.append(y.grad_fn.name())
        return (x.reshape(4).unsqueeze(1).squeeze(1).reshape(2, 2).permute(1, 0).mT @ x).sum()

    found = minigrad.func.grad(f)(minigrad.ones(2, 2))
    extended = ["TransposeBackward0", "MmBackward0", "BmmBackward0"]
    assert names == ["ViewBackward0", "UnsqueezeBackward0", "SqueezeBackward1", "PermuteBackward0", *extended]
    assert found.tolist() == [[4.0, 4.0], [4.0, 4.0]]


def test_a_write_to_a_value_saved_under_a_transform_is_detected():
    def f(x):
        y = x * 1
        z = y * y
        y.add_(1)
        return z.sum()

    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        minigrad.func.grad(f)(minigrad.ones(2))


def test_a_pull_back_that_frees_saved_tensors_runs_once():
    _, pull = minigrad.func.vjp(lambda x: x * x, minigrad.ones(2))
    pull(minigrad.ones(2), retain_graph=False)
    with pytest.raises(RuntimeError, match="a second time"):
        pull(minigrad.ones(2))


def test_operations_of_indices_and_of_several_results_are_written_out():
    table, classes = minigrad.randn(5, 3, requires_grad=True), minigrad.tensor([0, 2, 1])
    rows = F.embedding(classes, table)
    assert isinstance(type(rows.grad_fn)._edges, property)
    loss = F.cross_entropy(rows, classes)
    assert isinstance(type(loss.grad_fn)._edges, property) and len(loss.grad_fn._meta) == 2
    assert loss.grad_fn.saved_tensors[0].tolist() == classes.tolist()
    loss.backward()
    with pytest.raises(RuntimeError, match="a second time"):
        loss.backward()


def test_a_number_that_is_written_is_no_input_and_names_the_node():
    x = minigrad.randn(2, 3, requires_grad=True)
    mask, index = x.detach() > 0, minigrad.tensor([[0, 0, 1]])
    for number, tensor, names in (
        (
            x.masked_fill(mask, 2),
            x.masked_fill(mask, minigrad.tensor(2.0)),
            ("MaskedFillBackward0", "MaskedFillBackward1"),
        ),
        (
            x.scatter(0, index, 2.0),
            x.scatter(0, index, minigrad.full((1, 3), 2.0)),
            ("ScatterBackward1", "ScatterBackward0"),
        ),
    ):
        assert (number.grad_fn.name(), tensor.grad_fn.name()) == names and number.equal(tensor)
        assert [e is None for e in number.grad_fn._edges][-1] and 2 in number.grad_fn._constants.values()
        g, h = (minigrad.autograd.grad((y * y).sum(), x, create_graph=True)[0] for y in (number, tensor))
        assert g.equal(h) and minigrad.autograd.grad(g.sum(), x)[0].equal(minigrad.autograd.grad(h.sum(), x)[0])
    x = minigrad.arange(3)
    assert x.masked_fill(x > 1, 7).tolist() == [0, 1, 7] and x.masked_fill(x > 1, 7).dtype is minigrad.int64
    assert minigrad.func.vmap(lambda a: a.masked_fill(a > 1, 7))(minigrad.stack([x, x + 1])).tolist() == [
        [0, 1, 7],
        [1, 7, 7],
    ]


def test_indices_written_after_the_forward_are_detected():
    x, classes = minigrad.randn(4, 3, requires_grad=True), minigrad.tensor([0, 2, 1, 1])
    loss = F.cross_entropy(x, classes)
    classes.fill_(0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_floats_do_not_pass_for_indices():
    x = minigrad.randn(4, 3, requires_grad=True)
    with pytest.raises((IndexError, RuntimeError, TypeError)):
        F.embedding(minigrad.tensor([0.0, 1.0]), x)


def test_derivatives_of_several_results_can_be_differentiated():
    x = minigrad.randn(3, 4, dtype=minigrad.float64, requires_grad=True)
    classes = minigrad.tensor([0, 3, 1])
    assert minigrad.autograd.gradgradcheck(lambda x: F.cross_entropy(x, classes, label_smoothing=0.2), x)
    (g,) = minigrad.autograd.grad(F.cross_entropy(x, classes), x, create_graph=True)
    (h,) = minigrad.autograd.grad(g.pow(2).sum(), x)
    p = x.detach().softmax(1)
    target = F.one_hot(classes, 4)
    expected = 2 / 9 * (p * (p - target) - p * (p * (p - target)).sum(1, True))
    assert minigrad.allclose(h, expected)


def test_a_number_on_the_left_is_saved_as_a_number():
    x = minigrad.tensor([0.5], requires_grad=True)
    y = 2.0 - x
    assert y.grad_fn._saved[0] == 2.0 and y.item() == 1.5
    (3.0 / x).sum().backward()
    assert x.grad.tolist() == [-12.0]


# generated code keeps the function that it was generated with, so a process of its own
FAILED_FORMS = """
import sys, warnings
import minigrad
from minigrad import fast as dispatch
from minigrad.ops.base.registry import TABLE
from minigrad.testing.samples import Maker

definition, failed = dispatch.definition, {}

def noted(cls, *args):
    error = sys.exc_info()[1]
    if error is not None and "registry" not in str(error):  # the alarm, arrays/errstate.py
        failed[cls.__name__] = repr(error)
    return definition(cls, *args)

dispatch.definition = noted
warnings.simplefilter("ignore")
for entry in TABLE.values():
    for sample in entry.samples:
        maker = Maker(minigrad, entry, sample, "float32")
        names = {n: getattr(maker, n) for n in "TPISB"}
        eval(f"function({sample})", {"function": entry.function, "torch": minigrad, **names})
print(failed)
"""


def test_no_generated_form_fails_and_leaves_its_operation_to_the_definition():
    """A form that fails at each call costs the operation twice; only alarms about numbers, such as 1 / 0, may end it."""
    done = python("-c", FAILED_FORMS, cwd=ROOT)
    assert done.stdout.decode().split("\n")[-2:] == ["{}", ""], done.stderr.decode()[-2000:] + done.stdout.decode()
