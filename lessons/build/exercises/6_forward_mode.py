"""The exercises of step 6."""

import numpy as np

from lessons.build.oracle import close, names_of, of_shapes
from lessons.exercise import Wrong, exercise
from lessons.failure import short


def fresh(*shape):
    """Return random numbers, drawn anew for each check."""
    return np.random.default_rng().normal(size=shape)


def node(given, what):
    """Return the array of a node; raise Wrong for anything else."""
    if given is None:
        raise Wrong(f"{what} is None: is there a return?")
    if not hasattr(given, "value"):
        raise Wrong(f"{what} is {short(given)}, expected a node of your engine: compute with nodes, not with .value")
    return given.value


@exercise(
    "Each of the two factors changes while the other stands still. Add both changes.",
    "product(tx, y) is the change through x. For @ the order matters: x stands before y in both.",
)
def product_jvp(answer):
    """The rule of every product: it needs only that the product is linear in each factor."""
    known = names_of(answer)
    Value = known["Value"]
    cases = ((known["mul"], (3,), (3,)), (known["mul"], (2, 3), (1, 3)), (known["matmul"], (2, 3), (3, 2)))
    for product, a, b in cases:
        x, y, tx, ty = fresh(*a), fresh(*b), fresh(*a), fresh(*b)
        sign = "*" if a[-1] == b[-1] else "@"
        square = sign == "*" or a == b[::-1]
        leaf = Value(x)
        try:
            made = answer(product, leaf, *map(Value, (y, tx, ty)))
            given = node(made, f"the tangent of x {sign} y")
        except (ValueError, IndexError) as e:
            if not of_shapes(e):
                raise
            raise Wrong(f"for x {sign} y with the shapes {a} and {b}: {e}. Keep x before y in both terms") from e
        of = np.multiply if sign == "*" else np.matmul
        mistakes = {
            "it is the tangent for a y that does not change: add product(x, ty)": of(tx, y),
            "it is the tangent for an x that does not change: add product(tx, y)": of(x, ty),
            "it is the product of the two tangents, which belongs to no first derivative": of(tx, ty),
            "the product of the tangents is too much: it is of second order": of(tx, y) + of(x, ty) + of(tx, ty),
            "the terms are subtracted: add them": of(tx, y) - of(x, ty),
            "it is the value of the product": of(x, y),
        }
        if sign == "*":
            mistakes[
                "each tangent is multiplied by the value of the factor that it belongs to: take the other one's"
            ] = x * tx + y * ty
        for why, wrong in mistakes.items():
            if square and np.shape(given) == np.shape(wrong) and np.allclose(given, wrong):
                raise Wrong(f"for x {sign} y, {why}")
        close(given, of(tx, y) + of(x, ty), f"the tangent of x {sign} y")
        known["backward"](made, np.ones(np.shape(given)))
        if leaf.grad is None:
            raise Wrong("the tangent has lost its way to x: compute with nodes, so that it can be differentiated again")


@exercise(
    "The tangent is a.tangent if isinstance(a, Dual) and a.layer is layer, and zeros_like(a) otherwise.",
    "out = run(function, *values). rule_of(function)(out, *values, *tangents): the result, all values, then all tangents.",
)
def push(answer):
    """The operation runs as always, and its rule beside it. Whatever has no tangent in this layer counts as a constant."""
    known = names_of(answer)
    Value, Dual, Mul, Add, Exp = (known[name] for name in ("Value", "Dual", "Mul", "Add", "Exp"))
    further_out, layer = known["Forward"](), known["Forward"]()
    a, b, ta, tb = (fresh(3) for _ in range(4))
    x, y, other = (
        Dual(Value(a), Value(ta), layer),
        Dual(Value(b), Value(tb), layer),
        Dual(Value(b), Value(tb), further_out),
    )
    cases = (
        ("exp of a dual", Exp, (x,), np.exp(a), np.exp(a) * ta),
        ("a product of two duals", Mul, (x, y), a * b, ta * b + a * tb),
        ("a product of a dual and a node", Mul, (x, Value(b)), a * b, ta * b),
        ("a product of a node and a dual", Mul, (Value(a), y), a * b, a * tb),
        ("a sum of a dual and a number", Add, (x, 2.0), a + 2.0, ta),
    )
    for what, function, args, value, tangent in cases:
        out = dual(answer, known, layer, function, args, what)
        if isinstance(out.value, Dual) or not isinstance(out.value, Value):
            raise Wrong(f"for {what} the value of the result is a {type(out.value).__name__}, expected a node")
        given = node(out.tangent, f"the tangent for {what}")
        if np.allclose(out.value.value, tangent) and np.allclose(given, value):
            raise Wrong("value and tangent of the result are swapped")
        close(out.value.value, value, f"the value for {what}", 1e-6)
        if "node" in what and np.allclose(given, ta * b + a):
            raise Wrong(f"for {what} the constant has the tangent 1: it does not change, so take zeros_like")
        close(given, tangent, f"the tangent for {what}")
    what = "a product of a dual and a dual of a layer further out"
    try:
        out = dual(answer, known, layer, Mul, (x, other), what)
    except TypeError as e:
        raise Wrong(f"for {what} it raises TypeError: {e}. Compute the value with run(function, *values)") from None
    of_other = "for the layer further out, the tangent of"
    if not isinstance(out.value, Dual) or out.value.layer is not further_out:
        raise Wrong(
            f"for {what} the value of the result is no dual of that layer: compute it with run(function, *values)"
        )
    close(node(out.value.value, "the value"), a * b, f"the value for {what}")
    close(node(out.value.tangent, "the tangent of the value"), a * tb, f"{of_other} the value of a product")
    if not isinstance(out.tangent, Dual):
        raise Wrong(f"for {what} the tangent is no dual of that layer: pass the rule the values as they are")
    close(node(out.tangent.value, "the tangent"), ta * b, f"the tangent for {what}")
    close(node(out.tangent.tangent, "the tangent of the tangent"), ta * tb, f"{of_other} the tangent of a product")


