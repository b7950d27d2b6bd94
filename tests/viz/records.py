"""Records written by hand, for tests of the drawings: a small builder and a few programs.

The builder computes nothing clever: values are given, and `backward` and `jvp` state what flows.
"""

import numpy as np


class Builder:
    """Makes a record entry by entry, with ids in program order."""

    def __init__(self, name="program", passes=("forward", "backward", "jvp"), file="/home/ada/net.py"):
        self.file, self.lines = file, []
        self.record = {
            "schema": "minigrad.record/1",
            "program": {"file": file, "name": name, "passes": list(passes)},
            "values": [],
            "ops": [],
            "outputs": [],
            "gradients": {},
        }

    def value(self, array, kind="computed", name="", known=True):
        array = np.asarray(array, dtype=np.float32)
        whole = array.size <= 16
        summary = (
            {"values": array.tolist()}
            if whole
            else {
                "min": float(array.min()),
                "max": float(array.max()),
                "mean": float(array.mean()),
                "std": float(array.std()),
                "nan": int(np.isnan(array).sum()),
                "inf": int(np.isinf(array).sum()),
                "histogram": {"edges": [], "counts": []},
            }
        )
        entry = {
            "id": len(self.record["values"]),
            "name": name,
            "label": name if name.isidentifier() else f"v{len(self.record['values'])}",
            "shown": name if "." in name else "",
            "kind": kind,
            "shape": list(array.shape),
            "dtype": "float32",
            "device": "cpu",
            "bytes": array.nbytes,
            "summary": summary if known else {},
        }
        self.record["values"].append(entry)
        return entry["id"]

    def op(self, name, inputs, outputs, code, call="", saved=(), **more):
        self.lines += [code] if self.lines[-1:] != [code] else []
        entry = {
            "id": len(self.record["ops"]),
            "phase": "forward",
            "name": name,
            "formula": name,
            "call": call,
            "layer": [],
            "inputs": list(inputs),
            "outputs": list(outputs),
            "of": None,
            "inplace": False,
            "where": {"file": self.file, "line": len(self.lines), "code": code},
            "function": None,
            "saved": [{"value": v, "bytes": self.record["values"][v]["bytes"], "freed_by": 0} for v in saved],
            "edges": [],
            "tangents": {},
            "pushes": [],
            **more,
        }
        self.record["ops"].append(entry)
        return entry["id"]

    def flow(self, op, value, formula, upstream, gives):
        self.record["ops"][op]["edges"].append(
            {"input": value, "partial": "", "formula": formula, "upstream": upstream, "gives": gives}
        )

    def push(self, op, formula):
        (output,) = self.record["ops"][op]["outputs"]
        self.record["ops"][op]["pushes"].append({"output": output, "formula": formula, "latex": ""})

    def tangent(self, op, value, tangent):
        self.record["ops"][op]["tangents"][str(value)] = tangent


def two_uses(w=0.5, x=2.0, b=-0.3):
    """y = tanh(w*x + b) * w, all passes: w gets two contributions."""
    r = Builder("two_uses")
    s = w * x + b
    t = np.tanh(s)
    W, X, B = r.value(w, "parameter", "w"), r.value(x, "input", "x"), r.value(b, "parameter", "b")
    m, a, h, y = r.value(w * x), r.value(s), r.value(t, name="h"), r.value(t * w, name="y")
    ops = [
        r.op("mul", [W, X], [m], "h = tanh(w*x + b)", "w * x", [W, X]),
        r.op("add", [m, B], [a], "h = tanh(w*x + b)", "v3 + b"),
        r.op("tanh", [a], [h], "h = tanh(w*x + b)", "tanh(v4)", [h]),
        r.op("mul", [h, W], [y], "y = h * w", "h * w", [h, W]),
    ]
    one, gh, gw1 = r.value(1.0, "gradient"), r.value(w, "gradient"), r.value(t, "gradient")
    gs = r.value(w * (1 - t * t), "gradient")
    gw2, gx = r.value(w * (1 - t * t) * x, "gradient"), r.value(w * (1 - t * t) * w, "gradient")
    gw = r.value(t + w * (1 - t * t) * x, "gradient")
    r.flow(ops[3], h, "g * w", one, gh)
    r.flow(ops[3], W, "g * h", one, gw1)
    r.flow(ops[2], a, "g * (1 - h ** 2)", gh, gs)
    r.flow(ops[1], m, "g", gs, gs)
    r.flow(ops[1], B, "g", gs, gs)
    r.flow(ops[0], W, "g * x", gs, gw2)
    r.flow(ops[0], X, "g * w", gs, gx)
    r.record["outputs"] = [y]
    r.record["gradients"] = {str(k): v for k, v in {W: gw, X: gx, B: gs, m: gs, a: gs, h: gh, y: one}.items()}
    dw, dx, db = (r.value(v, "tangent") for v in (1.0, 0.0, 0.0))
    dm, da, dh = r.value(x, "tangent"), r.value(x, "tangent"), r.value((1 - t * t) * x, "tangent")
    dy = r.value((1 - t * t) * x * w + t, "tangent")
    for op, pairs in zip(
        ops, ([(W, dw), (X, dx), (m, dm)], [(m, dm), (B, db), (a, da)], [(a, da), (h, dh)], [(h, dh), (W, dw), (y, dy)])
    ):
        for value, tangent in pairs:
            r.tangent(op, value, tangent)
    for op, formula in zip(ops, ("dw * x + w * dx", "dv3 + db", "dv4 * (1 - h ** 2)", "dh * w + h * dw")):
        r.push(op, formula)
    return r.record


