"""The exercises of step 7."""

import numpy as np

import minigrad
from lessons.build import task
from lessons.build.oracle import close, names_of
from lessons.exercise import Wrong


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
        raise Wrong(f"{what} is a {type(given).__name__}, expected a node: compute with operations")
    return given.value


def called(f, *args):
    """Call an answer's function; raise Wrong with the words of an error in it."""
    try:
        return f(*args)
    except RecursionError:
        raise Wrong("it calls itself without end: compute with what is inside the boxes of the layer") from None
    except (ValueError, IndexError, TypeError, AttributeError, KeyError, StopIteration) as e:
        raise Wrong(f"it fails with {type(e).__name__}: {e}") from e


@task(
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
        given = called(answer, args)
        if given is right:
            continue
        if right is None:
            raise Wrong(f"without a box it returns a {type(given).__name__}, expected None")
        if isinstance(given, Box):
            raise Wrong("it returns the box: return its layer")
        if isinstance(given, int):
            raise Wrong("it returns a number: return the layer that has it")
        if given is None:
            raise Wrong("it returns None although an argument is a box")
        raise Wrong("it returns a layer further out: the innermost has the largest number")


@task(
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
        if called(answer, layer, a, 2) is not a:
            raise Wrong(f"{what} is changed: what is no box of this layer stays as it is")
    for shape, rank in (((4,), 2), ((4, 3), 1), ((4, 3), 3), ((4,), 0), ((4, 2, 3), 3)):
        x = Value(fresh(*shape))
        given = called(answer, layer, Box(x, layer), rank)
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


@task(
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

    given = array(called(called(answer, f), Value(x)), "the result") if callable(answer(f)) else None
    if given is None:
        raise Wrong("vmap(f) is not a function: define one inside, and return it")
    if len(calls) != 1:
        raise Wrong(f"f is called {len(calls)} times: once is enough for all examples")
    if not hasattr(calls[0], "layer"):
        raise Wrong("f receives no box: give it Box(xs, layer)")
    close(given, (np.tanh(x) * x).sum(1)[:, None] * x, "the result for each example")
    constant = Value(fresh(2))
    close(
        array(called(answer(lambda one: constant), Value(x)), "a constant result"),
        np.tile(constant.value, (4, 1)),
        "a constant result",
    )
    outer = called(answer(lambda row: answer(lambda one: one * total(row))(row)), Value(x))
    close(array(outer, "vmap in vmap"), x * x.sum(1)[:, None], "vmap in vmap")
    fixed = called(answer(lambda row: answer(lambda one: row)(row)), Value(x))
    close(
        array(fixed, "an inner vmap that ignores its argument"),
        np.repeat(x[:, None], 3, 1),
        "an inner vmap that ignores its argument",
    )


@task(
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

    if not callable(answer(total)):
        raise Wrong("grad(f) is not a function: define one inside, and return it")
    close(
        array(called(answer(lambda a: total(a * 3.0)), Value(x)), "the gradient of a sum"),
        oracle(lambda a: (a * 3).sum()),
        "the gradient of a sum",
    )
    given = array(called(answer(lambda a: total(exp(a) * a + tanh(a))), Value(x)), "the gradient")
    close(given, oracle(lambda a: (a.exp() * a + a.tanh()).sum()), "the gradient of a value that is used three times")
    close(
        array(called(answer(lambda a: Value(1.0)), Value(x)), "the gradient of a constant"),
        np.zeros(3),
        "the gradient of a constant",
    )
    close(
        array(called(answer(lambda a: total(a) * 2.0 + total(exp(a)) * 0.0), Value(x)), "a sum"),
        np.full(3, 2.0),
        "the gradient of 2 * sum",
    )
    number = fresh()
    second = called(answer(answer(lambda a: a * a * a)), Value(number))
    close(array(second, "grad(grad(f))"), 6 * number, "grad(grad(f))")
    y = fresh(4, 3)
    each = called(known["vmap"](answer(lambda a: total(tanh(a) * a))), Value(y))
    close(array(each, "vmap(grad(f))"), np.tanh(y) + y * (1 - np.tanh(y) ** 2), "vmap(grad(f))")
    mean = called(answer(lambda a: total(known["vmap"](lambda one: one * one)(a))), Value(x))
    close(array(mean, "grad of vmap"), 2 * x, "grad of vmap")
