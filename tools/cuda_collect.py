"""Lists all kernels and their argument types. Every operation of the table runs in the simulator, forward and backward, eagerly
and as a program for `compile`, and all launches are recorded. The kernels of formulas are enumerated as well, so that they
do not depend on samples.

    NUMBA_ENABLE_CUDASIM=1 MINIGRAD_CUDA_BLOCKS=full python -m tools.cuda_collect float32 FILE

cuda_build.py starts one process of this per dtype, because the simulator must be chosen before Numba is imported.
"""

from __future__ import annotations

import json
import pathlib
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from minigrad.arrays.devices import device
from minigrad.autograd import grad
from minigrad.compile.api import compile
from minigrad.kernels import formula
from minigrad.kernels.cuda import kernel_modules, matmul_cuda, pointwise_cuda
from minigrad.ops.base.families import Pointwise
from minigrad.ops.base.registry import TABLE, Entry
from minigrad.testing.samples import call

# Sizes that need other kernels than the samples: rows longer than a block, sums split among blocks, ...
LARGER = {
    "add": ["T(2, 3, 8), T(8)", "T(2, 3, 8), T(3, 1)", "T(8, 8).mT, T(8)"],
    "sum": ["T(2, 1100)", "T(1100, 2), 0", "T(3000)"],
    "mean": ["T(2, 1100), 1"],
    "amax": ["T(2, 1100), 1", "T(1100, 2), 0"],
    "argmax": ["T(2, 1100), 1", "T(1100, 2), 0", "T(3000)"],
    "var": ["T(2, 1100), 1"],
    "logsumexp": ["T(2, 1100), 1"],
    "softmax": ["T(2, 1100), 1", "T(1, 17000), 1", "T(1100, 2), 0"],
    "log_softmax": ["T(2, 1100), 1", "T(1, 17000), 1"],
    "cross_entropy": ["T(2, 1100), I(2, 1100)", "T(1, 17000), I(1, 17000)"],
    "layer_norm": ["T(2, 1100), (1100,), T(1100), T(1100)", "T(1, 17000), (17000,), T(17000), T(17000)"],
    "rms_norm": ["T(2, 1100), (1100,)", "T(1, 17000), (17000,)"],
    "cumsum": ["T(600), 0"],
    "sort": ["T(1100)", "T(17000)"],
    "matmul": ["T(2, 1100), T(1100, 2)", "T(300), T(300)"],
}

# dtypes of programs for `compile`, one per operation: texts for float64 and other shapes are alike
COMPILED = ("float16", "bfloat16", "float32")
SWITCHES = ("equal_nan",)  # settings of formulas that are not numbers


def main(dtype: str, file: str) -> None:
    """Write the launches, and the samples that cannot run, as JSON."""
    kernel_modules.launched = {}
    warnings.simplefilter("ignore")
    with products() as of_tiles:
        refused = list(run_samples(dtype))
    launched = [*(k for k in kernel_modules.launched.values() if k.function != "product"), *of_tiles, *formulas(dtype)]
    pathlib.Path(file).write_text(json.dumps({"kernels": sorted(set(launched)), "refused": refused}))


# ---------------------------------------------------------------------- kernels from runs
def run_samples(dtype: str) -> Iterator[tuple[str, str]]:
    """Run all samples on the device; yield those that raise, with their errors."""
    import minigrad

    with device("cuda"):
        for name, entry in sorted(TABLE.items()):
            for sample in [*entry.samples, *LARGER.get(name, ())]:
                try:
                    forward_and_backward(minigrad, entry, sample, dtype)
                    if dtype in COMPILED and sample == entry.samples[0]:
                        compiled(minigrad, entry, sample, dtype)
                except Exception as e:
                    yield f"{name}({sample}) in {dtype}", f"{type(e).__name__}: {e}"


@contextmanager
def products() -> Iterator[list[kernel_modules.Launched]]:
    """Collect matrix products in all of a GPU's tiles; they run in small ones, which take the simulator less time."""
    found: list[kernel_modules.Launched] = []
    known, choose, asked = matmul_cuda.module, matmul_cuda.chosen_tile, set()

    def noted(*how: Any) -> Any:
        asked.add(how)
        return known(*how)

    matmul_cuda.module, matmul_cuda.chosen_tile = noted, lambda *_: matmul_cuda.SMALL
    try:
        yield found
    finally:
        matmul_cuda.module, matmul_cuda.chosen_tile = known, choose
    types: dict[str, list] = {}
    for key, function, signature in kernel_modules.launched or ():
        if function == "product":
            types.setdefault(key, []).append(signature)
    for dtype, small, *how in asked:
        signatures = types.get(known(dtype, small, *how).product.module, [])
        for tile in matmul_cuda.tiles(dtype):
            kernel = known(dtype, tile, *how).product
            found += [kernel_modules.Launched(kernel.module, kernel.source, "product", s) for s in signatures]


