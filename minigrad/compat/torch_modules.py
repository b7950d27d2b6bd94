"""PyTorch's modules, each backed by the corresponding part of minigrad; placeholders for packages that need PyTorch itself.

Most have the same name in both and need no row: `torch.nn.functional` is `minigrad.nn.functional`. The table holds the
others: modules that PyTorch divides differently, and widely used ones with an underscore.  placeholders.py has a table of the
modules that have little to do here.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from functools import cache, lru_cache
from importlib import import_module
from types import CodeType, FrameType, ModuleType
from typing import Any, NoReturn, Union

from .. import config
from ..diagnose.missing_names import NEED_TORCH, absent, replacement, row_of
from ..places import expression_at, parsed
from .class_names import LAYERS, name_classes
from .placeholders import TABLE, Backend, module
from .static_names import parts_that_may_fail

PYTORCH = "2.13.0"  # the version whose semantics minigrad implements
NOTHING = object()  # not None, which may be a module's value
OTHERS = ("functorch", "safetensors", "torchvision")  # packages whose modules need PyTorch there and not here

# modules with the names of the module around them
INSIDE = {
    "autograd": "anomaly_mode gradcheck variable",
    "cuda": "memory random",
    "cuda.amp": "autocast_mode",
    "distributed": "distributed_c10d",
    "distributions": """bernoulli beta binomial categorical cauchy chi2 continuous_bernoulli dirichlet exponential gamma
        geometric gumbel half_cauchy half_normal independent kumaraswamy laplace log_normal mixture_same_family multinomial
        multivariate_normal normal one_hot_categorical pareto poisson relaxed_bernoulli relaxed_categorical studentT
        transformed_distribution uniform weibull""",
    "nn.modules": " ".join(LAYERS),
    "nn.parallel": "data_parallel distributed",
    "nn.utils": "clip_grad spectral_norm weight_norm",
    "optim": "adadelta adagrad adam adamax adamw asgd lbfgs nadam radam rmsprop rprop sgd",
    "utils.data": "dataloader dataset distributed sampler",
    "utils.tensorboard": "writer",
    "torchvision.datasets": "mnist folder vision",
    "torchvision.io": "image",
    "torchvision.models": "resnet vgg",
    "torchvision.transforms": "transforms v2",
}
# modules of minigrad or rows of placeholders.py, and PyTorch's modules whose names are looked up there, in this order
PLACES = {
    "minigrad": "functional utils.dlpack",
    "minigrad of_torch": "torch",
    "annotations": "nn.common_types nn.modules.utils",
    "annotations minigrad": "types",
    "attention": "nn.attention",
    "autograd of_autograd": "autograd",
    "compat.amp": "amp.autocast_mode",
    "compat.grad_scaler": "amp.grad_scaler",
    "compiler": "_dynamo",
    "cuda of_cuda": "cuda",
    "cuda_amp": "cuda.amp",
    "cuda_amp compat.grad_scaler": "cuda.amp.grad_scaler",
    "func": "nn.utils.stateless",
    "nn underscored": "nn.modules",
    "nn.init of_init": "nn.init",
    "nn.lazy": "nn.modules.lazy",
    "ops_by_name": "ops",
    "optim.lr_scheduler of_schedules": "optim.lr_scheduler",
    "optim.optimizer underscored": "optim.optimizer",
    "other_accelerators": "mps mtia xpu",
    "pytree": "utils._pytree",
    "testing of_testing": "testing",
    "underscored": "_C _utils utils.hooks",
    "underscored minigrad": "_tensor",
    **{name: name for name in ("nn.parallel", "sparse", "utils.benchmark", "utils.tensorboard")},  # not loaded yet
    "func compat.functorch": "functorch",
    "utils.safetensors": "safetensors.torch",
    "compat.vision": "torchvision",
    "compat.vision.datasets": "torchvision.datasets",
    "compat.vision.functional": "torchvision.transforms.functional torchvision.transforms.v2.functional",
    "compat.vision.models": "torchvision.models",
    "compat.vision.transforms": "torchvision.transforms",
    "compat.vision.utils": "torchvision.io torchvision.utils",
}
ROWS = {name: places for places, names in PLACES.items() for name in names.split()}
ROWS |= {f"{around}.{name}": ROWS.get(around, around) for around, names in INSIDE.items() for name in names.split()}
PATHS = {name: tuple([p.removeprefix("minigrad") for p in places.split()]) for name, places in ROWS.items()}
IN_OTHER_PACKAGES = {name: paths for name, paths in PATHS.items() if name.partition(".")[0] in OTHERS}
ELSEWHERE = {name.removeprefix("torch"): paths for name, paths in PATHS.items() if name not in IN_OTHER_PACKAGES}


class TorchModule(ModuleType):
    """A PyTorch module, whose names are looked up in modules of minigrad and then cached."""

    def __init__(self, name: str, places: tuple[ModuleType, ...]):
        super().__init__(name, f"{name}, as minigrad has it.")
        self.__path__ = []  # Python imports submodules of packages only
        self._places = places
        if name in ("torch", "torch.version"):
            self.__version__ = f"{PYTORCH}+minigrad"
        elif name == "torchvision":
            self.__version__ = places[0].__version__
        if config.library_name == "torch":
            name_classes()  # those of modules that are loaded only now, too

    def __getattr__(self, name: str) -> Any:
        if name == "__all__":  # from torch.nn import *
            return [n for n in dir(self) if not n.startswith("_")]
        if name.startswith("__"):  # Python itself asks for these
            raise AttributeError(name)
        found = self._look_up(name)
        if found is NOTHING or isinstance(found, ModuleType):
            found = module_called(f"{self.__name__}.{name}") or found
        if found is NOTHING and self.__name__.partition(".")[0] in NEED_TORCH:
            return AbsentName(f"{self.__name__}.{name}")  # as in packages of which minigrad has nothing
        if found is NOTHING:
            return self._absent(f"{self.__name__}.{name}")
        setattr(self, name, found)
        return found

    def __setattr__(self, name: str, value: Any) -> None:
        """Set a name. Python sets each imported submodule; a function of the same name stays, such as `weight_norm`.

        A placeholder is not set: `hasattr` tells the truth again when the imports are undone.
        """
        function = isinstance(value, TorchModule) and callable(self._look_up(name))
        if not function and not isinstance(value, AbsentModule):
            super().__setattr__(name, value)

    def _absent(self, name: str) -> Any:
        """Return a placeholder for a name that was imported, or that the running line only names; else raise."""
        asking, known = sys._getframe(2), row_of(name.partition(".")[2]) is not None  # others may be misspelt
        if isinstance(sys.modules.get(name), AbsentModule) or known and is_only_named(asking.f_code, asking.f_lasti):
            return AbsentName(name)
        raise absent(AttributeError, name)

    def _look_up(self, name: str) -> Any:
        """Return the value of a name in minigrad's modules; NOTHING if none has it."""
        for place in self._places:
            known = name in vars(place) or "__getattr__" in vars(place) and hasattr(place, name)
            if known and not is_import(place, name) and not self._is_division(place, name):
                return getattr(place, name)
        return NOTHING

    def _is_division(self, place: ModuleType, name: str) -> bool:
        """Return True for a module of minigrad that PyTorch does not have there, such as `optim.sgd.sgd`."""
        value, later = vars(place).get(name), vars(place).get("_AROUND", ())  # modules that are imported at first use
        ours = name in later or isinstance(value, ModuleType) and value.__name__.startswith("minigrad.")
        return ours and module_called(f"{self.__name__}.{name}") is None

    def __dir__(self) -> list[str]:
        names = [(place, n) for place in self._places for n in dir(place)]
        return sorted({*vars(self), *[n for p, n in names if not is_import(p, n) and not self._is_division(p, n)]})


