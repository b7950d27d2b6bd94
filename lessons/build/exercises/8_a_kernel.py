"""The exercises of step 8."""

import inspect
import math

import numpy as np

import minigrad
from lessons.build.oracle import close, names_of, same_gradients
from lessons.exercise import Wrong, exercise
from lessons.failure import short

NAMES = {name: getattr(math, name) for name in ("exp", "log", "sin", "cos", "sqrt", "tanh")}
FORMULAS = ((("x",), "x * x + 1"), (("x", "y"), "x - 2 * y"), (("a", "b", "c"), "a * b if a > 0 else exp(-c)"))


@exercise(
    "Write the loop for `x - y` by hand first. Which lines depend on the names, which on the formula?",
    "One line for each name, `x = x_[i]`, indented as far as the last line, `result_[i] = ...`.",
)
def loop_source(answer):
    """The text reads one number of each array, computes, and writes one number: one pass over memory for any formula."""
    random = np.random.default_rng()
    for names, formula in FORMULAS:
        text = answer(list(names), formula)
        if not isinstance(text, str):
            raise Wrong(
                f"for the formula {formula!r} it returns a {type(text).__name__}, expected the text of the loop"
            )
        made = dict(NAMES)
        try:
            exec(text, made)
        except SyntaxError as e:
            raise Wrong(
                f"line {e.lineno} of your text is not Python: {e.msg}. Print the text and look at its indents"
            ) from e
        if not callable(made.get("loop")):
            raise Wrong("your text defines no function `loop`")
        given = list(inspect.signature(made["loop"]).parameters)
        wanted = [*(f"{name}_" for name in names), "result_"]
        if given != wanted:
            raise Wrong(f"your loop has the arguments {', '.join(given)}, expected {', '.join(wanted)}")
        arrays = [random.normal(size=5) for _ in names]
        before, out = [a.copy() for a in arrays], np.full(5, np.nan)
        try:
            made["loop"](*arrays, out)
        except (NameError, TypeError, ValueError, IndexError) as e:
            raise Wrong(f"the loop for {formula!r} fails: {type(e).__name__}: {e}. Print its text") from e
        if any(not np.array_equal(a, b) for a, b in zip(arrays, before)):
            raise Wrong("your loop writes into an argument: only `result_` may change")
        right = np.array([eval(formula, NAMES, dict(zip(names, row))) for row in zip(*arrays)])
        if np.isnan(out).any():
            raise Wrong(f"your loop leaves numbers of result_ unwritten, the first at {int(np.isnan(out).argmax())}")
        close(out, right, f"result_ for the formula {formula!r}")


@exercise(
    "np.broadcast_arrays gives all arrays one shape. The loop needs them flat.",
    "`out.reshape(-1)` is a view of `out`, so the loop writes into `out`.",
)
def run_loop(answer):
    """One loop serves arrays of every shape: broadcasting makes the shapes equal, and flat arrays have one index."""
    random = np.random.default_rng()

    def loop(*arrays):
        *inputs, result_ = arrays
        for name, a in zip(["x_", "y_"][: len(inputs)] + ["result_"], arrays):
            if getattr(a, "ndim", None) != 1:
                raise Wrong(f"the loop receives {name} with the shape {list(np.shape(a))}: it needs flat arrays")
        sizes = [len(a) for a in arrays]
        if len({*sizes}) > 1:
            raise Wrong(f"the loop receives {' and '.join(map(str, sizes))} numbers: broadcast the arrays first")
        for i in range(len(result_)):
            result_[i] = formula(*(a[i] for a in inputs))

    def formula(x, y=0.0):
        return x - 2 * y

    cases = {
        "two matrices": (random.normal(size=(2, 3)), random.normal(size=(2, 3))),
        "a column and a row": (random.normal(size=(2, 1)), random.normal(size=(1, 3))),
        "a matrix and a number": (random.normal(size=(2, 3)), np.asarray(random.normal())),
        "a number and a vector": (np.asarray(random.normal()), random.normal(size=4)),
        "a transposed matrix": (random.normal(size=(3, 2)).T, random.normal(size=(2, 3))),
        "two numbers": (np.asarray(2.0), np.asarray(3.0)),
        "one matrix": (random.normal(size=(2, 3)),),
    }
    for what, arrays in cases.items():
        before = [a.copy() for a in arrays]
        out = answer(loop, *arrays)
        if out is None:
            raise Wrong("it returns None: is there a return?")
        if not all(map(np.array_equal, arrays, before)):
            raise Wrong(f"for {what} an argument has changed: make a new array for the result")
        close(out, formula(*arrays), f"the result for {what}")


