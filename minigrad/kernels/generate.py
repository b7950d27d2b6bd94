"""The text of kernel modules, from the formulas of an operation.

A kernel runs over flat memory: arguments that are arrays have a trailing underscore and are read at `i`, the others are
numbers.  Only `for i in range(out_.size)` is vectorised by LLVM; any other bound keeps Numba's check for negative indices.
"""

from __future__ import annotations

from collections.abc import Callable

from .formula import parameters, prelude, text

HEAD = '"""{title}"""\n\nfrom numba import njit\n{prelude}\n\n@njit(cache=True, nogil=True, error_model="numpy")\ndef {name}({args}):\n'


def forward(name: str, kernel: Callable, is_array: tuple) -> str | None:
    """The kernel module for out = kernel(...); None if the formula has no scalar form."""
    return module(name, f"{name}: out = {text(kernel)}", list(parameters(kernel)), is_array, [("out", kernel)], {})


def backward(name: str, inputs: list, is_array: tuple, partials: list) -> str | None:
    """The kernel module for all wanted gradients; `partials` are (name, formula) and `inputs` begins with g."""
    title = f"{name} backward: " + "; ".join(f"{n} = {text(f)}" for n, f in partials)
    scaled = {n: "" if "g" in parameters(f) or text(f) == "0" else "g * " for n, f in partials}
    return module(f"{name}_backward", title, inputs, is_array, partials, scaled)


def module(name: str, title: str, inputs: list, is_array: tuple, outputs: list, scaled: dict) -> str | None:
    """One function that reads inputs[i] and writes outputs[i]."""
    head = prelude([f for _, f in outputs])
    if head is None or any(text(f) is None for _, f in outputs):
        return None
    args = [n + "_" if a else n for n, a in zip(inputs, is_array)] + [n + "_" for n, _ in outputs]
    lines = [f"{n} = {n}_[i]" for n, a in zip(inputs, is_array) if a]
    lines += [f"{n}_[i] = {scaled.get(n, '')}({text(f)})" for n, f in outputs]
    body = "".join(f"        {line}\n" for line in lines)
    return (
        HEAD.format(title=title, prelude=head, name=name, args=", ".join(args))
        + f"    for i in range({outputs[0][0]}_.size):\n{body}"
    )
