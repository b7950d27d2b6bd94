"""Backward keeps saved tensors until it frees them, and hooks change them: `saved_tensors_hooks`, `save_on_cpu`."""

import gc
import weakref

from tests.parity.harness import attempt, function, gives, leaf


@gives([[["pack", [2.0, 3.0]], ["pack", [2.0, 3.0]], ["unpack", [2.0, 3.0]], ["unpack", [2.0, 3.0]]], [4.0, 6.0]])
def pack_and_unpack_are_called(torch):
    x, calls = leaf(torch, [2.0, 3.0]), []

    def pack(t):
        calls.append(["pack", t.detach().clone()])
        return t

    def unpack(t):
        calls.append(["unpack", t.detach().clone()])
        return t

    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        y = x * x
    y.sum().backward()
    return calls, x.grad


def unpacked_value_is_what_backward_uses(torch):
    x = leaf(torch, [2.0])
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.detach() * 10, lambda t: t):
        y = x.exp() + x * torch.tensor([3.0])
    y.sum().backward()
    return y, x.grad


@gives([1, [12.0, 27.0]])
def pack_may_return_anything(torch):
    x, store = leaf(torch, [2.0, 3.0]), []

    def pack(t):
        store.append(t.detach().tolist())
        return len(store) - 1

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda i: torch.tensor(store[i])):
        y = (x**3).sum()
    y.backward()
    return len(store), x.grad


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


@gives([[[2.0]], [20.0]])
def hooks_see_what_a_custom_function_saves(torch):
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    Square = function(torch, forward, lambda ctx, g: 2 * ctx.saved_tensors[0] * g)
    x, packed = leaf(torch, [2.0]), []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: packed.append(t.detach().clone()) or t, lambda t: t * 5):
        y = Square.apply(x)
    y.sum().backward()
    return packed, x.grad


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


@gives([None, [4.0]])
def hooks_with_modified_original_do_not_raise(torch):
    x = leaf(torch, [2.0])
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.detach().clone(), lambda t: t):
        y = x * 1
        z = (y * y).sum()
    y.add_(5)
    return attempt(z.backward), x.grad


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


@gives([])
def hooks_under_no_grad_are_not_called(torch):
    x, calls = leaf(torch, [2.0]), []
    with torch.no_grad(), torch.autograd.graph.saved_tensors_hooks(lambda t: calls.append(1) or t, lambda t: t):
        x.exp()
    return calls


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
