# %% wrong Context: assign to self, not to the class
# -         self.saved_tensors = ()
# +
# +     saved_tensors = ()
# -         self.saved_tensors = arrays
# +         Context.saved_tensors = arrays

# %% changes Context
# self.saved_tensors = arrays -> self.saved_tensors = tuple(arrays)  # right
# self.needs_input_grad = tuple(needs_input_grad) -> self.needs_input_grad = needs_input_grad  # make a tuple
# self.saved_tensors = () -> self.saved_tensors = None  # at first, expected ()
# self.saved_tensors = () -> pass  # has no saved_tensors
# def save_for_backward(self, *arrays): -> def save(self, *arrays):  # has no save_for_backward
# self.saved_tensors = arrays -> self.saved_tensors = list(arrays)  # expected a tuple
# self.saved_tensors = arrays -> self.saved_tensors = (arrays,)  # expected 2: x and y
# self.saved_tensors = arrays -> self.saved_tensors += arrays  # it replaces
# self.saved_tensors = arrays -> self.saved_tensors = tuple(a.copy() for a in arrays)  # keep the arrays themselves
# self.saved_tensors = arrays -> self.saved_tensors = arrays[::-1]  # the wrong order
# self.saved_tensors = arrays -> self.saved_tensors = arrays; return arrays  # it only keeps the arrays
# self.saved_tensors = arrays -> pass  # expected 2: x and y

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

# %% wrong Function: raises TypeError: no
class Function:
    @classmethod
    def apply(cls, *args):
        raise TypeError("no")

# %% changes Function
# arrays = [value_of(a) for a in args] -> arrays = list(map(value_of, args))  # right
# @classmethod -> @staticmethod  # write @classmethod
# ctx = Context(isinstance(a, Value) for a in args) -> ctx = Context(True for a in args)  # test for Value
# arrays = [value_of(a) for a in args] -> arrays = list(args)  # forward receives nodes
# return wrap(cls, ctx, args, result) -> wrap(cls, ctx, args, result)  # is there a return
# return wrap(cls, ctx, args, result) -> return wrap(cls, ctx, arrays, result)  # the parents are not the arguments
# return wrap(cls, ctx, args, result) -> return result  # expected a node
# return wrap(cls, ctx, args, result) -> return wrap(Function, ctx, args, result)  # give wrap cls
# result = cls.forward(*arrays) -> result = cls.forward(ctx, *arrays)  # Only the combined form has ctx
# cls.setup_context(ctx, tuple(arrays), result) -> pass  # ValueError
# cls.setup_context(ctx, tuple(arrays), result) -> cls.setup_context(ctx, arrays, result)  # a tuple of arrays
# return wrap(cls, ctx, args, result) -> return wrap(cls, None, args, result)  # AttributeError
# return wrap(cls, ctx, args, result) -> return Value(result, args, cls, ctx)  # makes the node itself

# %% wrong MatMul: backward is not static
# -     @staticmethod
# -     def backward(ctx, g):
# +     def backward(ctx, g):

# %% wrong MatMul: keep each call's arrays on its ctx
# -         ctx.save_for_backward(x, y)
# +         MatMul.kept = x, y
# -         x, y = ctx.saved_tensors
# +         x, y = MatMul.kept

# %% changes MatMul
# x, y = ctx.saved_tensors -> x, y = ctx.saved_tensors; g *= 1.5  # backward writes into the incoming gradient
# to_y = x.T @ g -> to_y = x.T @ g; x *= 2.0  # backward changes the value of argument 0
# to_y = x.T @ g -> to_y = np.transpose(x) @ g  # right
# if ctx.needs_input_grad[0]: -> if True:  # though it is not needed
# if ctx.needs_input_grad[1]: -> if True:  # though it is not needed
# to_x = np.outer(g, y) if y.ndim == 1 else g @ y.T -> to_x = g @ y.T  # argument
# return to_x, to_y -> return to_y, to_x  # argument
# return to_x, to_y -> return None, to_y  # argument 0 is None
# return to_x, to_y -> return to_x  # argument 1 is None
# to_y = x.T @ g -> to_y = x @ g  # x @ y
# return x @ y -> return x * y  # x
# class MatMul(Function): -> class MatMul:  # does not inherit from Function
# to_y = x.T @ g -> to_y = x.T @ np.ones(g.shape)  # ignores the incoming gradient
# to_y = x.T @ g -> to_y = -x.T @ g  # has the wrong sign
# ctx.save_for_backward(x, y) -> ctx.save_for_backward(x)  # not enough values to unpack
# return x @ y -> x *= 2.0; return x @ y  # the value of argument 0 has changed
# x, y = ctx.saved_tensors -> raise ValueError("no")  # raises ValueError: no

