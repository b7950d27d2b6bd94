"""The exercises of lesson 1."""

from collections.abc import Iterable

import minigrad as torch
from lessons import expect
from lessons.exercise import Wrong, exercise


@exercise(
    "There is one edge to `a` for each use of it, and each sends back a contribution.",
    "Each contribution is the product of the other two factors: 2 * 2.",
)
def three_uses(answer):
    """Three edges lead to a, each brings 2 * 2 = 4, and what meets at a leaf is added: 12."""
    mistakes = {4.0: "that is what one of the three edges brings", 8.0: "that is the value of the product"}
    expect.number(answer, 12.0, mistakes)


@exercise(
    "`grad_fn.next_functions` is a list of pairs: a node, and which of its outputs was used.",
    "Where the node is that of a leaf, called AccumulateGrad, a path ends: the answer is 1.",
    "Anywhere else, call the function for each following node that is not None, and add what it gives.",
)
def count_paths(answer):
    """Each use of a number is a path of its own: they double with every c = b + b."""

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
            raise Wrong(f"after {times} there are {wanted} paths to the leaf, count_paths says {given!r}")
    w, x = torch.tensor(2.0, requires_grad=True), torch.tensor(3.0)
    if answer((w * x + w).grad_fn) != 2:
        raise Wrong("of w * x + w two paths lead to w; x does not require grad, there None stands in next_functions")


@exercise(
    "Which of the two nodes is younger? Nothing younger can still send it anything.",
    "The names end in Backward0: of `*` MulBackward0, of `+` AddBackward0. The last operation made the youngest node.",
)
def walking_order(answer):
    """From the youngest to the oldest: when a node's turn comes, all that it can get has arrived."""
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
            raise Wrong(f"{name} before {due}? It would run before it has got what {due} sends it")


@exercise(
    "The gradient is the sum over the two uses of b of what comes back through each.",
    "2 * a has one use of a; its square has two of b.",
    "1 goes back to b twice, each time multiplied by the other factor, b; the sum goes on to a, multiplied by 2.",
)
def gradient_by_hand(answer):
    """d(4a²)/da = 8a, whatever way the graph takes."""

    def without_recording(a):
        try:
            with torch.no_grad():
                return answer(a)
        except RuntimeError as e:
            if "does not require grad" not in str(e):
                raise
            raise Wrong("backward is not to be called: nothing is recorded here. Multiply and add yourself") from None

    inputs = [(torch.tensor(v),) for v in (0.0, 1.0, -2.5)]
    expect.computes(without_recording if callable(answer) else answer, lambda a: 8 * a, *inputs)
