"""Explain names of PyTorch that minigrad lacks: what they are, and what to write instead; and misspelt attributes.

Errors quote the table in missing_table.py, `minigrad port` lists it, and docs/howto/port.md shows it.  Users may set their own
attributes on tensors, so a misspelt `requires_grad` would pass unnoticed: descriptors under the wrong names cost nothing,
where a `__setattr__` would cost more than an operation.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from difflib import get_close_matches
from importlib import import_module
from types import ModuleType
from typing import Any

from .. import config
from ..errors import Unread, error
from ..places import home
from .ctx import PROTOCOL
from .missing_table import NEED_TORCH, TABLE, Missing

HOMES = ("nn.functional", "nn", "linalg", "special", "optim", "autograd", "utils.data")  # where a name may be instead
CLOSE = 0.83  # the similarity of names of six letters of which two are exchanged
OWN = frozenset(
    """InternalError MinigradError MinigradWarning Record debug empty_pool explain explain_shape fork_rng get_pool_limit
    get_printoptions load_ipython_extension printoptions record record_of set_pool_limit silence GradcheckError
    is_anomaly_enabled is_anomaly_check_nan_enabled DeviceProperties watch traceable check operations_table
    Ranks isreal_ as_torch compat autograd.is_grad_enabled autograd.is_inference_mode_enabled compiler.disallow_in_graph
    compiler.graph_break compiler.mark_dynamic compiler.mark_static cuda.jit distributed.run distributed.nn.recv
    distributed.nn.send""".split()
)  # names that PyTorch does not have: in any of these modules, or in one
MODULES = frozenset(
    """amp autograd autograd.forward_ad autograd.function autograd.functional autograd.graph autograd.profiler backends compiler
    cuda cuda.amp distributed distributed.nn distributions
    distributions.constraints distributions.kl distributions.transforms func jit linalg multiprocessing nn
    nn.functional nn.grad nn.init nn.parallel nn.parameter nn.utils nn.utils.parametrizations nn.utils.parametrize nn.utils.rnn
    onnx optim optim.lr_scheduler optim.swa_utils profiler random return_types special testing utils utils.checkpoint
    utils.data version""".split()
)  # PyTorch's modules; minigrad divides itself into others, too
ROWS = {name: row for row in TABLE for name in row.names}


def row_of(path: str) -> Missing | None:
    """Return the row of the table for a name such as `fft.rfft`, or for its module.

    PyTorch gives many names to a package and to one of its files: `distributions.cauchy.Cauchy` is `distributions.Cauchy`.
    """
    parts = path.split(".")
    for n in range(len(parts), 0, -1):
        if (row := ROWS.get(".".join(parts[:n]))) is not None:
            return row
    return ROWS.get(f"{parts[0]}.{parts[-1]}")


def replacement(name: str) -> tuple[str, str]:
    """Return the problem and the fix for a missing name of PyTorch, from the table or from similar names.

    >>> replacement("torch.fft.rfft")
    ('minigrad has no complex numbers and Fourier transforms', 'keep the real and the imaginary part as two tensors')
    """
    library, _, path = name.partition(".")
    if library in NEED_TORCH:
        instead = NEED_TORCH.get(f"{library}.{path.partition('.')[0]}", NEED_TORCH[library])
        if library in ("torchvision", "functorch"):  # of which minigrad has a part
            return f"minigrad has no {name}", instead
        return f"{library} needs PyTorch itself and cannot compute with minigrad", instead
    if (row := row_of(path)) is not None:
        return f"minigrad has no {row.what}", row.instead
    module, _, last = path.rpartition(".")
    what = f"tensors have no attribute {last}" if module == "Tensor" else f"minigrad has no {path}"
    if near := nearest(name):
        return what, f"use {' or '.join(near)}"
    return what, "write it with other operations; docs/howto/port.md lists the missing names"


def nearest(name: str) -> list[str]:
    """Return the names that exist and resemble a missing one, or the same name in another module."""
    library, _, path = name.partition(".")
    module, _, last = path.rpartition(".")
    owner = "x" if module == "Tensor" else f"{library}.{module}".removesuffix(".")
    near = [f"{owner}.{n}" for n in similar(last, names_in(module, library))]
    if not near and module in ("", "nn", "Tensor"):  # it may be elsewhere
        homes = [home for home in HOMES if f"{home}.{last}" not in MODULES and last in names_in(home, library)]
        near = [f"{library}.{home}.{last}" for home in homes[:1]]
    return near


def is_misspelt(name: str) -> bool:
    """Return True for a name of PyTorch that probably is none, because it is similar to one, and not private or known."""
    path = name.partition(".")[2]
    return row_of(path) is None and not path.rpartition(".")[2].startswith("_") and bool(nearest(name))


def absent(kind: type[Exception], name: str) -> Any:
    """Return the exception for a missing name."""
    return Unread(name, lambda: replacement(name)) if kind is AttributeError else error(kind, name, *replacement(name))


def explained(module: str) -> Callable[[str], Any]:
    """Return the `__getattr__` of a module: it raises AttributeError with the replacement of a missing name."""

    def missing(name: str) -> Any:
        if name.startswith("_"):  # Python itself asks for these
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        raise absent(AttributeError, f"{module}.{name}")

    return missing


def similar(name: str, known: list[str]) -> list[str]:
    """Return the names that differ from one only as much as a slip of the keyboard does: at most 2.

    >>> similar("reshap", ["reshape", "shape"]), similar("set_", ["t_", "sqrt_"]), similar("addmm_", ["addmm"])
    (['reshape'], [], ['addmm'])
    """
    plain, digits = lambda n: n.replace("_", "").lower(), lambda n: re.findall(r"\d+", n)
    same = [n for n in known if plain(n) == plain(name)]
    close = [n for n in get_close_matches(name, known, 3, CLOSE) if n[0].lower() == name[0].lower()]
    return same[:2] or [n for n in close if digits(n) == digits(name) and (n[-1] == "_") == (name[-1:] == "_")][:2]


def names_in(module: str, library: str = "minigrad") -> list[str]:
    """Return the public names of a part of minigrad; for a program that imports torch, those that PyTorch has as well."""
    found: Any = import_module("minigrad")
    for part in filter(None, module.split(".")):
        found = getattr(found, part, None)
    there = [n for n in dir(found) if n[0] != "_" and hasattr(found, n)]  # without the misspelt attributes, which raise
    names = [n for n in there if not isinstance(found, ModuleType) or is_public(found, n)]
    return [n for n in names if library != "torch" or not OWN & {n, f"{module}.{n}"}]


def is_public(module: ModuleType, name: str) -> bool:
    """Return True unless a module has a name only for its own use: an import, or a part that PyTorch does not have."""
    value = vars(module).get(name)
    if isinstance(value, ModuleType):
        return f"{module.__name__}.{name}".partition(".")[2] in MODULES
    if "__all__" in vars(module):
        return name in module.__all__
    return (home(value) or "minigrad").partition(".")[0] == "minigrad"


MISSPELT = {
    **dict.fromkeys(
        "require_grad required_grad requires_gradient require_gradient requires_grads require_grads requiresgrad "
        "requiregrad requiresGrad requireGrad required_gradient need_grad needs_grad".split(),
        "requires_grad",
    ),
    **dict.fromkeys("gradient grads gradients".split(), "grad"),
    **dict.fromkeys("retains_gradient retain_grads retain_gradient retains_grads".split(), "retain_grad()"),
}


class Misspelt:
    """A misspelt name; assigning to it raises an AttributeError with the right one."""

    def __init__(self, name: str, right: str):
        self.name, self.right = name, right

    def __get__(self, t: Any, cls: type) -> Any:
        raise Unread(self.name, lambda: (f"tensors have no attribute {self.name}", f"use x.{self.right}"))

    def __set__(self, t: Any, value: Any) -> None:
        fix = f"call x.{self.right}" if self.right.endswith(")") else f"write x.{self.right} = {value!r}"
        raise error(
            AttributeError, self.name, f"tensors have no attribute {self.name}, and assigning it does nothing", fix
        )


class Called:
    """A method with the name of a setting; assigning to it raises an AttributeError."""

    def __init__(self, method: Callable):
        self.method = method

    def __get__(self, t: Any, cls: type) -> Any:
        return self.method if t is None else self.method.__get__(t, cls)

    def __set__(self, t: Any, value: Any) -> None:
        name = self.method.__name__
        raise error(
            AttributeError, name, f"{name} is a method; assigning {value!r} to it does nothing", f"call x.{name}()"
        )


def not_there(t: Any, name: str) -> Any:
    """Raise for an attribute that a tensor lacks, as `Tensor.__getattr__`."""
    cls = type(t)
    for c in cls.__mro__:
        if name in c.__dict__:  # a property raised an AttributeError, which Python has dropped
            return c.__dict__[name].__get__(t, cls)
    if name.startswith("_") or name in PROTOCOL:  # code probes for such names; method_errors explains those of a ctx
        raise AttributeError(f"'{type(t).__name__}' object has no attribute '{name}'", name=name, obj=t)
    raise absent(AttributeError, f"{config.library_name}.Tensor.{name}")


def install(tensor: Any) -> None:
    """Install the descriptors in the class of tensors, and hide them from its `dir`."""
    for name, right in MISSPELT.items():
        setattr(tensor, name, Misspelt(name, right))
    for method in (tensor.retain_grad, tensor.requires_grad_):
        setattr(tensor, method.__name__, Called(method))
    tensor.__getattr__ = not_there
    tensor.__dir__ = lambda t: [n for n in object.__dir__(t) if n not in MISSPELT]
