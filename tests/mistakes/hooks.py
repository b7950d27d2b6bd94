"""Hooks."""

import minigrad as torch

from . import Mistake


class HookOnUntracked(Mistake):
    """A hook is put on a tensor that does not require grad.

    Such a tensor gets no gradient, so the hook would never be called.
    """

    operation = "register_hook"
    numbers = ("(2,)", "requires_grad=False")
    remedy = "x.requires_grad_()"

    def wrong():
        x = torch.ones(2)  # -
        # + x = torch.ones(2).requires_grad_()
        x.register_hook(print)  # <-


class HookAfterBackward(Mistake):
    """A hook is registered after backward.

    The graph of this result is freed, so the hook is never called.
    """

    says = "late-hook"
    operation = "register_hook"
    numbers = ("mul", "(2,)")
    remedy = "before backward"

    def wrong():
        seen = []
        x = torch.ones(2, requires_grad=True)
        y = x * 2
        # + y.register_hook(seen.append)
        # + y.sum().backward(retain_graph=True)
        # + y.register_hook(seen.append)
        y.sum().backward()
        y.register_hook(seen.append)  # - <-
        # + x.register_hook(seen.append)  # for the next round


class RetainGradAfterBackward(Mistake):
    """`retain_grad()` is called after backward.

    The gradient has already passed, and the graph is freed.
    """

    says = "late-hook"
    operation = "retain_grad"
    numbers = ("exp", "(2,)")
    remedy = "before backward"

    def wrong():
        x = torch.ones(2, requires_grad=True)
        y = x.exp()
        # + y.retain_grad()
        y.sum().backward()
        y.retain_grad()  # - <-
        # + y.retain_grad()  # a second call is harmless
        return y.grad


class HookReturnsAnotherShape(Mistake):
    """A hook returns a tensor with a different shape than the gradient.

    The result of a hook replaces the gradient.
    """

    operation = "hook"
    numbers = ("(2,)", "()")
    remedy = "of the gradient's shape"

    def wrong():
        x = torch.ones(2, requires_grad=True)
        x.register_hook(lambda grad: grad.sum())  # - <-
        # + x.register_hook(lambda grad: grad / grad.sum())
        (x * x).sum().backward()


class HookReturnsAnotherDtype(Mistake):
    """A hook returns the gradient in a different dtype.

    The result of a hook replaces the gradient.
    """

    operation = "hook"
    numbers = ("float32", "float64")
    remedy = "grad.dtype"

    def wrong():
        x = torch.ones(2, requires_grad=True)
        x.register_hook(lambda grad: grad.double())  # - <-
        # + x.register_hook(lambda grad: grad.double().to(grad.dtype))
        (x * x).sum().backward()


class HookReturnsANumber(Mistake):
    """A hook returns a number.

    The result of a hook replaces the gradient, so it has to be a tensor, or None to keep the gradient.
    """

    says = TypeError
    operation = "hook"
    numbers = ("float",)
    remedy = "return nothing"

    def wrong():
        # + norms = []
        x = torch.ones(2, requires_grad=True)
        x.register_hook(lambda grad: grad.norm().item())  # - <-
        # + x.register_hook(lambda grad: norms.append(grad.norm().item()))
        (x * x).sum().backward()


class HookReturnsATuple(Mistake):
    """A hook on a tensor returns a tuple, as hooks on nodes and modules do.

    A tensor has one gradient, and its hook returns one tensor.
    """

    says = TypeError
    operation = "clipped"
    numbers = ("tuple",)
    remedy = "return a tensor"

    def wrong():
        def clipped(grad):  # <-
            return (grad.clamp(-1, 1),)  # -
            # + return grad.clamp(-1, 1)

        x = torch.ones(2, requires_grad=True)
        x.register_hook(clipped)
        (x * x).sum().backward()


class HookOfAModuleOnATensor(Mistake):
    """A hook on a tensor has the parameters of a module's hook.

    The hook of a tensor is called with its gradient alone.
    """

    says = TypeError
    operation = "hook"
    numbers = ("1 argument", "(module, grad_input, grad_output)")
    remedy = "hook(grad)"

    def wrong():
        x = torch.ones(2, requires_grad=True)
        x.register_hook(lambda module, grad_input, grad_output: None)  # - <-
        # + x.register_hook(lambda grad, scale=2.0: grad * scale)
        (x * x).sum().backward()


