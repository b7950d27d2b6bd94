"""Models and state dicts in a notebook: a tree that opens, with a map of each tensor and of its gradient, and paths to copy."""

import math
from collections.abc import Iterator, Mapping
from html import escape
from itertools import cycle
from typing import Any

import numpy as np

from minigrad.record.summary import summary
from minigrad.record.values import bottom

from .. import text
from ..programs.tensor_names import notebook_names
from .facets import facets

LARGEST = 4_000_000  # elements of a tensor that are read for a map
ROOM = 400_000  # characters of the maps of a display
OPEN = 8  # tensors: a module with at most this many is open
SHARED = "#9a5fd0 #1b9e77 #d95f52 #3b7dd8 #b8860b".split()  # colours of shared tensors, for light and dark pages
STYLE = """<style>
.minigrad-tree { font: 13px/1.6 ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; }
.minigrad-tree details > :not(summary) { margin-left: 1.4em; }
.minigrad-tree summary { cursor: pointer; }
.minigrad-tree small, .minigrad-tree i { opacity: 0.75; font-size: 12px; }
.minigrad-tree code { user-select: all; cursor: copy; font-size: 12px; opacity: 0.75; margin-left: 0.8em; background: none; }
.minigrad-tree figure { display: inline-block; margin: 2px 14px 6px 0; vertical-align: top; }
</style>"""


def tree(what: Any, name: str = "") -> str:
    """Return a model or a dict of tensors as HTML; a click opens a module, and copies a path.

    >>> import minigrad
    >>> made = tree(minigrad.nn.Sequential(minigrad.nn.Linear(3, 2)), "net")
    >>> "net[0].weight" in made, "6 elements" in made, made.count("<img")
    (True, False, 2)
    """
    name = name or variable(what) or ("state" if isinstance(what, Mapping) else "model")
    made = Tree(what, name)
    command = copied(f'viz.draw({name}, x, passes="all")')
    body = made.branch(what, "", name, True)
    body += f"<div><small>Draw a pass:</small> {command}</div>" if is_module(what) else ""
    return f'{STYLE}<div class="minigrad-tree">{body}</div>'


def tree_of(what: Any) -> str | None:
    """Return the tree of a module of PyTorch or a state dict; None for another object, and if a part of it raises."""
    try:
        return tree(what) if is_module(what) or is_state(what) else None
    except Exception:  # a cell whose last line shows a value must not end a notebook
        return None


class Tree:
    """Writes a tree; tensors with the same memory have the same colour."""

    def __init__(self, what: Any, name: str):
        self.room = ROOM
        places: dict[Any, list[str]] = {}
        for _, path, leaf in leaves(what, name):
            places.setdefault(memory(leaf), []).append(path)
        self.places = {key: paths for key, paths in places.items() if len(paths) > 1}
        self.shared = dict(zip(self.places, cycle(SHARED)))

    def branch(self, what: Any, title: str, path: str, is_open: bool = False) -> str:
        """Return a module or dict with its parts."""
        inside = list(leaves(what, path))
        elements = sum(elements_of(leaf) for leaf in {memory(leaf): leaf for _, _, leaf in inside}.values())
        kind = f"{type(what).__name__}({escape(extra(what))})" if is_module(what) else ""
        about = f"<small>{text.counted(len(inside), 'tensor')}, {text.counted(elements, 'element')}</small>"
        head = f"<b>{escape(title or path)}</b> {kind} {about if inside else ''}{copied(path) if title else ''}"
        if not inside:
            return f"<div>{head}</div>"
        parts = [
            self.branch(part, name, below, len(inside) <= OPEN) if holds(part) else self.leaf(part, name, below)
            for name, below, part in parts_of(what, path)
        ]
        return f"<details{' open' * is_open}><summary>{head}</summary><div>{''.join(parts)}</div></details>"

    def leaf(self, t: Any, name: str, path: str) -> str:
        """Return a tensor: its name, shape and numbers, and the maps of its values and gradient side by side."""
        key, array = memory(t), array_of(t)
        mark = ""
        if key in self.shared:
            others = ", ".join(place for place in self.places[key] if place != path)
            mark = f' <span style="color: {self.shared[key]}">● shared with {escape(others)}</span>'
        shape = sizes(t)
        about = " ".join(["not initialized" if shape is None else text.shape(shape), str(t.dtype).rpartition(".")[2]])
        head = f"<div><b>{escape(name)}</b> <small>{about}{self.numbers(array)}</small>{mark}{copied(path)}</div>"
        grad = array_of(getattr(t, "grad", None))
        found = [("" if grad is None else "value", array), ("grad", grad)]
        return head + "".join(self.map(title, one) for title, one in found if one is not None)

    def numbers(self, array: np.ndarray | None) -> str:
        if array is None or not array.size:
            return ""
        value = {"shape": list(array.shape), "dtype": str(array.dtype), "summary": summary(array)}
        return f": {escape(text.contents(value))}"

    def map(self, title: str, array: np.ndarray) -> str:
        """Return the map of an array with different elements, if there is room for it, and of a gradient its numbers."""
        about = f"<small>{title}{self.numbers(array) if title == 'grad' else ''}</small>"
        equal = array.size < 2 or (array == array.flat[0]).all()
        if equal or self.room < 0:
            return f"<figure>{about}</figure>" if title == "grad" else ""
        drawn = facets(array)
        self.room -= len(drawn)
        return f"<figure>{drawn}<br>{about}</figure>"


