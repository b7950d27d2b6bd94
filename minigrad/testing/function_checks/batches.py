"""Rows on vmap: against a loop, in every position of in_dims, with every place for the batch in the outputs."""

from __future__ import annotations

from contextlib import suppress
from itertools import combinations, product
from typing import Any

import numpy as np

from ...arrays.dtypes import FLOATS
from .case import Case, close, short
from .outcome import Absent, Fault
from .source_lines import place_of_error

MOST = 60  # combinations of in_dims and out_dims that are tried


def need_rule(case: Case) -> None:
    """Absent where there is no rule for vmap."""
    if not case.batched:
        raise Absent(
            "no rule for vmap",
            f"generate_vmap_rule = True  # if its methods are made of {case.library.name} operations; else\n"
            "@staticmethod\ndef vmap(info, in_dims, *args):\n    return output, out_dims",
        )
    if not case.tensors:
        raise Absent("no tensor among the arguments")


def vmap(case: Case) -> str:
    """vmap gives what a loop over the examples gives, whichever inputs are batched, along whichever dimension."""
    need_rule(case)
    need_no_chance(case)
    tried = 0
    for in_dims, last, size in positions(case):
        compare_with_loop(case, in_dims, last, size)
        tried += 1
    nested(case)
    return f"{tried} positions of in_dims and out_dims, and nested"


def need_no_chance(case: Case) -> None:
    """Absent where forward draws random numbers: a loop would draw others, two threads in an order that changes."""
    if "random" in case.traits:
        raise Absent("forward draws random numbers")


def positions(case: Case) -> list[tuple[dict[int, int], bool, int]]:
    """in_dims by argument, whether the batch goes last in the outputs, and its size: each subset, each dimension."""
    found = []
    moves = case.library.name == "minigrad"  # PyTorch fails where it has to move the batch of an unbatched output
    for n in range(len(case.tensors), 0, -1):
        for subset in combinations(case.tensors, n):
            choices = [range(case.arrays[i].ndim + 1) for i in subset]
            for k, dims in enumerate(product(*choices)):
                found.append((dict(zip(subset, dims)), moves and k % 2 == 1, batch_size(case) if k % 3 else 1))
    return found[:: max(1, len(found) // MOST)]


def batch_size(case: Case) -> int:
    """A size that no dimension has, so that a mistake in dimensions shows."""
    used = {n for i in case.tensors for n in case.arrays[i].shape}
    return next(n for n in (2, 3, 4, 5, 6, 7, 8, 9) if n not in used or n == 9)


def examples(array: np.ndarray, size: int, salt: int = 0) -> list[np.ndarray]:
    """Other numbers of the same kind: signs, zeros and the range of integers stay."""
    if array.dtype in FLOATS:
        return [(array * (1 + 0.17 * (b + salt))).astype(array.dtype) for b in range(size)]
    return [np.roll(array.reshape(-1), b).reshape(array.shape) for b in range(size)]


def compare_with_loop(case: Case, in_dims: dict[int, int], last: bool, size: int) -> None:
    """One position against the loop."""
    parts = {i: examples(case.arrays[i], size) for i in in_dims}
    singles = [case.replaced({i: part[b] for i, part in parts.items()}) for b in range(size)]
    loops = [list(one.outputs().values()) for one in singles]
    tensors = [case.library.tensor(np.stack(parts[i], dim)) for i, dim in in_dims.items()]
    out_dims = tuple(o.ndim * last for o in loops[0])
    dims = ", ".join(f"{case.names[i]}: {d}" for i, d in in_dims.items())
    at = f"under vmap with in_dims {{{dims}}} and a batch of {size}"
    try:
        found = case.library.module.vmap(on(case, list(in_dims)), tuple(in_dims.values()), out_dims)(*tensors)
    except Exception as e:
        if case.function.generate_vmap_rule:  # the library says best what a generated rule cannot do
            raise
        what, place = str(e).splitlines()[0], place_of_error(e)
        raise Fault(f"{at}: {what}", rule_remedy(case, in_dims), "vmap", kind="error", place=place) from e
    for k, o in enumerate(found):
        expected = np.stack([one[k] for one in loops], out_dims[k])
        numbers = case.library.array(o)
        if not close(expected, numbers):
            raise Fault(
                f"{at}, output {k} is {short(numbers)} of shape "
                f"{numbers.shape}; a loop gives {short(expected)} of shape {expected.shape}",
                rule_remedy(case, in_dims),
                "vmap" if not case.function.generate_vmap_rule else "forward",
            )


def rule_remedy(case: Case, in_dims: dict[int, int]) -> str:
    """What to write in the rule."""
    if case.function.generate_vmap_rule:
        return "# forward has to be made of operations that act on one example"
    places = ", ".join(f"{name}_dim" if i in case.tensors else "_" for i, name in enumerate(case.names))
    lines = [f"{places}{',' * (len(case.names) == 1)} = in_dims"]
    for i in case.tensors:
        name = case.names[i]
        lines.append(f"if {name}_dim is not None:\n    {name} = {name}.movedim({name}_dim, 0)  # None: not batched")
    return "\n".join([*lines, "return output, 0  # where the batch is in the output"])


def on(case: Case, places: list[int]) -> Any:
    """The Function of the tensors at some places, the other arguments as they are; tensors out only."""

    def run(*tensors: Any) -> tuple:
        return tuple(case.library.tensors_in(case.apply(case.inputs_with(dict(zip(places, tensors))))))

    return run


def nested(case: Case) -> None:
    """vmap of vmap over the first tensor."""
    i, size = case.tensors[0], batch_size(case)
    rows = [examples(case.arrays[i], size, salt) for salt in range(2)]
    loops = [[list(case.replaced({i: a}).outputs().values()) for a in row] for row in rows]
    batch = case.library.tensor(np.stack([np.stack(row) for row in rows]))
    found = case.library.module.vmap(case.library.module.vmap(on(case, [i])))(batch)
    for k, o in enumerate(found):
        expected = np.stack([np.stack([one[k] for one in row]) for row in loops])
        if not close(expected, case.library.array(o)):
            raise Fault(
                f"under vmap of vmap output {k} is {short(case.library.array(o))}; two loops give {short(expected)}",
                f"return {case.name}.apply(...), 0  # let the rule call apply again, on tensors with the batch in front",
                "vmap",
            )


def randomness(case: Case) -> str:
    """Under vmap random numbers follow the option: "error" refuses, "same" draws once, "different" for each example."""
    need_rule(case)
    if "random" not in case.traits:
        raise Absent("forward draws no random numbers")
    i, size, refused = case.tensors[0], 6, True
    batch = case.library.tensor(np.stack([case.arrays[i]] * size))
    run = case.library.module.vmap
    with suppress(Exception):  # refused, as it should be
        run(on(case, [i]))(batch)
        refused = False
    if not refused:
        raise Fault(
            "under vmap with randomness='error' random numbers are drawn all the same",
            "if info.randomness == 'error':\n    raise RuntimeError(...)",
            "vmap",
        )
    for option, alike in (("same", True), ("different", False)):
        for o in run(on(case, [i]), randomness=option)(batch):
            rows = case.library.array(o)
            if rows.size and all(close(rows[0], row) for row in rows) != alike:
                raise Fault(
                    f"under vmap with randomness={option!r} the examples draw {'other' if alike else 'the same'} numbers",
                    f"if info.randomness == {option!r}:\n    ...  # draw {'once' if alike else 'for the whole batch'}",
                    "vmap",
                )
    return "error, same and different"