class HookCalledInsteadOfPassed(Mistake):
    """A hook is called instead of passed.

    This registers the result of the call, here None.
    """

    says = TypeError
    operation = "register_hook"
    numbers = ("NoneType",)
    remedy = "register_hook(f)"

    def wrong():
        x = torch.ones(2, requires_grad=True)
        x.register_hook(print(x))  # - <-
        # + x.register_hook(print)


class HookRegisteredInALoop(Mistake):
    """The same hook is registered in every round.

    A parameter lives through all rounds, and so do its hooks: after ten rounds the gradient is halved ten times.
    """

    says = "repeated-hook"
    operation = "register_hook"
    numbers = ("3 times",)
    remedy = "handle.remove()"

    def wrong():
        w = torch.ones(2, requires_grad=True)
        for _ in range(4):
            w.register_hook(lambda grad: grad * 0.5)  # <-
            (w * w).sum().backward()

    def right():
        w = torch.ones(2, requires_grad=True)
        for scale in (0.5, 2.0, 0.25, 4.0):
            w.register_hook(lambda grad, scale=scale: grad * scale)
        for _ in range(4):
            with w.register_hook(lambda grad: grad * 0.5):
                (w * w).sum().backward()
            y = w * 2
            y.register_hook(lambda grad: grad * 0.5)  # on a new tensor each time


class HookWithoutReturn(Mistake):
    """A hook computes a new gradient but does not return it.

    An assignment to the parameter `grad` only rebinds the name; the gradient itself does not change.
    """

    says = "hook-without-return"
    under = "debug"
    operation = "clip"
    numbers = ("grad",)
    remedy = "return grad"

    def wrong():
        def clip(grad):
            grad = grad.clamp(-1, 1)  # <-

        x = torch.ones(2, requires_grad=True)
        x.register_hook(clip)
        (x * 9).sum().backward()

    def right():
        norms = []

        def clip(grad):
            grad = grad.clamp(-1, 1)
            return grad

        def watch(grad):
            grad = grad.norm()
            norms.append(grad.item())

        x = torch.ones(2, requires_grad=True)
        x.register_hook(clip)
        x.register_hook(watch)
        x.register_hook(norms.append)
        (x * 9).sum().backward()


class HookThatDropsItsResult(Mistake):
    """A hook calls `clamp` on the gradient but does not return the result.

    Operations without a trailing underscore make a new tensor and leave the gradient unchanged.
    """

    says = "hook-without-return"
    under = "debug"
    operation = "clip"
    numbers = ("grad",)
    remedy = "return grad.clamp(-1, 1)"

    def wrong():
        def clip(grad):
            grad.clamp(-1, 1)  # <-

        x = torch.ones(2, requires_grad=True)
        x.register_hook(clip)
        (x * 9).sum().backward()

    def right():
        norms = []

        def clip(grad):
            grad.clamp_(-1, 1)

        def watch(grad):
            norms.append(grad.norm())
            print(f"{grad.norm():.1f}")

        x = torch.ones(2, requires_grad=True)
        x.register_hook(watch)
        x.register_hook(clip)
        (x * 9).sum().backward()


class PostAccumulateHookOnAResult(Mistake):
    """A post-accumulate hook is registered on a result.

    It runs when backward has filled `.grad`, and only leaves have a `.grad` that backward fills.
    """

    operation = "register_post_accumulate_grad_hook"
    numbers = ("mul", "(2,)")
    remedy = "register_hook"

    def wrong():
        x = torch.ones(2, requires_grad=True)
        y = x * 2  # -
        y.register_post_accumulate_grad_hook(print)  # - <-
        # + x.register_post_accumulate_grad_hook(print)
        # + (x * 2).sum().backward()


class PostAccumulateHookThatReturns(Mistake):
    """A post-accumulate hook returns a new gradient.

    The gradient is already in `.grad`, so the result would be lost.
    """

    operation = "hook"
    numbers = ("(2,)", "Tensor")
    remedy = "tensor.grad.clamp_(-1, 1)"

    def wrong():
        # + def clip(x):
        # +     x.grad.clamp_(-1, 1)
        x = torch.ones(2, requires_grad=True)
        x.register_post_accumulate_grad_hook(lambda x: x.grad.clamp(-1, 1))  # - <-
        # + x.register_post_accumulate_grad_hook(clip)
        (x * 2).sum().backward()


