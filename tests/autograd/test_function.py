"""Functions: nested ones beyond the page's examples (tests/spec has those), memory, and warnings about backward."""

import gc
import weakref

import pytest

import minigrad as torch
import minigrad.autograd.forward_ad as fwAD
from minigrad.autograd.function import BackwardCFunction, Function, FunctionCtx, NestedIOFunction, traceable
from minigrad.diagnose import function_text, user_methods
from tests.functions import custom, leaf
from tests.layers.functions import Cube


def test_names_that_old_code_imports():
    x = leaf(1.0)
    assert isinstance(Cube.apply(x)[0].grad_fn, BackwardCFunction) and BackwardCFunction is FunctionCtx
    assert traceable(type("F", (Function,), {})).is_traceable


class Fused(NestedIOFunction):
    """(x, [y]), scale -> {"sum": x + y * scale}; every method written."""

    def forward_extended(self, pair, scale):
        x, [y] = pair
        self.scale = scale
        self.save_for_forward(pair)
        return {"sum": x + y * scale}

    def backward_extended(self, grads):
        g = grads["sum"]
        return (g, [g * self.scale]), None

    @staticmethod
    def jvp(ctx, tangents, scale):
        assert scale is None
        t, [u] = tangents
        x, [y] = ctx.saved_tensors[0]
        assert x.shape == y.shape
        return {"sum": t + u * ctx.scale}

    @staticmethod
    def vmap(info, in_dims, pair, scale):
        (dx, [dy]), none = in_dims
        assert none is None
        x, [y] = pair
        x = x.movedim(dx, 0) if dx is not None else x.unsqueeze(0)
        y = y.movedim(dy, 0) if dy is not None else y.unsqueeze(0)
        return {"sum": x + y * scale}, {"sum": 0}


def test_numbers_and_dicts_pass_through_a_nested_function():
    x, y = leaf(1.0), leaf(2.0)
    out = Fused.apply((x, [y]), 3.0)
    assert out["sum"].tolist() == [7.0]
    out["sum"].backward()
    assert (x.grad.tolist(), y.grad.tolist()) == ([1.0], [3.0])


def test_jvp_of_a_nested_function():
    with fwAD.dual_level():
        x = fwAD.make_dual(torch.tensor([1.0]), torch.tensor([10.0]))
        out = Fused.apply((x, [torch.tensor([2.0])]), 3.0)
        assert fwAD.unpack_dual(out["sum"]).tangent.tolist() == [10.0]


def test_vmap_of_a_nested_function():
    x, y = torch.tensor([[1.0], [2.0]]), torch.tensor([5.0])
    out = torch.vmap(lambda a: Fused.apply((a, [y]), 3.0)["sum"])(x)
    assert out.tolist() == [[16.0], [17.0]]


def test_setup_context_makes_a_nested_function_work_under_transforms():
    class Scale(NestedIOFunction):
        def forward_extended(self, pair):
            return [pair[0] * pair[1]]

        @staticmethod
        def setup_context(ctx, inputs, output):
            ((x, y),) = inputs
            assert output[0].shape == x.shape
            ctx.save_for_backward((x, y))

        def backward_extended(self, g):
            ((x, y),) = self.saved_tensors
            return ((g * y, g * x),)

    f = lambda x: Scale.apply((x, x))[0].sum()
    assert torch.func.grad(f)(torch.tensor([1.0, 2.0])).tolist() == [2.0, 4.0]
    assert torch.func.grad(lambda x: torch.func.grad(f)(x).sum())(torch.tensor([1.0])).tolist() == [2.0]
    x = leaf(3.0)
    f(x).backward()
    assert x.grad.tolist() == [6.0]


def test_vjp_is_another_name_of_the_nested_backward():
    class Double(NestedIOFunction):
        def forward_extended(self, pair):
            return (pair[0] * 2,)

        @staticmethod
        def vjp(ctx, g):
            assert ctx.needs_input_grad == (True, False)
            return ((g * 2, None),)

    x = leaf(1.0)
    (y,) = Double.apply((x, torch.ones(1)))
    y.backward()
    assert x.grad.tolist() == [2.0]


def test_an_instance_may_be_called_more_than_once():
    class Power(NestedIOFunction):
        def forward_extended(self, pair, n):
            self.n = n
            self.save_for_backward(pair)
            return pair[0] ** n

        def backward_extended(self, g):
            ((x,),) = self.saved_tensors
            return (self.n * x ** (self.n - 1) * g,), None

    op, x = Power(), leaf(2.0)
    y, z = op((x,), 2), op((x,), 3)
    assert op.n == 2
    (y + z).backward()
    assert x.grad.tolist() == [16.0]


def test_methods_of_the_context_outside_of_a_call_say_so():
    with pytest.raises(RuntimeError, match="does not belong to a running operation"):
        Fused().save_for_backward(torch.ones(1))


def test_nested_gradients_may_be_flat_or_leave_out_branches():
    class Three(NestedIOFunction):
        def forward_extended(self, pair, rest):
            return pair[0] + pair[1] + rest[0]

        def backward_extended(self, g):
            return self.answer(g)

    class Branch(Three):
        def answer(self, g):
            return None, [g]

    class InARow(Three):
        def answer(self, g):
            return g, g, g

    for kind, expected in ((Branch, [None, None, [1.0]]), (InARow, [[1.0]] * 3)):
        x, y, z = leaf(1.0), leaf(2.0), leaf(3.0)
        kind.apply((x, y), [z]).backward()
        assert [t.grad if t.grad is None else t.grad.tolist() for t in (x, y, z)] == expected


DoubleInPlace = custom(
    "DoubleInPlace", forward=lambda ctx, x: ctx.mark_dirty(x) or x.mul_(2), backward=lambda ctx, g: g * 2
)


