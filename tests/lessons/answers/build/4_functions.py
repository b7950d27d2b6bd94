# %% right Context
# -         self.saved_tensors = arrays
# +         self.saved_tensors = tuple(arrays)


# %% wrong Context: make a tuple
# -         self.needs_input_grad = tuple(needs_input_grad)
# +         self.needs_input_grad = needs_input_grad


# %% wrong Context: at first, expected ()
# -         self.saved_tensors = ()
# +         self.saved_tensors = None


# %% wrong Context: has no saved_tensors
# -         self.saved_tensors = ()
# +         pass


# %% wrong Context: has no save_for_backward
# -     def save_for_backward(self, *arrays):
# +     def save(self, *arrays):


# %% wrong Context: expected a tuple
# -         self.saved_tensors = arrays
# +         self.saved_tensors = list(arrays)


# %% wrong Context: expected 2: x and y
# -         self.saved_tensors = arrays
# +         self.saved_tensors = (arrays,)


# %% wrong Context: it replaces
# -         self.saved_tensors = arrays
# +         self.saved_tensors += arrays


# %% wrong Context: keep the arrays themselves
# -         self.saved_tensors = arrays
# +         self.saved_tensors = tuple(a.copy() for a in arrays)


# %% wrong Context: the wrong order
# -         self.saved_tensors = arrays
# +         self.saved_tensors = arrays[::-1]


# %% wrong Context: it only keeps the arrays
# -         self.saved_tensors = arrays
# +         self.saved_tensors = arrays
# +         return arrays


# %% wrong Context: assign to self, not to the class
# -         self.saved_tensors = ()
# - 
# -     def save_for_backward(self, *arrays):
# -         self.saved_tensors = arrays
# + 
# +     saved_tensors = ()
# + 
# +     def save_for_backward(self, *arrays):
# +         Context.saved_tensors = arrays


# %% wrong Context: expected 2: x and y
# -         self.saved_tensors = arrays
# +         pass


# %% right Function
# -         arrays = [value_of(a) for a in args]
# +         arrays = list(map(value_of, args))


# %% wrong Function: write @classmethod
# -     @classmethod
# -     def apply(cls, *args):
# +     @staticmethod
# +     def apply(cls, *args):


# %% wrong Function: test for Value
# -         ctx = Context(isinstance(a, Value) for a in args)
# +         ctx = Context(True for a in args)


# %% wrong Function: forward receives nodes
# -         arrays = [value_of(a) for a in args]
# +         arrays = list(args)


# %% wrong Function: is there a return
# -         return wrap(cls, ctx, args, result)
# +         wrap(cls, ctx, args, result)


# %% wrong Function: the parents are not the arguments
# -         return wrap(cls, ctx, args, result)
# +         return wrap(cls, ctx, arrays, result)


# %% wrong Function: expected a node
# -         return wrap(cls, ctx, args, result)
# +         return result


# %% wrong Function: give wrap cls
# -         return wrap(cls, ctx, args, result)
# +         return wrap(Function, ctx, args, result)


# %% wrong Function: Only the combined form has ctx
# -             result = cls.forward(*arrays)
# +             result = cls.forward(ctx, *arrays)


# %% wrong Function: ValueError
# -             cls.setup_context(ctx, tuple(arrays), result)
# +             pass


# %% wrong Function: a tuple of arrays
# -             cls.setup_context(ctx, tuple(arrays), result)
# +             cls.setup_context(ctx, arrays, result)


# %% wrong Function: AttributeError
# -         return wrap(cls, ctx, args, result)
# +         return wrap(cls, None, args, result)


# %% wrong Function: give wrap the same ctx
# -         return wrap(cls, ctx, args, result)
# +         fresh = Context(ctx.needs_input_grad)
# +         fresh.save_for_backward(*ctx.saved_tensors)
# +         return wrap(cls, fresh, args, result)


# %% wrong Function: make a new one in each apply
# -         ctx = Context(isinstance(a, Value) for a in args)
# +         ctx = cls.__dict__.get('kept') or Context(isinstance(a, Value) for a in args)
# +         ctx.needs_input_grad = tuple(isinstance(a, Value) for a in args)
# +         cls.kept = ctx


# %% right MatMul
# -             to_y = x.T @ g
# +             to_y = np.transpose(x) @ g


# %% wrong MatMul: though it is not needed
# -         if ctx.needs_input_grad[0]:
# +         if True:


# %% wrong MatMul: though it is not needed
# -         if ctx.needs_input_grad[1]:
# +         if True:


# %% wrong MatMul: argument
# -             to_x = np.outer(g, y) if y.ndim == 1 else g @ y.T
# +             to_x = g @ y.T


# %% wrong MatMul: argument
# -         return to_x, to_y
# +         return to_y, to_x


# %% wrong MatMul: argument 0 is None
# -         return to_x, to_y
# +         return None, to_y


# %% wrong MatMul: argument 1 is None
# -         return to_x, to_y
# +         return to_x


# %% wrong MatMul: x @ y
# -             to_y = x.T @ g
# +             to_y = x @ g


# %% wrong MatMul: x
# -         return x @ y
# +         return x * y


# %% wrong MatMul: does not inherit from Function
# - class MatMul(Function):
# + class MatMul:


# %% wrong MatMul: ignores the incoming gradient
# -             to_y = x.T @ g
# +             to_y = x.T @ np.ones(g.shape)


# %% wrong MatMul: has the wrong sign
# -             to_y = x.T @ g
# +             to_y = -x.T @ g


# %% wrong MatMul: backward is not static
# -     @staticmethod
# -     def backward(ctx, g):
# +     def backward(ctx, g):


