"""After `as_torch()`, `import torch` gives minigrad, in a program and in the packages that it imports.

Python looks in `sys.modules` first, then asks the finders in `sys.meta_path`. So a loaded PyTorch is put aside, together with
packages written for it, and a finder answers for `torch`; `close` undoes both. The table in torch_modules.py maps PyTorch's
modules, and diagnose/missing_names.py reports missing ones.
"""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import EXTENSION_SUFFIXES, ModuleSpec, SourceFileLoader
from importlib.util import spec_from_loader
from multiprocessing import spawn
from types import ModuleType
from typing import Any

from .. import config
from ..diagnose.missing_names import NEED_TORCH, absent, is_misspelt
from ..places import BELOW, user_frame
from .class_names import name_classes, restore_classes
from .torch_modules import IN_OTHER_PACKAGES, AbsentModule, is_tried, module_called

IMPORTS_TORCH = re.compile(r"^\s*(?:import|from) torch\b", re.MULTILINE)
OURS = BELOW | {"__main__", "viz", "lessons"}


class Finder(MetaPathFinder, Loader):
    """Answers for `torch` and its submodules, and gives placeholders for packages that need PyTorch itself."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        root = fullname.partition(".")[0]
        missing = root == "torch" and module_called(fullname) is None
        if missing and (is_tried(user_frame()) or is_misspelt(fullname)):
            raise absent(ModuleNotFoundError, fullname)  # Python's own error would not suggest a replacement
        if root == "torch" or root in NEED_TORCH or fullname in IN_OTHER_PACKAGES:
            return spec_from_loader(fullname, self, is_package=True)
        return None

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return module_called(spec.name) or AbsentModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing: names are looked up on use."""


class as_torch:
    """Make `import torch` give minigrad, here and in imported packages: `with as_torch():`, or a call, until `close()`.

    Inside, `torch.__version__` is the version of PyTorch whose semantics minigrad implements, texts say `torch.float32`, and
    the type of a tensor is `<class 'torch.Tensor'>`.
    A loaded PyTorch is put aside, with the pure Python packages written for it, and comes back at the end. Packages imported in
    between keep minigrad, and are imported again the next time.

    >>> import minigrad
    >>> with minigrad.as_torch():
    ...     import torch
    ...     print(torch.__version__, torch.ones(2).shape, torch.nn.Linear is minigrad.nn.Linear)
    2.13.0+minigrad torch.Size([2]) True
    """

    def __init__(self) -> None:
        frame = user_frame()
        self._stays = {"" if frame is None else frame.f_globals.get("__name__", "")}
        self._aside = {name: sys.modules.pop(name) for name in written_for_torch(set(sys.modules) - self._stays)}
        self._before = set(sys.modules)
        self._finder: Finder | None = Finder()
        self._called = config.library_name
        config.library_name = "torch"
        name_classes()
        sys.meta_path.insert(0, self._finder)
        self._preparation = spawn.get_preparation_data
        spawn.get_preparation_data = lambda name: {**self._preparation(name), "torch": Entered()}  # new processes, too
        self.torch: Any = module_called("torch")

    def close(self) -> None:
        """Restore the imports: `import torch` gives PyTorch again, or fails if it is not installed."""
        if self._finder is None:
            return
        sys.meta_path.remove(self._finder)
        self._finder = None
        spawn.get_preparation_data = self._preparation
        config.library_name = self._called
        if self._called != "torch":
            restore_classes()
        for name in written_for_torch(set(sys.modules) - self._before):
            del sys.modules[name]
        sys.modules.update(self._aside)

    def __enter__(self) -> Any:
        return self.torch

    def __exit__(self, *_: object) -> None:
        self.close()


class Entered:
    """Becomes a call of `as_torch` when unpickled: in a spawned process, before it imports the program."""

    def __reduce__(self) -> tuple:
        return as_torch, ()


def written_for_torch(names: set[str]) -> list[str]:
    """Return those of the loaded modules that are PyTorch's, need it, or belong to a package that imports it.

    Packages with compiled modules stay: most of them cannot be loaded twice, and few of them compute with `torch`.
    """
    packages: dict[str, list[str]] = {}
    for name in names:
        packages.setdefault(name.partition(".")[0], []).append(name)
    found = []
    for root, inside in packages.items():
        if root in {"torch", *NEED_TORCH} or root not in OURS and imports_torch([sys.modules[n] for n in inside]):
            found += inside
        else:
            found += [n for n in inside if n in IN_OTHER_PACKAGES]
    return found


def imports_torch(modules: list[ModuleType]) -> bool:
    """Return True if all of a package's modules are written in Python, and one of their texts imports PyTorch."""
    if any(str(getattr(m, "__file__", "")).endswith(tuple(EXTENSION_SUFFIXES)) for m in modules):
        return False
    return any(file_imports_torch(getattr(m, "__loader__", None)) for m in modules)


def file_imports_torch(loader: object) -> bool:
    """Return True if a module was loaded from a Python file that imports PyTorch."""
    try:
        return isinstance(loader, SourceFileLoader) and found_in(loader, loader.path_stats(loader.path)["mtime"])
    except (ImportError, OSError, SyntaxError):
        return False


@functools.cache  # each as_torch asks for all files of all packages, when it begins and when it ends
def found_in(loader: SourceFileLoader, changed: float) -> bool:
    """Return True if the text of a file, as it was at the time `changed`, imports PyTorch."""
    return IMPORTS_TORCH.search(loader.get_source(loader.name) or "") is not None
