"""Rows on vmap: compared with a loop, for all positions of the batch in the inputs (in_dims) and in the outputs."""

from __future__ import annotations

from contextlib import suppress
from itertools import combinations, product
from typing import Any

import numpy as np

from ...arrays.dtypes import FLOATS
from .case import Case, close, short
from .outcome import Absent, Fault
from .source_lines import first_line, place_of_error

MOST = 60  # the largest number of combinations of in_dims and out_dims to try


def need_rule(case: Case) -> None:
    """Raise Absent if there is no vmap rule."""
    if not case.batched:
        raise Absent(
            "no vmap rule",
            f"generate_vmap_rule = True  # if the methods use only {case.library.written} operations; otherwise:\n"
            "@staticmethod\ndef vmap(info, in_dims, *args):\n    return output, out_dims",
        )
    if not case.tensors:
        raise Absent("no tensor among the arguments")


def vmap(case: Case) -> str:
    """Check that vmap gives the same as a loop over the examples, for any batched inputs and any batch dimension."""
    need_rule(case)
    require_no_random_numbers(case)
    tried = 0
    for in_dims, last, size in positions(case):
        compare_with_loop(case, in_dims, last, size)
        tried += 1
    nested(case)
    return f"{tried} combinations of in_dims and out_dims, and nested"


def require_no_random_numbers(case: Case) -> None:
    """Raise Absent if forward draws random numbers: loops and threads would draw them in another order."""
    if "random" in case.traits:
        raise Absent("forward draws random numbers")


def positions(case: Case) -> list[tuple[dict[int, int], bool, int]]:
    """Return (in_dims by argument, True for the batch last in the outputs, batch size) for each subset and dimension."""
    found = []
    moves = case.library.name == "minigrad"  # PyTorch fails if it has to move the batch of an unbatched output
    for n in range(len(case.tensors), 0, -1):
        for subset in combinations(case.tensors, n):
            choices = [range(case.arrays[i].ndim + 1) for i in subset]
            for k, dims in enumerate(product(*choices)):
                found.append((dict(zip(subset, dims)), moves and k % 2 == 1, batch_size(case) if k % 3 else 1))
    return found[:: max(1, len(found) // MOST)]


def batch_size(case: Case) -> int:
    """Return a size that no dimension has, so that confused dimensions show."""
    used = {n for i in case.tensors for n in case.arrays[i].shape}
    return next(n for n in (2, 3, 4, 5, 6, 7, 8, 9) if n not in used or n == 9)


def examples(array: np.ndarray, size: int, salt: int = 0) -> list[np.ndarray]:
    """Return other numbers of the same kind, with the same signs, zeros and range of integers."""
    if array.dtype in FLOATS:
        return [(array * (1 + 0.17 * (b + salt))).astype(array.dtype) for b in range(size)]
    return [np.roll(array.reshape(-1), b).reshape(array.shape) for b in range(size)]


def compare_with_loop(case: Case, in_dims: dict[int, int], last: bool, size: int) -> None:
    """Compare one position with the loop."""
    parts = {i: examples(case.arrays[i], size) for i in in_dims}
    singles = [case.replaced({i: part[b] for i, part in parts.items()}) for b in range(size)]
    loops = [list(one.outputs().values()) for one in singles]
    tensors = [case.library.tensor(np.stack(parts[i], dim)) for i, dim in in_dims.items()]
    out_dims = tuple(o.ndim * last for o in loops[0])
    dims = ", ".join(f"{case.names[i]}: {d}" for i, d in in_dims.items())
    at = f"under vmap with in_dims {{{dims}}} and batch size {size}"
    try:
        found = case.library.module.vmap(on(case, list(in_dims)), tuple(in_dims.values()), out_dims)(*tensors)
    except Exception as e:
        if case.function.generate_vmap_rule:  # the library's message explains best what a generated rule cannot do
            raise
        what, place = first_line(e), place_of_error(e)
        raise Fault(f"{at}: {what}", rule_remedy(case, in_dims), "vmap", kind="error", place=place) from e
    for k, o in enumerate(found):
        expected = np.stack([one[k] for one in loops], out_dims[k])
        numbers = case.library.array(o)
        if not close(expected, numbers):
            raise Fault(
                f"{at}, output {k} is {short(numbers)} of shape "
                f"{numbers.shape}, but a loop gives {short(expected)} of shape {expected.shape}",
                rule_remedy(case, in_dims),
                "vmap" if not case.function.generate_vmap_rule else "forward",
            )


def rule_remedy(case: Case, in_dims: dict[int, int]) -> str:
    """Return code for the rule."""
    if case.function.generate_vmap_rule:
        return "# in forward, use only operations that work on a single example"
    places = ", ".join(f"{name}_dim" if i in case.tensors else "_" for i, name in enumerate(case.names))
    lines = [f"{places}{',' * (len(case.names) == 1)} = in_dims"]
    for i in case.tensors:
        name = case.names[i]
        lines.append(f"if {name}_dim is not None:\n    {name} = {name}.movedim({name}_dim, 0)  # None: not batched")
    return "\n".join([*lines, "return output, 0  # the batch dimension of the output"])


def on(case: Case, places: list[int]) -> Any:
    """Return the Function of the tensors at some places, with the other arguments fixed and only tensors as outputs."""

    def run(*tensors: Any) -> tuple:
        return tuple(case.library.tensors_in(case.apply(case.inputs_with(dict(zip(places, tensors))))))

    return run


def nested(case: Case) -> None:
    """Compare vmap of vmap over the first tensor with two loops."""
    i, size = case.tensors[0], batch_size(case)
    rows = [examples(case.arrays[i], size, salt) for salt in range(2)]
    loops = [[list(case.replaced({i: a}).outputs().values()) for a in row] for row in rows]
    batch = case.library.tensor(np.stack([np.stack(row) for row in rows]))
    found = case.library.module.vmap(case.library.module.vmap(on(case, [i])))(batch)
    for k, o in enumerate(found):
        expected = np.stack([np.stack([one[k] for one in row]) for row in loops])
        if not close(expected, case.library.array(o)):
            raise Fault(
                f"under vmap of vmap, output {k} is {short(case.library.array(o))}, but two loops give {short(expected)}",
                f"return {case.name}.apply(...), 0  # in the rule, call apply again on tensors with the batch first",
                "vmap",
            )


def randomness(case: Case) -> str:
    """Check vmap's randomness option: "error" raises, "same" draws once, "different" draws for each example."""
    need_rule(case)
    if "random" not in case.traits:
        raise Absent("forward draws no random numbers")
    i, size, refused = case.tensors[0], 6, True
    batch = case.library.tensor(np.stack([case.arrays[i]] * size))
    run = case.library.module.vmap
    with suppress(Exception):  # the error that should come
        run(on(case, [i]))(batch)
        refused = False
    if not refused:
        raise Fault(
            "under vmap with randomness='error', forward draws random numbers without an error",
            "if info.randomness == 'error':\n    raise RuntimeError(...)",
            "vmap",
        )
    for option, alike in (("same", True), ("different", False)):
        for o in run(on(case, [i]), randomness=option)(batch):
            rows = case.library.array(o)
            if rows.size and all(close(rows[0], row) for row in rows) != alike:
                raise Fault(
                    f"under vmap with randomness={option!r}, the examples draw {'different' if alike else 'the same'} numbers",
                    f"if info.randomness == {option!r}:\n    ...  # draw {'once' if alike else 'for the whole batch'}",
                    "vmap",
                )
    return "error, same and different"