# %% wrong MatMul: not enough values to unpack
# -         ctx.save_for_backward(x, y)
# +         ctx.save_for_backward(x)


# %% right Tanh
# -         return g * (1 - out * out)
# +         return (g * (1 - out**2),)


# %% wrong Tanh: the square is missing
# -         return g * (1 - out * out)
# +         return g * (1 - out)


# %% wrong Tanh: ignores the incoming gradient
# -         return g * (1 - out * out)
# +         return 1 - out * out


# %% wrong Tanh: the sign is wrong
# -         return g * (1 - out * out)
# +         return g * (1 + out * out)


# %% wrong Tanh: as for exp
# -         return g * (1 - out * out)
# +         return g * out


# %% wrong Tanh: the input is saved
# -         ctx.save_for_backward(output)
# +         ctx.save_for_backward(*inputs)


# %% wrong Tanh: the output is enough
# -         ctx.save_for_backward(output)
# +         ctx.save_for_backward(*inputs, output)


# %% wrong Tanh: saves nothing
# -         ctx.save_for_backward(output)
# +         pass


# %% wrong Tanh: in the separate form it receives no ctx
# -     def forward(x):
# +     def forward(ctx, x):


# %% wrong Tanh: forward is not static
# -     @staticmethod
# -     def forward(x):
# +     def forward(x):


# %% wrong Tanh: has no setup_context
# -     def setup_context(ctx, inputs, output):
# +     def setup(ctx, inputs, output):


# %% wrong Tanh: forward returns None
# -         return np.tanh(x)
# +         np.tanh(x)


# %% wrong Tanh: forward(x) is
# -         return np.tanh(x)
# +         return np.tan(x)


# %% wrong Tanh: backward returns None
# -         return g * (1 - out * out)
# +         g * (1 - out * out)


# %% right Polar
# -         return g_distance * x / r - g_angle * y / r**2, g_distance * y / r + g_angle * x / r**2
# +         to_x = g_distance * x / r - g_angle * y / r**2
# +         return to_x, g_distance * y / r + g_angle * x / r**2


# %% wrong Polar: this result contributes nothing
# -         return g_distance * x / r - g_angle * y / r**2, g_distance * y / r + g_angle * x / r**2
# +         return g_distance * x / r, g_distance * y / r


# %% wrong Polar: this result contributes nothing
# -         return g_distance * x / r - g_angle * y / r**2, g_distance * y / r + g_angle * x / r**2
# +         return -g_angle * y / r**2, g_angle * x / r**2


# %% wrong Polar: x and y are swapped
# -         return g_distance * x / r - g_angle * y / r**2, g_distance * y / r + g_angle * x / r**2
# +         return g_distance * y / r + g_angle * x / r**2, g_distance * x / r - g_angle * y / r**2


# %% wrong Polar: its sign is wrong
# -         return g_distance * x / r - g_angle * y / r**2, g_distance * y / r + g_angle * x / r**2
# +         return g_distance * x / r + g_angle * y / r**2, g_distance * y / r + g_angle * x / r**2


# %% wrong Polar: for the distance alone is
# -         return g_distance * x / r - g_angle * y / r**2, g_distance * y / r + g_angle * x / r**2
# +         return x / r - g_angle * y / r**2, y / r + g_angle * x / r**2


# %% wrong Polar: the distance is missing or has the wrong power
# -         return g_distance * x / r - g_angle * y / r**2, g_distance * y / r + g_angle * x / r**2
# +         return g_distance * x / r - g_angle * y / r, g_distance * y / r + g_angle * x / r


# %% wrong Polar: the distance is missing or has the wrong power
# -         return g_distance * x / r - g_angle * y / r**2, g_distance * y / r + g_angle * x / r**2
# +         return g_distance * x - g_angle * y / r**2, g_distance * y + g_angle * x / r**2


# %% wrong Polar: y comes first
# -         return distance, np.arctan2(y, x)
# +         return distance, np.arctan2(x, y)


# %% wrong Polar: the distance comes first
# -         return distance, np.arctan2(y, x)
# +         return np.arctan2(y, x), distance


# %% wrong Polar: expected a tuple of two
# -         return distance, np.arctan2(y, x)
# +         return distance


# %% wrong Polar: the distance is
# -         distance = np.sqrt(x * x + y * y)
# +         distance = x * x + y * y


# %% wrong Polar: is None
# -         return g_distance * x / r - g_angle * y / r**2, g_distance * y / r + g_angle * x / r**2
# +         return g_distance * x / r - g_angle * y / r**2


# %% wrong Polar: the arguments do not fit
# -     def backward(ctx, g_distance, g_angle):
# +     def backward(ctx, g_distance):


# %% wrong MatMul: the value of argument 0 has changed
# -         ctx.save_for_backward(x, y)
# +         ctx.save_for_backward(x, y)
# +         x *= 2.0


# %% wrong MatMul: raises ValueError: no
# -         x, y = ctx.saved_tensors
# +         raise ValueError("no")


# %% wrong Tanh: backward returns 2 gradients, expected one
# -         return g * (1 - out * out)
# +         return g * (1 - out * out), None


# %% wrong Tanh: expected an array of the shape [3], that of x
# -         return g * (1 - out * out)
# +         return [g * (1 - out * out)]


# %% wrong Tanh: raises TypeError: no
# -         return np.tanh(x)
# +         raise TypeError("no")


# %% wrong Function: raises TypeError: no
class Function:
    @classmethod
    def apply(cls, *args):
        raise TypeError("no")
