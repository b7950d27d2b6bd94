"""Hooks."""

import minigrad as torch

from . import mistake


@mistake("register_hook", "(2,)", "requires_grad=False", remedy="x.requires_grad_()")
def hook_on_untracked():
    """A hook is put on a tensor that does not require grad.

    Such a tensor gets no gradient, so the hook would never be called.
    """
    x = torch.ones(2)  # -
    # + x = torch.ones(2).requires_grad_()
    x.register_hook(print)  # <-


@mistake("register_hook", "mul", "(2,)", remedy="before backward", says="late-hook")
def hook_after_backward():
    """A hook is registered after backward.

    The graph of this result is freed, so the hook is never called.
    """
    seen = []
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    # + y.register_hook(seen.append)
    # + y.sum().backward(retain_graph=True)
    # + y.register_hook(seen.append)
    y.sum().backward()
    y.register_hook(seen.append)  # - <-
    # + x.register_hook(seen.append)  # for the next round


@mistake("retain_grad", "exp", "(2,)", remedy="before backward", says="late-hook")
def retain_grad_after_backward():
    """`retain_grad()` is called after backward.

    The gradient has already passed, and the graph is freed.
    """
    x = torch.ones(2, requires_grad=True)
    y = x.exp()
    # + y.retain_grad()
    y.sum().backward()
    y.retain_grad()  # - <-
    # + y.retain_grad()  # a second call is harmless
    return y.grad


@mistake("hook", "(2,)", "()", remedy="of the gradient's shape")
def hook_returns_another_shape():
    """A hook returns a tensor with a different shape than the gradient.

    The result of a hook replaces the gradient.
    """
    x = torch.ones(2, requires_grad=True)
    x.register_hook(lambda grad: grad.sum())  # - <-
    # + x.register_hook(lambda grad: grad / grad.sum())
    (x * x).sum().backward()


@mistake("hook", "float32", "float64", remedy="grad.dtype")
def hook_returns_another_dtype():
    """A hook returns the gradient in a different dtype.

    The result of a hook replaces the gradient.
    """
    x = torch.ones(2, requires_grad=True)
    x.register_hook(lambda grad: grad.double())  # - <-
    # + x.register_hook(lambda grad: grad.double().to(grad.dtype))
    (x * x).sum().backward()


@mistake("hook", "float", remedy="return nothing", says=TypeError)
def hook_returns_a_number():
    """A hook returns a number.

    The result of a hook replaces the gradient, so it has to be a tensor, or None to keep the gradient.
    """
    # + norms = []
    x = torch.ones(2, requires_grad=True)
    x.register_hook(lambda grad: grad.norm().item())  # - <-
    # + x.register_hook(lambda grad: norms.append(grad.norm().item()))
    (x * x).sum().backward()


@mistake("clipped", "tuple", remedy="return a tensor", says=TypeError)
def hook_returns_a_tuple():
    """A hook on a tensor returns a tuple, as hooks on nodes and modules do.

    A tensor has one gradient, and its hook returns one tensor.
    """

    def clipped(grad):
        return (grad.clamp(-1, 1),)  # - <-
        # + return grad.clamp(-1, 1)

    x = torch.ones(2, requires_grad=True)
    x.register_hook(clipped)
    (x * x).sum().backward()


@mistake("hook", "1 argument", "(module, grad_input, grad_output)", remedy="hook(grad)", says=TypeError)
def hook_of_a_module_on_a_tensor():
    """A hook on a tensor has the parameters of a module's hook.

    The hook of a tensor is called with its gradient alone.
    """
    x = torch.ones(2, requires_grad=True)
    x.register_hook(lambda module, grad_input, grad_output: None)  # - <-
    # + x.register_hook(lambda grad, scale=2.0: grad * scale)
    (x * x).sum().backward()


@mistake("register_hook", "NoneType", remedy="register_hook(f)", says=TypeError)
def hook_called_instead_of_passed():
    """A hook is called instead of passed.

    This registers the result of the call, here None.
    """
    x = torch.ones(2, requires_grad=True)
    x.register_hook(print(x))  # - <-
    # + x.register_hook(print)


@mistake("register_hook", "3 times", remedy="handle.remove()", says="repeated-hook")
def hook_registered_in_a_loop():
    """The same hook is registered in every round.

    A parameter lives through all rounds, and so do its hooks: after ten rounds the gradient is halved ten times.
    """
    w = torch.ones(2, requires_grad=True)
    for _ in range(4):
        w.register_hook(lambda grad: grad * 0.5)  # <-
        (w * w).sum().backward()


def hook_registered_in_a_loop_corrected():
    w = torch.ones(2, requires_grad=True)
    for scale in (0.5, 2.0, 0.25, 4.0):
        w.register_hook(lambda grad, scale=scale: grad * scale)
    for _ in range(4):
        with w.register_hook(lambda grad: grad * 0.5):
            (w * w).sum().backward()
        y = w * 2
        y.register_hook(lambda grad: grad * 0.5)  # on a new tensor each time


@mistake("clip", "grad", remedy="return grad", says="hook-without-return", under="debug")
def hook_without_return():
    """A hook computes a new gradient but does not return it.

    An assignment to the parameter `grad` only rebinds the name; the gradient itself does not change.
    """

    def clip(grad):
        grad = grad.clamp(-1, 1)  # <-

    x = torch.ones(2, requires_grad=True)
    x.register_hook(clip)
    (x * 9).sum().backward()


def hook_without_return_corrected():
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