def forward_and_backward(module: object, entry: Entry, sample: str, dtype: str) -> None:
    """Run a sample and the gradients of all its results."""
    program(module, entry, sample, dtype)(*leaves_of(module, entry, sample, dtype))


def compiled(module: object, entry: Entry, sample: str, dtype: str) -> None:
    """Do the same as a compiled program."""
    run = compile(program(module, entry, sample, dtype))
    with warnings.catch_warnings():
        warnings.filterwarnings("error", ".*generated code failed")
        run(*leaves_of(module, entry, sample, dtype))


def leaves_of(module: object, entry: Entry, sample: str, dtype: str) -> list:
    """Return the tensors of a sample, on the device."""
    with device("cpu"):
        _, made = call(module, entry.function, entry, sample, dtype=dtype)
    return [leaf.detach().to("cuda").requires_grad_(entry.differentiable) for leaf in made]


def program(module: object, entry: Entry, sample: str, dtype: str) -> Callable:
    """Return a function of the leaves, named like the operation, that computes the sample and its gradients."""

    def run(*leaves: Any) -> tuple:
        result, _ = call(module, entry.function, entry, sample, dtype=dtype, leaves=leaves)
        outs = [t for t in tensors(result) if t.requires_grad]
        gradients = grad(outs, leaves, [t.detach() * 2 for t in outs], allow_unused=True) if outs else ()
        return tensors(result), [g for g in gradients if g is not None]

    run.__name__ = entry.name
    return run


def tensors(result: object) -> list:
    """Return the tensors in an operation's result."""
    if isinstance(result, (tuple, list)):
        return [t for r in result for t in tensors(r)]
    return [result] if hasattr(result, "requires_grad") else []


# ---------------------------------------------------------------------- kernels from declarations
def formulas(dtype: str) -> Iterator[kernel_modules.Launched]:
    """Yield the kernels of every pointwise operation, forward and backward, over flat memory and over strided memory."""
    for cls in subclasses(Pointwise):
        if cls.kernel is None or "f" not in cls.accepts:
            continue
        operands, statics = cls.names[: len(cls.names) - cls.n_settings], cls.names[len(cls.names) - cls.n_settings :]
        wanted = {f"d{cls.names[i]}": f for i, f in sorted(cls.formulas.items()) if i < len(operands)}
        scaled = [f for f in wanted.values() if "g" not in formula.parameters(f) and formula.text(f) != "0"]
        read = {n for f in wanted.values() for n in formula.parameters(f)} - {"g"}
        backward = [n for n in (*cls.names, "out") if n in read]
        for rank in (0, 2) if dtype == "float32" else (0,):  # strided memory is addressed alike for all dtypes
            yield from formula_kernel(cls, "forward", {"out": cls.kernel}, [*operands, *statics], dtype, rank, ())
            if wanted:
                yield from formula_kernel(cls, "backward", wanted, ["g", *backward], dtype, rank, scaled)


def formula_kernel(cls, direction: str, wanted: dict, names: list, dtype: str, rank: int,
                   scaled: list | tuple) -> Iterator[kernel_modules.Launched]:  # fmt: skip
    """Yield the kernel of some formulas of an operation; nothing if they have no text for scalars."""
    masks, statics = cls.names[: cls.n_conditions], cls.names[len(cls.names) - cls.n_settings :]
    kinds = {n: np.dtype(bool if n in masks else dtype) for n in names}
    inputs = [(n, "" if n in statics else pointwise_cuda.read_expression(kinds[n])) for n in names]
    computed = pointwise_cuda.computed_in(np.dtype(dtype))
    result = np.dtype(bool if cls.kind == "bool" else dtype)
    write, layout = (
        pointwise_cuda.write_expression(result),
        pointwise_cuda.TraversalOrder(rank, "uint32" if rank else ""),
    )
    given = tuple(wanted.items()), tuple(inputs), write, computed, tuple(scaled), layout
    kernel = pointwise_cuda.kernel(f"{cls.name}_{direction}", *given)
    if kernel is None:
        return
    steps = "[:, :]" if rank else "[::1]"
    numbers = {n: "boolean" if n in SWITCHES else computed.name for n in statics}
    types = [numbers.get(n) or kernel_modules.element(kinds[n]) + steps for n in names]
    results = [kernel_modules.element(result) + steps] * len(wanted)
    yield kernel_modules.Launched(kernel.module, kernel.source, kernel.name, (*types, *results))


def subclasses(cls: type) -> Iterator[type]:
    """Yield all classes below one."""
    for below in cls.__subclasses__():
        yield below
        yield from subclasses(below)


if __name__ == "__main__":
    main(*sys.argv[1:])
