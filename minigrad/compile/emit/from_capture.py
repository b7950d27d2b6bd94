"""Generate the source of a program from the steps of a capture, for the CPU or a GPU."""

from ...kernels.formula import CPU, CUDA
from ..captured_steps import CapturedStep, Refused
from ..ir import Lowering, Value
from ..product_rules import copy_into_rows, join_products
from ..rules import lower
from .module_text import GeneratedProgram, ModuleWriter


def generate(
    steps: list[CapturedStep],
    inputs: list,
    outputs: list,
    writes: list,
    name: str,
    on_device: bool,
    shared: int | None = None,
    eager: bool = False,
) -> GeneratedProgram:
    """Return the program for some steps of a capture; `writes` pairs inputs with the values written to them.

    The loops over a size that is `shared` are divided among threads. An `eager` program is a single operation, with new memory
    for its results.
    """
    low = Lowering(CUDA if on_device else CPU)
    given = [Value("input", v.shape, v.dtype, v.name, None, v.layout) for v in inputs]
    low.values.update(zip(inputs, given))
    lower(low, steps)
    outs = [low.stored(v) for v in outputs]
    if any(not isinstance(o, Value) for o in outs):
        raise Refused("it returns a number as a tensor", None, False)
    pairs = [(low.v(p), low.stored(w)) for p, w in writes]
    wanted = [*outs, *[w for _, w in pairs]]
    low.drop_unused(wanted)
    join_products(low, wanted)
    if not on_device:
        copy_into_rows(low)
    low.join_fills(wanted)
    outs += [w for p, w in pairs if not p.shape]
    writer = ModuleWriter
    if on_device:  # imported on first use: a third of the generator
        from .gpu_module import DeviceWriter, EagerWriter

        writer = EagerWriter if eager else DeviceWriter
    found = writer(low, given, outs, pairs, name)
    if shared is not None:
        found.spelling.share(shared)
    return found.write()
