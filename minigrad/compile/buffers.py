"""Allocate memory for the values that are read outside the loop that computes them, and for no others.

Other values are variables of their loop, or part of the formula that reads them. If the program writes to one of its inputs,
the new value can often be stored there directly, without an extra array: `written_directly` decides where that is safe.
`reusable_arrays` decides where a result can reuse the memory of an array that is no longer needed. cpu_loops.py writes the
loops.
"""

from typing import Any

from .fuse import LOOPED, FusedGroup, element_read, loop_index, of_rows
from .ir import Lowering, Op, Value


def stored(low: Lowering, groups: list[FusedGroup], outputs: list, writes: list) -> set:
    """Return the values that are read outside the loop that computes them, or returned."""
    made: dict[Value, list] = {}
    for g in groups:
        for o in [o for op in g.ops for o in op.outs]:
            made.setdefault(o, []).append(g)
    found = {low.base(v) for v in outputs} | {low.base(v) for _, v in writes}
    for g in groups:
        found.update([v for v in low.bases(g.ops) if v in made and g not in made[v]])
        for op in g.ops:
            if op.kind == "scatter":
                found.add(low.base(op.ins[0]))
            elif op.kind != "map" and g.kind != "rows":
                found.update(op.outs)
    return found


def written_directly(low: Lowering, groups: list[FusedGroup], outputs: list, writes: list,
                     may_raise: tuple = ("pick", "scatter", "call")) -> dict[Value, Value]:  # fmt: skip
    """Return the inputs whose new values can be computed directly in their memory: input -> value.

    Operations that `may_raise` must come before, so that an error leaves the inputs unchanged.
    """
    made = {o: (k, op) for k, g in enumerate(groups) for op in g.ops if op.kind == "map" for o in op.outs}
    added = [op for g in groups for op in g.ops if op.kind == "scatter" and op.data["inside"]]
    made |= {op.outs[0]: made[op.ins[0]] for op in added if op.ins[0] in made}  # in the memory of the array it adds to
    raising = max([k for k, g in enumerate(groups) if any(op.kind in may_raise for op in g.ops)], default=-1)
    returned = {low.base(v) for v in outputs}
    new_values = [v for _, v in writes]
    direct: dict[Value, Value] = {}
    for p, v in writes:
        k, writer = made.get(v, (-1, None))
        if k < 0 or k < raising or v.shape != p.shape or not p.shape or v.dtype != p.dtype:
            continue
        kept = v in returned or p in returned or new_values.count(v) > 1 or any(low.base(w) is p for w in new_values)
        if not kept and not read_later(low, groups, reshaped(low, groups, p), p, k, writer):
            direct[p] = writer.outs[0]
    return direct


def read_later(low: Lowering, groups: list[FusedGroup], views: set, d: Value, k: int, writer: Any) -> bool:
    """Return True if a view of d is read after `writer`, in group k, overwrites it, except for the element being computed."""
    part = {op: i for i, p in enumerate(groups[k].parts) for op in p.ops}
    for later, g in enumerate(groups[k:], k):
        for op, a in [(o, a) for o in g.ops for a in o.values if low.base(a) in views]:
            if later > k or op.kind not in LOOPED or part.get(op, 0) > part.get(writer, 0):
                return True
            if op in part and part[op] == part[writer] and is_late(op):
                return True
            if element_read(low, op, a) != (d, loop_index(d.shape)):
                return True
    return False


def is_late(op: Op) -> bool:
    """Return True if an operation reads a row after the loop over it, as the sum of a stored row does (cpu_rows.py)."""
    return op.kind == "reduce" and op.name == "sum" and of_rows(op)


def reshaped(low: Lowering, groups: list[FusedGroup], p: Value) -> set:
    """Return p and every value that shares its memory: reshaped, or a view returned by a call."""
    found = {p}
    for op in [op for g in groups for op in g.ops if op.kind in ("reshape", "call")]:
        seen = op.kind == "reshape" or getattr(op.data["cls"], "view", False)
        found.update(op.outs if seen and low.base(op.ins[0]) in found else ())
    return found


def reusable_arrays(
    low: Lowering, groups: list[FusedGroup], stored: set, kept: set, direct: dict
) -> dict[Value, Value]:
    """Return the results that can reuse the memory of an array with no later reader: result -> array."""
    order = {o: k for k, g in enumerate(groups) for op in g.ops for o in op.outs if op.kind in ("map", "dot")}
    others = [op for g in groups for op in g.ops if op.kind not in (*LOOPED, "dot", "pick")]
    held = set(low.bases(others))  # their results may be views
    found: dict[Value, Value] = {}
    for k, g in enumerate(groups):
        for part, op in [(p, op) for p in g.parts or [g] for op in p.ops if op.kind == "map" and op.outs[0] in stored]:
            out = op.outs[0]
            for d in low.bases(part.ops):
                fits = order.get(d, k) < k and (d.shape, d.dtype) == (out.shape, out.dtype) and out.shape
                free = d not in kept | held and d not in found.values() and out not in direct.values()
                if fits and free and not read_later(low, groups, {d}, d, k, op):
                    found[out] = d
                    break
    return found
