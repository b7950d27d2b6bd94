"""The exercises of step 7."""

import numpy as np

import minigrad
from lessons.build.oracle import close, names_of
from lessons.exercise import Wrong, exercise
from lessons.failure import short


def fresh(*shape):
    """Return random numbers, drawn anew for each check."""
    return np.random.default_rng().normal(size=shape)


def array(given, what):
    """Return the array of a node; raise Wrong for a box or anything else."""
    if given is None:
        raise Wrong(f"{what} is None: is there a return?")
    if hasattr(given, "layer"):
        raise Wrong(f"{what} is still a box of the layer: return what is inside")
    if not hasattr(given, "value"):
        raise Wrong(f"{what} is {short(given)}, expected a node: compute with operations")
    return given.value


def function(given, what):
    """Return a function that an answer made; raise Wrong for anything else."""
    if not callable(given):
        raise Wrong(f"{what} is {short(given)}, expected a function: define one inside, and return it")
    return given


@exercise(
    "Only a Box has a layer. Collect the layers of all boxes.",
    "max(..., key=lambda layer: layer.number, default=None) finds the largest number.",
)
def innermost(answer):
    """The last call that began is the innermost one, wherever its box stands among the arguments."""
    known = names_of(answer)
    Box, Layer, Value = known["Box"], known["Layer"], known["Value"]
    layers = [Layer() for _ in range(3)]
    node = Value(1.0)
    low, middle, high = (Box(node, one) for one in layers)
    for args, right in (
        ((node, 2.0, (3, 4)), None),
        ((), None),
        ((low,), layers[0]),
        ((low, high, middle), layers[2]),
        ((high, node, low), layers[2]),
        ((2.0, low, middle), layers[1]),
        ((middle, low, (3,)), layers[1]),
    ):
        given = answer(args)
        if given is right:
            continue
        if right is None:
            raise Wrong(f"without a box it returns {short(given)}, expected None")
        numbers = [a.layer.number for a in args if isinstance(a, Box)]
        called = f"for boxes of the layers with the numbers {', '.join(map(str, numbers))}"
        if isinstance(given, Box):
            raise Wrong(f"{called} it returns the box of number {given.layer.number}: return its layer")
        if isinstance(given, int):
            raise Wrong(f"{called} it returns a number, {given}: return the layer that has it")
        if not isinstance(given, Layer):
            raise Wrong(f"{called} it returns {short(given)} although an argument is a box")
        raise Wrong(
            f"{called} it returns a layer further out, number {given.number}: the innermost has the largest number"
        )


@exercise(
    "shape_of(a.value) is the batch size and then the shape of one example.",
    "The new shape is (size, *ones, *shape), with rank - len(shape) ones.",
)
def lift(answer):
    """Ones go between the batch dimension and those of an example."""
    known = names_of(answer)
    Box, Value = known["Box"], known["Value"]

    class Batch(known["Layer"]):
        batched = True

    layer, other = Batch(), Batch()
    plain, foreign = Value(fresh(3)), Box(Value(fresh(2, 3)), other)
    for what, a in (("a node", plain), ("a box of another layer", foreign), ("a number", 2.0)):
        if (given := answer(layer, a, 2)) is not a:
            raise Wrong(
                f"for {what} it returns {short(given)}: what is no box of this layer stays as it is, so return a"
            )
    for shape, rank in (((4,), 2), ((4, 3), 1), ((4, 3), 3), ((4,), 0), ((4, 2, 3), 3)):
        x = Value(fresh(*shape))
        given = answer(layer, Box(x, layer), rank)
        ones = (1,) * (rank - len(shape) + 1)
        right = x.value.reshape(shape[0], *ones, *shape[1:])
        found = np.shape(array(given, "the result"))
        if found != right.shape:
            why = ""
            if found == (*ones, *shape):
                why = ": the ones stand before the batch dimension"
            elif found == (*shape, *ones):
                why = ": the ones stand behind the example's dimensions"
            elif len(found) == rank:
                why = ": rank does not count the batch dimension"
            raise Wrong(
                f"{list(shape)} lifted to rank {rank} has the shape {list(found)}, expected {list(right.shape)}{why}"
            )
        close(given.value, right, "the result")
        if given is not x and x not in given.parents:
            raise Wrong("the history is lost: use run(Reshape, ...), not .value of the node")


