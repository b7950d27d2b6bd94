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
OF_LAYERS = "clip_grad spectral_norm weight_norm".split()
DISTRIBUTIONS = """bernoulli beta binomial categorical cauchy chi2 continuous_bernoulli dirichlet exponential gamma geometric
gumbel half_cauchy half_normal independent kumaraswamy laplace log_normal mixture_same_family multinomial multivariate_normal
normal one_hot_categorical pareto poisson relaxed_bernoulli relaxed_categorical studentT transformed_distribution uniform
weibull""".split()
OPTIMIZERS = "adadelta adagrad adam adamax adamw asgd lbfgs nadam radam rmsprop rprop sgd".split()
NOTHING = object()  # not None, which may be a module's value

# PyTorch's module -> the modules of minigrad in which its names are looked up, in this order
ELSEWHERE = {
    **{f"nn.modules.{name}": ("nn", "underscored") for name in LAYERS},
    **{f"nn.utils.{name}": ("nn.utils",) for name in OF_LAYERS},
    **{f"distributions.{name}": ("distributions",) for name in DISTRIBUTIONS},
    **{f"optim.{name}": ("optim",) for name in OPTIMIZERS},
    "": ("", "of_torch"),
    "autograd": ("autograd", "of_autograd"),
    "nn.init": ("nn.init", "of_init"),
    "optim.lr_scheduler": ("optim.lr_scheduler", "of_schedules"),
    "testing": ("testing", "of_testing"),
    "sparse": ("sparse",),
    "_C": ("underscored",),
    "_dynamo": ("compiler",),
    "_utils": ("underscored",),
    "_tensor": ("underscored", ""),
    "autograd.anomaly_mode": ("autograd",),
    "autograd.gradcheck": ("autograd",),
    "autograd.variable": ("autograd",),
    "amp.autocast_mode": ("compat.amp",),
    "amp.grad_scaler": ("compat.grad_scaler",),
    "cuda": ("cuda", "of_cuda"),
    "cuda.amp": ("cuda_amp",),
    "cuda.amp.autocast_mode": ("cuda_amp",),
    "cuda.amp.grad_scaler": ("cuda_amp", "compat.grad_scaler"),
    "cuda.memory": ("cuda",),
    "cuda.random": ("cuda",),
    "distributed.distributed_c10d": ("distributed",),
    "functional": ("",),
    "nn.attention": ("attention",),
    "ops": ("ops_by_name",),
    "nn.common_types": ("annotations",),
    "nn.modules": ("nn", "underscored"),
    "nn.modules.utils": ("annotations",),
    "nn.parallel": ("nn.parallel",),
    "nn.modules.lazy": ("nn.lazy",),
    **{f"nn.parallel.{name}": ("nn.parallel",) for name in ("data_parallel", "distributed")},
    "nn.utils.stateless": ("func",),
    "optim.optimizer": ("optim.optimizer", "underscored"),
    "types": ("annotations", ""),
    "utils._pytree": ("pytree",),
    "utils.benchmark": ("utils.benchmark",),
    "utils.dlpack": ("",),
    "utils.hooks": ("underscored",),
    "utils.data.dataloader": ("utils.data",),
    "utils.data.dataset": ("utils.data",),
    "utils.data.distributed": ("utils.data",),
    "utils.data.sampler": ("utils.data",),
    "utils.tensorboard": ("utils.tensorboard",),
    "utils.tensorboard.writer": ("utils.tensorboard",),
    **{name: ("other_accelerators",) for name in ("mps", "mtia", "xpu")},
}
# modules of other packages, which need PyTorch there and not here
IN_OTHER_PACKAGES = {
    "functorch": ("func", "compat.functorch"),
    "safetensors.torch": ("utils.safetensors",),
    "torchvision": ("compat.vision",),
    "torchvision.datasets": ("compat.vision.datasets",),
    "torchvision.datasets.mnist": ("compat.vision.datasets",),
    "torchvision.datasets.folder": ("compat.vision.datasets",),
    "torchvision.datasets.vision": ("compat.vision.datasets",),
    "torchvision.io": ("compat.vision.utils",),
    "torchvision.io.image": ("compat.vision.utils",),
    "torchvision.models": ("compat.vision.models",),
    "torchvision.models.resnet": ("compat.vision.models",),
    "torchvision.models.vgg": ("compat.vision.models",),
    "torchvision.transforms": ("compat.vision.transforms",),
    "torchvision.transforms.functional": ("compat.vision.functional",),
    "torchvision.transforms.transforms": ("compat.vision.transforms",),
    "torchvision.transforms.v2": ("compat.vision.transforms",),
    "torchvision.transforms.v2.functional": ("compat.vision.functional",),
    "torchvision.utils": ("compat.vision.utils",),
}


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
        value = vars(place).get(name)
        ours = isinstance(value, ModuleType) and value.__name__.startswith("minigrad.")
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