def is_import(place: ModuleType, name: str) -> bool:
    """Return True for a name that a module of minigrad imports for its own use."""
    listed = vars(place).get("__all__")
    if listed is None or name in listed or name.startswith("_") or name not in vars(place):
        return False
    value = vars(place)[name]
    return not isinstance(value, ModuleType) or not value.__name__.startswith("minigrad.")


@cache
def module_called(name: str) -> ModuleType | None:
    """Return the module for one of PyTorch's, such as `torch.nn.modules.conv`, or None.

    >>> module_called("torch.nn.modules.conv").Conv2d
    <class 'minigrad.nn.convolution.Conv2d'>
    """
    path = name.removeprefix("torch").removeprefix(".")
    if (names := IN_OTHER_PACKAGES.get(name) or ELSEWHERE.get(path)) is not None:
        places = [module(p) if p in TABLE else import_module(f"minigrad.{p}".removesuffix(".")) for p in names]
        return TorchModule(name, tuple(places))
    if name.partition(".")[0] != "torch":
        return None
    found: Any = import_module("minigrad")
    for part in path.split("."):
        found = getattr(found, part, None)
    if isinstance(found, Backend):
        return found
    if isinstance(found, ModuleType) and found.__name__.startswith("minigrad."):
        return TorchModule(name, (found,))
    return None