@exercise(
    "layer = Batch(), and f(Box(xs, layer)) inside the function that you return.",
    "The result is a box of this layer, with all examples in .value. Otherwise expand it to (size, *shape_of(out)).",
)
def vmap(answer):
    """One call of f, for all examples; what is constant is repeated."""
    known = names_of(answer)
    Value, tanh, total = known["Value"], known["tanh"], known["total"]
    x = fresh(4, 3)
    calls = []

    def f(one):
        calls.append(one)
        return total(tanh(one) * one) * one

    given = function(answer(f), "vmap(f)")(Value(x))
    if len(calls) != 1:
        raise Wrong(f"f is called {len(calls)} times: once is enough for all examples")
    if not hasattr(calls[0], "layer"):
        raise Wrong(f"f receives {short(calls[0])}, which is no box: give it Box(xs, layer)")
    if hasattr(given, "layer") and given.op is known["Expand"]:
        raise Wrong(
            "the result of f is a box of this layer, but it is repeated like a constant: return its .value then"
        )
    given = array(given, "the result")
    close(given, (np.tanh(x) * x).sum(1)[:, None] * x, "the result for each example")
    constant = Value(fresh(2))
    close(
        array(answer(lambda one: constant)(Value(x)), "a constant result"),
        np.tile(constant.value, (4, 1)),
        "a constant result",
    )
    outer = answer(lambda row: answer(lambda one: one * total(row))(row))(Value(x))
    close(array(outer, "vmap in vmap"), x * x.sum(1)[:, None], "vmap in vmap")
    fixed = answer(lambda row: answer(lambda one: row)(row))(Value(x))
    close(
        array(fixed, "an inner vmap that ignores its argument"),
        np.repeat(x[:, None], 3, 1),
        "an inner vmap that ignores its argument",
    )


@exercise(
    "gs = {out: Value(1.0)}, and for node in reversed(layer.tape): if node in gs, pass its gradient on.",
    "gs[parent] = gs[parent] + part if parent is in gs already, else part.",
)
def grad(answer):
    """A walk over the tape, with operations that the layer below may record."""
    known = names_of(answer)
    Value, exp, tanh, total = (known[name] for name in ("Value", "exp", "tanh", "total"))
    x = fresh(3)

    def oracle(f):
        return minigrad.func.grad(f)(minigrad.tensor(x)).numpy()

    given = array(function(answer(lambda a: total(a * 3.0)), "grad(f)")(Value(x)), "the gradient of total(x * 3)")
    if given.shape == x.shape and not given.any():
        raise Wrong("the gradient of total(x * 3) is 0: none arrives at the box of x. Walk over the tape from its end")
    close(given, np.full(3, 3.0), "the gradient of total(x * 3)")
    given = array(answer(lambda a: total(exp(a) * a + tanh(a)))(Value(x)), "the gradient")
    close(given, oracle(lambda a: (a.exp() * a + a.tanh()).sum()), "the gradient of a value that is used three times")
    try:
        constant = answer(lambda a: Value(1.0))(Value(x))
    except KeyError:
        raise Wrong(
            "for a function that ignores x it raises KeyError: no gradient arrives. Return zeros then"
        ) from None
    close(array(constant, "the gradient of a constant"), np.zeros(3), "the gradient of a constant")
    close(
        array(answer(lambda a: total(a) * 2.0 + total(exp(a)) * 0.0)(Value(x)), "a sum"),
        np.full(3, 2.0),
        "the gradient of 2 * sum",
    )
    number = fresh()
    second = answer(answer(lambda a: a * a * a))(Value(number))
    close(array(second, "grad(grad(f))"), 6 * number, "grad(grad(f))")
    y = fresh(4, 3)
    each = known["vmap"](answer(lambda a: total(tanh(a) * a)))(Value(y))
    close(array(each, "vmap(grad(f))"), np.tanh(y) + y * (1 - np.tanh(y) ** 2), "vmap(grad(f))")
    mean = answer(lambda a: total(known["vmap"](lambda one: one * one)(a)))(Value(x))
    close(array(mean, "grad of vmap"), 2 * x, "grad of vmap")
    along = Value(fresh(3))
    of_slope = answer(lambda a: known["jvp"](lambda b: total(b * b * b), [a], [along])[1])(Value(x))
    close(array(of_slope, "grad of jvp"), 6 * x * along.value, "grad of jvp")
    _, slope = known["jvp"](answer(lambda a: total(a * a * a)), [Value(x)], [along])
    close(array(slope, "jvp of grad"), 6 * x * along.value, "jvp of grad")
