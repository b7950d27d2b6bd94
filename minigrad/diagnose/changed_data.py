"""A batch that is a part of the data, normalised in place: the next round of the training loop normalises the data again.

`batch = data[i:i + n]` is a view, and `batch /= 255` writes to `data`.  The text of the program shows the writes, and the
memory of the two tensors that one is part of the other.  Only what is certain counts: a division by a number, with a
subtraction or by the largest value of a byte, of data that nothing else changes.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from ..arrays.memory import storage
from ..core.tensor import Tensor
from ..errors import warn
from ..places import Place, noted, user_frame, user_place
from .cut_lines import running_line
from .histories import Scope, resolved
from .program_tree import LinesLike, called_name, holds, names_in, parts, statements, written
from .report import searches

PART = LinesLike(r"^\s*[A-Za-z_][\w, ]* = .*\w\[[^\]]*:")
OPERATORS: dict[type[ast.operator], str] = {ast.Sub: "sub", ast.Div: "div", ast.Add: "add", ast.Mult: "mul"}
BYTE = (255, 256, 127.5, 128)


@searches()
def check_data() -> None:
    """Warn about data that the loops around the running backward normalise in place, part by part, in every round."""
    frame = user_frame()
    if frame is None or not PART.found_in(frame.f_code.co_filename) or (begun := running_line()) is None:
        return
    call, scope = begun
    loops = [s for s in statements(scope.tree) if isinstance(s, (ast.For, ast.While)) and holds([s], call.lineno)]
    if len(loops) < 2:
        return
    for s, batch, data, code in parts_taken(loops[-1], scope):
        bound = [b.lineno for b, _ in written(scope.tree).get(data, ())]
        writes = list(writes_to(batch, loops[-1], scope))
        if any(holds([loops[0]], line) for line in bound) or not normalises([(name, by) for _, name, by in writes]):
            continue
        whole = scope.values[data]
        warn(
            "data-changed",
            batch,
            f"is written in place, and it is a part of {data}, of shape {tuple(whole.shape)}, not a copy: each round of "
            f"the loop at line {loops[0].lineno} normalises the same numbers again",
            f"make a copy, {batch} = {code}.clone(), or a new tensor, as in {batch} = {batch} / 255",
            Place(scope.file, writes[0][0].lineno),
            [*noted("the part is taken", Place(scope.file, s.lineno)), *noted("backward was called", user_place())],
        )
        return


def parts_taken(loop: ast.For | ast.While, scope: Scope) -> Iterator[tuple[ast.stmt, str, str, str]]:
    """Yield the statements of a loop that take a part of data: with the names of the part and the data, and the code."""
    for s in statements(loop):
        if not isinstance(s, ast.Assign) or len(s.targets) != 1:
            continue
        target = s.targets[0]
        pairs = zip(getattr(target, "elts", [target]), getattr(s.value, "elts", [s.value]))
        for name, value in pairs:
            if isinstance(name, ast.Name) and isinstance(value, ast.Subscript) and isinstance(value.value, ast.Name):
                part, whole = resolved(name, scope), resolved(value.value, scope)
                if plain(part) and plain(whole) and part is not whole and storage(part._a) is storage(whole._a):
                    yield s, name.id, value.value.id, ast.unparse(value)


def plain(t: Any) -> bool:
    """Return True for a tensor in the main memory that is no parameter, no result, and no transform's."""
    return isinstance(t, Tensor) and t._layer is None and t._edge is None


def writes_to(name: str, loop: ast.For | ast.While, scope: Scope) -> Iterator[tuple[ast.stmt, str, Any]]:
    """Yield the statements of a loop that write to a variable in place, with the operation and the number; None for others."""
    for s in statements(loop):
        if isinstance(s, ast.AugAssign) and isinstance(s.target, ast.Name) and s.target.id == name:
            yield s, OPERATORS.get(type(s.op), ""), operand(s.value, name, scope)
        node = s.value if isinstance(s, (ast.Expr, ast.Assign)) else None
        found = []
        while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            found.append((called_name(node), node.args[0] if len(node.args) == 1 else node))
            node = node.func.value
        if isinstance(node, ast.Name) and node.id == name and all(method.endswith("_") for method, _ in found):
            for method, by in found[::-1]:
                yield s, method.rstrip("_"), operand(by, name, scope)


def operand(node: ast.expr, name: str, scope: Scope) -> Any:
    """Return a number, "own" for something computed from the variable alone, such as its mean, or None."""
    value = resolved(node, scope)
    if isinstance(value, (int, float)):
        return value
    return "own" if set(names_in(parts(node))) == {name} else None


def normalises(writes: list[tuple[str, Any]]) -> bool:
    """Return True for a division by a number, with a subtraction or by the largest value of a byte, and nothing else."""
    if any(name not in ("sub", "div") or by is None for name, by in writes):
        return False
    numbers = [by for name, by in writes if name == "div" and by != "own"]
    return bool(numbers) and (any(name == "sub" for name, _ in writes) or any(by in BYTE for by in numbers))
