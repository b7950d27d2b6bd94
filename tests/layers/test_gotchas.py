"""Behaviour that PyTorch's documents call undefined is right here, or an error names the transform and the fix."""

import warnings

import pytest

import minigrad as torch
import minigrad.autograd.forward_ad as fwAD
from minigrad.autograd.function import NestedIOFunction
from minigrad.errors import MinigradWarning
from minigrad.func import grad, jacfwd, jvp, vjp, vmap

from .functions import function

ONE = torch.tensor(3.0)
RUN = {
    "grad": lambda f: grad(f)(ONE),
    "vjp": lambda f: vjp(f, ONE)[1](ONE),
    "jvp": lambda f: jvp(f, (ONE,), (ONE,)),
    "vmap": lambda f: vmap(f)(torch.tensor([1.0, 2.0])),
    "vmap of grad": lambda f: vmap(grad(f))(torch.tensor([1.0, 2.0])),
    "grad of grad": lambda f: grad(grad(f))(ONE),
    "jacfwd": lambda f: jacfwd(f)(ONE),
}


def save(ctx, tensor):
    ctx.save_for_backward(tensor)
    ctx.save_for_forward(tensor)


def keep(ctx, tensor):
    ctx.kept = tensor


# ---------------------------------------------------------------------- captured tensors, one method each
@pytest.mark.parametrize("run", RUN, ids=str)
def test_captured_in_forward(run):
    def f(x):
        captured = x * 1
        return function(forward=lambda x: x * captured).apply(x)

    with pytest.raises(
        RuntimeError, match=r"(?s)Scale.forward.*`(grad|jvp|vmap)` transform.*not one of its inputs.*pass it as"
    ):
        RUN[run](f)


@pytest.mark.parametrize("run", ["grad", "vjp", "vmap of grad", "grad of grad"])
def test_captured_in_backward(run):
    def f(x):
        captured = x * 1
        return function(backward=lambda ctx, g: g * captured).apply(x)

    with pytest.raises(RuntimeError, match=r"(?s)Scale.backward: .*`grad` transform around it.*ctx.save_for_backward"):
        RUN[run](f)


@pytest.mark.parametrize("run", ["jvp", "jacfwd"])
def test_captured_in_jvp(run):
    def f(x):
        captured = x * 1
        return function(jvp=lambda ctx, t: t * captured).apply(x)

    with pytest.raises(RuntimeError, match=r"(?s)Scale.jvp: .*`jvp` transform around it"):
        RUN[run](f)


@pytest.mark.parametrize("run", ["vmap", "vmap of grad", "jacfwd"])
def test_captured_in_vmap(run):
    def f(x):
        captured = x * 1
        return function(vmap=lambda info, in_dims, x: (x * captured, in_dims[0])).apply(x)

    with pytest.raises(RuntimeError, match=r"(?s)Scale.(vmap|jvp).*`(vmap|grad|jvp)` transform"):
        RUN[run](f) if run != "jacfwd" else vmap(grad(f))(torch.ones(2))


@pytest.mark.parametrize("run", RUN, ids=str)
def test_captured_in_setup_context(run):
    def f(x):
        captured = x * 1
        F = function(setup_context=lambda ctx, i, o: save(ctx, i[0] * captured),
                     backward=lambda ctx, g: g * ctx.saved_tensors[0])  # fmt: skip
        return F.apply(x)

    with pytest.raises(RuntimeError, match="(?s)Scale.*transform.*not one of its inputs"):
        RUN[run](f)


def test_captured_and_saved_is_right():
    """backward says g * captured, so that is the derivative, and its own derivative is 1."""

    def f(x):
        captured = x * 1
        F = function(
            setup_context=lambda ctx, i, o: save(ctx, captured), backward=lambda ctx, g: g * ctx.saved_tensors[0]
        )
        return F.apply(x)

    assert grad(f)(ONE).item() == 3.0 and grad(grad(f))(ONE).item() == 1.0
    assert vmap(grad(f))(torch.tensor([1.0, 2.0])).tolist() == [1.0, 2.0]


def test_captured_and_kept_as_an_attribute():
    def f(x):
        captured = x * 1
        F = function(setup_context=lambda ctx, i, o: keep(ctx, captured), backward=lambda ctx, g: g * ctx.kept)
        return F.apply(x)

    with pytest.raises(RuntimeError, match="(?s)Scale.backward: uses a tensor.*`grad` transform"):
        grad(f)(ONE)


def test_captured_from_an_outer_transform_is_right_in_backward():
    def f(w):
        F = function(backward=lambda ctx, g: g * w * w)
        return grad(F.apply)(ONE)  # w^2

    assert grad(f)(ONE).item() == 6.0
    assert vmap(f)(torch.tensor([1.0, 2.0])).tolist() == [1.0, 4.0]
    assert jvp(f, (ONE,), (ONE,))[1].item() == 18.0


