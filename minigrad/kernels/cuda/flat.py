"""The text of elementwise kernels: by fours, over flat memory and over rows, or one by one.

If possible, a thread reads four neighbours in one instruction, and writes four.

Many pending reads keep the memory busy, but the compiler moves no read before the write of an earlier element, because the
two addresses might be the same. So a thread reads all inputs of four elements before it computes the first of them. Memory
that does not begin at a multiple of four elements, such as x[1:], is processed one by one.
"""

from collections.abc import Callable, Sequence
from itertools import count

IMPORTS = ("aligned4", "load4", "store4")  # imports of the text from device_functions.py
LOCALS = {"i", "fours", *[f"of_{q}" for q in range(4)]}  # its variables, besides those for four elements of each array

ONE = """\
@cuda.jit(device=True)
def {name}_of_one({parameters}):
{lines}    return {returned}


@cuda.jit
def {name}({args}):
"""
FOURS = "    fours = {out}.size // 4 * 4 if {aligned} else 0\n"


def text(
    name: str, args: Sequence, parameters: dict[str, tuple[str, str]], lines: Sequence, results: dict[str, str]
) -> str:
    """Return the text of a function of one element, and of the kernel that applies it to all of flat memory.

    `parameters` describes the function's parameters, each by the text that reads it, such as `float32({})` with `{}` for the
    array's element, and the array's name; for a number, by its text and "". `results` maps each array that is written to the
    expression that the function returns for it after its `lines`.
    """
    arrays, out = dict.fromkeys([*[array for _, array in parameters.values() if array], *results]), next(iter(results))
    fours = FOURS.format(out=out, aligned=" and ".join([f"aligned4({array})" for array in arrays]))
    fours += loop("fours", lines_by_four(name, args, parameters, results, lambda array: f"{array}, i"), 4)
    rest = loop(f"{out}.size", [line_by_one(name, parameters, results, "i")], begin="fours + ")
    return head(name, args, parameters, lines, results) + fours + rest


def counted_text(name: str, args: Sequence, parameters: dict[str, tuple[str, str]], results: dict[str, str], rank: int,
                 counter: str, repeated: set | None) -> str:  # fmt: skip
    """Return the text over arrays of `rank` dimensions, with elements counted in the type `counter`.

    Rows are read by fours if all arrays are aligned to that. Then `repeated` has the arrays with one element per row, which is
    read once; else it is None.
    """
    *outer, last = names = [f"i{d}" for d in range(rank)]
    at, out = ", ".join(names), next(iter(results))
    lines, width = [line_by_one(name, parameters, results, at)], 1
    if repeated is not None:
        place = lambda array: f"{array}[{', '.join(outer)}], {last}"
        lines, width = lines_by_four(name, args, parameters, results, place, {a: f"{a}[{at}]" for a in repeated}), 4
    counted = loop(f"{out}.size", [*coordinates(out, rank, counter), *lines], width)
    return head(name, args, parameters, [], results) + counted


def head(name: str, args: Sequence, parameters: dict, lines: Sequence, results: dict) -> str:
    """Return the function of one element, and the first lines of the kernel."""
    return ONE.format(
        name=name,
        parameters=", ".join(parameters),
        lines="".join([f"    {line}\n" for line in lines]),
        returned=", ".join(results.values()),
        args=", ".join(args),
    )


def line_by_one(name: str, parameters: dict, results: dict, at: str) -> str:
    """Return the line that computes the element at a place."""
    return f"{', '.join([f'{array}[{at}]' for array in results])} = {call(name, parameters, lambda array: f'{array}[{at}]')}"


def lines_by_four(
    name: str, args: Sequence, parameters: dict, results: dict, place: Callable, single: dict | None = None
):
    """Return the lines that compute four elements; `place` gives an array's four, `single` the read of its only one."""
    single, reads = single or {}, [array for _, array in parameters.values() if array]
    four = {a: next(n for k in count() if (n := f"{a}{'_' * k}4") not in args) for a in reads}
    lines = [f"{four[array]} = {single.get(array) or f'load4({place(array)})'}" for array in reads]
    for q in range(4):
        element = lambda array, q=q: four[array] + f"[{q}]" * (array not in single)
        lines.append(f"of_{q} = {call(name, parameters, element)}")
    for k, array in enumerate(results):
        made = [f"of_{q}" + f"[{k}]" * (len(results) > 1) for q in range(4)]
        lines.append(f"store4({place(array)}, ({', '.join(made)}))")
    return lines


def call(name: str, parameters: dict, element: Callable) -> str:
    """Return the call for one element; `element` gives its text by the array's name."""
    given = [how.format(element(array)) if array else how for how, array in parameters.values()]
    return f"{name}_of_one({', '.join(given)})"


def coordinates(array: str, rank: int, counter: str = "") -> list[str]:
    """Return the lines that compute i0, i1, ... of an array's element number i; in the type `counter`, if given."""
    lines = [f"rest = {counter}(i)"] if rank > 1 else []
    for d in range(rank - 1, 0, -1):
        size = f"{counter}({array}.shape[{d}])"
        lines += [f"i{d} = {counter}(rest % {size})", f"rest = {counter}(rest // {size})"]
    return lines + [f"i0 = {'rest' if rank > 1 else 'i'}"] * (rank > 0)


def loop(end: str, lines: Sequence, width: int = 1, begin: str = "") -> str:
    """Return the loop of a kernel's threads over elements up to `end`; each thread takes `width` neighbours at a time."""
    times = f"{width} * " if width > 1 else ""
    head = f"    for i in range({begin}{times}cuda.grid(1), {end}, {times}cuda.gridsize(1)):\n"
    return head + "".join([f"        {line}\n" for line in lines])
