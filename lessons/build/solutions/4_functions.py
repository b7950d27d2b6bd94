# %% Context
class Context:
    """The memory of one call of a Function, from its forward to its backward."""

    def __init__(self, needs_input_grad):
        self.needs_input_grad = tuple(needs_input_grad)
        self.saved_tensors = ()

    def save_for_backward(self, *arrays):
        self.saved_tensors = arrays


# %% Function
class Function:
    """An operation with forward and backward; apply records a node."""

    @classmethod
    def apply(cls, *args):
        ctx = Context(isinstance(a, Value) for a in args)
        arrays = [value_of(a) for a in args]
        if hasattr(cls, "setup_context"):
            result = cls.forward(*arrays)
            cls.setup_context(ctx, tuple(arrays), result)
        else:
            result = cls.forward(ctx, *arrays)
        return wrap(cls, ctx, args, result)


# %% MatMul
class MatMul(Function):
    """The matrix product; backward computes only the gradients that are needed."""

    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x @ y

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        to_x = to_y = None
        if ctx.needs_input_grad[0]:
            to_x = np.outer(g, y) if y.ndim == 1 else g @ y.T
        if ctx.needs_input_grad[1]:
            to_y = x.T @ g
        return to_x, to_y


# %% Tanh
class Tanh(Function):
    """The hyperbolic tangent, in the separate form."""

    @staticmethod
    def forward(x):
        return np.tanh(x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx, g):
        (out,) = ctx.saved_tensors
        return g * (1 - out * out)


# %% Polar
class Polar(Function):
    """The distance of points (x, y) from the origin, and their angle."""

    @staticmethod
    def forward(ctx, x, y):
        distance = np.sqrt(x * x + y * y)
        ctx.save_for_backward(x, y, distance)
        return distance, np.arctan2(y, x)

    @staticmethod
    def backward(ctx, g_distance, g_angle):
        x, y, r = ctx.saved_tensors
        return g_distance * x / r - g_angle * y / r**2, g_distance * y / r + g_angle * x / r**2