def test_captured_from_an_outer_transform_in_forward():
    def f(w):
        return grad(function(forward=lambda x: x * w).apply)(ONE)

    for run in ("grad", "vmap", "jvp"):
        with pytest.raises(RuntimeError, match=f"(?s)Scale.forward.*`{run}` transform.*not one of its inputs"):
            RUN[run](f)


def test_captured_eager_dual_tensor():
    with fwAD.dual_level():
        w = fwAD.make_dual(torch.tensor(5.0), torch.tensor(1.0))
        with pytest.warns(MinigradWarning, match="(?s)Scale.forward.*has a tangent.*its tangent is lost"):
            function(forward=lambda x: x * w).apply(ONE)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            scaled = function(forward=lambda x, w: x * w, jvp=lambda ctx, x_t, w_t: ONE * w_t).apply(ONE, w)
        assert fwAD.unpack_dual(scaled).tangent.item() == 3.0


def test_captured_eager_tensor_that_requires_grad():
    w = torch.tensor(5.0, requires_grad=True)
    with pytest.warns(MinigradWarning, match="(?s)Scale.forward.*its gradient is lost"):
        vmap(function(forward=lambda x: x * w, generate_vmap_rule=True).apply)(torch.ones(2))
    g = grad(function(backward=lambda ctx, g: g * w).apply)(ONE)
    assert torch.autograd.grad(g, w)[0].item() == 1.0  # in backward it is right
    out = vmap(function(vmap=lambda info, in_dims, x: (x * w, in_dims[0])).apply)(torch.ones(2))
    assert torch.autograd.grad(out.sum(), w)[0].item() == 2.0


def test_a_backward_in_numpy_that_is_differentiated_names_what_helps_under_that_transform():
    F = function(backward=lambda ctx, g: torch.tensor(g.detach().numpy() * 2))
    assert grad(F.apply)(ONE).item() == 2.0
    with pytest.raises(RuntimeError, match="Scale.backward: runs under `grad`") as e:
        grad(grad(F.apply))(ONE)
    assert "forward of a Function" in str(e.value) and "vmap staticmethod" not in str(e.value)


def test_a_nested_function_in_the_combined_form_names_its_methods():
    class Line(NestedIOFunction):
        def forward_extended(self, params, x):
            self.save_for_backward(x)
            return params["w"] * x

    with pytest.raises(RuntimeError, match="Line: is used under `grad` and must override the setup_context") as e:
        grad(lambda x: Line.apply({"w": x}, x))(ONE)
    assert "    def forward_extended(self, params, x):" in str(e.value) and "params, x = inputs" in str(e.value)


# ---------------------------------------------------------------------- tensors on ctx, pytrees
@pytest.mark.parametrize(
    "run, wanted",
    [("grad", 18.0), ("jvp", (27.0, 54.0)), ("vmap of grad", [6.0, 12.0]), ("grad of grad", 6.0), ("jacfwd", 18.0)],
)
def test_tensors_as_attributes_on_ctx(run, wanted):
    F = function(forward=lambda x: 3 * x**2, setup_context=lambda ctx, i, o: keep(ctx, {"six": [i[0] * 6]}),
                 backward=lambda ctx, g: g * ctx.kept["six"][0], jvp=lambda ctx, t: t * ctx.kept["six"][0],
                 generate_vmap_rule=True)  # fmt: skip
    found = RUN[run](F.apply)
    found = tuple(t.item() for t in found) if isinstance(found, tuple) else found.tolist()
    assert found == wanted


@pytest.mark.parametrize("run", ["grad", "jvp", "vmap", "vmap of grad"])
@pytest.mark.parametrize("tree", [lambda x: [x], lambda x: (x, 2), lambda x: {"a": x}, lambda x: [[x], {"b": (x,)}]])
def test_pytrees_passed_to_apply(run, tree):
    F = function(forward=lambda t: ONE * 2)
    with pytest.raises(
        TypeError, match=r"(?s)Scale: argument 0 is a (list|tuple|dict).*transform.*Scale.apply\(\*tensors\)"
    ):
        RUN[run](lambda x: F.apply(tree(x)))


# ---------------------------------------------------------------------- the form
@pytest.mark.parametrize("run", ["grad", "vjp", "jvp", "vmap", "vmap of grad", "jacfwd"])
def test_the_combined_form_is_refused_with_the_code_to_write(run):
    F = function("Combined", forward=lambda ctx, x, scale=2: x * scale, setup_context=None, vmap=None)
    with pytest.raises(RuntimeError) as caught:
        RUN[run](F.apply)
    text = str(caught.value)
    assert "Combined: is used under" in text and "must override the setup_context staticmethod" in text
    for line in (
        "def forward(x, scale=2):",
        "def setup_context(ctx, inputs, output):",
        "x, scale = inputs",
        "ctx.save_for_backward(",
    ):
        assert line in text, text


def test_the_combined_form_with_a_vmap_method_works_under_vmap():
    F = function(forward=lambda ctx, x: x * 2, setup_context=None)
    assert vmap(F.apply)(torch.ones(2)).tolist() == [2.0, 2.0]
    for run in ("vmap of grad", "grad"):
        with pytest.raises(RuntimeError, match="setup_context"):
            RUN[run](F.apply)


