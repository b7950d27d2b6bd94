"""The tasks of step 4: Functions and contexts."""

import numpy as np

from lessons.build.oracle import close, is_class, names_of, of_shapes, same_gradients
from lessons.exercise import Wrong, exercise
from lessons.failure import short


def is_function(answer, *methods):
    """Expect a subclass of Function with these methods; return the names it sees."""
    is_class(answer)
    known = names_of(answer)
    if not issubclass(answer, known["Function"]):
        raise Wrong("the class does not inherit from Function, so it has no apply")
    for name in methods:
        if name not in vars(answer):
            raise Wrong(f"the class has no {name}")
        if not isinstance(vars(answer)[name], staticmethod):
            raise Wrong(f"{name} is not static: write @staticmethod above it. It receives ctx, and no self")
    return known


@exercise(
    "__init__ assigns two attributes: needs_input_grad and saved_tensors.",
    "save_for_backward(self, *arrays) assigns self.saved_tensors = arrays: a starred argument is a tuple already.",
)
def Context(answer):
    """Each call has its context, so two calls of a Function do not mix their arrays."""
    is_class(answer)
    ctx, other = answer([True, False]), answer(one for one in (True,))
    for name in ("needs_input_grad", "saved_tensors", "save_for_backward"):
        if not hasattr(ctx, name):
            raise Wrong(f"a context has no {name}")
    if ctx.needs_input_grad != (True, False) or other.needs_input_grad != (True,):
        raise Wrong(f"needs_input_grad is {other.needs_input_grad!r}, expected (True,): make a tuple of what is given")
    if ctx.saved_tensors != ():
        raise Wrong(f"saved_tensors is {ctx.saved_tensors!r} at first, expected ()")
    x, y = np.random.default_rng().normal(size=(2, 3))
    if ctx.save_for_backward(x, y) is not None:
        raise Wrong("save_for_backward returns something: it only keeps the arrays")
    saved = ctx.saved_tensors
    if not isinstance(saved, tuple):
        raise Wrong(f"saved_tensors is a {type(saved).__name__}, expected a tuple")
    if len(saved) != 2:
        raise Wrong(f"after save_for_backward(x, y), saved_tensors has {len(saved)} elements, expected 2: x and y")
    if saved[0] is y:
        raise Wrong("saved_tensors has the wrong order: x was saved first")
    if saved[0] is not x or saved[1] is not y:
        raise Wrong("saved_tensors has other objects than those that were saved: keep the arrays themselves")
    if other.saved_tensors != ():
        raise Wrong("a second context has the arrays of the first: assign to self, not to the class")
    ctx.save_for_backward(x)
    if len(ctx.saved_tensors) != 1:
        raise Wrong("a second save_for_backward adds to the first: it replaces")


@exercise(
    "Context(isinstance(a, Value) for a in args), and [value_of(a) for a in args].",
    "hasattr(cls, 'setup_context') tells the form. Both end with return wrap(cls, ctx, args, result).",
)
def Function(answer):
    """Apply is the only place where arrays become nodes: forward and backward see arrays alone."""
    is_class(answer)
    if not isinstance(vars(answer).get("apply"), classmethod):
        raise Wrong("apply is not a classmethod: write @classmethod above it")
    known = names_of(answer.apply)
    V, backward, seen = known["Value"], known["backward"], {}
    a, b = np.random.default_rng().uniform(1.5, 3.0, size=(2, 3))

    class Combined(answer):
        @staticmethod
        def forward(ctx, x, y):
            if isinstance(x, V):
                raise Wrong("forward receives nodes, expected arrays: use value_of")
            seen["ctx"] = ctx
            ctx.save_for_backward(x, y)
            return x * y

        @staticmethod
        def backward(ctx, g):
            seen["back"] = ctx
            x, y = ctx.saved_tensors
            return g * y, g * x

    class Separate(Combined):
        @staticmethod
        def forward(x, y):
            return x * y

        @staticmethod
        def setup_context(ctx, inputs, output):
            seen["inputs"], seen["output"] = inputs, output
            ctx.save_for_backward(*inputs)

    for form in (Combined, Separate):
        what = f"for a Function in the {form.__name__.lower()} form"
        x, y = V(a), V(b)
        out = applied(form, (x, y), known, what)
        close(out.value, a * b, f"{what} the value")
        if len(out.parents) != 2 or out.parents[0] is not x or out.parents[1] is not y:
            raise Wrong(f"{what} the parents are not the arguments of apply: give wrap args, not the arrays")
        if out.op is not form:
            raise Wrong(f"{what} op is {out.op!r}, expected the class: give wrap cls")
        backward(out, np.array([1.0, 2.0, 3.0]))
        close(x.grad, b * [1, 2, 3], f"{what} the gradient of the first argument")
        if form is Combined and seen["back"] is not seen["ctx"]:
            raise Wrong("backward receives another context than forward: give wrap the same ctx")
    if not isinstance(seen["inputs"], tuple) or not isinstance(seen["output"], np.ndarray):
        raise Wrong("setup_context receives (ctx, inputs, output): a tuple of arrays and the result of forward")
    Combined.apply(V(a), b)
    if tuple(seen["ctx"].needs_input_grad) != (True, False):
        wrong = seen["ctx"].needs_input_grad
        raise Wrong(
            f"for a node and a plain array, needs_input_grad is {wrong}, expected (True, False): test for Value"
        )
    first = Combined.apply(V(a), V(b))
    Combined.apply(V(b), V(b))
    if not np.array_equal(first.ctx.saved_tensors[0], a):
        raise Wrong("two calls share a context: make a new one in each apply")


