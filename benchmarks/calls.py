"""Compare the calls that programs make most with PyTorch and with another commit: `make bench-calls COMMIT=HEAD~5`.

    python -m benchmarks.calls                          all calls, beside HEAD, or its parent if minigrad/ is unchanged
    python -m benchmarks.calls REV relu cat             beside another commit, some calls only
    python -m benchmarks.calls --count                  print how many programs use each call, and measure nothing

The calls are those that most of the programs in tests/programs and of the lessons contain.  Each is timed on small, medium and
large tensors: the call alone, tracked, and with the backward of its result.  Ratios below 1 mean that minigrad is quicker.
"""

import argparse
import ast
import re
import statistics
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from . import compare_commits, measure, peers
from .case import Case

ROOT = Path(__file__).parent.parent
CASES = "benchmarks.calls"  # this module, also if it is the main one
PROGRAMS = "tests/programs/scripts/*.py", "lessons/[0-9]*.py"
SHAPES = {4: (2, 2), 1024: (32, 32), 10000: (100, 100)}  # elements -> the shape of x and y
MODES = "forward", "tracked", "backward"
SETTINGS = measure.Settings(rounds=60, seconds=0.002)
OPERATORS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Pow: "**", ast.MatMult: "@"}
LEAVES = "x", "w", "c", "pictures", "kernels"  # the tensors that may require grad
# call -> expression in x, y (matrices), w (a square matrix), c (a row), p (positive), i (row numbers), m (a mask),
# s (a number in a tensor), pictures and kernels; other is a tensor to write into
CALLS = {
    "*": "x * y", "+": "x + y", "-": "x - y", "/": "x / p", "**": "x ** 2", "@": "x @ w", "compare": "x > 0",
    "negative": "-x", "with a number": "x * 2.0", "x[number]": "x[0]", "x[slice]": "x[1:]", "x[tuple]": "x[:, 0]",
    "x[tensor]": "x[i]", "x[mask]": "x[m]", "tensor": "lib.tensor([1.0, 2.0, 3.0])", "item": "s.item()", "float": "x.float()",
    "tolist": "c0.tolist()", "numpy": "y.numpy()", "detach": "x.detach()", "clone": "x.clone()", "sum": "x.sum()",
    "sum of rows": "x.sum(1)", "mean": "x.mean()", "mean of rows": "x.mean(-1, keepdim=True)", "max": "x.max()",
    "max of rows": "x.max(1)[0]", "argmax": "x.argmax(1)", "norm": "x.norm()", "std": "x.std()", "var": "x.var(1)",
    "cumsum": "x.cumsum(0)", "prod": "x.prod()", "all": "m.all()", "any": "m.any()", "exp": "x.exp()", "log": "p.log()",
    "sin": "x.sin()", "cos": "x.cos()", "sqrt": "p.sqrt()", "tanh": "x.tanh()", "abs": "x.abs()", "square": "x.square()",
    "pow": "x.pow(3)", "sigmoid": "x.sigmoid()", "relu": "F.relu(x)", "clamp": "x.clamp(0, 1)", "round": "x.round()",
    "leaky_relu": "F.leaky_relu(x)", "silu": "F.silu(x)", "gelu": "F.gelu(x)", "softmax": "x.softmax(-1)",
    "log_softmax": "F.log_softmax(x, dim=-1)", "cross_entropy": "F.cross_entropy(x, i)", "nll_loss": "F.nll_loss(x, i)",
    "mse_loss": "F.mse_loss(x, y)", "binary_cross_entropy_with_logits": "F.binary_cross_entropy_with_logits(x, m.float())",
    "linear": "F.linear(x, w, c)", "layer_norm": "F.layer_norm(x, x.shape[-1:], c, c)", "embedding": "F.embedding(i, x)",
    "dropout": "F.dropout(x, 0.5)", "conv2d": "F.conv2d(pictures, kernels)", "avg_pool2d": "F.avg_pool2d(pictures, 2)",
    "softplus": "F.softplus(x)", "max_pool2d": "F.max_pool2d(pictures, 2)", "one_hot": "F.one_hot(i, len(c0))",
    "ones": "lib.ones(x.shape)", "zeros": "lib.zeros(x.shape)", "zeros_like": "lib.zeros_like(y)",
    "full": "lib.full((3, 4), 2.0)", "arange": "lib.arange(10)", "linspace": "lib.linspace(0, 1, 10)",
    "randn": "lib.randn(x.shape)", "rand": "lib.rand(x.shape)", "randint": "lib.randint(10, (3, 4))", "eye": "lib.eye(3)",
    "randperm": "lib.randperm(10)", "randn_like": "lib.randn_like(y)", "ones_like": "lib.ones_like(y)",
    "where": "lib.where(m, x, 0.0)", "masked_fill": "x.masked_fill(m, 0.0)", "gather": "x.gather(1, i[:, None])",
    "stack": "lib.stack([x, x, x])", "cat": "lib.cat([x, x])", "split": "x.split(1)", "chunk": "x.chunk(2)",
    "reshape": "x.reshape(-1)", "view": "x.view(-1)", "flatten": "x.flatten()", "unsqueeze": "x.unsqueeze(0)",
    "squeeze": "x.squeeze(0)", "transpose": "x.transpose(0, 1)", "T": "x.T", "movedim": "x.movedim(0, 1)",
    "expand": "x.expand(3, *x.shape)", "flip": "x.flip(0)", "outer": "lib.outer(c, c)", "size": "x.size(0)",
    "shape": "x.shape", "numel": "x.numel()", "sort": "c0.sort()", "argsort": "c0.argsort()",
    "einsum": "lib.einsum('ij,jk->ik', x, w)", "contiguous": "x.contiguous()", "to": "x.to(lib.float64)", "t": "x.t()",
    "isnan": "x.isnan()", "x[number] = number": "other.__setitem__(0, 1.0) or other", "add_": "other.add_(y)",
    "mul_": "other.mul_(0.5)", "copy_": "other.copy_(y)", "allclose": "lib.allclose(y, y)", "equal": "lib.equal(y, y)",
    "isclose": "lib.isclose(y, y)",
}  # fmt: skip
RANDOM = "randn", "rand", "randint", "randperm", "randn_like", "dropout"


