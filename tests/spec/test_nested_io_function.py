"""NestedIOFunction: its two examples as written, and every method of the page.

Instances are called, `MyOp()(nested)`, as for PyTorch's class; `MyOp.apply(nested)` does the same.
"""

import inspect

import pytest

import minigrad as torch
import minigrad.autograd.forward_ad as fwAD
from minigrad.autograd import Function
from minigrad.autograd.function import NestedIOFunction, once_differentiable

both_calls = pytest.mark.parametrize(
    "call", [lambda op, *args: op()(*args), lambda op, *args: op.apply(*args)], ids=["instance", "apply"]
)


def leaf(*values):
    return torch.tensor(values, requires_grad=True)


class Func(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x: torch.Tensor, y: torch.Tensor, z: int):
        ctx.save_for_backward(x, y)
        ctx.save_for_forward(x, y)
        ctx.z = z
        return x * y * z

    @staticmethod
    def jvp(ctx, x_t, y_t, _):
        x, y = ctx.saved_tensors
        z = ctx.z
        return z * (y * x_t + x * y_t)

    @staticmethod
    def vjp(ctx, grad_out):
        x, y = ctx.saved_tensors
        z = ctx.z
        return z * grad_out * y, z * grad_out * x, None


def test_example_of_save_for_forward():
    a = torch.tensor(1.0, requires_grad=True, dtype=torch.double)
    t = torch.tensor(1.0, dtype=torch.double)
    b = torch.tensor(2.0, requires_grad=True, dtype=torch.double)
    c = 4

    with fwAD.dual_level():
        a_dual = fwAD.make_dual(a, t)
        d = Func.apply(a_dual, b, c)
        primal, tangent = fwAD.unpack_dual(d)
    assert primal.item() == 8.0
    assert tangent.item() == 8.0
    d.backward()
    assert (a.grad.item(), b.grad.item()) == (8.0, 4.0)


