"""The tasks of step 1: numbers with a memory."""

import numpy as np

from lessons.build.oracle import is_class, names_of
from lessons.exercise import Wrong, exercise
from lessons.failure import short


@exercise(
    "Assign each argument to an attribute: self.value = value, and so on.",
    "self.parents = tuple(parents), self.grad = None, self.number = next(created).",
)
def Value(answer):
    """A node is a number, its parents, and the derivative for each of them."""
    is_class(answer)
    if not issubclass(answer, names_of(answer)["Operators"]):
        raise Wrong("the class does not inherit from Operators, so + and * do not work on its nodes")
    leaf = answer(2.5)
    node = answer(5.0, [leaf, 2.0], "*", (2.0, 2.5))
    wanted = {"value": 5.0, "parents": (leaf, 2.0), "op": "*", "local_grads": (2.0, 2.5), "grad": None}
    for name, right in wanted.items():
        if not hasattr(node, name):
            raise Wrong(f"a node has no attribute {name}: write self.{name} = ...")
        given = getattr(node, name)
        if name == "parents" and isinstance(given, list):
            raise Wrong("parents is the list that was given: a tuple cannot change later. Write tuple(parents)")
        if name == "grad" and given is not None:
            raise Wrong(
                f"grad is {given!r} before any backward pass, expected None: 0 would mean that x has no influence"
            )
        if given != right:
            raise Wrong(f"{name} is {given!r}, expected the argument {name}")
    if leaf.parents != ():
        raise Wrong(f"the parents of a leaf are {leaf.parents!r}, expected ()")
    numbers = [getattr(one, "number", None) for one in (leaf, node, answer(1.0))]
    if None in numbers:
        raise Wrong("a node has no number: write self.number = next(created)")
    if not numbers[0] < numbers[1] < numbers[2]:
        raise Wrong(f"three nodes have the numbers {numbers}: a later node needs a larger one. Use next(created)")


def is_operation(answer, arguments, value, local, op, mistakes=()):
    """Expect an operation's value, parents, local derivatives and op; `mistakes` has known wrong local derivatives."""
    known = names_of(answer)
    number = known["value_of"]
    out = answer(*arguments)
    called = f"for the values {', '.join(f'{number(a):g}' for a in arguments)}"
    if out is None:
        raise Wrong("it returns None: is there a return?")
    if not isinstance(out, known["Value"]):
        raise Wrong(f"it returns a {type(out).__name__}, expected a Value: a plain number has no memory")
    if isinstance(out.value, known["Value"]):
        raise Wrong("the value of the result is a Value: take the numbers with value_of before you compute")
    if not np.isclose(out.value, value):
        raise Wrong(f"{called} the value is {out.value:.4g}, expected {value:.4g}")
    if len(out.parents) != len(arguments) or any(a is not b for a, b in zip(out.parents, arguments)):
        swapped = " they are swapped" if [*out.parents][::-1] == [*arguments] and len(arguments) > 1 else ""
        kind = " plain numbers have no memory: keep the nodes" if not swapped and len(out.parents) else ""
        raise Wrong(f"the parents are not the arguments:{swapped or kind or ' they are missing'}")
    given = out.local_grads
    if not isinstance(given, (tuple, list)) or len(given) != len(arguments):
        raise Wrong(f"local_grads is {given!r}, expected a tuple: one number for each parent, here {len(arguments)}")
    if any(isinstance(one, known["Value"]) for one in given):
        raise Wrong("a local derivative is a Value: take its number with value_of")
    if not np.allclose(given, local):
        why = next((words for wrong, words in mistakes if np.allclose(given, wrong)), "differentiate the formula again")
        shown, right = (", ".join(f"{one:.4g}" for one in some) for some in (given, local))
        raise Wrong(f"{called} the local derivatives are {shown}, expected {right}: {why}")
    if out.op != op:
        raise Wrong(f'the op is {out.op!r}, expected "{op}": the picture shows it')


def two_numbers():
    """Return two random numbers that differ, neither near 0 nor 1."""
    random = np.random.default_rng()
    return round(random.uniform(1.5, 2.4), 2), round(random.uniform(-3.4, -2.5), 2)