@exercise(
    "The loop of the derivative needs two more names than the forward loop: `out` and `g`.",
    'The formula of the backward loop is f"g * ({derivative})". It receives the saved arrays, and then g.',
)
def pointwise(answer):
    """Two texts make a whole operation: each loop reads every array once, and backward multiplies by the incoming gradient."""
    known = names_of(answer)
    Value, backward = known["Value"], known["backward"]
    random = np.random.default_rng()
    cases = (
        (("Silu", "x / (1 + exp(-x))"), {"x": "(1 + out * exp(-x)) / (1 + exp(-x))"}, lambda x: x * x.sigmoid()),
        (("Root", "sqrt(x * x + y * y)"), {"x": "x / out", "y": "y / out"}, lambda x, y: (x * x + y * y).sqrt()),
        (("Mix", "x * y + 2 * x"), {"x": "y + 2", "y": "x"}, lambda x, y: x * y + 2 * x),
    )  # fmt: skip
    for (name, formula), derivatives, oracle in cases:
        made = answer(name, formula, **derivatives)
        if not (isinstance(made, type) and issubclass(made, known["Function"])):
            raise Wrong(f"it returns {made!r}, expected a subclass of Function")
        if made.__name__ != name:
            raise Wrong(f"the Function is called {made.__name__}, expected {name}")
        shapes = [(2, 3), (2, 3) if name == "Root" else (1, 3)][: len(derivatives)]
        arrays = [random.normal(size=shape) + 0.1 for shape in shapes]
        same_gradients(made.apply, oracle, arrays, Value, backward, f"{name} ({formula})")
        compiled, times = known["compiled"], []
        known["compiled"] = lambda text, original=compiled, times=times: times.append(1) or original(text)
        try:
            backward(made.apply(*map(Value, arrays)), np.ones(np.broadcast_shapes(*shapes)))
        finally:
            known["compiled"] = compiled
        if times:
            raise Wrong(
                f"{name} is compiled at each call, {len(times)} times: compile the loops before you define forward"
            )


@exercise(
    "A number of scores may be large: subtract the largest of each row first. It changes no probability.",
    "The gradient of the scores is (probabilities - 1 at the right class) / rows, times the incoming gradient.",
)
def CrossEntropy(answer):
    """The gradient is how much each probability is too large, divided by the number of rows: no class needs more than that."""
    known = names_of(answer)
    Value, backward = known["Value"], known["backward"]
    random = np.random.default_rng()
    if not (isinstance(answer, type) and issubclass(answer, known["Function"])):
        raise Wrong("expected a subclass of Function")
    classes = random.integers(0, 4, size=5)

    def oracle(scores):
        return minigrad.nn.functional.cross_entropy(scores, minigrad.tensor(classes))

    scores = random.normal(size=(5, 4))
    before = scores.copy()
    out = answer.apply(Value(scores), classes)
    if not np.array_equal(scores, before):
        raise Wrong("the scores have changed: make a new array")
    explain(answer, scores, classes, known)
    if not isinstance(gs := answer.backward(out.ctx, 1.0), tuple) or len(gs) != 2 or gs[1] is not None:
        raise Wrong(
            f"backward returns {short(gs)}, expected a pair: the gradient of the scores, and None for the classes"
        )
    same_gradients(lambda s: answer.apply(s, classes), oracle, [scores], Value, backward, "the loss")
    with np.errstate(all="ignore"):
        large = answer.apply(Value(scores + 1000.0), classes).value
    if not np.isfinite(large):
        raise Wrong(
            f"for scores of about 1000 the loss is {float(large)}: exp overflows. Subtract the largest of each row"
        )
    close(large, oracle(minigrad.tensor(scores)).numpy(), "the loss for scores of about 1000", 1e-5)
    sure = np.zeros((5, 4))
    sure[np.arange(5), (classes + 1) % 4] = 1000.0
    with np.errstate(all="ignore"):
        loss = answer.apply(Value(sure), classes).value
    if not np.isclose(loss, 1000.0):
        why = "the probability of the right class is rounded to 0. Subtract the logarithm of the sum from the scores"
        raise Wrong(f"for scores of 0, and 1000 for a wrong class, the loss is {float(loss)}, expected 1000: {why}")


