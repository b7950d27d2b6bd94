"""Which kernels there are, for what types: every operation of the table runs in the simulator, forward and backward, in
every float dtype, and all that is launched is noted.  Kernels of formulas are enumerated besides, whether a sample
reaches them or not.

    NUMBA_ENABLE_CUDASIM=1 MINIGRAD_CUDA_BLOCKS=full python -m minigrad.kernels.cuda.collect FILE

build.py starts this in a process of its own, as the simulator is chosen before Numba is imported.
"""

from __future__ import annotations

import json
import pathlib
import sys
import warnings
from collections.abc import Iterator

import numpy as np

from ...autograd import grad
from ...core.device import device
from ...ops.families import Pointwise
from ...ops.registry import TABLE, Entry
from ...testing.samples import call
from . import modules, pointwise

FLOATS = ("float16", "float32", "float64")
# Sizes for which other kernels are chosen than for the samples: rows longer than a block, sums split among blocks, ...
LARGER = {
    "sum": ["T(3, 5000)", "T(5000, 3), 0", "T(20000)"],
    "mean": ["T(3, 5000), 1"],
    "amax": ["T(3, 5000), 1", "T(5000, 3), 0"],
    "argmax": ["T(3, 5000), 1"],
    "var": ["T(3, 5000), 1"],
    "logsumexp": ["T(3, 5000), 1"],
    "softmax": ["T(3, 5000), 1", "T(5000, 3), 0"],
    "log_softmax": ["T(3, 5000), 1"],
    "cumsum": ["T(3, 5000), 1"],
    "sort": ["T(2, 3000), 1"],
    "matmul": ["T(70, 70), T(70, 70)", "T(4, 3000), T(3000, 4)", "T(300), T(300)", "T(70, 300), T(300)"],
}


def main(file: str) -> None:
    """Write what was launched, and what could not be run, as JSON."""
    modules.launched = {}
    warnings.simplefilter("ignore")
    refused = list(run_samples())
    launched = [*modules.launched.values(), *formulas()]
    pathlib.Path(file).write_text(json.dumps({"kernels": sorted(set(launched)), "refused": refused}))


# ---------------------------------------------------------------------- by running
def run_samples() -> Iterator[tuple[str, str]]:
    """Run all samples on the device; yields those that raise, with what they say."""
    import minigrad

    with device("cuda"):
        for name, entry in sorted(TABLE.items()):
            for sample in [*entry.samples, *LARGER.get(name, ())]:
                for dtype in FLOATS:
                    try:
                        forward_and_backward(minigrad, entry, sample, dtype)
                    except Exception as e:
                        yield f"{name}({sample}) in {dtype}", f"{type(e).__name__}: {e}"


def forward_and_backward(module: object, entry: Entry, sample: str, dtype: str) -> None:
    """A sample, and the gradients of all that it returns."""
    _, leaves = call(module, entry.function, entry, sample, dtype=dtype)
    leaves = [leaf.detach().requires_grad_(entry.differentiable) for leaf in leaves]
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
def formulas() -> Iterator[modules.Launched]:
    """The kernels of every pointwise operation, forward and backward, over flat memory and over memory with steps."""
    for cls in subclasses(Pointwise):
        if cls.kernel is None or "f" not in cls.accepts:
            continue
        operands, statics = cls.names[: len(cls.names) - cls.statics], cls.names[len(cls.names) - cls.statics :]
        wanted = {f"d{cls.names[i]}": f for i, f in sorted(cls.formulas.items()) if i < len(operands)}
        scaled = [
            f
            for f in wanted.values()
            if "g" not in pointwise.formula.parameters(f) and pointwise.formula.text(f) != "0"
        ]
        read = {n for f in wanted.values() for n in pointwise.formula.parameters(f)} - {"g"}
        backward = [n for n in (*cls.names, "out") if n in read]
        for dtype in FLOATS:
            for rank in (0, 2):
                yield from formula_kernel(cls, "forward", {"out": cls.kernel}, [*operands, *statics], dtype, rank, ())
                if wanted:
                    yield from formula_kernel(cls, "backward", wanted, ["g", *backward], dtype, rank, scaled)


def formula_kernel(cls, direction: str, partials: dict, names: list, dtype: str, rank: int,
                   scaled: list | tuple) -> Iterator[modules.Launched]:  # fmt: skip
    """The kernel of some formulas of an operation; none where they have no text for single numbers."""
    masks, statics = cls.names[: cls.masks], cls.names[len(cls.names) - cls.statics :]
    types = ["boolean" if n in masks else dtype for n in names]
    inputs = [
        (n, "" if n in statics else pointwise.how_read(np.dtype(dtype if n not in masks else bool))) for n in names
    ]
    computed = pointwise.computed_in(np.dtype(dtype))
    kernel = pointwise.kernel(f"{cls.name}_{direction}", partials, inputs, computed, rank, scaled)
    if kernel is None:
        return
    steps = "[:, :]" if rank else "[::1]"
    signature = [t + steps if read else computed.name if t == dtype else t for t, (_, read) in zip(types, inputs)]
    result = "boolean" if cls.kind == "bool" else dtype
    yield modules.Launched(kernel.module, kernel.source, kernel.name, (*signature, *[result + steps] * len(partials)))


def subclasses(cls: type) -> Iterator[type]:
    """All classes below one."""
    for below in cls.__subclasses__():
        yield below
        yield from subclasses(below)


if __name__ == "__main__":
    main(sys.argv[1])
