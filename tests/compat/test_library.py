"""torch.library: operators made of functions, and the derivative, shapes, kernels and rules that are added to them."""

import inspect

import numpy as np
import pytest

import minigrad
from minigrad import Tensor, library


def sine(x: Tensor, scale: float = 1.0) -> Tensor:
    """Compute in NumPy, which no layer can look into."""
    return minigrad.from_numpy(np.asarray(np.sin(x.numpy()) * scale))


def setup_context(ctx, inputs, output):
    ctx.save_for_backward(inputs[0])
    ctx.scale = inputs[1]


def backward(ctx, g):
    return g * ctx.scale * ctx.saved_tensors[0].cos(), None


@pytest.fixture
def op():
    made = library.custom_op("tests::sine", sine, mutates_args=())
    made.register_autograd(backward, setup_context=setup_context)
    return made


def test_defaults_and_keywords_reach_the_kernel_and_setup_context(op):
    x = minigrad.tensor([0.0, 1.0], requires_grad=True)
    op(x, scale=3.0).sum().backward()
    assert np.allclose(x.grad, 3 * np.cos([0, 1])) and np.allclose(op(x.detach()), np.sin([0, 1]))


def test_the_operator_is_drawn_under_its_name_with_its_own_parameters(op):
    x = minigrad.ones(2, requires_grad=True)
    record = minigrad.record(lambda: (op(x * 1) * 2).sum()).to_dict()
    assert [made["name"] for made in record["ops"] if made["phase"] == "forward"] == ["mul", "sine", "mul", "sum"]
    assert "self" not in {v["name"] for v in record["values"]} | {v.get("shown") for v in record["values"]}
    assert list(inspect.signature(op._function.forward).parameters) == ["x", "scale"]


@pytest.mark.parametrize(
    ("args", "kwargs", "says"),
    [
        ((), {}, "missing a required argument: 'x'"),
        ((1, 2, 3), {}, "too many"),
        ((1,), {"k": 2}, "keyword argument 'k'"),
    ],
)
def test_a_call_with_other_arguments_names_the_operator_and_its_parameters(op, args, kwargs, says):
    with pytest.raises(TypeError, match=r"tests::sine: .*") as raised:
        op(*args, **kwargs)
    assert says in str(raised.value) and "call sine(x, scale)" in str(raised.value) and __file__ in str(raised.value)


def test_its_derivative_passes_gradcheck_and_differentiates_twice(op):
    x = minigrad.tensor([0.5, 1.0], dtype=minigrad.float64, requires_grad=True)
    assert minigrad.autograd.gradcheck(op, (x,)) and minigrad.autograd.gradgradcheck(op, (x,))


def test_vmap_runs_it_per_element_until_a_rule_is_registered(op):
    x, calls = minigrad.arange(6.0).reshape(3, 2), []
    assert np.allclose(minigrad.vmap(op)(x), np.sin(x))
    per_sample = minigrad.vmap(minigrad.func.grad(lambda row: op(row).sum()))
    assert np.allclose(per_sample(x), np.cos(x))

    @op.register_vmap
    def rule(info, in_dims, x, scale):
        calls.append((info.batch_size, in_dims))
        return op(x, scale), in_dims[0]

    assert np.allclose(minigrad.vmap(op, 1, 1)(x), np.sin(x)) and calls == [(2, (1, None))]


def test_keywords_only_go_to_setup_context_and_get_no_gradient():
    @library.custom_op("tests::times", mutates_args=())
    def times(x: Tensor, *, by: float = 2.0) -> Tensor:
        return x * by

    def setup(ctx, inputs, keyword_only_inputs, output):
        assert len(inputs) == 1
        ctx.by = keyword_only_inputs["by"]

    library.register_autograd("tests::times", lambda ctx, g: g * ctx.by, setup_context=setup)
    x = minigrad.ones(2, requires_grad=True)
    assert minigrad.autograd.grad(times(x).sum() + times(x, by=5.0).sum(), x)[0].tolist() == [7, 7]