@exercise(
    "Value(value, parents, op, local_grads): compute with value_of(x) and value_of(y), and keep x and y as parents.",
    "If x grows by 1, the sum grows by 1. The same holds for y.",
)
def add(answer):
    """A sum passes a change of either input on unchanged: both local derivatives are 1."""
    V = names_of(answer)["Value"]
    a, b = two_numbers()
    wrong = [((a, b), "those are the values"), ((b, a), "those are the values, as for a product")]
    for arguments in ((V(a), V(b)), (V(a), b), (a, V(b))):
        is_operation(answer, arguments, a + b, (1, 1), "+", wrong)


@exercise(
    "The local derivative for x is y, and the other way round.",
    "Value(value_of(x) * value_of(y), (x, y), '*', (value_of(y), value_of(x))).",
)
def mul(answer):
    """The local derivative for each factor is the other factor."""
    V = names_of(answer)["Value"]
    a, b = two_numbers()
    wrong = [
        ((a, b), "they are swapped"),
        ((1, 1), "those are the ones of a sum"),
        ((a * b, a * b), "that is the result"),
    ]
    for arguments in ((V(a), V(b)), (V(a), b), (a, V(b))):
        is_operation(answer, arguments, a * b, (b, a), "*", wrong)


@exercise(
    "Compute the result once, and use it for the derivative as well.",
    "local_grads needs a tuple also for one parent: (1 - out * out,), with a comma.",
)
def tanh(answer):
    """The derivative needs only the result: 1 - tanh² x."""
    V = names_of(answer)["Value"]
    for a in (0.0, round(np.random.default_rng().uniform(0.4, 1.2), 2), -0.8):
        t = np.tanh(a)
        wrong = [((1 - t,), "the square is missing"), ((1 - a * a,), "that is 1 - x²: take the result, not x"),
                 ((t,), "that is the result, as for exp"), ((1 + t * t,), "the sign is wrong")]  # fmt: skip
        is_operation(answer, (V(a),), t, (1 - t * t,), "tanh", wrong)


@exercise(
    "If out is x, the answer is 1. Otherwise each parent contributes its local derivative times its own slope.",
    "sum(d * slope(parent, x) for parent, d in zip(out.parents, out.local_grads or ())), after the two simple cases.",
)
def slope(answer):
    """The products along all paths are added. Each use of a number is a separate path."""
    known = names_of(answer)
    V, plus, times, curve = (known[name] for name in ("Value", "add", "mul", "tanh"))
    a, b = two_numbers()
    x, y = V(a), V(b)
    s, t = times(x, x), curve(x)
    cases = [
        ("of x with respect to itself", x, x, 1.0, ()),
        ("of y with respect to x, two leaves,", y, x, 0.0, ()),
        ("of x + 1", plus(x, 1.0), x, 1.0, ()),
        ("of x * y with respect to x", times(x, y), x, b, [(1.0, "multiply by the local derivative")]),
        ("of x * x", s, x, 2 * a, [(a, "x is used twice, and each use contributes: add"),
                                   (a * a, "contributions of two uses are added, not multiplied")]),
        ("of (x * x) * 3", times(s, 3.0), x, 6 * a, [(3.0, "only the last edge is counted"),
                                                     (3 + 2 * a, "along a path, multiply"), (3 * a, "x is used twice: add")]),
        ("of x * x + tanh(x)", plus(s, t), x, 2 * a + 1 - np.tanh(a) ** 2, ()),
        ("of (x * x) * y with respect to the inner node x * x", times(s, y), s, b, ()),
    ]  # fmt: skip
    for what, out, to, right, mistakes in cases:
        try:
            given = answer(out, to)
        except RecursionError:
            raise Wrong(f"the slope {what} never ends: stop at x itself, and at leaves") from None
        if given is None:
            raise Wrong(f"the slope {what} is None: is there a return in each case?")
        if isinstance(given, V) or np.ndim(given):
            raise Wrong(f"the slope {what} is {short(given)}, expected a plain number")
        if not np.isclose(given, right):
            why = next((f": {words}" for wrong, words in mistakes if np.isclose(given, wrong)), "")
            raise Wrong(f"the slope {what} is {given:.4g}, expected {right:.4g}{why}, for x = {a} and y = {b}")
        if (x.value, y.value) != (a, b):
            raise Wrong(
                f"the value of x or y has changed, to {x.value:.4g} and {y.value:.4g}: slope only reads the graph"
            )