def cube():
    outs = Cube.apply(leaf(1.0, 2.0))
    return outs[0].grad_fn, outs[1]


def doubled_in_place():
    y = DoubleInPlace.apply(leaf(1.0, 2.0) * 1)
    return y, y.grad_fn


def nested():
    x = leaf(1.0)
    return (Fused.apply((x, [x]), 1.0)["sum"].grad_fn,)


@pytest.mark.parametrize("made", [cube, doubled_in_place, nested])
def test_the_graph_of_a_function_is_freed_without_the_garbage_collector(made):
    """Also where an output is saved for forward, or marked as dirty."""
    gc.collect()
    gc.disable()
    try:
        watches = [weakref.ref(one) for one in made()]
        assert [watch() for watch in watches] == [None] * len(watches)
    finally:
        gc.enable()


@pytest.mark.parametrize("create_graph", [False, True])
def test_backward_that_writes_to_the_gradient_it_was_given(create_graph):
    """The same memory may be another tensor's gradient, which would be wrong without a word."""

    Doubling = custom("Doubling", forward=lambda ctx, x: x * 2, backward=lambda ctx, g: g.mul_(2))

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 1
    z = Doubling.apply(y) + y
    with pytest.raises(RuntimeError, match=r"DoublingBackward.*gradient 0.*in place(.|\n)*clone"):
        z.backward(torch.ones(2), create_graph=create_graph)
    assert x.grad is None


def test_a_dirty_result_may_be_non_differentiable():
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            x.mul_(2)
            ctx.mark_dirty(x)
            ctx.mark_non_differentiable(x)
            return x

        @staticmethod
        def backward(ctx, g):
            return g

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 1
    z = Double.apply(y)
    assert (z.tolist(), y.tolist(), z.requires_grad) == ([2.0, 4.0], [2.0, 4.0], False)


# ---------------------------------------------------------------------- backward under create_graph
def scaled(factor):
    """Return x * 3 with a separate backward that multiplies by `factor`."""

    members = {
        "forward": lambda x: x * 3,
        "setup_context": lambda ctx, inputs, output: None,
        "jvp": lambda ctx, t: t * 3,
    }
    Triple = custom("Triple", **members, backward=lambda ctx, g: factor(g), generate_vmap_rule=True)

    return lambda x: (Triple.apply(x) ** 3).sum()


TWICE = {
    "create_graph": lambda f, x: torch.autograd.grad(f(x.requires_grad_()), x, create_graph=True, allow_unused=True),
    "hessian": lambda f, x: torch.func.hessian(f)(x),
    "jacrev of jacrev": lambda f, x: torch.func.jacrev(torch.func.jacrev(f))(x),
    "grad of grad": lambda f, x: torch.func.grad(lambda y: torch.func.grad(f)(y).sum())(x),
}


@pytest.mark.filterwarnings(r"ignore:(?s).*\[untracked-result\]")  # which is the result
@pytest.mark.parametrize("way", TWICE)
def test_a_gradient_that_loses_its_history_is_warned_of(way):
    with pytest.warns(torch.MinigradWarning, match="TripleBackward: .*gradient 0, of shape .2,.*without history"):
        TWICE[way](scaled(lambda g: g.detach() * 3), torch.ones(2))


@pytest.mark.parametrize("way", TWICE)
@pytest.mark.parametrize(
    "factor",
    [lambda g: g * 3, lambda g: g * (3 / g.detach().abs().max()), lambda g: g.detach() * 0, lambda g: None],
    ids=["as it should be", "a constant beside it", "zero", "none"],
)
def test_other_backward_methods_are_not_warned_of(way, factor, recwarn):
    TWICE[way](scaled(factor), torch.ones(2))
    assert not [w for w in recwarn if "without history" in str(w.message)]


@pytest.mark.parametrize("way", ["backward", "grad", "vmap of grad"])
def test_a_first_derivative_is_not_warned_of(way, recwarn):
    f, x = scaled(lambda g: g.detach() * 3), torch.ones(2)
    run = {
        "backward": lambda: f(x.requires_grad_()).backward(),
        "grad": lambda: torch.func.grad(f)(x),
        "vmap of grad": lambda: torch.vmap(torch.func.grad(f))(torch.ones(4, 2)),
    }
    run[way]()
    assert not [w for w in recwarn if "without history" in str(w.message)]


def squares_of(c=None):
    """Return a Function class that the same lines make at each call."""

    class Squares(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x if c is None else x * c

        @staticmethod
        def backward(ctx, grad):
            return 2 * grad * ctx.saved_tensors[0]

    return Squares


def test_a_class_that_is_made_again_is_not_checked_again(monkeypatch):
    x, guards = torch.ones(2, requires_grad=True), []
    init = user_methods.CaptureGuard.__init__
    monkeypatch.setattr(user_methods.CaptureGuard, "__init__", lambda self, *a: guards.append(a[0]) or init(self, *a))
    looked = []
    monkeypatch.setattr(function_text, "warn_drawn_again", looked.append)
    user_methods.checked.clear()
    function_text.checked.clear()
    for _ in range(3):
        squares_of().apply(x).sum().backward()
    assert len(guards) == len(looked) == 1 and x.grad.tolist() == [6.0, 6.0]


def test_a_class_that_is_made_again_around_a_tracked_tensor_is_checked_again():
    x = torch.ones(2, requires_grad=True)
    squares_of(torch.ones(2)).apply(x)
    for _ in range(2):
        with pytest.warns(torch.MinigradWarning, match="is not one of its inputs: its gradient is lost"):
            squares_of(torch.ones(2, requires_grad=True)).apply(x)