class SimpleFunc(Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone(), x.clone()

    @staticmethod
    @once_differentiable
    def backward(ctx, g1, g2):
        return g1 + g2  # No check for None necessary


def test_example_of_set_materialize_grads_with_the_default():
    a = torch.tensor(1.0, requires_grad=True)
    b, _ = SimpleFunc.apply(a)  # induces g2 to be undefined
    b.backward()
    assert a.grad.item() == 1.0


def test_example_of_set_materialize_grads_switched_off():
    seen = []

    # We modify SimpleFunc to handle non-materialized grad outputs
    class Func(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(False)
            ctx.save_for_backward(x)
            return x.clone(), x.clone()

        @staticmethod
        @once_differentiable
        def backward(ctx, g1, g2):
            seen.append((g1 is None, g2 is None))
            (x,) = ctx.saved_tensors
            grad_input = torch.zeros_like(x)
            if g1 is not None:  # We must check for None now
                grad_input += g1
            if g2 is not None:
                grad_input += g2
            return grad_input

    a = torch.tensor(1.0, requires_grad=True)
    b, _ = Func.apply(a)  # induces g2 to be undefined
    b.backward()
    assert seen == [(False, True)]
    assert a.grad.item() == 1.0


class Combine(NestedIOFunction):
    """((x, y), [z]) -> (x * y, [x + z, y]): nested on both sides."""

    def forward_extended(self, pair, rest):
        (x, y), [z] = pair, rest
        self.save_for_backward(x, [y])
        return x * y, [x + z, y * 1]

    def backward_extended(self, product, others):
        x, [y] = self.saved_tensors
        total, same = others
        return (product * y + total, product * x + same), [total]


@both_calls
def test_nested_outputs_keep_their_structure(call):
    product, others = call(Combine, (leaf(2.0), leaf(3.0)), [leaf(5.0)])
    assert type(others) is list and len(others) == 2
    assert [product.tolist(), others[0].tolist(), others[1].tolist()] == [[6.0], [7.0], [3.0]]
    assert product.requires_grad and others[0].requires_grad and others[1].requires_grad


@both_calls
def test_nested_gradients_reach_nested_inputs(call):
    x, y, z = leaf(2.0), leaf(3.0), leaf(5.0)
    product, [total, same] = call(Combine, (x, y), [z])
    (product + 10 * total + 100 * same).sum().backward()
    assert [x.grad.tolist(), y.grad.tolist(), z.grad.tolist()] == [[13.0], [102.0], [10.0]]


@both_calls
def test_gradients_of_unused_outputs_are_zeros(call):
    x, y, z = leaf(2.0), leaf(3.0), leaf(5.0)
    product, _ = call(Combine, (x, y), [z])
    product.sum().backward()
    assert [x.grad.tolist(), y.grad.tolist(), z.grad.tolist()] == [[3.0], [2.0], [0.0]]


@both_calls
def test_inputs_that_do_not_require_grad_get_none(call):
    x, y = leaf(2.0), torch.tensor([3.0])
    product, _ = call(Combine, (x, y), [torch.tensor([1.0])])
    product.sum().backward()
    assert x.grad.tolist() == [3.0]
    assert y.grad is None


@both_calls
def test_first_derivatives_pass_gradcheck(call):
    def flat(x, y, z):
        product, [total, same] = call(Combine, (x, y), [z])
        return product, total, same

    inputs = [torch.tensor([value], dtype=torch.double, requires_grad=True) for value in (2.0, 3.0, 5.0)]
    assert torch.autograd.gradcheck(flat, inputs)


@both_calls
def test_a_single_tensor_in_and_out(call):
    class Double(NestedIOFunction):
        def forward_extended(self, x):
            return x * 2

        def backward_extended(self, grad):
            return grad * 2

    x = leaf(1.0, 2.0)
    y = call(Double, x)
    assert isinstance(y, torch.Tensor)
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


@both_calls
def test_deeply_nested_structures(call):
    class Deep(NestedIOFunction):
        def forward_extended(self, tree):
            x, [y, (z,)] = tree
            return [x * 2, (y * 3, [z * 4])]

        def backward_extended(self, a, rest):
            b, [c] = rest
            return ((a * 2, [b * 3, (c * 4,)]),)

    x, y, z = leaf(1.0), leaf(1.0), leaf(1.0)
    a, (b, [c]) = call(Deep, (x, [y, (z,)]))
    (a + b + c).sum().backward()
    assert [x.grad.tolist(), y.grad.tolist(), z.grad.tolist()] == [[2.0], [3.0], [4.0]]


@both_calls
def test_saved_tensors_come_back_nested(call):
    seen = []

    class Save(NestedIOFunction):
        def forward_extended(self, x, y):
            self.save_for_backward((x, [y]), x)
            return (x * y,)

        def backward_extended(self, grad):
            (x, [y]), again = self.saved_tensors
            seen.append((x.tolist(), y.tolist(), again.tolist()))
            return grad * y, grad * x

    x, y = leaf(2.0), leaf(3.0)
    (z,) = call(Save, x, y)
    z.sum().backward()
    assert seen == [([2.0], [3.0], [2.0])]
    assert (x.grad.tolist(), y.grad.tolist()) == ([3.0], [2.0])


@both_calls
def test_mark_non_differentiable(call):
    class Sort(NestedIOFunction):
        def forward_extended(self, x):
            order = x * 10
            self.mark_non_differentiable([order])
            return x * 2, [order]

        def backward_extended(self, grad, _):
            return grad * 2

    x = leaf(1.0)
    y, [order] = call(Sort, x)
    assert y.requires_grad and not order.requires_grad
    y.sum().backward()
    assert x.grad.tolist() == [2.0]


@both_calls
def test_mark_dirty(call):
    class Double(NestedIOFunction):
        def forward_extended(self, pair):
            pair[0].mul_(2)
            self.mark_dirty(pair[0])
            return (pair[0],)

        def backward_extended(self, grad):
            return ((grad * 2, None),)

    x = leaf(1.0)
    y = x * 1
    (z,) = call(Double, (y, torch.tensor([1.0])))
    z.sum().backward()
    assert z.tolist() == [2.0]
    assert x.grad.tolist() == [2.0]


@both_calls
def test_set_materialize_grads(call):
    seen = []

    class Two(NestedIOFunction):
        def forward_extended(self, x):
            self.set_materialize_grads(False)
            return x * 2, [x * 3]

        def backward_extended(self, first, rest):
            seen.append((first is None, rest[0] is None))
            return first * 2

    x = leaf(1.0)
    y, _ = call(Two, x)
    y.sum().backward()
    assert seen == [(False, True)]
    assert x.grad.tolist() == [2.0]


@both_calls
def test_attributes_of_the_instance(call):
    class Scale(NestedIOFunction):
        def forward_extended(self, pair):
            self.factor = 7.0
            return (pair[0] * self.factor,)

        def backward_extended(self, grad):
            return ((grad * self.factor, None),)

    x = leaf(1.0)
    (y,) = call(Scale, (x, torch.tensor([1.0])))
    y.sum().backward()
    assert x.grad.tolist() == [7.0]


def test_instance_with_arguments_of_its_own():
    class Scale(NestedIOFunction):
        def __init__(self, factor):
            super().__init__()
            self.factor = factor

        def forward_extended(self, x):
            return (x * self.factor,)

        def backward_extended(self, grad):
            return (grad * self.factor,)

    x = leaf(1.0)
    (y,), (z,) = Scale(3.0)(x), Scale(5.0)(x)
    (y + z).sum().backward()
    assert x.grad.tolist() == [8.0]


@both_calls
def test_without_forward_extended(call):
    class Nothing(NestedIOFunction):
        pass

    with pytest.raises(NotImplementedError):
        call(Nothing, leaf(1.0))


@both_calls
def test_without_backward_extended(call):
    class OnlyForward(NestedIOFunction):
        def forward_extended(self, x):
            return (x * 2,)

    (y,) = call(OnlyForward, leaf(1.0))
    with pytest.raises(NotImplementedError):
        y.sum().backward()


@both_calls
def test_wrong_number_of_nested_gradients(call):
    class Wrong(NestedIOFunction):
        def forward_extended(self, pair):
            return (pair[0] + pair[1],)

        def backward_extended(self, grad):
            return ((grad,),)

    (y,) = call(Wrong, (leaf(1.0), leaf(2.0)))
    with pytest.raises(RuntimeError):
        y.sum().backward()


def test_it_is_a_function_with_all_methods_of_the_page():
    assert issubclass(NestedIOFunction, Function)
    for name in ("jvp", "setup_context", "vjp", "vmap"):
        assert isinstance(inspect.getattr_static(NestedIOFunction, name), staticmethod), name
    for name in (
        "backward",
        "backward_extended",
        "forward",
        "forward_extended",
        "mark_dirty",
        "mark_non_differentiable",
    ):
        assert callable(getattr(NestedIOFunction, name)), name
    for name in ("save_for_backward", "save_for_forward", "set_materialize_grads"):
        assert callable(getattr(NestedIOFunction, name)), name
    assert isinstance(inspect.getattr_static(NestedIOFunction, "saved_tensors"), property)
    assert NestedIOFunction.forward.__doc__.startswith("Shared forward utility")
    assert NestedIOFunction.backward.__doc__.startswith("Shared backward utility")
    assert NestedIOFunction.forward_extended.__doc__.startswith("User defined forward")
    assert NestedIOFunction.backward_extended.__doc__.startswith("User defined backward")


def test_jvp_gets_none_for_what_is_no_tensor_and_may_return_none():
    seen = []

    class Sort(Function):
        @staticmethod
        def forward(ctx, x, text):
            order = x.argsort()
            ctx.mark_non_differentiable(order)
            return x * 2, order

        @staticmethod
        def jvp(ctx, tangent, nothing):
            seen.append(nothing)
            return tangent * 2, None

    with fwAD.dual_level():
        y, order = Sort.apply(fwAD.make_dual(torch.tensor([2.0, 1.0]), torch.tensor([1.0, 5.0])), "text")
        assert fwAD.unpack_dual(y).tangent.tolist() == [2.0, 10.0]
        assert fwAD.unpack_dual(order).tangent is None
    assert seen == [None]


def test_jvp_may_return_none_for_a_differentiable_output():
    class Two(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2, x * 3

        @staticmethod
        def jvp(ctx, tangent):
            return tangent * 2, None

    with fwAD.dual_level():
        first, second = Two.apply(fwAD.make_dual(torch.tensor([1.0]), torch.tensor([1.0])))
        assert fwAD.unpack_dual(first).tangent.tolist() == [2.0]
        tangent = fwAD.unpack_dual(second).tangent
        assert tangent is None or tangent.tolist() == [0.0]


def test_save_for_forward_takes_none():
    class Square(Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.save_for_forward(None, x)
            return x * x

        @staticmethod
        def jvp(ctx, x_t, y_t):
            nothing, x = ctx.saved_tensors
            assert nothing is None
            return 2 * x * x_t

    with fwAD.dual_level():
        y = Square.apply(fwAD.make_dual(torch.tensor([3.0]), torch.tensor([1.0])), None)
        assert fwAD.unpack_dual(y).tangent.tolist() == [6.0]


def test_backward_gets_none_for_outputs_that_are_no_tensors_and_may_return_none():
    class Odd(Function):
        @staticmethod
        def forward(ctx, x, text):
            return x * 2, text

        @staticmethod
        def backward(ctx, grad, nothing):
            assert nothing is None
            assert ctx.needs_input_grad == (True, False)
            return grad * 2, None

    x = leaf(1.0)
    y, text = Odd.apply(x, "text")
    y.sum().backward()
    assert text == "text"
    assert x.grad.tolist() == [2.0]


def test_constructor_takes_any_arguments():
    """class NestedIOFunction(*args, **kwargs): a subclass gives them a meaning in its own __init__."""

    class Scaled(NestedIOFunction):
        def __init__(self, *args, factor):
            super().__init__(*args, factor=factor)
            self.factor = factor

        def forward_extended(self, pair):
            return (pair[0] * self.factor, pair[1])

        def backward_extended(self, first, second):
            return ((first * self.factor, second),)

    x, y = leaf(1.0), leaf(2.0)
    a, b = Scaled("name", factor=5)((x, y))
    (a + b).sum().backward()
    assert (x.grad.tolist(), y.grad.tolist()) == ([5.0], [1.0])
    assert isinstance(NestedIOFunction(1, a=2), NestedIOFunction)
