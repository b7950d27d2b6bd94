# %% wrong loop_source: has the arguments
def loop_source(names, formula):
    reads = "".join(f"        {name} = {name}_[i]\n" for name in names)
    return f"def loop({', '.join(names)}, result_):\n    for i in range(result_.size):\n{reads}        result_[i] = {formula}\n"

# %% wrong loop_source: defines no function `loop`
def loop_source(names, formula):
    arrays = ", ".join(f"{name}_" for name in names)
    reads = "".join(f"        {name} = {name}_[i]\n" for name in names)
    return f"def kernel({arrays}, result_):\n    for i in range(result_.size):\n{reads}        result_[i] = {formula}\n"

# %% wrong loop_source: leaves numbers of result_ unwritten, the first at 0
# -     return f"def kernel({arrays}, result_):\n    for i in range(result_.size):\n{reads}        result_[i] = {formula}\n"
# +     return f"def loop({arrays}, result_):\n    for i in range(1, result_.size):\n{reads}        result_[i] = {formula}\n"

# %% wrong loop_source: the first at 4
# -     return f"def kernel({arrays}, result_):\n    for i in range(result_.size):\n{reads}        result_[i] = {formula}\n"
# +     return f"def loop({arrays}, result_):\n    for i in range(result_.size - 1):\n{reads}        result_[i] = {formula}\n"

# %% wrong loop_source: for the formula
# -     return f"def kernel({arrays}, result_):\n    for i in range(result_.size):\n{reads}        result_[i] = {formula}\n"
# +     return f"def loop({arrays}, result_):\n    for i in range(result_.size):\n{reads}        result_[i] = 2 * ({formula})\n"

# %% wrong loop_source: writes into an argument
# -     return f"def kernel({arrays}, result_):\n    for i in range(result_.size):\n{reads}        result_[i] = {formula}\n"
# +     last = f"        result_[i] = {names[0]}_[i] = {formula}\n"
# +     return f"def loop({arrays}, result_):\n    for i in range(result_.size):\n{reads}{last}"

# %% wrong loop_source: for the formula 'x - 2 * y'
def loop_source(names, formula):
    arrays = ", ".join(f"{name}_" for name in names)
    reads = "".join(f"        {name} = {other}_[i]\n" for name, other in zip(names, reversed(names)))
    return f"def loop({arrays}, result_):\n    for i in range(result_.size):\n{reads}        result_[i] = {formula}\n"

# %% right loop_source
def loop_source(names, formula):
    lines = [f"def loop({', '.join(n + '_' for n in names)}, result_):", "  for i in range(len(result_)):"]
    lines += [f"    {n} = {n}_[i]" for n in names] + [f"    result_[i] = ({formula})", ""]
    return "\n".join(lines)

# %% values loop_source
lambda names, formula: lambda *arrays: None  # expected the text

# %% changes loop_source
# "        {name} = {name}_[i]\n" -> "      {name} = {name}_[i]\n"  # is not Python
# "        {name} = {name}_[i]\n" -> "        {name} = {name}_[0]\n"  # for the formula 'x * x + 1'
# reads = "".join(f"        {name} = {name}_[i]\n" for name in names)
#   -> reads = f"        {names[0]} = {names[0]}_[i]\n"  # NameError: name 'y'

# %% right run_loop
def run_loop(loop, *arrays):
    shape = np.broadcast_shapes(*[np.shape(a) for a in arrays])
    out = np.empty(int(np.prod(shape)))
    loop(*[np.broadcast_to(a, shape).flatten() for a in arrays], out)
    return out.reshape(shape)