def test_numpy_under_a_generated_rule():
    F = function(forward=lambda x: torch.tensor(x.numpy() * 2), generate_vmap_rule=True)
    with pytest.raises(RuntimeError, match="(?s)Scale.forward: runs under `vmap`.*vmap staticmethod instead of"):
        vmap(F.apply)(torch.ones(2))


def test_a_rule_with_other_parameters():
    F = function(vmap=lambda info, x: (x, 0))
    with pytest.raises(TypeError, match=r"(?s)Scale.vmap.*called with 3 arguments.*vmap\(info, x\).*in_dims"):
        vmap(F.apply)(torch.ones(2))


# ---------------------------------------------------------------------- memory
def test_writing_to_a_captured_tensor():
    for run, error in [
        ("grad", "captured"),
        ("jvp", "captured"),
        ("vmap", "same for all examples"),
        ("vmap of grad", "captured"),
    ]:
        buffer = torch.zeros(2)
        with pytest.raises(RuntimeError, match=f"(?s)(add_|vmap).*{error}.*(argument|clone)"):
            RUN[run](lambda x: buffer.add_(x).sum() + x)
        assert buffer.tolist() == [0.0, 0.0]


def test_writing_a_constant_to_a_captured_tensor():
    buffer = torch.zeros(2)
    with pytest.raises(RuntimeError, match="captured"):
        grad(lambda x: x * buffer.add_(1).sum())(ONE)
    assert vmap(lambda x: x + buffer.add_(1))(torch.ones(3)).shape == (3, 2)  # once for all, as in PyTorch
    assert buffer.tolist() == [1.0, 1.0]


def test_writing_through_a_captured_numpy_array():
    kept = []
    vmap(lambda x: (kept.append(x.detach()), x)[1])(torch.ones(2))
    with pytest.raises(RuntimeError, match="escaped"):
        kept[0].numpy()


def test_an_input_that_is_returned():
    F = function(forward=lambda x: x, backward=lambda ctx, g: g * 7, jvp=lambda ctx, t: t * 7, generate_vmap_rule=True)
    assert grad(F.apply)(ONE).item() == 7.0 and jvp(F.apply, (ONE,), (ONE,))[1].item() == 21.0
    assert vmap(grad(F.apply))(torch.ones(2)).tolist() == [7.0, 7.0]
    assert grad(lambda x: F.apply(x) * x)(ONE).item() == 3.0 + 21.0


@pytest.mark.parametrize("part", [lambda x: x, lambda x: x[:2], lambda x: x.T, lambda x: x.view(-1)])
@pytest.mark.parametrize("rule", [{"generate_vmap_rule": True}, {}])
def test_a_write_to_an_output_in_its_inputs_memory(part, rule):
    def f(x):
        y = x * torch.ones(2, 2)
        function(forward=part, jvp=lambda ctx, t: part(t).clone(), **rule).apply(y).mul_(2)
        return (y * y).sum()

    for run in ("grad", "jvp", "jacfwd"):
        with pytest.raises(
            RuntimeError, match="(?s)mul_: a view of shape .* is being modified in place.*made inside Scale.*clone"
        ):
            RUN[run](f)


def test_an_escaped_tensor_names_its_transform():
    kept = {}

    def f(x):
        kept["it"] = x * 2
        return x.sum()

    for run, name in [("grad", "grad"), ("jvp", "jvp"), ("vmap", "vmap")]:
        RUN[run](f)
        t = kept["it"]
        for use in (lambda: t + 1, lambda: t.sum(), lambda: grad(lambda x: x * t.sum())(ONE), lambda: torch.zeros(2).copy_(t),
                    lambda: t.add_(1), lambda: torch.stack([t, t]), lambda: vmap(lambda x: x * t)(torch.ones(2))):  # fmt: skip
            with pytest.raises(RuntimeError, match=f"(?s){name}: this tensor of shape .*escaped.*return it from"):
                use()
        assert name.capitalize() in repr(t)


def test_side_effects_under_vmap():
    kept, outer = [], torch.zeros(3)

    def f(x):
        kept.append(x)
        outer[0] = x
        return x

    with pytest.raises(RuntimeError, match="(?s)copy_.*same for all examples"):
        vmap(f)(torch.ones(3))
    assert outer.tolist() == [0.0] * 3
    with pytest.raises(RuntimeError, match="escaped"):
        sum(kept)


def test_a_generator_of_a_transform_consumed_outside():
    def f(x):
        return x, [x * i for i in range(3)], (x * i for i in range(3))

    kept = []
    vmap(lambda x: (kept.append(f(x)), x)[1])(torch.ones(2))
    with pytest.raises(RuntimeError, match="escaped"):
        next(kept[0][2])


def test_generated_rules_cause_no_warning_under_any_transform():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        F = function(generate_vmap_rule=True)
        for f in RUN.values():
            f(F.apply)
