# %% wrong loop_source: expected the text
def loop_source(names, formula):
    return lambda *arrays: None


# %% wrong loop_source: is not Python
def loop_source(names, formula):
    arrays = ", ".join(f"{name}_" for name in names)
    reads = "".join(f"      {name} = {name}_[i]\n" for name in names)
    return f"def loop({arrays}, result_):\n    for i in range(result_.size):\n{reads}        result_[i] = {formula}\n"


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
def loop_source(names, formula):
    arrays = ", ".join(f"{name}_" for name in names)
    reads = "".join(f"        {name} = {name}_[i]\n" for name in names)
    return f"def loop({arrays}, result_):\n    for i in range(1, result_.size):\n{reads}        result_[i] = {formula}\n"


# %% wrong loop_source: the first at 4
def loop_source(names, formula):
    arrays = ", ".join(f"{name}_" for name in names)
    reads = "".join(f"        {name} = {name}_[i]\n" for name in names)
    return f"def loop({arrays}, result_):\n    for i in range(result_.size - 1):\n{reads}        result_[i] = {formula}\n"


# %% wrong loop_source: for the formula 'x * x + 1'
def loop_source(names, formula):
    arrays = ", ".join(f"{name}_" for name in names)
    reads = "".join(f"        {name} = {name}_[0]\n" for name in names)
    return f"def loop({arrays}, result_):\n    for i in range(result_.size):\n{reads}        result_[i] = {formula}\n"


# %% wrong loop_source: NameError: name 'y'
def loop_source(names, formula):
    arrays = ", ".join(f"{name}_" for name in names)
    reads = f"        {names[0]} = {names[0]}_[i]\n"
    return f"def loop({arrays}, result_):\n    for i in range(result_.size):\n{reads}        result_[i] = {formula}\n"


# %% wrong loop_source: for the formula
def loop_source(names, formula):
    arrays = ", ".join(f"{name}_" for name in names)
    reads = "".join(f"        {name} = {name}_[i]\n" for name in names)
    return f"def loop({arrays}, result_):\n    for i in range(result_.size):\n{reads}        result_[i] = 2 * ({formula})\n"


# %% wrong loop_source: writes into an argument
def loop_source(names, formula):
    arrays = ", ".join(f"{name}_" for name in names)
    reads = "".join(f"        {name} = {name}_[i]\n" for name in names)
    last = f"        result_[i] = {names[0]}_[i] = {formula}\n"
    return f"def loop({arrays}, result_):\n    for i in range(result_.size):\n{reads}{last}"


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


# %% wrong run_loop: returns None
# -     return out
# +     return


# %% wrong run_loop: it needs flat arrays
def run_loop(loop, *arrays):
    arrays = np.broadcast_arrays(*arrays)
    out = np.empty(arrays[0].shape)
    loop(*arrays, out)
    return out


# %% wrong run_loop: broadcast the arrays first
def run_loop(loop, *arrays):
    out = np.empty(np.broadcast_shapes(*[a.shape for a in arrays]))
    loop(*[a.reshape(-1) for a in arrays], out.reshape(-1))
    return out


# %% wrong run_loop: has the shape [6], expected [2, 3]
def run_loop(loop, *arrays):
    arrays = np.broadcast_arrays(*arrays)
    out = np.empty(arrays[0].size)
    loop(*[a.reshape(-1) for a in arrays], out)
    return out


# %% wrong run_loop: for a transposed matrix
def run_loop(loop, *arrays):
    arrays = np.broadcast_arrays(*arrays)
    out = np.empty(arrays[0].shape)
    loop(*[a.ravel(order="K") for a in arrays], out.reshape(-1))
    return out


# %% wrong run_loop: an argument has changed
def run_loop(loop, *arrays):
    out = arrays[0].reshape(arrays[0].shape)
    loop(*[np.array(a).reshape(-1) for a in arrays], out.reshape(-1))
    return out


# %% wrong run_loop: the result for two matrices
def run_loop(loop, *arrays):
    arrays = np.broadcast_arrays(*arrays)
    out = np.zeros(arrays[0].shape)
    loop(*[np.ascontiguousarray(a).reshape(-1) for a in arrays], out.reshape(-1).copy())
    return out


# %% wrong run_loop: the result for two matrices
def run_loop(loop, *arrays):
    arrays = np.broadcast_arrays(*arrays)
    out = np.empty(arrays[0].shape)
    loop(*[np.ascontiguousarray(a).reshape(-1) for a in reversed(arrays)], out.reshape(-1))
    return out


