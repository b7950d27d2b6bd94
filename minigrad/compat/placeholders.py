"""Packages that need PyTorch itself, such as torchvision: they can be imported, and are refused where they are used.

Programs import them at the top and use them in a part that may never run, so that the import alone must not end them.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any, NoReturn

from ..diagnose.missing_names import absent


class AbsentModule(ModuleType):
    """A module of such a package; every name in it is a placeholder."""

    def __init__(self, name: str):
        super().__init__(name, f"{name}, which needs PyTorch itself.")
        self.__path__ = []  # Python imports submodules only of packages

    def __getattr__(self, name: str) -> Placeholder:
        if name.startswith("__"):  # Python asks for such by itself
            raise AttributeError(name)
        return Placeholder(f"{self.__name__}.{name}")


class Placeholder:
    """A name in such a package: it can stand in annotations and defaults, and raises when it is called or subclassed."""

    def __init__(self, name: str):
        self._name = name

    def __getattr__(self, name: str) -> Placeholder:
        if name.startswith("__"):
            raise AttributeError(name)
        return Placeholder(f"{self._name}.{name}")

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise absent(ModuleNotFoundError, self._name)

    def __mro_entries__(self, bases: tuple) -> NoReturn:
        raise absent(ModuleNotFoundError, self._name)

    def __instancecheck__(self, instance: object) -> bool:
        return False

    def __repr__(self) -> str:
        return f"<{self._name}, which needs PyTorch itself>"