def test_the_meta_device_takes_the_fake_and_devices_take_their_kernel(op):
    x = minigrad.ones(2, 3, device="meta")
    with pytest.raises(RuntimeError, match=r"tests::sine: has no kernel for the device meta(.|\n)*@sine.register_fake"):
        op(x)

    @library.register_fake("tests::sine")
    def fake(x, scale=1.0):
        return minigrad.empty_like(x)

    assert op(x).shape == (2, 3) and op(x).is_meta

    @op.register_kernel("cpu")
    def zeros(x, scale):
        return minigrad.zeros_like(x)

    assert op(minigrad.ones(1)).item() == 0
    with op.set_kernel_enabled("cpu", False):
        assert np.isclose(op(minigrad.ones(1)).item(), np.sin(1))


def test_an_operator_for_another_device_has_no_kernel_here():
    op = library.custom_op("tests::gpu", sine, mutates_args=(), device_types="cuda")
    with pytest.raises(NotImplementedError, match=r'has no kernel for the device cpu(.|\n)*register_kernel\("cpu"\)'):
        op(minigrad.ones(1))


def test_a_modified_argument_gets_a_new_version_and_no_derivative():
    @library.custom_op("tests::fill", mutates_args={"x"})
    def fill(x: Tensor, value: float) -> None:
        x.numpy()[...] = value

    x = minigrad.zeros(2)
    assert fill(x, 3.0) is None and x.tolist() == [3, 3] and x._version == 1
    y = minigrad.ones(2, requires_grad=True).exp()
    fill(y, 1.0)
    with pytest.raises(RuntimeError, match="in-place|in place|modified"):  # exp has saved its output
        y.sum().backward()
    with pytest.raises(RuntimeError, match=r"modifies x in place(.|\n)*mutates_args=\(\)"):
        fill.register_autograd(backward)


def test_without_a_formula_backward_names_the_operator():
    op = library.custom_op("tests::bare", sine, mutates_args=())
    with pytest.raises(RuntimeError, match=r"tests::bare: has no autograd formula(.|\n)*bare.register_autograd"):
        op(minigrad.ones(1, requires_grad=True)).backward()


def test_torch_ops_finds_operators_by_name(op):
    with minigrad.as_torch() as torch:
        assert torch.ops.tests.sine is op and torch.ops.tests.sine.default is op
        with pytest.raises(AttributeError, match="ops.tests: has no operator cosine"):
            torch.ops.tests.cosine
    assert repr(op) == "<CustomOpDef(tests::sine)>"


@pytest.mark.parametrize(
    ("change", "says"),
    [(lambda x: x, "returns an argument"), (lambda x: x.view(-1), "or a view of one"), (lambda x: [x[:1]], "x.clone")],
)
def test_a_result_that_shares_memory_is_refused(change, says):
    def shares(x: Tensor) -> Tensor:
        return change(x)

    with pytest.raises(RuntimeError, match=says):
        library.custom_op("tests::shares", shares, mutates_args=())(minigrad.ones(2))


def test_a_list_of_tensors_that_require_grad_is_refused():
    def total(xs: list[Tensor]) -> Tensor:
        return sum(xs) * 1

    op = library.custom_op("tests::total", total, mutates_args=())
    assert op([minigrad.ones(1), minigrad.ones(1)]).item() == 2
    with pytest.raises(NotImplementedError, match=r"xs is a list of tensors that require grad(.|\n)*separate argument"):
        op([minigrad.ones(1, requires_grad=True)])


def test_faulty_declarations_say_what_to_write():
    def bare(x) -> Tensor: ...
    def silent(x: Tensor): ...
    def starred(*xs: Tensor) -> Tensor: ...

    faults = [
        ("sine", sine, (), r'has no namespace(.|\n)*"mylib::sine"'),
        ("t::bare", bare, (), r"parameter x has no type annotation(.|\n)*x: torch.Tensor"),
        ("t::silent", silent, (), "the result has no type annotation"),
        ("t::starred", starred, (), r"takes \*xs"),
        ("t::sine", sine, ("y",), "mutates_args names y, but the parameters are x, scale"),
    ]
    for name, fn, mutates, says in faults:
        with pytest.raises(ValueError, match=says):
            library.custom_op(name, fn, mutates_args=mutates)
    with pytest.raises(RuntimeError, match=r"operator t::none: does not exist \(known: (.|\n)*library.custom_op"):
        library.register_fake("t::none", sine)