def applied(form, args, known, what):
    """Return the node that a Function's apply makes; raise Wrong if wrap does not make it."""
    wrap, wrapped = known["wrap"], []
    known["wrap"] = lambda *given: wrapped.append(wrap(*given)) or wrapped[-1]
    try:
        out = form.apply(*args)
    except TypeError as e:
        if "positional argument" not in str(e):
            raise
        raise Wrong(f"{what} the call of forward fails: {e}. Only the combined form has ctx there") from None
    finally:
        known["wrap"] = wrap
    if out is None:
        raise Wrong("apply returns None: is there a return?")
    if not isinstance(out, known["Value"]):
        raise Wrong(f"{what} apply returns a {type(out).__name__}, expected a node: return wrap(...)")
    if not any(out is one for one in wrapped):
        raise Wrong("apply makes the node itself: return wrap(...), which knows of several results and of guards")
    return out


@exercise(
    "Begin with to_x = to_y = None, and compute each only if its entry in ctx.needs_input_grad is True.",
    "if ctx.needs_input_grad[0]: to_x = np.outer(g, y) if y.ndim == 1 else g @ y.T.",
)
def MatMul(answer):
    """A layer whose data need no gradient does half of the work."""
    known = is_function(answer, "forward", "backward")
    V, backward, random = known["Value"], known["backward"], np.random.default_rng()
    for right in ((3, 4), (3, 3), (3,)):
        arrays = [random.normal(size=(3, 3) if right == (3, 3) else (2, 3)), random.normal(size=right)]
        what = f"x @ y for the shapes {arrays[0].shape} and {right}"
        try:
            same_gradients(answer.apply, lambda x, y: x @ y, arrays, V, backward, what)
        except ValueError as e:
            if not of_shapes(e):
                raise
            raise Wrong(
                f"{what} fails ({e}): the shape of the gradient is that of the argument; use np.outer for a vector"
            ) from None
    x, y = random.normal(size=(2, 3)), random.normal(size=(3, 4))
    for number, args in enumerate(((x, V(y)), (V(x), y))):
        out = answer.apply(*args)
        gs = answer.backward(out.ctx, np.ones((2, 4)))
        if not isinstance(gs, tuple) or len(gs) != 2:
            raise Wrong("backward returns one gradient for each argument: a pair, with None for one that is not needed")
        if gs[number] is not None:
            raise Wrong(
                f"the gradient of argument {number} is computed though it is not needed: look at ctx.needs_input_grad"
            )
        if gs[1 - number] is None:
            raise Wrong(f"the gradient of argument {1 - number} is None though it is needed: are the indices swapped?")


