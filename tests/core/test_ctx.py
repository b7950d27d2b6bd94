"""minigrad warns of tensors that forward leaves on its ctx, and the check keeps nothing alive."""

import gc
import warnings
import weakref

import pytest

import minigrad as torch
from tests.functions import custom, leaf


@pytest.fixture
def no_collector():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


class InputKept(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.x = x
        return x * x

    @staticmethod
    def backward(ctx, g):
        return 2 * ctx.x * g


@pytest.mark.parametrize("debug", [False, True])
def test_an_input_stored_as_an_attribute_is_freed_with_its_graph(no_collector, debug):
    with torch.debug(debug):
        y = InputKept.apply(leaf() * 1)
        watch = weakref.ref(y.grad_fn)
        del y
    assert watch() is None


def test_an_intermediate_saved_in_debug_mode_is_freed_with_its_graph(no_collector):
    class Exp(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x.exp()
            ctx.save_for_backward(x, y * 1)
            return y

        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensors[1]

    with torch.debug():
        y = Exp.apply(leaf())
        watch = weakref.ref(y.grad_fn)
        del y
    assert watch() is None


def test_an_output_stored_as_an_attribute_outlives_its_graph(no_collector):
    """The output stays alive, as the warning says."""

    class Exp(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.y = x.exp()
            return ctx.y

    with pytest.warns(torch.MinigradWarning, match="ctx-attribute-leak"):
        y = Exp.apply(leaf())
    watch = weakref.ref(y.grad_fn)
    del y
    assert watch() is not None
    gc.collect()
    assert watch() is None


@pytest.mark.parametrize("pack", [lambda x: [x], lambda x: {"a": (x, 1)}], ids=["list", "dict"])
def test_a_write_to_a_tensor_in_a_collection_on_the_ctx_is_detected(pack):
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.kept = pack(x)
            return x * x

    x = leaf() * 1
    y = Square.apply(x)
    x.mul_(10)
    Square.backward = staticmethod(lambda ctx, g: g)
    with pytest.warns(torch.MinigradWarning, match="ctx-attribute-changed"):
        y.sum().backward()


def test_an_output_in_a_collection_on_the_ctx_is_detected():
    class Exp(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.results = [x.exp()]
            return ctx.results[0]

    with pytest.warns(torch.MinigradWarning, match="(?s)as ctx.results.*ctx-attribute-leak"):
        Exp.apply(leaf())


def test_a_write_under_a_transform_is_detected():
    class Apart(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return x * x

        @staticmethod
        def setup_context(ctx, inputs, output):
            (ctx.x,) = inputs

        @staticmethod
        def backward(ctx, g):
            return 2 * ctx.x * g

    def f(x):
        x = x * 1
        y = Apart.apply(x)
        x.mul_(10)
        return y.sum()

    with pytest.warns(torch.MinigradWarning, match=r"mul_ modifies ctx.x, "):
        torch.func.grad(f)(torch.ones(2))


def test_outputs_without_a_derivative_may_be_stored_on_the_ctx():
    class Sort(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y, ctx.order = x.sort()
            ctx.mask = y > 0
            ctx.mark_non_differentiable(ctx.order)
            return y, ctx.order, ctx.mask

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Sort.apply(leaf())


def test_getattr_with_a_default_is_no_warning():
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            assert not hasattr(ctx, "factor") and getattr(ctx, "factor", 2) == 2
            ctx.factors = (2,)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * ctx.factor[0]

    with pytest.raises(AttributeError, match="no attribute 'factor'(.|\n)*write ctx.factors"):
        Double.apply(leaf()).sum().backward()


def test_an_attribute_may_be_called_name():
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.name = "double"
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g.mul_(2)

    x = leaf() * 1
    y = Double.apply(x)
    with pytest.raises(RuntimeError, match="DoubleBackward"):
        (y * 1).sum().backward()
    y = Double.apply(x)
    x.add_(1)
    with pytest.raises(RuntimeError, match=r"DoubleBackward(.|\n)*modified by an inplace operation"):
        y.sum().backward()


def test_a_set_of_tensors_as_in_cpp_is_to_be_written_without_braces():
    Braces = custom("Braces", forward=lambda ctx, x: ctx.save_for_backward({x}) or x * x)
    with pytest.raises(TypeError, match=r"(?s)argument 0 is of type set.*omit the braces.*save_for_backward\(a, b\)"):
        Braces.apply(leaf())