def dual(answer, known, layer, function, args, what):
    """Return the result of push, a dual of the layer; raise Wrong for anything else, and if the rule was not called."""
    Dual, calls = known["Dual"], []

    def rule_of(one, original=known["rule_of"]):
        return lambda *given: calls.append(given) or original(one)(*given)

    original, known["rule_of"] = known["rule_of"], rule_of
    try:
        out = answer(layer, function, *args)
    except RecursionError as e:
        raise Wrong("push calls itself without end: run the Function on the values, not on the duals") from e
    finally:
        known["rule_of"] = original
    if not isinstance(out, Dual):
        raise Wrong(f"for {what} it returns {short(out)}, expected a Dual")
    if out.layer is not layer:
        raise Wrong(f"for {what} the Dual is of another layer, expected the one that push receives")
    if not calls:
        raise Wrong(f"for {what} it never calls the rule of the Function")
    for one in calls[-1][1 + len(args) :]:
        if not isinstance(one, known["Value"]):
            raise Wrong(
                f"for {what} a tangent is {short(one)}: that of a constant is zeros of its shape, zeros_like(a)"
            )
    if any(isinstance(one, Dual) and one.layer is layer for one in calls[-1]):
        raise Wrong("the rule receives duals of this layer: give it the result, the values and the tangents")
    if tuple(out.parents) != tuple(args) or out.op is not function:
        raise Wrong("give the Dual its parents, `args`, and its operation, `function`: the picture needs them")
    return out


@exercise(
    "layer = Forward(). Pair each x with its v: Dual(x, v, layer). Call f with all of them.",
    "A result that is a Dual of this layer has .value and .tangent. Any other one is constant here: out, zeros_like(out).",
)
def jvp(answer):
    """One call of f gives the value and the derivative in a direction. A jvp inside it has another layer."""
    known = names_of(answer)
    Value, Dual = known["Value"], known["Dual"]
    a, b, ta, tb = (fresh(3) for _ in range(4))
    calls = []

    def f(x, y):
        calls.append((x, y))
        return known["exp"](x * y) + x

    value, tangent = np.exp(a * b) + a, np.exp(a * b) * (ta * b + a * tb) + ta
    xs, vs = [Value(a), Value(b)], [Value(ta), Value(tb)]
    given = pair(answer(f, xs, vs))
    if len(xs) != 2 or len(vs) != 2:
        raise Wrong("the list xs or vs has changed: make a new one")
    if len(calls) > 1:
        raise Wrong(f"it calls f {len(calls)} times: one call computes the value and the tangent")
    if not calls or not all(isinstance(one, Dual) for one in calls[0]):
        raise Wrong("f receives arguments that are no duals: give each x its tangent v")
    if calls[0][0].layer is not calls[0][1].layer:
        raise Wrong("the duals have two layers: make one Forward() for the call, before them")
    out, moved = (node(one, what) for one, what in zip(given, ("the value", "the tangent")))
    if hasattr(out, "value") or hasattr(moved, "value"):
        raise Wrong("it returns a Dual: take its .value and its .tangent")
    if np.allclose(out, tangent) and np.allclose(moved, value):
        raise Wrong("value and tangent are swapped: the value comes first")
    ones = np.exp(a * b) * (b + a) + 1
    if np.allclose(moved, ones):
        raise Wrong("the tangent is the one for the direction of ones: use vs")
    if np.allclose(moved, np.exp(a * b) * (a * b + a * b) + a):
        raise Wrong("the values went in as tangents, too: use vs")
    close(out, value, "the value")
    close(moved, tangent, "the tangent")
    constant = Value(fresh(2))
    out, moved = pair(answer(lambda x: constant, [Value(a)], [Value(ta)]))
    close(node(out, "the value"), constant.value, "the value of a function that ignores its argument")
    close(node(moved, "the tangent"), np.zeros(2), "the tangent of a function that ignores its argument")
    lone = fresh(2)
    out, moved = pair(answer(lambda x: x, [Value(lone)], [Value(-lone)]))
    close(node(moved, "the tangent"), -lone, "the tangent of a function that returns its argument")
    nested(answer, Value)