# %% wrong run_loop: the result for two matrices
def run_loop(loop, *arrays):
    arrays = np.broadcast_arrays(*arrays)
    out = np.empty(arrays[0].shape, dtype=int)
    loop(*[np.ascontiguousarray(a).reshape(-1) for a in arrays], out.reshape(-1))
    return out


# %% wrong run_loop: numbers: broadcast the arrays first
def run_loop(loop, *arrays):
    out = np.empty(arrays[0].shape)
    loop(*[np.ascontiguousarray(a).reshape(-1) for a in arrays], out.reshape(-1))
    return out


# %% wrong run_loop: has the shape [1], expected []
def run_loop(loop, *arrays):
    arrays = [np.atleast_1d(a) for a in np.broadcast_arrays(*arrays)]
    out = np.empty(arrays[0].shape)
    loop(*[np.ascontiguousarray(a).reshape(-1) for a in arrays], out.reshape(-1))
    return out


# %% right run_loop
def run_loop(loop, *arrays):
    shape = np.broadcast_shapes(*[np.shape(a) for a in arrays])
    out = np.empty(int(np.prod(shape)))
    loop(*[np.broadcast_to(a, shape).flatten() for a in arrays], out)
    return out.reshape(shape)


# %% wrong pointwise: expected a subclass of Function
# -     return type(name, (Function,), {"forward": staticmethod(forward), "backward": staticmethod(backward)})
# +     return forward


# %% wrong pointwise: expected Silu
# -     return type(name, (Function,), {"forward": staticmethod(forward), "backward": staticmethod(backward)})
# +     return type("Pointwise", (Function,), {"forward": staticmethod(forward), "backward": staticmethod(backward)})


# %% wrong pointwise: ignores the incoming gradient
# -     loops = [compiled(loop_source([*derivatives, "out", "g"], f"g * ({d})")) for d in derivatives.values()]
# +     loops = [compiled(loop_source([*derivatives, "out", "g"], f"{d}")) for d in derivatives.values()]


# %% wrong pointwise: the gradient of argument 0
# -     loops = [compiled(loop_source([*derivatives, "out", "g"], f"g * ({d})")) for d in derivatives.values()]
# +     loops = [compiled(loop_source([*derivatives, "out", "g"], f"g * {d}")) for d in derivatives.values()]


# %% wrong pointwise: has the wrong sign
# -     loops = [compiled(loop_source([*derivatives, "out", "g"], f"g * ({d})")) for d in derivatives.values()]
# +     loops = [compiled(loop_source([*derivatives, "out", "g"], f"-g * ({d})")) for d in derivatives.values()]


# %% wrong pointwise: they are swapped
# -     return type(name, (Function,), {"forward": staticmethod(forward), "backward": staticmethod(backward)})
# +     back = staticmethod(lambda ctx, g: backward(ctx, g)[::-1])
# +     return type(name, (Function,), {"forward": staticmethod(forward), "backward": back})


# %% wrong pointwise: the gradient of argument 0 is
# -     loops = [compiled(loop_source([*derivatives, "out", "g"], f"g * ({d})")) for d in derivatives.values()]
# +     loops = [compiled(loop_source([*derivatives, "out", "g"], f"g * ({d})")) for d in reversed(derivatives.values())]


# %% wrong pointwise: the result is
# -     forward_loop = compiled(loop_source([*derivatives], formula))
# +     forward_loop = compiled(loop_source([*derivatives], f"-({formula})"))


# %% wrong pointwise: NameError
# -     loops = [compiled(loop_source([*derivatives, "out", "g"], f"g * ({d})")) for d in derivatives.values()]
# +     loops = [compiled(loop_source([*derivatives, "g"], f"g * ({d})")) for d in derivatives.values()]
# -         ctx.save_for_backward(*arrays, out)
# +         ctx.save_for_backward(*arrays)


# %% wrong pointwise: the gradient of argument 0
# -         ctx.save_for_backward(*arrays, out)
# +         ctx.save_for_backward(out, *arrays)


# %% wrong pointwise: the gradient of argument
# -         return tuple(run_loop(loop, *ctx.saved_tensors, g) for loop in loops)
# +         return tuple(run_loop(loop, *ctx.saved_tensors, 2 * g) for loop in loops)


# %% wrong pointwise: the result has the shape []
# -         return out
# +         pass


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


