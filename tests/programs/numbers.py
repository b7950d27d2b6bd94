"""`python -m tests.programs.numbers torch PROGRAM float32`: run a public program such that its numbers can be compared.

It runs in PyTorch, or in minigrad, with the same random numbers, until backward or grad has been called a few times. Besides
what the program prints, it prints the loss of each of these calls and, at the end, sums over the weights and tensors that
the program has. PyTorch gets minigrad's part of torchvision. The clock counts how often it is read. courses.py runs a
program in both libraries, and `difference` compares what they print.
"""

import ast
import itertools
import math
import random
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

import minigrad
from minigrad.compat.torch_modules import IN_OTHER_PACKAGES
from viz.programs.run_program import Program

from . import NUMBER, in_minigrad, in_torch

LIMITS = {
    "float32": 8,
    "float64": 4,
}  # calls of backward or grad; unstable training enlarges any rounding in more steps
APART = 1e-3  # the relative difference that rounding may make in so many steps
SMALL = 1e-4  # differences of smaller numbers are relative to this
NOISE = re.compile(r"0x[0-9a-f]+|\b\d{14,}\b|<[^<>]*>|[\w./-]*/tmp\S*")  # addresses, objects and places
SAME, NONE = "same", "prints none"


def run(library: str, program: str, dtype: str) -> None:
    """Run a program as `minigrad run` does, with a default dtype, and print its numbers; the process has to end then."""
    random.seed(0)
    np.random.seed(0)
    with {"minigrad": in_minigrad, "torch": in_torch}[library]():
        if library == "torch":
            vision_on_torch()
        import torch

        torch.set_default_dtype(getattr(torch, dtype))
        if dtype == "float64":
            torch.FloatTensor = torch.DoubleTensor
        torch.manual_seed(0)
        count = itertools.count(1)
        torch.Tensor.backward = told(torch.Tensor.backward, count, LIMITS[dtype])
        torch.autograd.grad = told(torch.autograd.grad, count, LIMITS[dtype])
        clock = itertools.count(1)
        time.time = time.perf_counter = time.process_time = lambda: float(next(clock))
        made = Program.read(program)
        made.cells = [(name, shown(text)) for name, text in made.cells]
        try:
            made.execute()
        except SystemExit as ended:
            if ended.code not in (None, 0):
                raise
        for name, value in sorted(made.names.items()):
            tell(name, value)


def told(backward: Callable, count: itertools.count, limit: int) -> Callable:
    """Return backward or grad such that it prints its loss, and ends the program at the last call."""

    def call(outputs: Any, *args: Any, **keywords: Any) -> Any:
        n = next(count)
        for output in outputs if isinstance(outputs, (tuple, list)) else [outputs]:
            print(f"backward {n}: {total(output)}", flush=True)
        return sys.exit() if n == limit else backward(outputs, *args, **keywords)

    return call


def total(tensor: Any) -> str:
    """Return the sum of a tensor's absolute values."""
    return f"{float(tensor.detach().double().abs().sum()):.7g}"


def tell(name: str, value: Any) -> None:
    """Print sums over a value that a program has: a number, a tensor, or a module."""
    import torch

    if isinstance(value, torch.Tensor) and value.is_floating_point():
        print(f"{name}: {total(value)}")
    elif isinstance(value, torch.nn.Module):
        print(f"{name}:", *[total(tensor) for tensor in value.state_dict().values()])
    elif isinstance(value, float):
        print(f"{name}: {value:.7g}")


def shown(cell: str) -> str:
    """Return a notebook's cell such that it prints the value of its last expression, as Jupyter does.

    >>> shown("x = 1\\nx + 1")
    "x = 1\\n__import__('sys').displayhook(x + 1)"
    """
    try:
        tree = ast.parse(cell)
    except SyntaxError:
        return cell
    if tree.body and isinstance(last := tree.body[-1], ast.Expr):
        last.value = ast.parse(f"__import__('sys').displayhook({ast.unparse(last.value)})", mode="eval").body
    return ast.unparse(tree)


def vision_on_torch() -> None:
    """Let torchvision be minigrad's part of it, computing with PyTorch: the same sources, where `minigrad` is torch."""
    sources = Path(minigrad.__file__).parent
    for place in ("functional", "transforms", "datasets", "utils", "models", "__init__"):
        called = f"torchvision.{place}".removesuffix(".__init__")
        module = sys.modules.setdefault(called, ModuleType(called))
        module.__dict__.update(__package__="torchvision", __path__=[])
        text = (sources / "compat" / "vision" / f"{place}.py").read_text(encoding="utf-8")
        text = text.replace("import minigrad\n", "import torch as minigrad\n")
        text = re.sub(r"^from minigrad(?!\.(?:errors|files|diagnose))", "from torch", text, flags=re.MULTILINE)
        sys.modules.setdefault("torchvision", ModuleType("torchvision")).__path__ = []
        exec(compile(text, called, "exec"), module.__dict__)
    for called, (place, *_) in sorted(IN_OTHER_PACKAGES.items()):  # a package before its modules
        if called.startswith("torchvision"):
            around, _, name = called.rpartition(".")
            found = sys.modules.setdefault(called, sys.modules[place.replace("compat.vision", "torchvision")])
            if around:  # as Python does when it imports a submodule
                setattr(sys.modules[around], name, found)


def difference(ours: str, theirs: str) -> str:
    """Compare the numbers in two programs' output, line by line as far as both go; return SAME, or the first that differs.

    >>> difference("loss 0.50001 at 0x7f\\nloss 2", "loss 0.5 at 0x8a"), difference("loss 0.5", "loss 0.6")
    ('same', 'loss 0.5, not loss 0.6')
    """
    lines = [NOISE.sub("", text).splitlines() for text in (ours, theirs)]
    compared = 0
    for a, b in zip(*lines, strict=False):
        pair = [[float(number) for number in NUMBER.findall(line)] for line in (a, b)]
        if len(pair[0]) != len(pair[1]) or any(map(is_apart, *pair)):
            return f"{a.strip()[:60]}, not {b.strip()[:60]}"
        compared += len(pair[0])
    return SAME if compared else NONE


def is_apart(a: float, b: float) -> bool:
    """Return True if two numbers differ by more than rounding."""
    return not (math.isclose(a, b, rel_tol=APART, abs_tol=APART * SMALL) or math.isnan(a) and math.isnan(b))


if __name__ == "__main__":
    run(*sys.argv[1:4])