# ---------------------------------------------------------------------- counting
def counted() -> Counter:
    """Return how many programs contain each call of an operation, a layer counted as its function."""
    paths = [path for pattern in PROGRAMS for path in sorted(ROOT.glob(pattern))]
    return Counter(name for path in paths for name in set(calls(ast.parse(path.read_text(encoding="utf-8")))))


def calls(tree: ast.AST) -> Iterator[str]:
    """Yield the names of the operations that a program calls."""
    for node in ast.walk(tree):
        if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
            yield OPERATORS[type(node.op)]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and (name := called(node.func.attr)):
            yield name


def called(name: str) -> str | None:
    """Return the operation that a method, a function or a layer of this name stands for.

    >>> called("CrossEntropyLoss"), called("relu"), called("manual_seed")
    ('cross_entropy', 'relu', None)
    """
    from minigrad.ops.base.registry import TABLE  # not above: a contestant imports this file before another minigrad

    words = re.sub("(?<=[a-z])(?=[A-Z])", "_", name).lower()
    return next((n for n in (name, words, name.lower(), words.removesuffix("_loss")) if n in TABLE), None)


# ---------------------------------------------------------------------- the cases
def tensors(lib, n, tracked):
    """Return the names that expressions may use, with x and y of n elements."""
    rows, columns = SHAPES[n]
    lib.manual_seed(0)
    values = numbers(rows, columns)
    found = {name: lib.tensor(value) for name, value in values.items()}
    found |= {"c0": lib.tensor(values["c"]), "m": found["y"] > 0, "other": lib.tensor(values["y"])}
    for name in LEAVES if tracked else ():
        found[name].requires_grad_()
    return found | {"lib": lib, "F": lib.nn.functional}