# %% wrong CrossEntropy: take the mean
# -         return -logs[rows, classes].mean()
# +         return -logs[rows, classes].sum()


# %% wrong CrossEntropy: its sign is wrong
# -         return -logs[rows, classes].mean()
# +         return logs[rows, classes].mean()


# %% wrong CrossEntropy: the logarithm of the sum of exp is missing
# -         return -logs[rows, classes].mean()
# +         return -scores[rows, classes].mean()


# %% wrong CrossEntropy: the logarithm is missing
# -         return -logs[rows, classes].mean()
# +         return -np.exp(logs)[rows, classes].mean()


# %% wrong CrossEntropy: only the right class
# -         return -logs[rows, classes].mean()
# +         return -logs.mean()


# %% wrong CrossEntropy: exp overflows
# -         shifted = scores - scores.max(axis=1, keepdims=True)
# +         shifted = scores


# %% wrong CrossEntropy: not divided by the number of rows
# -         return g * to_scores / len(classes), None
# +         return g * to_scores, None


# %% wrong CrossEntropy: without the incoming gradient
# -         return g * to_scores / len(classes), None
# +         return to_scores / len(classes), None


# %% wrong CrossEntropy: with the wrong sign
# -         return g * to_scores / len(classes), None
# +         return -g * to_scores / len(classes), None


# %% wrong CrossEntropy: without the 1 at the right class
# -         to_scores[np.arange(len(classes)), classes] -= 1
# +         pass


# %% wrong CrossEntropy: the scores get no gradient
# -         return g * to_scores / len(classes), None
# +         return None, None


# %% wrong CrossEntropy: the loss
# -         shifted = scores - scores.max(axis=1, keepdims=True)
# -         logs = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
# +         shifted = scores - scores.max(axis=1, keepdims=True)
# +         logs = 2 * shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))


# %% right CrossEntropy
class CrossEntropy(Function):
    @staticmethod
    def forward(ctx, scores, classes):
        e = np.exp(scores - scores.max(axis=1)[:, None])
        p = e / e.sum(axis=1)[:, None]
        one_hot = np.eye(scores.shape[1])[classes.astype(int)]
        ctx.save_for_backward((p - one_hot) / len(p))
        return -np.log((p * one_hot).sum(axis=1)).mean()

    @staticmethod
    def backward(ctx, g):
        return ctx.saved_tensors[0] * g, None


# %% wrong descend: moved along its gradient
# -             p.value -= rate * p.grad
# +             p.value += rate * p.grad


# %% wrong descend: is still there after the step
# -             p.grad = None
# +             pass


# %% wrong descend: is 0 in shape and numbers
# -             p.grad = None
# +             p.grad = np.zeros_like(p.value)


# %% wrong descend: TypeError
def descend(parameters, rate):
    for p in parameters:
        p.value -= rate * p.grad
        p.grad = None


# %% wrong descend: the rate is missing
# -             p.value -= rate * p.grad
# +             p.value -= p.grad


# %% wrong descend: the gradient is missing
# -             p.value -= rate * p.grad
# +             p.value -= rate


# %% wrong descend: the old value is missing
# -             p.value -= rate * p.grad
# +             p.value = -rate * p.grad


# %% wrong descend: the parameter has not moved
def descend(parameters, rate):
    for p in parameters:
        if p.grad is not None:
            p = Value(p.value - rate * p.grad)


# %% wrong descend: the list has other nodes now
def descend(parameters, rate):
    for i, p in enumerate(parameters):
        if p.grad is not None:
            parameters[i] = Value(p.value - rate * p.grad)


# %% wrong descend: the parameter after a step
# -             p.value -= rate * p.grad
# +             p.value -= rate * np.sign(p.grad)


# %% wrong descend: the parameter after a step
# -             p.value -= rate * p.grad
# +             p.value -= rate * p.grad / p.grad.size


# %% right descend
def descend(parameters, rate):
    for p in parameters:
        if p.grad is None:
            continue
        p.value = p.value - p.grad * rate
        p.grad = None


# %% wrong CrossEntropy: the scores have changed
# -         shifted = scores - scores.max(axis=1, keepdims=True)
# +         scores -= scores.max(axis=1, keepdims=True)
# +         shifted = scores


# %% wrong CrossEntropy: expected a pair
# -         return g * to_scores / len(classes), None
# +         return g * to_scores / len(classes)