@exercise(
    "forward returns np.tanh(x) and has no ctx. setup_context saves the output.",
    "(out,) = ctx.saved_tensors, and the gradient is g * (1 - out * out).",
)
def Tanh(answer):
    """The output is enough: the input could be freed."""
    known = is_function(answer, "forward", "setup_context", "backward")
    V, x = known["Value"], np.random.default_rng().uniform(0.5, 1.5, size=3)
    try:
        alone = answer.forward(x)
    except TypeError as e:
        if "positional argument" not in str(e):
            raise
        raise Wrong("forward(x) fails: in the separate form it receives no ctx") from None
    if alone is None:
        raise Wrong("forward returns None: is there a return?")
    close(alone, np.tanh(x), "forward(x)")
    out = answer.apply(V(x))
    saved = out.ctx.saved_tensors
    if not saved:
        raise Wrong("setup_context saves nothing: call ctx.save_for_backward(output)")
    if len(saved) > 1:
        raise Wrong(f"{len(saved)} arrays are saved: the output is enough")
    if np.allclose(saved[0], x):
        raise Wrong("the input is saved: save the output, from which backward needs no second tanh")
    t, g = np.tanh(x), np.array([1.5, 0.7, 2.0])
    given = answer.backward(out.ctx, g)
    if isinstance(given, tuple) and len(given) != 1:
        raise Wrong(f"backward returns {len(given)} gradients, expected one: forward has one argument")
    given = given[0] if isinstance(given, tuple) else given
    if not isinstance(given, np.ndarray) or given.shape != x.shape:
        raise Wrong(f"backward returns {short(given)}, expected an array of the shape {list(x.shape)}, that of x")
    for wrong, why in (
        (g * (1 - t), "the square is missing"),
        (g * (1 - x * x), "that is 1 - x²: use the output"),
        (g * (1 + t * t), "the sign is wrong"),
        (g * t, "that is g times the output, as for exp"),
    ):
        if np.shape(given) == x.shape and np.allclose(given, wrong):
            raise Wrong(f"the gradient is wrong: {why}")
    same_gradients(answer.apply, lambda x: x.tanh(), [x], V, known["backward"], "tanh(x)")


@exercise(
    "Save x, y and the distance. Each argument gets a sum: one part from each result.",
    "For x: g_distance * x / r - g_angle * y / r**2. For y: g_distance * y / r + g_angle * x / r**2.",
)
def Polar(answer):
    """An argument that influences two results gets a contribution from each."""
    known = is_function(answer, "forward", "backward")
    V, backward, random = known["Value"], known["backward"], np.random.default_rng()
    x, y = random.uniform(1.0, 2.0, size=3), random.uniform(-3.0, -2.5, size=3)
    r = np.sqrt(x * x + y * y)
    results = answer.apply(V(x), V(y))
    if not isinstance(results, tuple) or len(results) != 2:
        raise Wrong("forward returns one result, expected a tuple of two: the distance and the angle")
    if np.allclose(results[0].value, np.arctan2(y, x)):
        raise Wrong("the results are swapped: the distance comes first")
    close(results[0].value, r, "the distance")
    if np.allclose(results[1].value, np.arctan2(x, y)):
        raise Wrong("the angle is that of arctan2(x, y): y comes first")
    close(results[1].value, np.arctan2(y, x), "the angle")
    parts = {("distance", "x"): x / r, ("distance", "y"): y / r, ("angle", "x"): -y / r**2, ("angle", "y"): x / r**2}
    g = random.uniform(1.5, 2.0, size=3)
    for number, of in enumerate(("distance", "angle")):
        leaves = {"x": V(x), "y": V(y)}
        backward(answer.apply(*leaves.values())[number], g)
        for name, leaf in leaves.items():
            right, what = parts[of, name], f"the gradient of {name} for the {of} alone"
            if leaf.grad is None:
                raise Wrong(f"{what} is None: backward returns a gradient for each argument")
            other = parts[of, "y" if name == "x" else "x"]
            for wrong, why in ((right, "it ignores the incoming gradient"), (-g * right, "its sign is wrong"),
                               (g * other, "x and y are swapped"), (g * right * r, "the distance is missing or has the wrong power"),
                               (0 * g, "this result contributes nothing: use both incoming gradients")):  # fmt: skip
                if np.shape(leaf.grad) == wrong.shape and np.allclose(leaf.grad, wrong):
                    raise Wrong(f"{what} is {leaf.grad[0]:.4g}, expected {(g * right)[0]:.4g}: {why}")
            close(leaf.grad, g * right, what)
