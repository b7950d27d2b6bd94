"""Recorded programs to look at, with what the engine says of them."""

import minigrad
from minigrad import tensor
from minigrad.autograd import Function


class Cube(Function):
    @staticmethod
    def forward(x):
        return x * x * x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 3 * x * x * g

    @staticmethod
    def jvp(ctx, t):
        (x,) = ctx.saved_tensors
        return 3 * x * x * t


class MyCube(Function):
    """PyTorch's tutorial."""

    @staticmethod
    def forward(x):
        return x**3, 3 * x**2

    @staticmethod
    def setup_context(ctx, inputs, output):
        (x,) = inputs
        _, dx = output
        ctx.save_for_backward(x, dx)
        ctx.save_for_forward(x)

    @staticmethod
    def backward(ctx, grad_output, grad_dx):
        x, dx = ctx.saved_tensors
        return grad_output * dx + grad_dx * 6 * x

    @staticmethod
    def jvp(ctx, x_t):
        (x,) = ctx.saved_tensors
        return 3 * x**2 * x_t, 6 * x * x_t


def cube(x):
    y, dx = MyCube.apply(x)
    return (y + dx).sum()


def branches(w, x):
    h = minigrad.tanh(w * x)
    u = h * w
    y = u + Cube.apply(h) * x
    return y


def loop(x, w):
    h = x
    for _ in range(3):
        h = minigrad.tanh(h @ w)
    return h.sum()


def recorded(fn, *args, **options):
    return minigrad.record(fn, *args, inside=True, contents=True, **options).to_dict()


def branches_record():
    return recorded(branches, tensor(0.7), tensor(-1.3))


def loop_record():
    minigrad.manual_seed(0)
    return recorded(loop, minigrad.randn(2, 2), minigrad.randn(2, 2))


def chain(n, every=4):
    """Return a record of n operations that share only a long thread, with all passes; made by hand, for its size."""
    values = [value(0, "x", "input")]
    ops, gradients = [], {}
    for i in range(n):
        values.append(value(i + 1))
    for i in range(n):
        ops.append(op(i, [i], [i + 1], "sin", line=i % every + 1))
    upstream = len(values)
    values.append(value(upstream, kind="gradient"))
    for i in reversed(range(n)):
        gives = len(values)
        values.append(value(gives, kind="gradient"))
        ops[i]["edges"] = [{"input": i, "partial": "cos(x)", "upstream": upstream, "gives": gives}]
        gradients[str(i)] = upstream = gives
    gradients[str(n)] = n + 1
    return {
        "schema": "minigrad.record/1",
        "program": {"file": "", "name": "chain", "passes": ["forward", "backward"]},
        "values": values,
        "ops": ops,
        "outputs": [n],
        "gradients": gradients,
    }


def value(number, name="", kind="computed"):
    return {"id": number, "name": name, "kind": kind, "shape": [], "dtype": "float32", "device": "cpu", "bytes": 4,
            "summary": {"values": 0.5}}  # fmt: skip


def op(number, inputs, outputs, name, line=1, **more):
    where = {"file": "/home/ada/chain.py", "line": line, "code": f"h = {name}(h)"}
    return {"id": number, "phase": "forward", "name": name, "formula": f"{name}(x)", "layer": [], "inputs": inputs,
            "outputs": outputs, "of": None, "inplace": False, "where": where, "function": None, "saved": [],
            "edges": [], "tangents": {}, **more}  # fmt: skip
