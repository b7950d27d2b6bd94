"""The names of tensors in the variables of a program, as records, explanations and errors write them: `net.fc.weight`, `ws.0`.

A tensor may have several: `names_in` yields all of a variable, `names_of_tensors` chooses one for each tensor.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ..core.tensor import Tensor
from ..tensors.nested import is_tensor, named_in

Test = Callable[[Any], Any]


def is_module(value: Any) -> bool:
    """Return True for a module of minigrad or PyTorch, and for what has parameters as a module does."""
    return not isinstance(value, type) and hasattr(type(value), "named_parameters")


def named_tensors(module: Any) -> list[tuple[str, Tensor]]:
    """Return the parameters and the buffers of a module, with their paths."""
    buffers = module.named_buffers() if hasattr(module, "named_buffers") else ()
    return [*module.named_parameters(), *buffers]


def names_in(name: str, value: Any, is_tensor: Test = is_tensor, module: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the tensors in a variable, each with its name: the variable, a parameter of a module, an element of a container.

    A module without a variable has `module`, or the name of its class, before those paths that begin with a number.

    >>> x = Tensor()
    >>> [name for name, _ in (*names_in("x", x), *names_in("batch", {"left": x}), *names_in("ws", [None, [x]]))]
    ['x', 'batch["left"]', 'ws.1.0']
    """
    if not is_module(value):
        yield from named_in(name, value, is_tensor)
        return
    for path, t in named_tensors(value):
        if is_tensor(t):
            yield f"{name}.{path}" if name else path_in(value, module, path), t


def names_of_tensors(variables: Mapping[str, Any], is_tensor: Test = is_tensor, module: str = "") -> dict[int, str]:
    """Return the name of each tensor in some variables, by the tensor's id.

    A variable counts more than a parameter or a buffer of a module, and that more than an element of a container.  Of several
    variables the first one counts: the last one is often that of a loop, as in `for p in (w, b)`.  The first module existed
    before those that contain it.  Of several elements, the one with the shortest name counts.

    >>> w, v = Tensor(), Tensor()
    >>> list(names_of_tensors({"ws": [w, v], "w": w, "p": w}).values())
    ['w', 'ws.1']
    """
    known: dict[int, tuple[tuple, str]] = {}
    for variable, value in variables.items():
        for name, t in names_in(variable, value, is_tensor, module):
            rank = (1, 0) if is_module(value) else (0, 0) if t is value else (2, len(name))
            if id(t) not in known or rank < known[id(t)][0]:
                known[id(t)] = rank, name
    return {t: name for t, (_, name) in known.items()}


def path_in(module: Any, name: str, path: str) -> str:
    """Return the name of a module's parameter: its path, if that begins with an attribute, or the module's name before it.

    >>> from minigrad.nn import Sequential
    >>> path_in(Sequential(), "", "0.weight"), path_in(Sequential(), "net", "0.weight"), path_in(Sequential(), "", "a.0.b")
    ('sequential.0.weight', 'net.0.weight', 'a.0.b')
    """
    if not path.partition(".")[0].isdigit():
        return path
    return f"{name if name.isidentifier() else type(module).__name__.lower()}.{path}"
