"""The tasks of step 2: a backward pass."""

import numpy as np

from lessons.build.oracle import names_of
from lessons.exercise import Wrong, exercise
from lessons.failure import short


def doubled(V, times):
    """Return a node above many paths, and its leaf."""
    x = out = V(1.0)
    for _ in range(times):
        out = out + out
    return out, x


def chain(V, length):
    """Return the last node of a long chain, and its leaf."""
    x = out = V(1.0)
    for _ in range(length):
        out = out + 1.0
    return out, x


def deep(call):
    """Call something with a graph that is too deep for recursion; raise Wrong if it recurses."""
    try:
        return call()
    except RecursionError:
        raise Wrong("a chain of 20,000 nodes raises RecursionError: use a loop and a list instead of calls") from None


class Counted(int):
    """The number of a node, which counts how often it is compared."""

    compared = 0
    __hash__ = int.__hash__

    def __eq__(self, other):
        Counted.compared += 1
        return int(self) == other


def searched(call, V, length):
    """Return how often a call compares nodes, or their numbers, for a chain of some length."""
    out, _ = chain(V, length)
    node, Counted.compared = out, 0
    while isinstance(node, V):
        node.number = Counted(node.number)
        node = node.parents[0] if node.parents else None
    V.__eq__ = lambda self, other: Counted.__eq__(Counted(0), 0) and self is other
    try:
        call(out)
    finally:
        del V.__eq__
    return Counted.compared


@exercise(
    "Keep a list of waiting nodes and a collection of found ones. Take a node, and look at its parents.",
    "Mark a node as found when you put it into the list, so that it is put there once.",
)
def reachable(answer):
    """Each node is found once, however many paths lead to it."""
    V = names_of(answer)["Value"]
    x, y = V(2.0), V(3.0)
    m = x * y
    out = m * m + x * 2.0
    waiting, wanted = [out], {}
    while waiting:
        node = waiting.pop()
        if isinstance(node, V):
            wanted[id(node)] = node
            waiting += node.parents
    given = answer(out)
    if given is None or not hasattr(given, "__iter__"):
        raise Wrong(f"expected a list of nodes, got {short(given)}")
    if (x.value, y.value, m.value, out.value) != (2.0, 3.0, 6.0, 40.0):
        raise Wrong("the value of a node has changed: reachable only reads the graph")
    given = list(given)
    if any(not isinstance(one, V) for one in given):
        raise Wrong("the list has a plain number: skip parents that are no Value")
    if len({id(one) for one in given}) < len(given):
        raise Wrong(
            f"for m * m + x * 2, {len(given)} nodes are in the list, expected {len(wanted)}: a node is there twice"
        )
    if not any(one is out for one in given):
        raise Wrong("out itself is missing")
    if {id(one) for one in given} != set(wanted):
        raise Wrong(f"for m * m + x * 2, {len(given)} nodes are in the list, expected {len(wanted)}: nodes are missing")
    if [*map(id, answer(y))] != [id(y)]:
        raise Wrong("for a leaf, the list has only the leaf")
    if len(answer(doubled(V, 40)[0])) != 41:
        raise Wrong("for 40 doublings there are 41 nodes")
    if (found := searched(answer, V, 1000)) > 20_000:
        raise Wrong(
            f"for a chain of 1,000 nodes there are {found:,} comparisons: look nodes up in a set or dict, not a list"
        )
    deep(lambda: answer(chain(V, 20_000)[0]))


@exercise(
    "There are two cases: node.grad is None, or it is a number already.",
    "node.grad = g if node.grad is None else node.grad + g.",
)
def accumulate(answer):
    """Contributions are added; a new number leaves shared arrays alone."""
    V = names_of(answer)["Value"]
    a, b = np.random.default_rng().uniform(1.5, 3.0, size=2).round(2).tolist()
    node = V(0.5)
    try:
        answer(node, a)
    except TypeError as e:
        if "NoneType" not in str(e):
            raise
        raise Wrong("the first gradient fails, because node.grad is None: assign it then") from None
    if node.grad is None:
        raise Wrong("node.grad is still None: assign to node.grad")
    if node.grad != a:
        raise Wrong(f"after the gradient {a}, node.grad is {node.grad:.4g}")
    answer(node, b)
    if node.grad == b:
        raise Wrong(
            f"after the gradients {a} and {b}, node.grad is {b}, expected {a + b:.4g}: add instead of assigning"
        )
    if node.grad != a + b:
        raise Wrong(f"after the gradients {a} and {b}, node.grad is {node.grad:.4g}, expected {a + b:.4g}")
    if node.value != 0.5:
        raise Wrong("the value of the node has changed: only grad may")
    zero = V(0.5)
    zero.grad = 0.0
    answer(zero, a)
    if zero.grad != a:
        raise Wrong(f"after 0 and {a}, node.grad is {zero.grad!r}, expected {a}")
    shared, other = np.ones(2), V(0.5)
    answer(other, shared)
    answer(other, np.ones(2))
    if shared[0] != 1.0:
        raise Wrong("the array of the first gradient has changed: += writes into it. Make a new one with +")