# ---------------------------------------------------------------------- what minigrad does not have
class AbsentName:
    """A name that minigrad lacks.  It may be imported, listed, compared with, and appear in annotations; its use raises.

    A class may derive from it, and raises when an instance is made.  So a program fails where it needs the name, not where
    it imports a library that needs it elsewhere.
    """

    def __init__(self, name: str):
        self._name = name

    def __getattr__(self, name: str) -> AbsentName:
        if name.startswith("__"):  # Python itself asks for these
            raise AttributeError(name)
        return AbsentName(f"{self._name}.{name}")

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        needs_torch = self._name.partition(".")[0] in NEED_TORCH
        raise absent(ModuleNotFoundError if needs_torch else NotImplementedError, self._name)

    __iter__ = __len__ = __contains__ = __setitem__ = __delitem__ = __enter__ = __exit__ = __call__
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __call__
    __matmul__ = __rmatmul__ = __pow__ = __rpow__ = __neg__ = __int__ = __float__ = __index__ = __call__

    def __bool__(self) -> bool:
        return True

    def __mro_entries__(self, bases: tuple) -> tuple:
        return (type(self._name.rpartition(".")[2], (), {"__new__": lambda cls, *args, **kwargs: self()}),)

    def __instancecheck__(self, instance: object) -> bool:
        return False

    __subclasscheck__ = __instancecheck__

    def __or__(self, other: Any) -> Any:
        return Union[self, other]  # noqa: UP007  (`|` takes types only)

    __ror__ = __or__

    def __getitem__(self, parameters: Any) -> AbsentName:
        return self

    def __repr__(self) -> str:
        return f"<{self._name}, which {replacement(self._name)[0]}>"


class AbsentModule(AbsentName, ModuleType):
    """A name that minigrad lacks, after an import: Python asks for a module when a package does not have a name."""

    def __init__(self, name: str):
        ModuleType.__init__(self, name)
        self._name, self.__path__ = name, []  # Python imports submodules of packages only


def is_tried(frame: FrameType | None) -> bool:
    """Return True if a frame imports something in a `try` that handles its absence, so that the program has an alternative."""
    if frame is None or (tree := parsed(frame.f_code.co_filename)) is None:
        return False
    return any(
        isinstance(part, (ast.Import, ast.ImportFrom)) and part.lineno <= frame.f_lineno <= (part.end_lineno or 0)
        for node in ast.walk(tree)
        if isinstance(node, ast.Try)
        for part in parts_that_may_fail(node)
    )


@lru_cache(256)
def is_only_named(code: CodeType, instruction: int) -> bool:
    """Return True if an attribute is looked up to be compared with or listed, for a base class, or in an annotation."""
    node, tree = expression_at(code, instruction, ast.Attribute), parsed(code.co_filename)
    return node is not None and tree is not None and any(part is node for part in only_named(tree))


def only_named(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield the expressions of a program that name types or base classes, are compared or listed: names need not exist."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("isinstance", "issubclass"):
            places = node.args[1:]
        elif isinstance(node, ast.Compare):
            places = [node.left, *node.comparators]
        elif isinstance(node, ast.ClassDef):
            places = node.bases
        elif isinstance(node, (ast.List, ast.Tuple, ast.Set)):
            places = node.elts
        elif isinstance(node, ast.Dict):
            places = [*node.keys, *node.values]
        else:
            places = [getattr(node, "annotation", None), getattr(node, "returns", None)]
        for place in places:
            yield from listed(place) if place is not None else ()


def listed(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the parts that an expression lists: of a tuple, a union, an annotation, and the modules of a name; no calls."""
    yield node
    if isinstance(node, (ast.Tuple, ast.List, ast.Set, ast.BinOp, ast.Attribute, ast.Subscript)):
        for part in ast.iter_child_nodes(node):
            yield from listed(part)