def numbers(rows, columns):
    """Return the numbers of the tensors, the same for all contestants."""
    random = np.random.default_rng(0)
    normal = lambda *shape: random.standard_normal(shape).astype(np.float32)
    x, w = normal(rows, columns), normal(columns, columns)
    return {"x": x, "y": normal(rows, columns), "w": w, "c": normal(columns), "p": abs(x) + 1,
            "i": random.integers(0, columns, rows), "s": normal(), "pictures": normal(2, 3, 8, 8),
            "kernels": normal(4, 3, 3, 3)}  # fmt: skip


def case(name, n, mode):
    """Return the case of a call on tensors of n elements."""

    def program(lib, compiled):
        scope = tensors(lib, n, mode != "forward")
        run = eval(f"lambda: {CALLS[name]}", scope)
        if mode != "backward":
            return run
        outs = run() if isinstance(run(), (tuple, list)) else (run(),)
        scope["gs"] = [out.detach().cos() for out in outs]
        leaves = [leaf for leaf in LEAVES if re.search(rf"\b{leaf}\b", CALLS[name])]
        text = f"lib.autograd.grad({CALLS[name]}, [{', '.join(leaves)}], gs)"
        return eval(f"lambda: {text}", scope)

    program.__name__, program.__doc__ = f"{name} {n} {mode}", f"{CALLS[name]}, {mode}, on {n} elements."
    return Case(program, (), None, None, False, False, float("inf") if name in RANDOM else 1e-3)


def modes(name):
    """Return the modes of a call: without a derivative it is not tracked."""
    result = eval(CALLS[name], tensors(peers.load("minigrad"), 4, True))
    first = result[0] if isinstance(result, (tuple, list)) and len(result) else result
    return MODES if getattr(first, "requires_grad", False) else MODES[:1]


def named(name):
    """Return the case with this name, such as "relu 1024 tracked"."""
    call, n, mode = name.rsplit(" ", 2)
    return case(call, int(n), mode)


def main():
    """Measure the calls, and print their ratios and the medians."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.calls", description=__doc__.partition("\n")[0])
    parser.add_argument("revision", nargs="?", metavar="REV", help="the other commit")
    parser.add_argument("names", nargs="*", metavar="NAME", help="calls, all by default")
    parser.add_argument("--count", action="store_true", help="print how many programs use each call")
    parser.add_argument("--quick", action="store_true", help="few rounds: only check that it runs")
    options = parser.parse_args()
    if options.count:
        for name, n in counted().most_common(100):
            print(f"{n:4} {name}{'' if name in CALLS else '   not measured'}")
        return 0
    if unknown := [name for name in options.names if name not in CALLS]:
        parser.error(f"unknown call {', '.join(unknown)}; choose from {', '.join(CALLS)}")
    wanted = [f"{name} {n} {mode}" for name in options.names or CALLS for n in SHAPES for mode in modes(name)]
    settings = measure.QUICK if options.quick else SETTINGS
    only = "ours", "before", "torch"
    with compare_commits.beside(parser, options.revision, settings, only, CASES) as (_, pipes):
        rows = [compare_commits.row(name, pipes, settings, named(name).tolerance) for name in wanted]
    for mode in MODES:
        ratios = [r for row in rows if row["name"].endswith(mode) and (r := row["ratios"]["ours/torch"]) is not None]
        if ratios:
            above = sum(r > 1.2 for r in ratios)
            print(f"{mode}: median {statistics.median(ratios):.2f}, {above} of {len(ratios)} above 1.2")
    return any("ours" in row["failures"] for row in rows)


if __name__ == "__main__":
    sys.exit(main())