# %% changes run_loop
# return out -> return  # returns None
# [np.ascontiguousarray(array).reshape(-1) for array in arrays], out.reshape(-1) -> arrays, out  # it needs flat arrays
# drop arrays = np.broadcast_arrays(*arrays)
#   out = np.empty(arrays[0].shape) -> out = np.empty(np.broadcast_shapes(*[a.shape for a in arrays]))
#   loop(*[np.ascontiguousarray(array).reshape(-1) for array in arrays], out.reshape(-1))
#   -> loop(*[a.reshape(-1) for a in arrays], out.reshape(-1))  # broadcast the arrays first
# out = np.empty(arrays[0].shape) -> out = np.empty(arrays[0].size)
#   loop(*[np.ascontiguousarray(array).reshape(-1) for array in arrays], out.reshape(-1))
#   -> loop(*[a.reshape(-1) for a in arrays], out)  # has the shape [6], expected [2, 3]
# loop(*[np.ascontiguousarray(array).reshape(-1) for array in arrays], out.reshape(-1))
#   -> loop(*[a.ravel(order="K") for a in arrays], out.reshape(-1))  # for a transposed matrix
# drop arrays = np.broadcast_arrays(*arrays)
#   out = np.empty(arrays[0].shape) -> out = arrays[0].reshape(arrays[0].shape)
#   loop(*[np.ascontiguousarray(array).reshape(-1) for array in arrays], out.reshape(-1))
#   -> loop(*[np.array(a).reshape(-1) for a in arrays], out.reshape(-1))  # an argument has changed
# out = np.empty(arrays[0].shape) -> out = np.zeros(arrays[0].shape)
#   loop(*[np.ascontiguousarray(array).reshape(-1) for array in arrays], out.reshape(-1))
#   -> loop(*[np.ascontiguousarray(a).reshape(-1) for a in arrays], out.reshape(-1).copy())  # the result for two matrices
# loop(*[np.ascontiguousarray(array).reshape(-1) for array in arrays], out.reshape(-1))
#   -> loop(*[np.ascontiguousarray(a).reshape(-1) for a in reversed(arrays)], out.reshape(-1))  # the result for two matrices
# out = np.empty(arrays[0].shape) -> out = np.empty(arrays[0].shape, dtype=int)
#   loop(*[np.ascontiguousarray(array).reshape(-1) for array in arrays], out.reshape(-1))
#   -> loop(*[np.ascontiguousarray(a).reshape(-1) for a in arrays], out.reshape(-1))  # the result for two matrices
# drop arrays = np.broadcast_arrays(*arrays)
#   loop(*[np.ascontiguousarray(array).reshape(-1) for array in arrays], out.reshape(-1))
#   -> loop(*[np.ascontiguousarray(a).reshape(-1) for a in arrays], out.reshape(-1))  # numbers: broadcast the arrays first
# arrays = np.broadcast_arrays(*arrays) -> arrays = [np.atleast_1d(a) for a in np.broadcast_arrays(*arrays)]
#   loop(*[np.ascontiguousarray(array).reshape(-1) for array in arrays], out.reshape(-1))
#   -> loop(*[np.ascontiguousarray(a).reshape(-1) for a in arrays], out.reshape(-1))  # has the shape [1], expected []

# %% wrong pointwise: they are swapped
# -     return type(name, (Function,), {"forward": staticmethod(forward), "backward": staticmethod(backward)})
# +     back = staticmethod(lambda ctx, g: backward(ctx, g)[::-1])
# +     return type(name, (Function,), {"forward": staticmethod(forward), "backward": back})

# %% right pointwise
def pointwise(name, formula, **derivatives):
    names = [*derivatives]
    loop = compiled(loop_source(names, formula))
    backs = {n: compiled(loop_source([*names, "out", "g"], f"({d}) * g")) for n, d in derivatives.items()}

    class Made(Function):
        @staticmethod
        def forward(ctx, *arrays):
            ctx.arrays = [*arrays, run_loop(loop, *arrays)]
            return ctx.arrays[-1]

        @staticmethod
        def backward(ctx, g):
            return tuple([run_loop(backs[n], *ctx.arrays, g) for n in names])

    Made.__name__ = name
    return Made

# %% changes pointwise
# run_loop(forward_loop, *arrays) -> run_loop(compiled(loop_source([*derivatives], formula)), *arrays)  # at each call
# return type(name, (Function,), {"forward": staticmethod(forward), "backward": staticmethod(backward)})
#   -> return forward  # expected a subclass of Function
# name, (Function,) -> "Pointwise", (Function,)  # expected Silu
# "g * ({d})" -> "{d}"  # ignores the incoming gradient
# "g * ({d})" -> "g * {d}"  # the gradient of argument 0
# "g * ({d})" -> "-g * ({d})"  # has the wrong sign
# derivatives.values() -> reversed(derivatives.values())  # the gradient of argument 0 is
# [*derivatives], formula -> [*derivatives], f"-({formula})"  # the result is
# "out", "g" -> "g"
#   ctx.save_for_backward(*arrays, out) -> ctx.save_for_backward(*arrays)  # NameError
# ctx.save_for_backward(*arrays, out) -> ctx.save_for_backward(out, *arrays)  # the gradient of argument 0
# ctx.saved_tensors, g -> ctx.saved_tensors, 2 * g  # the gradient of argument
# return out -> pass  # the result has the shape []

