# %% loop_source
def loop_source(names, formula):
    """Return the text of a loop that reads a number of each array and writes a number."""
    arrays = ", ".join(f"{name}_" for name in names)
    reads = "".join(f"        {name} = {name}_[i]\n" for name in names)
    return f"def loop({arrays}, result_):\n    for i in range(result_.size):\n{reads}        result_[i] = {formula}\n"


# %% run_loop
def run_loop(loop, *arrays):
    """Call a loop with flat arrays of one size, and return the result in their broadcast shape."""
    arrays = np.broadcast_arrays(*arrays)
    out = np.empty(arrays[0].shape)
    loop(*[np.ascontiguousarray(array).reshape(-1) for array in arrays], out.reshape(-1))
    return out


# %% pointwise
def pointwise(name, formula, **derivatives):
    """Return a Function from a formula and its derivative with respect to each argument."""
    forward_loop = compiled(loop_source([*derivatives], formula))
    loops = [compiled(loop_source([*derivatives, "out", "g"], f"g * ({d})")) for d in derivatives.values()]

    def forward(ctx, *arrays):
        out = run_loop(forward_loop, *arrays)
        ctx.save_for_backward(*arrays, out)
        return out

    def backward(ctx, g):
        return tuple(run_loop(loop, *ctx.saved_tensors, g) for loop in loops)

    return type(name, (Function,), {"forward": staticmethod(forward), "backward": staticmethod(backward)})


# %% CrossEntropy
class CrossEntropy(Function):
    """The mean of -log(probability of the right class) over the rows of `scores`."""

    @staticmethod
    def forward(ctx, scores, classes):
        rows, classes = np.arange(len(scores)), classes.astype(int)
        shifted = scores - scores.max(axis=1, keepdims=True)
        logs = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
        ctx.save_for_backward(np.exp(logs), classes)
        return -logs[rows, classes].mean()

    @staticmethod
    def backward(ctx, g):
        probabilities, classes = ctx.saved_tensors
        to_scores = probabilities.copy()
        to_scores[np.arange(len(classes)), classes] -= 1
        return g * to_scores / len(classes), None


# %% descend
def descend(parameters, rate):
    """Move each parameter against its gradient, and forget the gradient."""
    for p in parameters:
        if p.grad is not None:
            p.value -= rate * p.grad
            p.grad = None
