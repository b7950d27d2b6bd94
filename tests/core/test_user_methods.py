"""minigrad warns of wrong calls to a user's method, and stays silent about the user's own errors and names."""

import contextlib
import functools
import warnings

import pytest

import minigrad as torch
from minigrad.autograd.function import once_differentiable
from tests.functions import custom, leaf


class Apart(torch.autograd.Function):
    @staticmethod
    def forward(x, y):
        return x * y

    @staticmethod
    def backward(ctx, g):
        return g, g


def test_errors_raised_by_the_user_are_not_changed():
    class Strict(Apart):
        @staticmethod
        def setup_context(ctx, inputs, output):
            raise ValueError(f"not these inputs: {len(inputs)}")

    class Careful(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            raise IndexError("nothing in ctx.saved_tensors")

    with pytest.raises(ValueError, match="^not these inputs: 2$"):
        Strict.apply(leaf(), leaf())
    with pytest.raises(IndexError, match="^nothing in"):
        Careful.apply(leaf()).sum().backward()


def test_errors_in_a_helper_are_not_attributed_to_the_method():
    def helper(inputs):
        a, b = inputs
        return a

    class Square(Apart):
        @staticmethod
        def setup_context(ctx, inputs, output):
            helper([1, 2, 3])

    with pytest.raises(ValueError, match="^too many values") as raised:
        Square.apply(leaf(), leaf())
    assert not isinstance(raised.value, torch.MinigradError)


def test_the_traceback_still_shows_the_line_in_the_method():
    class Square(Apart):
        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.shape = inputs.shape

    with pytest.raises(AttributeError, match="inputs is the tuple of the 2 arguments") as raised:
        Square.apply(leaf(), leaf())
    assert raised.traceback[-1].name == "setup_context"


def test_using_the_tuple_of_saved_tensors_as_a_tensor_is_explained():
    Square = custom(
        "Square",
        forward=lambda ctx, x: ctx.save_for_backward(x) or x * x,
        backward=lambda ctx, g: g * 2 * ctx.saved_tensors.abs(),
    )
    with pytest.raises(AttributeError, match=r"tuple of 1 tensor(.|\n)*\(x,\) = ctx.saved_tensors"):
        Square.apply(leaf()).sum().backward()


def test_a_jvp_that_returns_none():
    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(x, n):
            return x * n

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def jvp(ctx, x_t, n_t):
            return x_t * n_t

    with pytest.raises(
        TypeError, match=r"n_t, tangent 1, which is None: its argument has none(.|\n)*if n_t is not None"
    ):
        torch.func.jvp(lambda x: Scale.apply(x, 3.0), (leaf().detach(),), (torch.ones(2),))


def test_forward_may_be_replaced_and_inherited():
    Plain = custom("Plain", forward=lambda x: x * 2)

    class Kept(Plain):
        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def backward(ctx, g):
            return g * 2

    assert Kept.forward(leaf()).tolist() == [2.0, 4.0]
    assert Kept.apply(leaf()).tolist() == [2.0, 4.0]
    with pytest.raises(TypeError, match="instead of the ctx"):
        Plain.forward(leaf())
    Kept.forward = staticmethod(lambda x: x * 3)
    assert Kept.apply(leaf()).tolist() == [3.0, 6.0]


def test_forward_may_be_called_with_a_user_made_ctx():
    class Recorder:
        def save_for_backward(self, *tensors):
            self.saved = tensors

    Square = custom("Square", forward=lambda ctx, x: ctx.save_for_backward(x) or x * x)
    ctx, x = Recorder(), leaf()
    assert Square.forward(ctx, x).tolist() == [1.0, 4.0] and ctx.saved == (x,)


def test_the_named_line_is_below_decorators_of_several_lines():
    def marked(*names):
        return lambda f: f

    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        @marked(
            "a",
        )
        @once_differentiable
        def backward(ctx, g):
            if g is None:
                return None
            return g, g

    with pytest.raises(RuntimeError, match=r"it is defined at .*: def backward\(ctx, g\):"):
        Double.apply(leaf()).sum().backward()


def test_a_missing_method_is_suggested_by_its_nearest_name_only():
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * x

        @staticmethod
        def _backward(ctx, g):
            return g

    with pytest.raises(NotImplementedError, match=r"def backward\(ctx, grad_output\)") as raised:
        Square.apply(leaf()).sum().backward()
    assert "_backward" not in str(raised.value)


def test_operators_ask_the_other_operand_or_explain_a_list_of_tensors():
    class Other:
        def __rmul__(self, x):
            return "asked"

    x = leaf()
    assert x * Other() == "asked"
    assert (x == (x,)) is False
    assert [1] * torch.tensor(3) == [1, 1, 1]
    with pytest.raises(TypeError, match=r"mul: combines a tensor of shape \(2,\) with a list of 2 tensors"):
        [x, x] * x
    with pytest.raises(TypeError, match=r"matmul: .* with a tuple of 1 tensor"):
        x @ (x,)


@pytest.mark.parametrize(
    "forward, args, fix",
    [
        (lambda c, x, k: x, 1, r"call F.apply\(x, k\)"),
        (lambda self, x, k: x, 1, r"call F.apply\(x, k\)"),
        (lambda x, k: x, 2, r"write def forward\(ctx, x, k\)"),
        (lambda ctx, x, *more: x, 0, r"call F.apply\(x, \*more\)"),
        (lambda ctx: 1, 1, r"call F.apply\(\)"),
        (lambda: 1, 1, r"write def forward\(ctx, x\)"),
        (lambda: 1, 3, r"write def forward\(ctx, x0, x1, x2\)"),
    ],
)
def test_the_fix_names_the_call_or_the_definition(forward, args, fix):
    f = type("F", (torch.autograd.Function,), {"forward": staticmethod(forward)})
    with pytest.raises(TypeError, match=f"To fix: {fix}"):
        f.apply(*[leaf()] * args)


def test_a_decorated_forward_is_the_one_that_runs():
    Base = custom("Base", forward=lambda ctx, x: x * 2, backward=lambda ctx, g: g * 2)

    @functools.wraps(Base.forward)  # which takes over all attributes of the function
    def louder(ctx, x):
        return Base.forward(ctx, x) * 10

    class Louder(Base):
        forward = staticmethod(louder)

    assert Louder.apply(torch.tensor(1.0)).item() == 20.0


@pytest.mark.parametrize("meant", [True, False])
def test_a_weight_used_under_no_grad_in_forward_is_no_warning(meant):
    weight = torch.ones(3, requires_grad=True)

    class Again(torch.autograd.Function):
        """Computes again in backward, where the weight gets its gradient."""

        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            with torch.no_grad() if meant else contextlib.nullcontext():
                return x * weight

        @staticmethod
        def backward(ctx, g):
            x = ctx.saved_tensors[0].detach().requires_grad_()
            with torch.enable_grad():
                (x * weight).backward(g)
            return x.grad

    quiet = warnings.catch_warnings(action="error")
    with quiet if meant else pytest.warns(torch.MinigradWarning, match="requires grad but is not one of its inputs"):
        Again.apply(torch.full((3,), 2.0, requires_grad=True)).sum().backward()
    assert weight.grad.tolist() == [2, 2, 2]


def scaling(k, weight=None, bias=1.0):
    """Return a new class that multiplies by k, and also uses `weight` and `bias` where they are not None."""

    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, bias=bias):
            return x * k * bias if weight is None else x * k * weight

        @staticmethod
        def backward(ctx, g):
            return g * k, None

    return Scale


@pytest.mark.parametrize("held", [{"weight": True}, {"bias": True}])
def test_a_class_that_is_defined_again_is_checked_if_it_holds_a_tensor(held):
    x = torch.ones(2, requires_grad=True)
    with warnings.catch_warnings(action="error"):
        for k in (2, 3):
            scaling(k).apply(x).sum().backward()
    tracked = {name: torch.ones(2, requires_grad=True) for name in held}
    for _ in range(2):
        with pytest.warns(torch.MinigradWarning, match="requires grad but is not one of its inputs"):
            scaling(2, **tracked).apply(x)


def test_the_first_application_of_a_class_that_is_defined_again_has_no_guard(monkeypatch):
    from minigrad.diagnose import user_methods

    x = torch.ones(2, requires_grad=True)
    scaling(2).apply(x)
    monkeypatch.setattr(user_methods, "CaptureGuard", None)
    scaling(5).apply(x).sum().backward()
    assert x.grad.tolist() == [5, 5]
