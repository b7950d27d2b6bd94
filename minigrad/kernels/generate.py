"""The text of kernel modules, generated from the formulas of an operation.

A kernel loops over flat memory: array arguments have a trailing underscore and are read at `i`, the others are scalars.
LLVM vectorises only `for i in range(out_.size)`; any other bound keeps Numba's check for negative indices. A float32 kernel
has float32 constants, because a single float64 would widen the loop. There are no fast-math flags: measured, they save 5% at
most, and would lose signed zeros, quotients of denormals and the order of users' additions.
"""

from collections.abc import Callable

import numpy as np

from .formula import parameters, prelude, scalar_text, text

HEAD = '"""{title}"""\n\n{prelude}\n\n\n@njit(nogil=True, error_model="numpy")\ndef {name}({args}):\n'


def forward(name: str, kernel: Callable, is_array: tuple, dtype: np.dtype) -> str | None:
    """Return the kernel module for out = kernel(...), with a function `<name>_forward`; None without a scalar formula."""
    title = f"{name}: out = {text(kernel)}"
    return flat(f"{name}_forward", title, list(parameters(kernel)), is_array, [("out", kernel)], {}, dtype)


def backward(name: str, inputs: list, is_array: tuple, partials: list, dtype: np.dtype) -> str | None:
    """Return the kernel module for all requested gradients; `partials` are (name, formula), and `inputs` begins with g."""
    title = f"{name} backward: " + "; ".join(f"{n} = {text(f)}" for n, f in partials)
    scaled = {n: "" if "g" in parameters(f) or text(f) == "0" else "g * " for n, f in partials}
    return flat(f"{name}_backward", title, inputs, is_array, partials, scaled, dtype)


def flat(
    name: str, title: str, inputs: list, is_array: tuple, outputs: list, scaled: dict, dtype: np.dtype
) -> str | None:
    """Return a module with a function that reads inputs[i] and writes outputs[i]."""
    head = prelude([f for _, f in outputs], dtype)
    if head is None:
        return None
    args = [n + "_" if a else n for n, a in zip(inputs, is_array)] + [n + "_" for n, _ in outputs]
    texts = [(n, scaled.get(n), scalar_text(f, dtype)) for n, f in outputs]
    body = [f"{n} = {n}_[i]" for n, a in zip(inputs, is_array) if a]
    body += [f"{n}_[i] = {g}({t})" if g else f"{n}_[i] = {t}" for n, g, t in texts]
    first = HEAD.format(title=f"{title}  [{dtype.name}]", prelude=head, name=name, args=", ".join(args))
    lines = [f"    for i in range({outputs[0][0]}_.size):", *["        " + line for line in body]]
    return first + "".join(f"{line}\n" for line in lines)