def explain(answer, scores, classes, known):
    """Raise Wrong with the name of a common mistake in the loss or its gradient."""
    Value = known["Value"]
    n = len(scores)
    logs = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
    right = -logs[np.arange(n), classes].mean()
    given = np.asarray(answer.apply(Value(scores), classes).value)
    for wrong, why in (
        (right * n, "it is the sum over the rows: take the mean"),
        (-right, "its sign is wrong: -log of a probability is positive"),
        (-scores[np.arange(n), classes].mean(), "the logarithm of the sum of exp is missing"),
        (-np.exp(logs)[np.arange(n), classes].mean(), "the logarithm is missing"),
        (-logs.mean(), "it is the mean over all classes: take only the right class of each row"),
    ):
        if given.shape == () and np.isclose(given, wrong):
            raise Wrong(f"the loss is {given:.4g}, expected {right:.4g}: {why}")
    one = np.zeros_like(scores)
    one[np.arange(n), classes] = 1
    leaf, g = Value(scores), 0.7
    known["backward"](answer.apply(leaf, classes), g)
    if leaf.grad is None:
        raise Wrong("the scores get no gradient: return it first, and None for the classes")
    for wrong, why in (
        (np.exp(logs) - one, "not divided by the number of rows, and without the incoming gradient"),
        ((np.exp(logs) - one) * g, "not divided by the number of rows"),
        ((np.exp(logs) - one) / n, "without the incoming gradient g"),
        ((one - np.exp(logs)) * g / n, "with the wrong sign"),
        (np.exp(logs) * g / n, "without the 1 at the right class"),
    ):
        if np.shape(leaf.grad) == wrong.shape and np.allclose(leaf.grad, wrong):
            raise Wrong(f"the gradient of the scores is {why}")


@exercise(
    "Against the gradient: subtract. A parameter without a gradient stays as it is.",
    "`p.value -= rate * p.grad` keeps the node, which the next forward pass uses again. Then `p.grad = None`.",
)
def descend(answer):
    """The next backward begins without old gradients, and the parameters are still the same nodes."""
    Value = names_of(answer)["Value"]
    random = np.random.default_rng()
    values, grads, rate = random.normal(size=(2, 3)), random.normal(size=(2, 3)), random.uniform(0.1, 0.5)
    moved, still, last = (Value(values.copy()) for _ in range(3))
    moved.grad, still.grad, last.grad = grads.copy(), None, grads.copy()
    parameters = [moved, still, last]
    answer(parameters, rate)
    if parameters[0] is not moved:
        raise Wrong("the list has other nodes now: change p.value, or the model goes on with the old ones")
    for wrong, why in (
        (values, "the parameter has not moved: assign to p.value, not to a local name"),
        (values + rate * grads, "the parameter moved along its gradient, where the loss grows"),
        (values - grads, "the rate is missing"),
        (values - rate, "the gradient is missing"),
        (-rate * grads, "the old value is missing"),
    ):
        if np.allclose(moved.value, wrong):
            raise Wrong(why)
    close(moved.value, values - rate * grads, "the parameter after a step")
    close(still.value, values, "a parameter without a gradient")
    if np.array_equal(last.value, values):
        raise Wrong("a parameter behind one without a gradient has not moved: go on to the next one")
    if moved.grad is not None:
        what = "is 0 in shape and numbers" if not np.any(moved.grad) else "is still there"
        raise Wrong(f"the gradient {what} after the step: the next backward adds to it. Set it to None")