# %% right CrossEntropy
class CrossEntropy(Function):
    @staticmethod
    def forward(ctx, scores, classes):
        shifted = scores - scores.max(axis=1)[:, None]
        e = np.exp(shifted)
        p = e / e.sum(axis=1)[:, None]
        one_hot = np.eye(scores.shape[1])[classes.astype(int)]
        ctx.save_for_backward((p - one_hot) / len(p))
        return (np.log(e.sum(axis=1)) - (shifted * one_hot).sum(axis=1)).mean()

    @staticmethod
    def backward(ctx, g):
        return ctx.saved_tensors[0] * g, None

# %% changes CrossEntropy
# logs = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
#   -> logs = np.log(np.exp(shifted) / np.exp(shifted).sum(axis=1, keepdims=True))  # is rounded to 0
# return -logs[rows, classes].mean() -> return -logs[rows, classes].sum()  # take the mean
# return -logs[rows, classes].mean() -> return logs[rows, classes].mean()  # its sign is wrong
# return -logs -> return -scores  # the logarithm of the sum of exp is missing
# return -logs[rows, classes].mean() -> return -np.exp(logs)[rows, classes].mean()  # the logarithm is missing
# return -logs[rows, classes].mean() -> return -logs.mean()  # only the right class
# shifted = scores - scores.max(axis=1, keepdims=True) -> shifted = scores  # exp overflows
# return g * to_scores / len(classes), None -> return g * to_scores, None  # not divided by the number of rows
# return g * to_scores / len(classes), None -> return to_scores / len(classes), None  # without the incoming gradient
# return g * to_scores / len(classes), None -> return -g * to_scores / len(classes), None  # with the wrong sign
# to_scores[np.arange(len(classes)), classes] -= 1 -> pass  # without the 1 at the right class
# return g * to_scores / len(classes), None -> return None, None  # the scores get no gradient
# shifted - np -> 2 * shifted - np  # the loss
# shifted = scores - scores.max(axis=1, keepdims=True)
#   -> scores -= scores.max(axis=1, keepdims=True); shifted = scores  # the scores have changed
# return g * to_scores / len(classes), None -> return g * to_scores / len(classes)  # expected a pair

# %% wrong descend: TypeError
def descend(parameters, rate):
    for p in parameters:
        p.value -= rate * p.grad
        p.grad = None

# %% right descend
# -         p.value -= rate * p.grad
# +         if p.grad is None:
# +             continue
# +         p.value = p.value - p.grad * rate

# %% wrong descend: go on to the next one
def descend(parameters, rate):
    for p in parameters:
        if p.grad is None:
            return
        p.value -= rate * p.grad
        p.grad = None

# %% changes descend
# p.value -= rate * p.grad -> p.value += rate * p.grad  # moved along its gradient
# p.grad = None -> pass  # is still there after the step
# p.grad = None -> p.grad = np.zeros_like(p.value)  # is 0 in shape and numbers
# p.value -= rate * p.grad -> p.value -= p.grad  # the rate is missing
# p.value -= rate * p.grad -> p.value -= rate  # the gradient is missing
# p.value -= rate * p.grad -> p.value = -rate * p.grad  # the old value is missing
# drop p.value -= rate * p.grad
#   p.grad = None -> p = Value(p.value - rate * p.grad)  # the parameter has not moved
# for p in parameters: -> for i, p in enumerate(parameters):
#   drop p.value -= rate * p.grad
#   p.grad = None -> parameters[i] = Value(p.value - rate * p.grad)  # the list has other nodes now
# p.value -= rate * p.grad -> p.value -= rate * np.sign(p.grad)  # the parameter after a step
# p.value -= rate * p.grad -> p.value -= rate * p.grad / p.grad.size  # the parameter after a step