class HookOfANodeReturnsOneGradient(Mistake):
    """The hook of a node returns one gradient, but the node has two inputs.

    Its result replaces the gradients of all inputs.
    """

    says = TypeError
    operation = "hook"
    numbers = ("MulBackward0", "2 gradients", "Tensor")
    remedy = "return a tuple"

    def wrong():
        x, w = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
        y = x * w
        y.grad_fn.register_hook(lambda grad_inputs, grad_outputs: grad_inputs[0] * 2)  # - <-
        # + y.grad_fn.register_hook(lambda grad_inputs, grad_outputs: tuple(g * 2 for g in grad_inputs))
        y.sum().backward()


class PrehookReturnsTooFew(Mistake):
    """The pre-hook of a node with two results returns one gradient.

    Its result replaces the gradients of all results.
    """

    operation = "hook"
    numbers = ("MaxBackward0", "1 gradient", "expected 2")
    remedy = "(g1, g2)"

    def wrong():
        x = torch.ones(2, 3, requires_grad=True)
        largest, _ = x.max(1)
        largest.grad_fn.register_prehook(lambda grad_outputs: (grad_outputs[0] * 2,))  # - <-
        # + largest.grad_fn.register_prehook(lambda grad_outputs: (grad_outputs[0] * 2, *grad_outputs[1:]))
        largest.sum().backward()


class HookOfANodeReturnsAnotherShape(Mistake):
    """The hook of a node returns a gradient with a different shape than the node's input.

    It would reach the parameter, whose `.grad` has the parameter's shape.
    """

    operation = "ExpBackward0"
    numbers = ("(3,)", "()")
    remedy = "of the gradient's shape"

    def wrong():
        x = torch.ones(3, requires_grad=True)
        y = x.exp()
        y.grad_fn.register_hook(lambda grad_inputs, grad_outputs: (grad_inputs[0].sum(),))  # - <-
        # + y.grad_fn.register_hook(lambda grad_inputs, grad_outputs: (grad_inputs[0] * 2,))
        y.sum().backward()


class PrehookReturnsAnotherShape(Mistake):
    """The pre-hook of a node returns a gradient with a different shape than the node's result.

    The node's backward computes with this gradient.
    """

    operation = "ExpBackward0"
    numbers = ("(3,)", "(1,)")
    remedy = "of the gradient's shape"

    def wrong():
        x = torch.ones(3, requires_grad=True)
        y = x.exp()
        y.grad_fn.register_prehook(lambda grad_outputs: (grad_outputs[0][:1],))  # - <-
        # + y.grad_fn.register_prehook(lambda grad_outputs: (grad_outputs[0] * 2,))
        y.sum().backward()


class UnpackHookReturnsAnotherShape(Mistake):
    """The unpack hook of saved_tensors_hooks returns a tensor with a different shape than the packed one.

    backward computes with it, and broadcasting hides the difference.
    """

    operation = "saved_tensors_hooks"
    numbers = ("(3,)", "()", "ExpBackward0")
    remedy = "the unpack hook"

    def wrong():
        x = torch.ones(3, requires_grad=True)
        hooks = torch.autograd.graph.saved_tensors_hooks(lambda t: t.mean(), lambda kept: kept)  # - <-
        # + hooks = torch.autograd.graph.saved_tensors_hooks(lambda t: t.mean(), lambda kept: kept.expand(3))
        with hooks:
            y = x.exp()
        y.sum().backward()


class UnpackHookReturnsAnArray(Mistake):
    """The unpack hook of saved_tensors_hooks returns a NumPy array.

    backward needs a tensor.
    """

    says = TypeError
    operation = "saved_tensors_hooks"
    numbers = ("ndarray", "(3,)")
    remedy = "torch.from_numpy"

    def wrong():
        x = torch.ones(3, requires_grad=True)
        hooks = torch.autograd.graph.saved_tensors_hooks(lambda t: t.numpy(), lambda kept: kept)  # - <-
        # + hooks = torch.autograd.graph.saved_tensors_hooks(lambda t: t.numpy(), lambda kept: torch.from_numpy(kept))
        with hooks:
            y = x.exp()
        y.sum().backward()
