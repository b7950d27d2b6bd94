"""Check that shapes broadcast together, suggest a fix if they do not, and draw them below each other."""

from collections.abc import Iterable, Sequence
from itertools import zip_longest


def apart(shapes: Iterable) -> str:
    """Describe which shapes cannot be broadcast, and why."""
    shapes = [tuple(s) for s in shapes]
    columns = enumerate(zip_longest(*[s[::-1] for s in shapes], fillvalue=1), 1)  # from the last dimension on
    why = (f"dimension -{d} has sizes {' and '.join(map(str, sizes))}" for d, sizes in columns if len({1, *sizes}) > 2)
    return f"the shapes {' and '.join(map(str, shapes))} cannot be broadcast together: {next(why, 'the sizes differ')}"


def meeting(shapes: dict[str, tuple]) -> str:
    """Return the code that makes shapes broadcast: it adds a dimension of size 1, or transposes a matrix.

    If both work, the result has no more dimensions than necessary.
    """
    rank = max(map(len, shapes.values()))
    others = {name: [s for n, s in shapes.items() if n != name] for name in shapes}
    for most in (rank, rank + 1):
        for name, shape in shapes.items():
            for d in range(-1, -len(shape) - 1, -1):
                place = len(shape) + 1 + d
                if len(shape) < most and shares_size((*shape[:place], 1, *shape[place:]), others[name]):
                    return f"write {name}.unsqueeze({d}), whose new dimension of size 1 broadcasts"
        for name, shape in shapes.items():
            if len(shape) > 1 and shares_size((*shape[:-2], shape[-1], shape[-2]), others[name]):
                return f"write {name}.{'T' if len(shape) == 2 else 'mT'}, which swaps its last two dimensions"
    return f"give {' and '.join(shapes)} the same size there; x.unsqueeze(d) adds a dimension that broadcasts"


def shares_size(shape: tuple, others: list) -> bool:
    """Return True if a shape broadcasts with others and has a size in common with one of them."""
    return broadcastable(shape, *others) and any(n == m > 1 for s in others for n, m in zip(shape[::-1], s[::-1]))


def broadcastable(*shapes: tuple) -> bool:
    """Return True if shapes broadcast together."""
    try:
        broadcast_shape(*shapes)
    except ValueError:
        return False
    return True


def broadcast_shape(*shapes: tuple) -> tuple:
    """Return the broadcast shape, of up to 64 dimensions (NumPy's function allows 32).  Raises ValueError if there is none."""
    if shapes and shapes.count(shapes[0]) == len(shapes):
        return tuple(shapes[0])
    found = []
    for sizes in zip_longest(*[s[::-1] for s in shapes], fillvalue=1):
        size, *others = {*sizes} - {1} or {1}
        if others:
            raise ValueError(f"the sizes {sizes} cannot be broadcast together")
        found.append(size)
    return tuple(found[::-1])


class Sketch(str):
    """Shapes below each other, as text; `rows` has their names and aligned sizes, as words, `marked` the columns to mark."""

    rows: list[tuple[str, tuple[str, ...]]]
    marked: list[int]


def sketch(shapes: dict[str, Sequence], marked: Iterable[int] | None = None) -> Sketch:
    """Draw shapes below each other, aligned as for broadcasting, with a mark under the sizes that do not broadcast.

    "" stands for a gap.  `marked` names the columns to mark, counted from the end, instead of those that do not broadcast.

    >>> print(sketch({"input": (5, 3, 4), "other": (4, 3)}))
    input   5 3 4
    other     4 3
              ^ ^
    >>> print(sketch({"input": (2, 3, ""), "other": ("", 4, 5)}, [-2]))
    input   2 3
    other     4 5
              ^
    """
    rank = max(len(s) for s in shapes.values())
    rows = [("",) * (rank - len(s)) + tuple(map(str, s)) for s in shapes.values()]
    if marked is None:
        marked = [d - rank for d in range(rank) if len({row[d] for row in rows} - {"", "1"}) > 1]
    places = sorted({d % rank for d in marked}) if rank else []
    marks = tuple("^" if d in places else "" for d in range(rank))
    columns = [c for c in zip(*rows, marks) if any(c[:-1])]
    widths = [max(map(len, c)) for c in columns]
    first = max(map(len, shapes))
    lines = zip([*shapes, ""], zip(*columns) if columns else [()] * (len(rows) + 1))
    drawn = [f"{n:{first}}   " + " ".join(c.rjust(w) for c, w in zip(row, widths)) for n, row in lines]
    made = Sketch("\n".join(line.rstrip() for line in drawn).rstrip())
    made.rows, made.marked = [*zip(shapes, rows)], places
    return made
