"""The exercises of lesson 40."""

from contextlib import contextmanager

import minigrad as torch
from lessons import expect
from lessons.exercise import Wrong, exercise
from minigrad.ops.base.nodes import PrimitiveNode


@exercise(
    "Which nodes are ready after the product? The one that was created later comes first.",
    "b has two uses. Its node waits for both gradients.",
)
def engine_turns(answer):
    """After the product, c and d are ready, and d was created later. b comes last, after both of its gradients have arrived."""
    mistakes = {
        (
            "loss",
            "c",
            "d",
            "b",
        ): "c and d are both ready after the product, and the queue returns the one that was created later",
        ("b", "c", "d", "loss"): "that is the order of the forward pass",
        ("loss", "d", "b", "c"): "b waits for the gradients of both of its uses",
        ("loss", "c", "b", "d"): "b waits for the gradients of both of its uses",
        ("loss", "d", "b", "c", "b"): "b is called once, after both of its gradients have arrived",
        ("loss", "c", "b", "d", "b"): "b is called once, after both of its gradients have arrived",
    }
    if isinstance(answer, str) or not isinstance(answer, (list, tuple)):
        raise Wrong(f"expected a list of four names, got {answer!r}")
    given = tuple(str(name).strip() for name in answer)
    if given != ("loss", "d", "c", "b"):
        four = "it starts at loss, and each of the four nodes is called once"
        raise Wrong(f"{list(given)} is not right: {mistakes.get(given, four)}")


def diamond(x, w):
    h = x * w
    return (h + h.sin()).sum()


def doublings(x, w):
    for _ in range(40):
        x = (x + x) * 0.5
    return (x * w).sum()


PROGRAMS = {
    "(x * w).sum()": lambda x, w: (x * w).sum(),
    "(x * constant + 2 * w).sum()": lambda x, w: (x * torch.tensor([5.0, 6.0]) + 2 * w).sum(),
    "(x.exp() + x).sum()": lambda x, w: (x.exp() + x).sum(),
    "h = x * w; (h + h.sin()).sum()": diamond,
    "forty times x = (x + x) * 0.5": doublings,
}


def leaves():
    """Return fresh leaves x and w."""
    return torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor([3.0, -1.0], requires_grad=True)


@contextmanager
def each_node_once():
    """Raise Wrong if a node is called a second time inside this block."""
    original, called = PrimitiveNode.__call__, set()

    def call(node, *gradients):
        if node in called:
            raise Wrong(
                f"{node.name()} is called twice: wait until all of its gradients have arrived, then call it once"
            )
        called.add(node)
        return original(node, *gradients)

    PrimitiveNode.__call__ = call
    try:
        yield
    finally:
        PrimitiveNode.__call__ = original


def not_this_engine(_):
    raise Wrong("your code calls minigrad's engine, backward() or autograd.grad: walk over the graph yourself")


def ran(answer, f, x, w, *args):
    """Return what an answer returns for the loss f(x, w)."""
    loss = f(x, w)
    loss.grad_fn.register_prehook(not_this_engine)  # only the engine calls hooks
    with each_node_once():
        return answer(loss, *args)


def same(given, wanted, what):
    """Expect a gradient, or None."""
    if (given is None) != (wanted is None):
        raise Wrong(
            f"{what} is {'None' if given is None else 'a tensor'}, expected {'None' if wanted is None else 'a tensor'}"
        )
    if wanted is not None:
        expect.tensor(given, wanted, what)


@exercise(
    "Begin with: while ready: node = ready.pop(); results = node(waiting.pop(node)).",
    "results is a tensor, a tuple, or () from AccumulateGrad. Make it a tuple, and zip it with node.next_functions.",
    "For each pair, skip a node that is None. Add the gradient to waiting[after], then count[after] -= 1; at 0, append after "
    "to ready.",
    "Put the loop into `with torch.no_grad():`, so that it records no graph.",
)
def engine_backward(answer):
    """PyTorch's engine does the same steps, with hooks, threads, and sums over broadcast dimensions."""
    for what, f in PROGRAMS.items():
        x, w = leaves()
        wanted = torch.autograd.grad(f(x, w), (x, w), allow_unused=True)
        ran(answer, f, x, w)
        for name, given, right in zip("xw", (x.grad, w.grad), wanted):
            same(given, right, f"for {what} the gradient of {name}")
        if x.grad.requires_grad:
            raise Wrong("the gradients require grad: run the loop in `with torch.no_grad():`")


@exercise(
    "The gradients of leaves arrive at AccumulateGrad nodes; node.variable is the leaf.",
    "One way: keep each .grad and set it to None, run engine_backward, collect the gradients, and put the old ones back.",
    "Another: in a copy of your loop, store the gradient of a node that has a variable instead of calling the node.",
)
def engine_grad(answer):
    """PyTorch uses the second way: it stores the gradients in captured_vars_, and no AccumulateGrad runs."""
    for what, f in PROGRAMS.items():
        x, w = leaves()
        wanted = torch.autograd.grad(f(x, w), (w, x), allow_unused=True)
        x.grad = torch.tensor([7.0, 7.0])
        given = ran(answer, f, x, w, (w, x))
        if given is None:
            raise Wrong("engine_grad returns None: is there a return?")
        if not isinstance(given, (tuple, list)) or len(given) != 2:
            raise Wrong(f"for {what} it returns {given!r}, expected a tuple with a gradient for each of two leaves")
        for name, g, right in zip("wx", given, wanted):
            same(g, right, f"for {what}, with x.grad = [7, 7] beforehand, the gradient of {name}")
        if x.grad is None or x.grad.tolist() != [7.0, 7.0] or w.grad is not None:
            raise Wrong(
                f"for {what} .grad has changed: x.grad is {x.grad}, expected [7, 7]; w.grad is {w.grad}, expected None"
            )
        x, w = leaves()
        (g,) = ran(answer, f, x, w, [x])
        same(g, wanted[1], f"for {what} and x alone the gradient")
        if x.grad is not None or w.grad is not None:
            raise Wrong(f"for {what} a .grad that was None is now a tensor, maybe of a leaf that is not in the list")