@exercise(
    "arrived = {out.number: g} and heap = [(-out.number, out)]. As long as the heap is not empty, take the youngest.",
    "If parent.number is in arrived, add. If not, assign, and push (-parent.number, parent).",
)
def backward(answer):
    """Each node is taken once, with its whole gradient: the work grows with the number of edges."""
    known = names_of(answer)
    V, step = known["Value"], known["contributions"]
    a, b, g = np.random.default_rng().uniform(1.5, 3.0, size=3).round(2).tolist()
    simple(answer, V, a, b, g)
    x = V(a)
    m = x * x
    out = m + m.tanh()
    answer(out)
    local = 1 + 1 - np.tanh(a * a) ** 2
    if not np.isclose(m.grad, local):
        raise Wrong(
            f"for m + m.tanh(), the gradient of m is {m.grad:.4g}, expected {local:.4g}: add what both uses contribute"
        )
    if not np.isclose(x.grad, local * 2 * a):
        why = ": m passed its gradient on before all contributions had arrived. Take the youngest node first"
        raise Wrong(
            f"for m = x * x, m + m.tanh(), the gradient of x is {x.grad:.4g}, expected {local * 2 * a:.4g}{why}"
        )
    first = x.grad
    answer(out)
    if not np.isclose(x.grad, 2 * first):
        words = "the second pass must start from its g alone, and only add its gradients to node.grad"
        raise Wrong(f"after a second backward, the gradient of x is {x.grad:.4g}, expected {2 * first:.4g}: {words}")
    visits = []

    def counted(node, g):
        visits.append(node)
        if len(visits) > 500:
            raise Wrong(
                "nodes are visited again and again: take the youngest first, and push it when its first contribution arrives"
            )
        return step(node, g)

    x = out = V(1.0)
    for _ in range(12):  # the younger parent has to go first
        out = out + out * 1.0
    answer.__globals__["contributions"] = counted
    try:
        answer(out)
    finally:
        answer.__globals__["contributions"] = step
    what = "for out = out + out * 1.0, twelve times,"
    if x.grad != 4096:
        raise Wrong(f"{what} the gradient of x is {x.grad!r}, expected 4096: it takes the sum of all contributions")
    if len(visits) > 25:
        why = "a node is taken before all contributions have arrived. Take the youngest first, and push it once"
        raise Wrong(f"{what} {len(visits)} nodes are visited, expected 25: {why}")
    out, x = chain(V, 20_000)
    deep(lambda: answer(out))
    if x.grad != 1.0:
        raise Wrong(f"for a chain of 20,000 additions, the gradient of x is {x.grad!r}, expected 1.0")


def simple(answer, V, a, b, g):
    """Expect the gradients of a product, also for a given incoming gradient."""
    x, y = V(a), V(b)
    out = x * y
    answer(out)
    if (x.value, y.value, out.value) != (a, b, a * b):
        raise Wrong("the value of a node has changed: only grad may")
    if out.grad is None:
        raise Wrong("the gradient of out is None: it gets g, too")
    if x.grad is None:
        raise Wrong("the gradient of x in x * y is None: the walk does not reach the leaves")
    if np.isclose(x.grad, 2 * b):
        raise Wrong(f"for x * y, the gradient of x is {x.grad:.4g}, expected {b:.4g}: it is accumulated twice")
    if not np.isclose(x.grad, b) or not np.isclose(y.grad, a):
        raise Wrong(f"for x * y, the gradients are {x.grad:.4g} and {y.grad:.4g}, expected {b:.4g} and {a:.4g}")
    if out.grad != 1.0:
        raise Wrong(f"the gradient of out is {out.grad!r}, expected 1.0")
    x = V(a)
    answer(x * b, g)
    if np.isclose(x.grad, b):
        raise Wrong(f"the walk ignores g: for x * {b} and g = {g}, the gradient of x is {b}, expected {b * g:.4g}")
    if not np.isclose(x.grad, b * g):
        raise Wrong(f"for x * {b} and g = {g}, the gradient of x is {x.grad:.4g}, expected {b * g:.4g}")
    x = V(a)
    answer(x * x)
    if not np.isclose(x.grad, 2 * a):
        raise Wrong(
            f"for x * x, the gradient of x is {x.grad:.4g}, expected {2 * a:.4g}: each use contributes; add them"
        )


@exercise(
    "reachable(out) has all nodes that backward gave a gradient.", "for node in reachable(out): node.grad = None."
)
def forget(answer):
    """The next backward begins without old gradients."""
    V = names_of(answer)["Value"]
    x, other = V(2.0), V(3.0)
    m = x * 3.0
    out = m * m
    for node in (x, m, out, other):
        node.grad = 1.5
    result = answer(out)
    for name, node in (("out", out), ("the inner node", m), ("the leaf", x)):
        if node.grad is not None:
            kind = "0, expected None" if node.grad == 0 else "still there"
            raise Wrong(f"the gradient of {name} is {kind}")
    if other.grad != 1.5:
        raise Wrong("a node outside the graph has lost its gradient")
    if (x.value, m.value, out.value) != (2.0, 6.0, 36.0) or out.parents != (m, m):
        raise Wrong("values or parents have changed: only grad may")
    if result is not None:
        raise Wrong("it returns something: it only changes the nodes")
    deep(lambda: answer(chain(V, 20_000)[0]))
