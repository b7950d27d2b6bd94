"""The text of kernels over flat memory: a thread reads four neighbours by one instruction, and writes four.

The memory is kept busy by many reads under way, and the compiler puts no read before the write of the element before, as they
might be the same.  So all that a thread reads of four elements it reads before the first of them is computed.  Memory that
does not begin at a multiple of four elements, such as that of x[1:], is gone through one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count

IMPORTS = ("aligned4", "load4", "store4")  # what the text takes from functions.py
LOCALS = {"i", "fours", *[f"of_{q}" for q in range(4)]}  # its variables, besides those for four elements of each array

TEXT = """\
@cuda.jit(device=True)
def {name}_of_one({parameters}):
{lines}    return {returned}


@cuda.jit
def {name}({args}):
    fours = {out}.size // 4 * 4 if {aligned} else 0
    for i in range(4 * cuda.grid(1), fours, 4 * cuda.gridsize(1)):
{by_four}    for i in range(fours + cuda.grid(1), {out}.size, cuda.gridsize(1)):
        {by_one}
"""


def text(
    name: str, args: Sequence, parameters: dict[str, tuple[str, str]], lines: Sequence, results: dict[str, str]
) -> str:
    """A function of one element, and the kernel that computes it for all.

    `parameters` are that function's: for each the text that reads it, where `{}` stands for what the array of that name
    has at the element, as in `float32({})`, and the name of that array; or a number, and nothing.  `results` are the
    arrays that are written to, with what the function returns for each after its `lines`.
    """
    reads = [array for _, array in parameters.values() if array]
    four = {a: next(n for k in count() if (n := f"{a}{'_' * k}4") not in args) for a in reads}

    def one(at: Callable) -> str:
        given = [how.format(at(array)) if array else how for how, array in parameters.values()]
        return f"{name}_of_one({', '.join(given)})"

    ones = [one(lambda array, q=q: f"{four[array]}[{q}]") for q in range(4)]
    by_four = [f"{four[array]} = load4({array}, i)" for array in reads]
    by_four += [f"of_{q} = {call}" for q, call in enumerate(ones)]
    for k, array in enumerate(results):
        made = [f"of_{q}" + f"[{k}]" * (len(results) > 1) for q in range(4)]
        by_four.append(f"store4({array}, i, ({', '.join(made)}))")
    return TEXT.format(
        name=name,
        parameters=", ".join(parameters),
        lines="".join([f"    {line}\n" for line in lines]),
        returned=", ".join(results.values()),
        args=", ".join(args),
        out=next(iter(results)),
        aligned=" and ".join([f"aligned4({array})" for array in dict.fromkeys([*reads, *results])]),
        by_four="".join([f"        {line}\n" for line in by_four]),
        by_one=f"{', '.join([f'{array}[i]' for array in results])} = {one(lambda array: f'{array}[i]')}",
    )
