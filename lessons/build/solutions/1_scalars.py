# %% Value
class Value(Operators):
    """A number that remembers how it was computed."""

    def __init__(self, value, parents=(), op=None, local_grads=None):
        self.value = value
        self.parents = tuple(parents)
        self.op = op
        self.local_grads = local_grads
        self.grad = None
        self.number = next(created)


# %% add
def add(x, y):
    """Return x + y as a node."""
    return Value(value_of(x) + value_of(y), (x, y), "+", (1.0, 1.0))


# %% mul
def mul(x, y):
    """Return x * y as a node."""
    return Value(value_of(x) * value_of(y), (x, y), "*", (value_of(y), value_of(x)))


# %% tanh
def tanh(x):
    """Return the hyperbolic tangent of x as a node."""
    out = np.tanh(value_of(x))
    return Value(out, (x,), "tanh", (1 - out * out,))


# %% slope
def slope(out, x):
    """Return the derivative of out with respect to x: the sum over all paths of the products along them."""
    if out is x:
        return 1.0
    if not isinstance(out, Value):
        return 0.0
    return sum(d * slope(parent, x) for parent, d in zip(out.parents, out.local_grads or ()))
