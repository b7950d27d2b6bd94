"""Packages that need PyTorch itself, such as torchvision: importing them works, using them raises an error.

Programs import them at the top but use them in code that may never run, so the import alone must not fail.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any, NoReturn

from ..diagnose.missing_names import absent


class AbsentModule(ModuleType):
    """A module of such a package; every name in it is a placeholder."""

    def __init__(self, name: str):
        super().__init__(name, f"{name}, which needs PyTorch itself.")
        self.__path__ = []  # Python imports submodules of packages only

    def __getattr__(self, name: str) -> Placeholder:
        if name.startswith("__"):  # Python itself asks for these
            raise AttributeError(name)
        return Placeholder(f"{self.__name__}.{name}")


class Placeholder:
    """A name in such a package: it may appear in annotations and defaults, but raises when called or subclassed."""

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
