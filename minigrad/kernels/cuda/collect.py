"""Which kernels there are, for what types: every operation of the table runs in the simulator, forward and backward, and all
that is launched is noted.  Kernels of formulas are enumerated besides, whether a sample
reaches them or not.

    NUMBA_ENABLE_CUDASIM=1 MINIGRAD_CUDA_BLOCKS=full python -m minigrad.kernels.cuda.collect float32 FILE

build.py starts this for each dtype in a process of its own, as the simulator is chosen before Numba is imported.
"""

from __future__ import annotations

import json
import pathlib
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ...autograd import grad
from ...core.device import device
from ...ops.families import Pointwise
from ...ops.registry import TABLE, Entry
from ...testing.samples import call
from . import matmul, modules, pointwise

# Sizes for which other kernels are chosen than for the samples: rows longer than a block, sums split among blocks, ...
LARGER = {
    "sum": ["T(2, 1100)", "T(1100, 2), 0", "T(3000)"],
    "mean": ["T(2, 1100), 1"],
    "amax": ["T(2, 1100), 1", "T(1100, 2), 0"],
    "argmax": ["T(2, 1100), 1"],
    "var": ["T(2, 1100), 1"],
    "logsumexp": ["T(2, 1100), 1"],
    "softmax": ["T(2, 1100), 1", "T(1100, 2), 0"],
    "log_softmax": ["T(2, 1100), 1"],
    "cumsum": ["T(600)"],
    "sort": ["T(1100)"],
    "matmul": ["T(2, 1100), T(1100, 2)", "T(300), T(300)"],
}


def main(dtype: str, file: str) -> None:
    """Write what was launched, and what could not be run, as JSON."""
    modules.launched = {}
    warnings.simplefilter("ignore")
    with products() as of_tiles:
        refused = list(run_samples(dtype))
    launched = [*(k for k in modules.launched.values() if k.function != "product"), *of_tiles, *formulas(dtype)]
    pathlib.Path(file).write_text(json.dumps({"kernels": sorted(set(launched)), "refused": refused}))


# ---------------------------------------------------------------------- by running
def run_samples(dtype: str) -> Iterator[tuple[str, str]]:
    """Run all samples on the device; yields those that raise, with what they say."""
    import minigrad

    with device("cuda"):
        for name, entry in sorted(TABLE.items()):
            for sample in [*entry.samples, *LARGER.get(name, ())]:
                try:
                    forward_and_backward(minigrad, entry, sample, dtype)
                except Exception as e:
                    yield f"{name}({sample}) in {dtype}", f"{type(e).__name__}: {e}"


@contextmanager
def products() -> Iterator[list[modules.Launched]]:
    """Collect the products of matrices in all of a GPU's tiles; they run in small ones, as those take the simulator seconds."""
    found: list[modules.Launched] = []
    known, choose, asked = matmul.module, matmul.chosen_tile, set()

    def noted(*how: Any) -> Any:
        asked.add(how)
        return known(*how)

    matmul.module, matmul.chosen_tile = noted, lambda *_: matmul.SMALL
    try:
        yield found
    finally:
        matmul.module, matmul.chosen_tile = known, choose
    types: dict[str, list] = {}
    for key, function, signature in modules.launched or ():
        if function == "product":
            types.setdefault(key, []).append(signature)
    for dtype, small, *how in asked:
        signatures = types.get(known(dtype, small, *how).product.module, [])
        for tile in (matmul.LARGE, matmul.MEDIUM, matmul.FLAT):
            kernel = known(dtype, tile, *how).product
            found += [modules.Launched(kernel.module, kernel.source, "product", s) for s in signatures]


def forward_and_backward(module: object, entry: Entry, sample: str, dtype: str) -> None:
    """A sample, and the gradients of all that it returns."""
    with device("cpu"):
        _, made = call(module, entry.function, entry, sample, dtype=dtype)
    leaves = [leaf.detach().to("cuda").requires_grad_(entry.differentiable) for leaf in made]
    result, _ = call(module, entry.function, entry, sample, dtype=dtype, leaves=leaves)
    outs = [t for t in tensors(result) if t.requires_grad]
    if outs:
        grad(outs, leaves, [t.detach().clone() for t in outs], allow_unused=True)


