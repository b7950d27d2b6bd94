"""Split groups into GPU kernels: threads cannot always do together what a CPU loop does.

A thread block that processes rows cannot finish the sum of a column, which other blocks add to, and cannot read values that
other threads have just scattered. So `split_groups` moves column sums and scatters out of their groups, together with the
formulas that only they read, and repeats simple arithmetic on both sides.
"""

import itertools

from ..fuse import FusedGroup, extent, is_simple, lead_of, of_rows, over, reduced
from ..ir import Lowering, Op


def split_groups(low: Lowering, groups: list[FusedGroup], kept: set) -> list[FusedGroup]:
    """Return the groups of fuse.py as groups of kernels: `elements`, `rows`, `columns`, and those that are not loops."""
    found: list[FusedGroup] = []
    for g in groups:
        if g.kind not in ("loop", "rows"):
            found.append(g)
            continue
        for is_scatter, run in itertools.groupby(g.parts or [g], lambda part: part.kind == "scatter"):
            some = [*run]
            found += some if is_scatter else of_parts(low, some, kept)
    return found


def of_parts(low: Lowering, parts: list[FusedGroup], kept: set) -> list[FusedGroup]:
    """Return one group for the parts, and one for each kind of column sum in them."""
    sums: dict[tuple, list] = {}
    for part in parts:
        for op in part.ops:
            if op.kind == "reduce" and not of_rows(op) and len(reduced(op)) < len(extent(over(op))):
                sums.setdefault((part.shape, *reduced(op)), []).append(op)
    columns, moved, copied = [], set[Op](), set[Op]()
    for (shape, *_), alike in sums.items():
        ops = [op for part in parts if part.shape == shape for op in part.ops]
        taken, twice = with_formulas(low, ops, alike, kept)
        columns.append(FusedGroup("columns", shape, [op for op in ops if op in taken or op in twice]))
        moved |= taken
        copied |= twice
    moved |= {op for op in copied if readers(low, op) <= moved}  # read only by sums of two kinds
    rests = [(part, [op for op in part.ops if op not in moved]) for part in parts]
    left = [FusedGroup(part.kind, part.shape, rest) for part, rest in rests if rest]
    if not left:
        return columns
    ops = [op for part in left for op in part.ops]
    wide = max([part.shape for part in left if part.kind == "loop"], key=len, default=())
    by_rows = len(left) > 1 or lead_of(low, left[0]) > 0
    return [FusedGroup("rows", wide, ops, tuple(left)) if by_rows else FusedGroup("elements", wide, ops), *columns]


def with_formulas(low: Lowering, ops: list[Op], sums: list[Op], kept: set) -> tuple[set[Op], set[Op]]:
    """Return some sums of a loop with the maps that only they read, and the maps that other operations of the loop read, too.

    The latter are arithmetic on values in memory: computing it twice costs less than writing and reading its result.
    """
    taken, twice, made = set(sums), set[Op](), {op.outs[0] for op in ops}
    for op in [op for op in reversed(ops) if op.kind == "map" and op.outs[0] not in kept]:
        others = readers(low, op)
        if others and others <= taken:
            taken.add(op)
        elif others & taken and others <= {*ops} and is_simple(op) and not made & {*low.bases([op])}:
            twice.add(op)
    return taken, twice


def readers(low: Lowering, op: Op) -> set[Op]:
    """Return the operations that read a result."""
    return {o for o in low.ops if op.outs[0] in low.bases([o])}
