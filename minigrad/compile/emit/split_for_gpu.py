"""Which groups become kernels: what the loops of the processor do together, threads cannot always.

A thread block that goes through rows cannot finish the sum of a column, to which other blocks add as well, and cannot
read what other threads have just scattered.  So `apart` takes sums over columns and scatters out of their groups; each goes
with the formulas that nothing else reads.
"""

from __future__ import annotations

from ..fuse import Group, extent, lead_of, of_rows, over, reduced
from ..ir import Lowering, Op


def apart(low: Lowering, groups: list[Group], kept: set) -> list[Group]:
    """The groups of fuse.py as groups of kernels: `elements`, `rows`, `columns`, and those that are no loops."""
    found: list[Group] = []
    for g in groups:
        if g.kind not in ("loop", "rows"):
            found.append(g)
            continue
        for parts in runs(g.parts or [g]):
            if parts[0].kind == "scatter":
                found += parts
            else:
                found += of_parts(low, parts, kept)
    return found


def runs(parts: list[Group]) -> list[list[Group]]:
    """The parts of a group, cut before and after each scatter."""
    found: list[list[Group]] = [[]]
    for part in parts:
        if part.kind == "scatter":
            found += [[part], []]
        else:
            found[-1].append(part)
    return [run for run in found if run]


def of_parts(low: Lowering, parts: list[Group], kept: set) -> list[Group]:
    """One group for the parts, and one for each kind of sums over columns that they have."""
    left, columns = [], []
    for part in parts:
        sums: dict[tuple, list] = {}
        for op in part.ops:
            if op.kind == "reduce" and not of_rows(op) and len(reduced(op)) < len(extent(over(op))):
                sums.setdefault(tuple(reduced(op)), []).append(op)
        moved: list[Op] = []
        for alike in sums.values():
            ops = with_formulas(low, part, alike, kept)
            columns.append(Group("columns", part.shape, ops))
            moved += ops
        if rest := [op for op in part.ops if op not in moved]:
            left.append(Group(part.kind, part.shape, rest))
    if not left:
        return columns
    ops = [op for part in left for op in part.ops]
    wide = max([part.shape for part in left if part.kind == "loop"], key=len, default=())
    by_rows = len(left) > 1 or lead_of(low, left[0]) > 0
    return [Group("rows", wide, ops, tuple(left)) if by_rows else Group("elements", wide, ops), *columns]


def with_formulas(low: Lowering, part: Group, sums: list[Op], kept: set) -> list[Op]:
    """Some sums, after the maps of their loop that only they read."""
    taken = list(sums)
    for op in reversed(part.ops):
        readers = [o for o in low.ops if op.outs[0] in low.bases([o])]
        if op.kind == "map" and readers and op.outs[0] not in kept and all(o in taken for o in readers):
            taken.append(op)
    return [op for op in part.ops if op in taken]