def tensors(result: object) -> list:
    """The tensors in what an operation returned."""
    if isinstance(result, (tuple, list)):
        return [t for r in result for t in tensors(r)]
    return [result] if hasattr(result, "requires_grad") else []


# ---------------------------------------------------------------------- by declaration
def formulas(dtype: str) -> Iterator[modules.Launched]:
    """The kernels of every pointwise operation, forward and backward, over flat memory and over memory with steps."""
    for cls in subclasses(Pointwise):
        if cls.kernel is None or "f" not in cls.accepts:
            continue
        operands, statics = cls.names[: len(cls.names) - cls.statics], cls.names[len(cls.names) - cls.statics :]
        wanted = [f for i, f in sorted(cls.formulas.items()) if i < len(operands)]
        scaled = [f for f in wanted if "g" not in pointwise.formula.parameters(f) and pointwise.formula.text(f) != "0"]
        read = {n for f in wanted for n in pointwise.formula.parameters(f)} - {"g"}
        backward = [n for n in (*cls.names, "out") if n in read]
        for rank in (0, 2):
            yield from formula_kernel(cls, "forward", [cls.kernel], [*operands, *statics], dtype, rank, ())
            if wanted:
                yield from formula_kernel(cls, "backward", wanted, ["g", *backward], dtype, rank, scaled)


def products() -> Iterator[modules.Launched]:
    """The products of large matrices in all orders in memory, and those that convolutions come to."""
    plain, layouts = (False,) * 6, [(False, False), (False, True), (True, False), (True, True)]
    forward, by_input = (False, False, True, True, False, True), (False, True, True, True, False, True)
    by_weight = (False, True, True, True, False, False)
    for dtype in map(np.dtype, FLOATS):
        tile, wide = matmul.LARGE if dtype.itemsize == 4 else matmul.MEDIUM, matmul.wide(dtype)
        variants = [(plain, along, (wide, wide)) for along in layouts] + [(plain, (True, False), (1, 1))]
        variants += [
            (forward, (True, False), (wide, 1)),
            (by_input, (False, False), (1, 1)),
            (by_weight, (True, True), (1, 1)),
        ]
        for tables, along, vectors in variants:
            kernel = matmul.module(dtype, tile, tables, along, vectors).product
            steps = ["int64[::1]" if is_table else "int64" for is_table in tables]
            operands = [t for k in (0, 2, 4) for t in (f"{dtype.name}[::1]", "int64", "int64", *steps[k : k + 2])]
            signature = (*["int64"] * 5, *operands, "int64")
            yield modules.Launched(kernel.module, kernel.source, kernel.name, signature)


def formula_kernel(cls, direction: str, partials: list, names: list, dtype: str, rank: int,
                   scaled: list | tuple) -> Iterator[modules.Launched]:  # fmt: skip
    """The kernel of some formulas of an operation; none where they have no text for single numbers."""
    masks, statics = cls.names[: cls.masks], cls.names[len(cls.names) - cls.statics :]
    inputs = [(n, n not in statics) for n in names]
    kernel = pointwise.kernel(f"{cls.name}_{direction}", partials, inputs, np.dtype(dtype), rank, scaled)
    if kernel is None:
        return
    steps = "[:, :]" if rank else "[::1]"
    types = ["boolean" if n in masks else dtype for n in names]
    signature = [t + steps * is_array for t, (_, is_array) in zip(types, inputs)]
    result = "boolean" if cls.kind == "bool" else dtype
    yield modules.Launched(kernel.module, kernel.source, kernel.name, (*signature, *[result + steps] * len(partials)))


def subclasses(cls: type) -> Iterator[type]:
    """All classes below one."""
    for below in cls.__subclasses__():
        yield below
        yield from subclasses(below)


if __name__ == "__main__":
    main(*sys.argv[1:])