def mlp(batch=32, sizes=(64, 32, 10), seed=0):
    """Return a two-layer network and its loss, forward and backward, with a custom Function as the activation."""
    random = np.random.default_rng(seed)
    r = Builder("step", passes=("forward", "backward"), file="/home/ada/train_digits.py")
    array = lambda *shape: random.normal(size=shape)
    x = r.value(array(batch, sizes[0]), "input", "images")
    labels = r.value(random.integers(0, 10, batch), "input", "labels")
    W1, b1 = (
        r.value(array(sizes[1], sizes[0]), "parameter", "hidden.weight"),
        r.value(array(sizes[1]), "parameter", "hidden.bias"),
    )
    W2, b2 = (
        r.value(array(sizes[2], sizes[1]), "parameter", "out.weight"),
        r.value(array(sizes[2]), "parameter", "out.bias"),
    )
    h, a = r.value(array(batch, sizes[1])), r.value(array(batch, sizes[1]), name="hidden")
    z, loss = r.value(array(batch, sizes[2]), name="logits"), r.value(0.3127, name="loss")
    l1 = r.op(
        "linear",
        [x, W1, b1],
        [h],
        "hidden = Softclip.apply(self.hidden(images))",
        "linear(images, v2, bias=v3)",
        [x, W1],
    )
    act = r.op(
        "Softclip",
        [h],
        [a],
        "hidden = Softclip.apply(self.hidden(images))",
        "Softclip.apply(v6)",
        [h],
        function="Softclip",
    )
    l2 = r.op("linear", [a, W2, b2], [z], "logits = self.out(hidden)", "linear(hidden, v4, bias=v5)", [a, W2])
    ce = r.op(
        "cross_entropy",
        [z, labels],
        [loss],
        "loss = F.cross_entropy(logits, labels)",
        "cross_entropy(logits, labels)",
        [z, labels],
    )
    one = r.value(1.0, "gradient")
    g = {v: r.value(array(*r.record["values"][v]["shape"]) * 1e-3, "gradient") for v in (z, a, W2, b2, h, W1, b1)}
    r.flow(ce, z, "g * (softmax(logits, dim=1) - one_hot(labels, 10)) / 32", one, g[z])
    for op, up, inputs in ((l2, z, (a, W2, b2)), (l1, h, (None, W1, b1))):
        for v, rule in zip(inputs, (f"g @ v{inputs[1]}", "g.T @ hidden" if op == l2 else "g.T @ images", "g.sum(0)")):
            if v is not None:
                r.flow(op, v, rule, g[up], g[v])
    r.flow(act, h, "Softclip.backward(g)", g[a], g[h])
    r.record["outputs"], r.record["gradients"] = [loss], {str(k): v for k, v in g.items()}
    return r.record


def odd():
    """Return a record with an in-place operation, constants, an empty tensor, NaN, an unknown value, stacked layers."""
    r = Builder("odd", passes=("forward",))
    x, e = r.value([1.0, float("nan"), float("inf")], "parameter", "x"), r.value(np.zeros((0, 3)), "input", "nothing")
    y, z, p, q, s, u = (
        r.value([1.0, 2.0, 3.0]),
        r.value([1.0, 2.0, 3.0]),
        r.value([[1.0, 2.0], [3.0, 4.0]], name="left"),
        r.value(2.0, name="right"),
        r.value(0.0),
        r.value(np.zeros(100), known=False),
    )
    r.op("pow", [x, {"const": 2.0}], [y], "y = x ** 2.0", "x ** 2.0")
    r.op("add_", [y, {"const": 1}], [z], "y += 1", "v2.add_(1)", inplace=True, layer=["vmap", "grad"])
    r.op("Split", [z], [p, q], "left, right = Split.apply(y)", "Split.apply(v3)", function="Split")
    r.op("sum", [e], [s], "s = nothing.sum()", "nothing.sum()")
    r.op("mystery", [p, q, s, z, z, x], [u], "u = mystery(left, right, s, y, y, x)")
    r.record["outputs"] = [u]
    return r.record


def recurrent(steps=30, weights=8, seed=0):
    """Return a chain whose operations share a few parameters, as an RNN's do."""
    random = np.random.default_rng(seed)
    r = Builder("recurrent", passes=("forward",))
    shared = [r.value(random.normal(size=(16, 16)), "parameter", f"W{i}") for i in range(weights)]
    h = [r.value(np.zeros(16), "input", "h0")]
    for step in range(steps):
        other = shared[step % weights] if random.random() < 0.5 else h[max(0, len(h) - 1 - random.integers(0, 20))]
        h.append(r.value(random.normal(size=16)))
        r.op("matmul", [h[-2], other], [h[-1]], "h = h @ W", f"v{h[-2]} @ v{other}")
    r.record["outputs"] = [h[-1]]
    return r.record