# %% wrong Tanh: forward is not static
# -     @staticmethod
# -     def forward(x):
# +     def forward(x):

# %% changes Tanh
# return g * (1 - out * out) -> return (g * (1 - out**2),)  # right
# return g * (1 - out * out) -> return g * (1 - out)  # the square is missing
# return g * (1 - out * out) -> return 1 - out * out  # ignores the incoming gradient
# return g * (1 - out * out) -> return g * (1 + out * out)  # the sign is wrong
# return g * (1 - out * out) -> return g * out  # as for exp
# ctx.save_for_backward(output) -> ctx.save_for_backward(*inputs)  # the input is saved
# ctx.save_for_backward(output) -> ctx.save_for_backward(*inputs, output)  # the output is enough
# ctx.save_for_backward(output) -> pass  # saves nothing
# def forward(x): -> def forward(ctx, x):  # in the separate form it receives no ctx
# def setup_context(ctx, inputs, output): -> def setup(ctx, inputs, output):  # has no setup_context
# return np.tanh(x) -> np.tanh(x)  # forward returns None
# return np.tanh(x) -> return np.tan(x)  # forward(x) is
# return g * (1 - out * out) -> g * (1 - out * out)  # backward returns None
# return g * (1 - out * out) -> return g * (1 - out * out), None  # backward returns 2 gradients, expected one
# return g * (1 - out * out) -> return [g * (1 - out * out)]  # expected an array of the shape [3], that of x
# return np.tanh(x) -> raise TypeError("no")  # raises TypeError: no

# %% wrong Polar: the distance is missing or has the wrong power
# -         return g_distance * x / r - g_angle * y / r**2, g_distance * y / r + g_angle * x / r**2
# +         return g_distance * x / r - g_angle * y / r, g_distance * y / r + g_angle * x / r

# %% wrong Polar: the distance is missing or has the wrong power
# -         return g_distance * x / r - g_angle * y / r**2, g_distance * y / r + g_angle * x / r**2
# +         return g_distance * x - g_angle * y / r**2, g_distance * y + g_angle * x / r**2

# %% changes Polar
# return g_distance * x / r - g_angle * y / r**2 -> to_x = g_distance * x / r - g_angle * y / r**2; return to_x  # right
# r - g_angle * y / r, g_distance * y / r + g_angle * x -> r, g_distance * y  # this result contributes nothing
# return g_distance * x / r - g_angle * y / r**2, g_distance * y / r + g_angle * x / r**2
#   -> return -g_angle * y / r**2, g_angle * x / r**2  # this result contributes nothing
# return g_distance * x / r - g_angle * y / r**2, g_distance * y / r + g_angle * x / r**2
#   -> return g_distance * y / r + g_angle * x / r**2, g_distance * x / r - g_angle * y / r**2  # x and y are swapped
# r - g_angle -> r + g_angle  # its sign is wrong
# g_distance * x / r - g_angle * y / r**2, g_distance * y -> x / r - g_angle * y / r**2, y  # for the distance alone is
# return distance, np.arctan2(y, x) -> return distance, np.arctan2(x, y)  # y comes first
# return distance, np.arctan2(y, x) -> return np.arctan2(y, x), distance  # the distance comes first
# return distance, np.arctan2(y, x) -> return distance  # expected a tuple of two
# distance = np.sqrt(x * x + y * y) -> distance = x * x + y * y  # the distance is
# 2, g_distance * y / r + g_angle * x / r**2 -> 2  # is None
# def backward(ctx, g_distance, g_angle): -> def backward(ctx, g_distance):  # the arguments do not fit
