"""The exercises of lesson 1."""

from collections.abc import Iterable

import minigrad as torch
from lessons import expect
from lessons.exercise import Wrong, exercise


@exercise(
    "Each of the two edges sends `a` back as its contribution, so the gradient is 2 · a.",
    "Drag to the left, below 0.",
)
def leaf_dragged(answer):
    """Two edges contribute a each: 2a = -5 for a = -2.5."""
    mistakes = {
        -5.0: "that is the gradient; each of the two edges contributes half of it",
        2.5: "with this value the gradient is 5",
        6.25: "that is the value of b",
    }
    expect.number(answer, -2.5, mistakes)


@exercise(
    "There is one edge to `a` for each use of it, and each sends back a contribution.",
    "Each contribution is the product of the other two factors: 2 * 2.",
)
def three_uses(answer):
    """Three edges lead to a. Each contributes 2 * 2 = 4, and the leaf adds them: 12."""
    mistakes = {4.0: "that is the contribution of one of the three edges", 8.0: "that is the value of the product"}
    expect.number(answer, 12.0, mistakes)


@exercise(
    "`grad_fn.next_functions` is a list of pairs: a node, and which of its outputs was used.",
    "At the node of a leaf, AccumulateGrad, a path ends: the answer is 1.",
    "At any other node, call the function for each next node that is not None, and add the results.",
)
def count_paths(answer):
    """Each use of a number is a separate path: the number of paths doubles with every c = b + b."""

    def expected(node):
        if node.name() == "AccumulateGrad":
            return 1
        return sum(expected(following) for following, _ in node.next_functions if following is not None)

    for doublings in (1, 2, 5):
        b = torch.tensor(1.0, requires_grad=True)
        for _ in range(doublings):
            b = b + b
        given, wanted = answer(b.grad_fn), expected(b.grad_fn)
        if given != wanted:
            times = "1 doubling" if doublings == 1 else f"{doublings} doublings"
            raise Wrong(f"after {times} there are {wanted} paths to the leaf, but count_paths returns {given!r}")
    w, x = torch.tensor(2.0, requires_grad=True), torch.tensor(3.0)
    if answer((w * x + w).grad_fn) != 2:
        raise Wrong("in w * x + w, two paths lead to w; x does not require grad, so next_functions has None there")
    for program, y in (("w * w + w", w * w + w), ("(w * w + w) * (w * w).exp()", (w * w + w) * (w * w).exp())):
        if (given := answer(y.grad_fn)) != (wanted := expected(y.grad_fn)):
            raise Wrong(
                f"in {program}, {wanted} paths of different lengths lead to w, but count_paths returns {given!r}"
            )


@exercise(
    "Which node was created last? No other node uses its result, so it comes first.",
    "The names end in Backward0: `*` makes MulBackward0, `+` makes AddBackward0. The last operation made the last node.",
)
def walking_order(answer):
    """From the last node to the first, in reverse topological order: when backward visits a node, its gradient is complete."""
    if isinstance(answer, (str, set)) or not isinstance(answer, Iterable):
        raise Wrong(f"expected a list of names, got {answer!r}")
    given = [str(name).strip() for name in answer]
    wanted = ["AddBackward0", "ExpBackward0", "MulBackward0"]
    if given == wanted[::-1]:
        raise Wrong("that is the order of the forward pass; backward begins at the end")
    if sorted(given) != sorted(wanted):
        raise Wrong(f"the nodes are {', '.join(sorted(wanted))}, each of them once")
    for name, due in zip(given, wanted):
        if name != due:
            raise Wrong(f"{name} before {due}? It would run before the gradient from {due} arrives")


@exercise(
    "b is used twice. Its gradient is the sum of the gradients that come back through both uses.",
    "2 * a uses a once; b * b uses b twice.",
    "1 goes back to b twice, each time multiplied by the other factor, b; the sum goes on to a, multiplied by 2.",
)
def gradient_by_hand(answer):
    """d(4a²)/da = 8a, whichever graph computes it."""

    inputs = [(torch.tensor(v),) for v in (0.0, 1.0, -2.5)]
    expect.computes(expect.by_hand(answer), lambda a: 8 * a, *inputs)
