"""The text of kernels that read four neighbours by one instruction, and write four: over flat memory, and over rows.

The memory is kept busy by many reads under way, and the compiler puts no read before the write of the element before, as they
might be the same.  So all that a thread reads of four elements it reads before the first of them is computed.  Memory that
does not begin at a multiple of four elements, such as that of x[1:], is gone through one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count

IMPORTS = ("aligned4", "load4", "store4")  # what the text takes from device_functions.py
LOCALS = {"i", "fours", *[f"of_{q}" for q in range(4)]}  # its variables, besides those for four elements of each array

ONE = """\
@cuda.jit(device=True)
def {name}_of_one({parameters}):
{lines}    return {returned}


@cuda.jit
def {name}({args}):
"""
FLAT = """\
    fours = {out}.size // 4 * 4 if {aligned} else 0
    for i in range(4 * cuda.grid(1), fours, 4 * cuda.gridsize(1)):
{by_four}    for i in range(fours + cuda.grid(1), {out}.size, cuda.gridsize(1)):
        {by_one}
"""
ROWS = """\
    for i in range(4 * cuda.grid(1), {out}.size, 4 * cuda.gridsize(1)):
{by_four}"""


def text(
    name: str, args: Sequence, parameters: dict[str, tuple[str, str]], lines: Sequence, results: dict[str, str]
) -> str:
    """A function of one element, and the kernel that computes it for all of flat memory.

    `parameters` are that function's: for each the text that reads it, where `{}` stands for what the array of that name
    has at the element, as in `float32({})`, and the name of that array; or a number, and nothing.  `results` are the
    arrays that are written to, with what the function returns for each after its `lines`.
    """
    arrays = dict.fromkeys([*[array for _, array in parameters.values() if array], *results])
    return head(name, args, parameters, lines, results) + FLAT.format(
        out=next(iter(results)),
        aligned=" and ".join([f"aligned4({array})" for array in arrays]),
        by_four=indented(by_four(name, args, parameters, results, lambda array: f"{array}, i")),
        by_one=f"{', '.join([f'{array}[i]' for array in results])} = {call(name, parameters, '{}[i]'.format)}",
    )


def rows_text(name: str, args: Sequence, parameters: dict[str, tuple[str, str]], results: dict[str, str],
              coordinates: Sequence, repeated: set) -> str:  # fmt: skip
    """The same over rows of multiples of four elements, which all arrays begin where they can be read so.

    `coordinates` are the lines that count out i0, i1, ... of element i.  What is `repeated` along a row is read once.
    """
    *outer, last = [f"i{d}" for d in range(sum(line.startswith("i") for line in coordinates))]
    place = lambda array: f"{array}[{', '.join(outer)}], {last}"
    lines = by_four(name, args, parameters, results, place, {a: f"{a}[{', '.join([*outer, last])}]" for a in repeated})
    out = next(iter(results))
    return head(name, args, parameters, [], results) + ROWS.format(out=out, by_four=indented([*coordinates, *lines]))


def head(name: str, args: Sequence, parameters: dict, lines: Sequence, results: dict) -> str:
    """The function of one element, and the first lines of the kernel."""
    return ONE.format(
        name=name,
        parameters=", ".join(parameters),
        lines="".join([f"    {line}\n" for line in lines]),
        returned=", ".join(results.values()),
        args=", ".join(args),
    )


def by_four(name: str, args: Sequence, parameters: dict, results: dict, place: Callable, single: dict | None = None):
    """The lines that compute four elements; `place` gives where an array has them, `single` how it is read where it has one."""
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
    """The call for one element, of which `element` gives the text by the array's name."""
    given = [how.format(element(array)) if array else how for how, array in parameters.values()]
    return f"{name}_of_one({', '.join(given)})"


def indented(lines: Sequence) -> str:
    """The lines of a kernel's loop."""
    return "".join([f"        {line}\n" for line in lines])
