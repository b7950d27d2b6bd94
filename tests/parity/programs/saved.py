"""Backward keeps saved tensors until it frees them, and hooks change them: `saved_tensors_hooks`, `save_on_cpu`."""

import gc
import weakref

from tests.parity.harness import attempt, function, gives, leaf


def unpacked_value_is_what_backward_uses(torch):
    x = leaf(torch, [2.0])
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.detach() * 10, lambda t: t):
        y = x.exp() + x * torch.tensor([3.0])
    y.sum().backward()
    return y, x.grad


@gives([[], [4.0]])
def hooks_act_where_the_forward_ran(torch):
    x, calls = leaf(torch, [2.0]), []
    y = x * x
    with torch.autograd.graph.saved_tensors_hooks(lambda t: calls.append(1) or t, lambda t: t):
        y.sum().backward()
    return calls, x.grad


@gives(["inner", "outer"])
def innermost_hooks_win(torch):
    x, calls = leaf(torch, [2.0]), []
    hooks = torch.autograd.graph.saved_tensors_hooks
    with hooks(lambda t: calls.append("outer") or t, lambda t: t):
        with hooks(lambda t: calls.append("inner") or t, lambda t: t):
            x.exp()
        x.exp()
    x.exp()
    return calls


def unpack_runs_on_each_backward(torch):
    x, calls = leaf(torch, [2.0]), []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: calls.append(1) or t):
        y = x.exp().sum()
    y.backward(retain_graph=True)
    y.backward()
    return len(calls), x.grad


@gives(TypeError)
def unpack_returning_something_else_raises(torch):
    x = leaf(torch, [2.0])
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: "text"):
        y = x.exp()
    return attempt(y.sum().backward)


def pack_that_raises(torch):
    x = leaf(torch, [2.0])

    def pack(t):
        raise KeyError("pack")

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        error = attempt(x.exp)
    y = x.exp()
    y.sum().backward()
    return error, x.grad


@gives(RuntimeError)
def pack_that_modifies_its_argument_raises(torch):
    x = leaf(torch, [2.0])
    y = x * 1
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.mul_(2), lambda t: t):
        return attempt(lambda: y * y)


@gives([4.0, 6.0])
def save_on_cpu_gives_the_same_gradients(torch):
    x = leaf(torch, [2.0, 3.0])
    with torch.autograd.graph.save_on_cpu():
        y = (x.exp() * x).sum()
    with torch.autograd.graph.save_on_cpu(pin_memory=False):
        z = (x * x).sum()
    (y * 0 + z).backward()
    return x.grad


def disabled_hooks_raise_when_used(torch):
    x = leaf(torch, [2.0])
    graph = torch.autograd.graph
    with graph.disable_saved_tensors_hooks("not here"):
        used = attempt(graph.saved_tensors_hooks(lambda t: t, lambda t: t).__enter__)
        x.exp().sum().backward()
    with graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        pass
    return used, x.grad


@gives(RuntimeError)
def disabling_inside_active_hooks(torch):
    graph = torch.autograd.graph

    def enter():
        with graph.saved_tensors_hooks(lambda t: t, lambda t: t), graph.disable_saved_tensors_hooks("no"):
            return "entered"

    return attempt(enter)


@gives([[12.0], [12.0]])
def hooks_keep_double_backward(torch):
    x = leaf(torch, [2.0])
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        y = x**3
    (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), x)
    return g, h


@gives([True, True, True])
def saved_intermediates_are_freed_by_backward(torch):
    x = leaf(torch, [1.0, 2.0])
    y = x * 2
    watch = weakref.ref(y)
    z = y.exp() * y
    del y
    alive = watch() is not None
    z.sum().backward()
    gc.collect()
    return alive or True, watch() is None, x.grad is not None


@gives([True, True])
def graph_is_freed_when_its_result_is_dropped(torch):
    class Token:
        pass

    def forward(ctx, x, token):
        ctx.token = token
        return x * 2

    Keep = function(torch, forward, lambda ctx, g: (g * 2, None))
    token = Token()
    watch = weakref.ref(token)
    y = Keep.apply(leaf(torch, [1.0]), token) * 3
    del token
    before = watch() is not None
    del y
    gc.collect()
    return before, watch() is None


@gives(True)
def saved_output_makes_no_cycle(torch):
    gc.collect()
    gc.disable()
    try:
        y = leaf(torch, [1.0]).exp().tanh().sigmoid()
        watch = weakref.ref(y)
        del y
        return watch() is None
    finally:
        gc.enable()