@mistake("clip", "grad", remedy="return grad.clamp(-1, 1)", says="hook-without-return", under="debug")
def hook_that_drops_its_result():
    """A hook calls `clamp` on the gradient but does not return the result.

    Operations without a trailing underscore make a new tensor and leave the gradient unchanged.
    """

    def clip(grad):
        grad.clamp(-1, 1)  # <-

    x = torch.ones(2, requires_grad=True)
    x.register_hook(clip)
    (x * 9).sum().backward()


def hook_that_drops_its_result_corrected():
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


@mistake("register_post_accumulate_grad_hook", "mul", "(2,)", remedy="register_hook")
def post_accumulate_hook_on_a_result():
    """A post-accumulate hook is registered on a result.

    It runs when backward has filled `.grad`, and only leaves have a `.grad` that backward fills.
    """
    x = torch.ones(2, requires_grad=True)
    y = x * 2  # -
    y.register_post_accumulate_grad_hook(print)  # - <-
    # + x.register_post_accumulate_grad_hook(print)
    # + (x * 2).sum().backward()


@mistake("hook", "(2,)", "Tensor", remedy="tensor.grad.clamp_(-1, 1)")
def post_accumulate_hook_that_returns():
    """A post-accumulate hook returns a new gradient.

    The gradient is already in `.grad`, so the result would be lost.
    """
    # + def clip(x):
    # +     x.grad.clamp_(-1, 1)
    x = torch.ones(2, requires_grad=True)
    x.register_post_accumulate_grad_hook(lambda x: x.grad.clamp(-1, 1))  # - <-
    # + x.register_post_accumulate_grad_hook(clip)
    (x * 2).sum().backward()


@mistake("hook", "MulBackward0", "2 gradients", "Tensor", remedy="return a tuple", says=TypeError)
def hook_of_a_node_returns_one_gradient():
    """The hook of a node returns one gradient, but the node has two inputs.

    Its result replaces the gradients of all inputs.
    """
    x, w = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    y = x * w
    y.grad_fn.register_hook(lambda grad_inputs, grad_outputs: grad_inputs[0] * 2)  # - <-
    # + y.grad_fn.register_hook(lambda grad_inputs, grad_outputs: tuple(g * 2 for g in grad_inputs))
    y.sum().backward()


@mistake("hook", "MaxBackward0", "1 gradient", "expected 2", remedy="(g1, g2)")
def prehook_returns_too_few():
    """The pre-hook of a node with two results returns one gradient.

    Its result replaces the gradients of all results.
    """
    x = torch.ones(2, 3, requires_grad=True)
    largest, _ = x.max(1)
    largest.grad_fn.register_prehook(lambda grad_outputs: (grad_outputs[0] * 2,))  # - <-
    # + largest.grad_fn.register_prehook(lambda grad_outputs: (grad_outputs[0] * 2, *grad_outputs[1:]))
    largest.sum().backward()


@mistake("ExpBackward0", "(3,)", "()", remedy="of the gradient's shape")
def hook_of_a_node_returns_another_shape():
    """The hook of a node returns a gradient with a different shape than the node's input.

    It would reach the parameter, whose `.grad` has the parameter's shape.
    """
    x = torch.ones(3, requires_grad=True)
    y = x.exp()
    y.grad_fn.register_hook(lambda grad_inputs, grad_outputs: (grad_inputs[0].sum(),))  # - <-
    # + y.grad_fn.register_hook(lambda grad_inputs, grad_outputs: (grad_inputs[0] * 2,))
    y.sum().backward()


@mistake("ExpBackward0", "(3,)", "(1,)", remedy="of the gradient's shape")
def prehook_returns_another_shape():
    """The pre-hook of a node returns a gradient with a different shape than the node's result.

    The node's backward computes with this gradient.
    """
    x = torch.ones(3, requires_grad=True)
    y = x.exp()
    y.grad_fn.register_prehook(lambda grad_outputs: (grad_outputs[0][:1],))  # - <-
    # + y.grad_fn.register_prehook(lambda grad_outputs: (grad_outputs[0] * 2,))
    y.sum().backward()


@mistake("saved_tensors_hooks", "(3,)", "()", "ExpBackward0", remedy="the unpack hook")
def unpack_hook_returns_another_shape():
    """The unpack hook of saved_tensors_hooks returns a tensor with a different shape than the packed one.

    backward computes with it, and broadcasting hides the difference.
    """
    x = torch.ones(3, requires_grad=True)
    hooks = torch.autograd.graph.saved_tensors_hooks(lambda t: t.mean(), lambda kept: kept)  # - <-
    # + hooks = torch.autograd.graph.saved_tensors_hooks(lambda t: t.mean(), lambda kept: kept.expand(3))
    with hooks:
        y = x.exp()
    y.sum().backward()


@mistake("saved_tensors_hooks", "ndarray", "(3,)", remedy="torch.from_numpy", says=TypeError)
def unpack_hook_returns_an_array():
    """The unpack hook of saved_tensors_hooks returns a NumPy array.

    backward needs a tensor.
    """
    x = torch.ones(3, requires_grad=True)
    hooks = torch.autograd.graph.saved_tensors_hooks(lambda t: t.numpy(), lambda kept: kept)  # - <-
    # + hooks = torch.autograd.graph.saved_tensors_hooks(lambda t: t.numpy(), lambda kept: torch.from_numpy(kept))
    with hooks:
        y = x.exp()
    y.sum().backward()