def nested(answer, Value):
    """Expect the right derivatives of functions that call jvp themselves."""
    a = round(float(np.random.default_rng().uniform(1.5, 2.5)), 2)

    def derivative(f, x):
        return pair(answer(f, [x], [Value(1.0)]))[1]

    for what, f, right, confused in (
        ("x * d(x + y)/dy", lambda x: x * derivative(lambda y: x + y, Value(1.0)), 1.0, 2.0),
        ("x * d(x * x)/dy", lambda x: x * derivative(lambda y: x * x, Value(1.0)), 0.0, 2 * a),
        ("d(x * x * x)/dx", lambda x: derivative(lambda y: y * y * y, x), 6 * a, np.nan),
    ):
        given = node(derivative(f, Value(a)), f"the derivative of {what}")
        if isinstance(given, np.ndarray) and given.shape == () and np.isclose(given, confused):
            why = "tangents of two calls are mixed. Compare out.layer with the layer of this call"
            raise Wrong(
                f"the derivative of {what}, which calls jvp itself, is {given:.4g} at {a}, expected {right:.4g}: {why}"
            )
        close(given, right, f"the derivative of {what}, which calls jvp itself,")


def pair(given):
    """Return a value and a tangent; raise Wrong for anything else."""
    if not isinstance(given, (tuple, list)) or len(given) != 2:
        raise Wrong(f"it returns {short(given)}, expected two nodes: the value and the tangent")
    return given


def functions(known):
    """Yield functions of a vector, with their Jacobians and points."""
    Value = known["Value"]
    m, x = fresh(2, 3), fresh(3)
    slope = 1 - np.tanh(m @ x) ** 2
    yield "tanh(m @ x), from 3 to 2 numbers", lambda v: known["tanh"](Value(m) @ v), x, slope[:, None] * m
    tall, y = fresh(4, 2), fresh(2)
    yield "m @ x, from 2 to 4 numbers", lambda v: Value(tall) @ v, y, tall
    yield "x * x, from 3 to 3 numbers", lambda v: v * v, x, np.diag(2 * x)


def same_jacobian(answer, known):
    """Expect the Jacobian of each function, and explain one that is wrong."""
    for what, f, x, right in functions(known):
        before = x.copy()
        given = answer(f, x)
        if given is None:
            raise Wrong("it returns None: is there a return?")
        if hasattr(given, "value"):
            raise Wrong("it returns a node, expected an array: take .value")
        if not isinstance(given, np.ndarray):
            raise Wrong(f"it returns a {type(given).__name__}, expected an array: np.stack puts the parts together")
        if given.dtype == object:
            raise Wrong("the array holds nodes: take .value of each")
        if right.shape[0] != right.shape[1] and given.shape == right.shape[::-1] and np.allclose(given, right.T):
            raise Wrong(f"for {what} the Jacobian is transposed: a row for each result, a column for each input")
        if given.shape == right.shape[1:] or given.shape == right.shape[:1]:
            raise Wrong(
                f"for {what} it has the shape {list(given.shape)}: that is one row or column, or their sum; stack them"
            )
        if given.shape == right.shape and np.allclose(given, np.cumsum(right, axis=0)) and len(right) > 1:
            raise Wrong(
                f"for {what} each row contains the rows before: .grad adds up, so take a fresh leaf for each row"
            )
        close(given, right, f"the Jacobian of {what}")
        if not np.array_equal(x, before):
            raise Wrong("x has changed: the Jacobian only reads it")


@exercise(
    "np.eye(len(x)) has the basis vectors as rows. jvp in the direction of number j gives column j.",
    "np.stack(columns, axis=1) puts the tangents side by side.",
)
def jacobian_forward(answer):
    """Each basis vector moves one input alone, and the tangent of the result is its column."""
    known = names_of(answer)
    same_jacobian(answer, known)
    expect_calls(answer, known, "backward", 0, "use jvp: this is the exercise for columns")
    expect_calls(answer, known, "jvp", 2, "use jvp, once for each input: it is exact")


@exercise(
    "For each result: a fresh leaf, f(leaf), and backward from a basis vector as the incoming gradient.",
    "The leaf's .grad is row i. A leaf that no result depends on has no gradient: its row is zeros.",
)
def jacobian_backward(answer):
    """Each basis vector asks for one result alone, and the gradient is its row."""
    known = names_of(answer)
    same_jacobian(answer, known)
    given = answer(lambda v: known["Value"](np.ones(2)), np.ones(3))
    close(given, np.zeros((2, 3)), "the Jacobian of a function that ignores its argument")
    expect_calls(answer, known, "jvp", 0, "use backward: this is the exercise for rows")
    expect_calls(answer, known, "backward", 2, "use backward, once for each result")


def expect_calls(answer, known, name, wanted, words):
    """Raise Wrong if an answer does not call the engine's function `name` so often, for 2 inputs and 2 results."""
    called, original = [], known[name]
    known[name] = lambda *args, **more: called.append(1) or original(*args, **more)
    try:
        answer(lambda v: v * v, fresh(2))
    finally:
        known[name] = original
    if len(called) != wanted:
        raise Wrong(words)
