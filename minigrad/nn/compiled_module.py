"""The module that `minigrad.compile(module)` returns: it holds the original module as its only child."""

from __future__ import annotations

from typing import Any

from ..compile.api import CompiledCallable, as_compiled
from .module import STATE, Module
from .module_hooks import EVERY


class OptimizedModule(Module):
    """A compiled module.  `_orig_mod` is the original module; parameters and missing attributes are looked up there.

    >>> import minigrad
    >>> model = minigrad.compile(minigrad.nn.Linear(2, 1))
    >>> list(model.state_dict())
    ['_orig_mod.weight', '_orig_mod.bias']
    """

    _compiled: CompiledCallable

    def __init__(self, module: Module, fullgraph: bool):
        super().__init__()
        self._modules["_orig_mod"] = module
        self.__dict__["_compiled"] = CompiledCallable(module, fullgraph)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return (
            self._run_hooked(args, kwargs)
            if self._hooks_by_kind or EVERY._hooks_by_kind
            else self._compiled(*args, **kwargs)
        )

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Run the compiled module."""
        return self._compiled(*args, **kwargs)

    @property
    def training(self) -> bool:
        """True in training mode."""
        return self._modules["_orig_mod"].training

    @training.setter
    def training(self, mode: bool) -> None:  # pyright: ignore[reportIncompatibleVariableOverride]
        if "_orig_mod" in self._modules:
            self._modules["_orig_mod"].train(mode)

    def __getattr__(self, name: str) -> Any:
        module, compiled = self.__dict__.get("_modules", {}).get("_orig_mod"), self.__dict__.get("_compiled")
        if name == "_orig_mod" or module is None:
            return super().__getattr__(name)
        return getattr(compiled if not hasattr(module, name) and hasattr(compiled, name) else module, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in ("training", *STATE):
            object.__setattr__(self, name, value)
        else:
            setattr(self._modules["_orig_mod"], name, value)

    def __len__(self) -> int:
        return len(self._orig_mod)

    def __reduce__(self) -> tuple:
        return OptimizedModule, (self._orig_mod, self._compiled.fullgraph)


@as_compiled.register
def compiled_module(f: Module, fullgraph: bool) -> OptimizedModule:
    return f if isinstance(f, OptimizedModule) else OptimizedModule(f, fullgraph)