def is_module(what: Any) -> bool:
    """Return True for a module of minigrad or PyTorch."""
    return hasattr(what, "_modules") and hasattr(what, "_parameters")


def holds(what: Any) -> bool:
    """Return True for a module, and for a dict or list of tensors."""
    return is_module(what) or isinstance(what, (Mapping, list, tuple))


def is_leaf(what: Any) -> bool:
    return hasattr(what, "shape") and hasattr(what, "dtype")


def is_state(what: Any) -> bool:
    """Return True for a dict that holds nothing but tensors, in any depth."""
    parts = list(what.values()) if isinstance(what, Mapping) else []
    return bool(parts) and all(is_leaf(part) or is_state(part) for part in parts)


def parts_of(what: Any, path: str) -> Iterator[tuple[str, str, Any]]:
    """Yield the name, the path and the object of each part of a module, dict or list."""
    if is_module(what):
        listed = hasattr(what, "__getitem__")
        for kind in (what._parameters, what._buffers, what._modules):
            for name, part in kind.items():
                if part is not None:
                    yield name, f"{path}[{name}]" if name.isdigit() and listed else f"{path}.{name}", part
        return
    for name, part in what.items() if isinstance(what, Mapping) else enumerate(what):
        if is_leaf(part) or holds(part):
            yield str(name), f"{path}[{name!r}]", part


def leaves(what: Any, path: str) -> Iterator[tuple[str, str, Any]]:
    """Yield the name, the path and the tensor of each leaf below an object."""
    for name, below, part in parts_of(what, path):
        if holds(part):
            yield from leaves(part, below)
        else:
            yield name, below, part


def array_of(t: Any) -> np.ndarray | None:
    """Return the elements of a tensor as an array; None for a large one, and where there are none to read."""
    if t is None or sizes(t) is None or elements_of(t) > LARGEST or "meta" in str(getattr(t, "device", "")):
        return None
    if hasattr(t, "_layer"):
        return None if t._layer is not None else bottom(t)
    if hasattr(t, "detach"):  # of PyTorch
        t = t.detach().cpu()
        return t.float().numpy() if str(t.dtype) == "torch.bfloat16" else t.numpy()
    return np.asarray(t)


def sizes(t: Any) -> list[int] | None:
    """Return the shape of a tensor; None for a parameter that gets its shape from the first input."""
    return None if type(t).__name__.startswith("Uninitialized") else [int(n) for n in t.shape]


def elements_of(t: Any) -> int:
    shape = sizes(t)
    return 0 if shape is None else math.prod(shape)


def memory(t: Any) -> Any:
    """Return what tensors have in common if they are the same elements of the same memory."""
    if hasattr(t, "data_ptr") and elements_of(t) and str(t.device) != "meta":
        return t.data_ptr(), tuple(t.shape), str(t.dtype)
    return id(t)


def extra(module: Any) -> str:
    return module.extra_repr() if hasattr(module, "extra_repr") else ""


def copied(path: str) -> str:
    """Return a text that a click copies; without a script, a click selects it."""
    return f'<code title="copy" onclick="navigator.clipboard?.writeText(this.textContent)">{escape(path)}</code>'


def variable(what: Any) -> str:
    """Return the name of the notebook's variable that holds an object."""
    return next((name for name, value in notebook_names().items() if value is what), "")
