"""Module: a part of a model that knows the parameters, buffers and sub-modules assigned to it.

Assigning a Parameter, a Module or a registered buffer to an attribute puts it into one of three dictionaries; everything
else in this file walks those dictionaries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ..compile.api import compile
from ..core.tensor import Tensor
from ..diagnose import optimizers
from ..diagnose.boundary import refuse_call
from ..diagnose.missing_names import similar
from ..diagnose.modules import (
    check_call,
    inside,
    no_forward,
    not_initialised,
    note_eval,
    note_replaced,
    warn_requires_grad,
)
from ..errors import Unread, error
from ..events import events, unheard
from ..record.schema import mimebundle
from ..signatures import CallsForward, P, R_co
from .module_conversion import Converted
from .module_hooks import EVERY
from .parameter import Parameter
from .state import Stateful

# A registered name keeps its kind: (its dictionary, the kind, other types that may be assigned, the fix).
HELD = (
    ("_parameters", "parameter", (), "assign an nn.Parameter or None, or write into it with copy_ under no_grad()"),
    ("_modules", "child module", (), "assign a Module or None"),
    ("_buffers", "buffer", Tensor, "assign a tensor or None"),
)
STATE = ("_parameters", "_buffers", "_modules", "_hooks_by_kind", "_hook_options")  # the dictionaries of every module


class Module(Stateful, Converted):
    """Base class of models and their parts.  Call `super().__init__()`, assign parts to attributes, and define forward.

    >>> import minigrad
    >>> from minigrad import nn
    >>> class Scale(nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.factor = nn.Parameter(minigrad.tensor(2.))
    ...     def forward(self, x):
    ...         return self.factor * x
    >>> Scale()(minigrad.tensor([1., 2.])).tolist()
    [2.0, 4.0]
    """

    training: bool
    _parameters: dict[str, Any]  # name -> Parameter or None
    _buffers: dict[str, Any]  # name -> Tensor or None
    _modules: dict[str, Any]  # name -> Module or None

    def __init__(self):
        for name in STATE:
            object.__setattr__(self, name, {})
        object.__setattr__(self, "_non_persistent_buffers_set", set())  # buffers that are not part of the state_dict
        object.__setattr__(self, "training", True)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Compute the output; every module defines its own forward."""
        raise no_forward(self)

    def __call__(self: CallsForward[P, R_co], *args: P.args, **kwargs: P.kwargs) -> R_co:
        module: Any = self  # to type checkers it has forward alone
        if events.module_begins is not unheard:
            events.module_begins(module)
        try:
            if module._hooks_by_kind or EVERY._hooks_by_kind:
                return module._run_hooked(args, kwargs)
            return module.forward(*args, **kwargs)
        except Exception as e:
            check_call(module, args, kwargs, e)
            refuse_call(module, args, kwargs, e)
            raise
        finally:
            if events.module_ends is not unheard:
                events.module_ends(module)

    _call_impl = __call__

    def __init_subclass__(cls, **options: Any):
        """Let calls run `_call_impl` in a class that overrides it, as PyTorch's do; calls of other classes are direct."""
        super().__init_subclass__(**options)
        if "_call_impl" in vars(cls) and cls.__call__ is Module.__call__:
            cls.__call__ = lambda self, *args, **kwargs: self._call_impl(*args, **kwargs)  # type: ignore[attr-defined]

    # ------------------------------------------------------------------ attributes
    def __setattr__(self, name: str, value: Any) -> None:
        stores = self.__dict__
        if isinstance(value, (Parameter, Module)):
            if "_parameters" not in stores:
                kind = "parameters" if isinstance(value, Parameter) else "module"
                raise not_initialised(self, f"cannot assign {kind} before Module.__init__() call: '{name}'")
            store = self._parameters if isinstance(value, Parameter) else self._modules
            if (old := store.get(name)) is not None and old is not value:
                note_replaced(old, value)
            for other in (stores, self._parameters, self._buffers, self._modules):
                if other is not store:  # within one store the new value keeps the old one's position
                    other.pop(name, None)
            if isinstance(value, Parameter):
                self.register_parameter(name, value)
            else:
                store[name] = value
            return
        for store, what, kinds, fix in HELD:
            if name in stores.get(store, ()):
                if value is not None and not isinstance(value, kinds):
                    given = type(value).__name__
                    raise error(TypeError, type(self).__name__, f"cannot assign '{given}' as {what} '{name}'", fix)
                self._reassign_member(what, name, value)
                return
        if name == "requires_grad" and not inside(self):
            warn_requires_grad(self, value)
        object.__setattr__(self, name, value)

    def _reassign_member(self, what: str, name: str, value: Any) -> None:
        """Give a registered name another value, through the method that a subclass may override."""
        if what == "parameter":
            self.register_parameter(name, value)
        elif what == "buffer":  # the override of a user may not take `persistent`
            self.register_buffer(name, value, *[False] * (name in self._non_persistent_buffers_set))
        else:
            self._modules[name] = value

    def __getattr__(self, name: str) -> Any:
        for store in ("_parameters", "_buffers", "_modules"):
            found = self.__dict__.get(store, {})
            if name in found:
                return found[name]
        if name in STATE and "_parameters" not in self.__dict__:
            raise not_initialised(self, "used before Module.__init__() call")
        what = f"'{type(self).__name__}' object has no attribute '{name}'"
        if name.startswith("_"):  # libraries probe every object for such names
            raise AttributeError(what)
        near = lambda: "".join([f"write .{n}, or " for n in similar(name, dir(self))[:1]])
        raise Unread(type(self).__name__, lambda: (what, f"{near()}assign it in __init__: self.{name} = ..."))

    def __delattr__(self, name: str) -> None:
        for store in (self._parameters, self._buffers, self._modules):
            if name in store:
                del store[name]
                self._non_persistent_buffers_set.discard(name)
                return
        object.__delattr__(self, name)

    def __dir__(self) -> list:
        return sorted({*super().__dir__(), *self._parameters, *self._buffers, *self._modules})

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Add a parameter under a name; None reserves the name."""
        self._check_member_name(name, "parameter")
        if param is not None and not isinstance(param, Parameter):
            what = f"cannot assign '{type(param).__name__}' object to parameter '{name}'"
            raise error(TypeError, type(self).__name__, what, "pass an nn.Parameter or None")
        self._parameters[name] = param

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Add a tensor that belongs to the state but is not a parameter; the state_dict includes it if `persistent`."""
        self._check_member_name(name, "buffer")
        if tensor is not None and not isinstance(tensor, Tensor):
            what = f"cannot assign '{type(tensor).__name__}' object to buffer '{name}'"
            raise error(TypeError, type(self).__name__, what, "pass a tensor or None")
        self._buffers[name] = tensor
        (self._non_persistent_buffers_set.discard if persistent else self._non_persistent_buffers_set.add)(name)

    def add_module(self, name: str, module: Module | None) -> None:
        """Add a sub-module under a name."""
        self._check_member_name(name, "module")
        if module is not None and not isinstance(module, Module):
            name = type(self).__name__
            fix = "pass an instance of a class that derives from nn.Module, such as nn.ReLU()"
            fix = f"pass the modules one by one: {name}(*layers)" if isinstance(module, (list, tuple)) else fix
            raise error(TypeError, name, f"{type(module).__name__} is not a Module subclass", fix)
        self._modules[name] = module

    def register_module(self, name: str, module: Module | None) -> None:
        """Do the same as add_module."""
        self.add_module(name, module)

    def _check_member_name(self, name: str, kind: str) -> None:
        store = self.__dict__.get({"parameter": "_parameters", "buffer": "_buffers", "module": "_modules"}[kind])
        if store is None:
            raise not_initialised(self, f"cannot assign {kind} before Module.__init__() call: '{name}'")
        if not isinstance(name, str) or "." in name or not name:
            what = f"{kind} name has to be a string without dots and not empty, got {name!r}"
            fix = "choose a name that can be an attribute, such as 'weight'"
            raise error(KeyError if isinstance(name, str) else TypeError, type(self).__name__, what, fix)
        taken = (self.__dict__, self._parameters, self._buffers, self._modules)
        given = any(name in names for names in taken) or hasattr(type(self), name) and hasattr(self, name)
        if name not in store and given:  # a property that raises AttributeError leaves its name to the buffer
            what = f"attribute '{name}' already exists"
            raise error(KeyError, type(self).__name__, what, "choose another name, or delete that attribute first")

    # ------------------------------------------------------------------ walking
    def named_modules(
        self, memo: set | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """Yield (dotted name, module) for this module and all below it, each once."""
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, child in self._modules.items():
            if child is not None:
                yield from child.named_modules(memo, f"{prefix}.{name}" if prefix else name, remove_duplicate)

    def modules(self, remove_duplicate: bool = True) -> Iterator[Module]:
        """Yield this module and all below it, each once, or with `remove_duplicate=False` at each of its places."""
        return (m for _, m in self.named_modules(remove_duplicate=remove_duplicate))

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """Yield (name, module) for each direct sub-module, each once."""
        seen = set()
        for name, child in self._modules.items():
            if child is not None and child not in seen:
                seen.add(child)
                yield name, child

    def children(self) -> Iterator[Module]:
        """Yield each direct sub-module once."""
        return (m for _, m in self.named_children())

    def _named_members(
        self,
        get_members_fn: Callable[[Module], Iterable[tuple[str, Any]]],
        prefix: str = "",
        recurse: bool = True,
        remove_duplicate: bool = True,
    ) -> Iterator[tuple[str, Any]]:
        """Yield the members that a function finds in each module, here and below."""
        seen = set()
        for path, module in (
            self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]
        ):
            for name, t in get_members_fn(module):
                if t is not None and not (remove_duplicate and id(t) in seen):
                    seen.add(id(t))
                    yield f"{path}.{name}" if path else name, t

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """Yield (dotted name, parameter) for all parameters, each once."""
        return self._named_members(lambda m: m._parameters.items(), prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """Yield all parameters, each once; pass them to an optimizer."""
        found = self._each_parameter(recurse)
        optimizers.module_of[found] = self
        return found

    def _each_parameter(self, recurse: bool) -> Iterator[Parameter]:
        for name, p in self.named_parameters(recurse=recurse):
            if isinstance(p, Parameter):
                p._path = name  # for the optimizer's messages
            yield p

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """Yield (dotted name, buffer) for all buffers, each once."""
        return self._named_members(lambda m: m._buffers.items(), prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """Yield all buffers, each once."""
        return (b for _, b in self.named_buffers(recurse=recurse))

    def get_submodule(self, target: str) -> Module:
        """Return the module with a dotted name.  Raises AttributeError if it does not exist."""
        module: Any = self
        for part in target.split(".") if target else ():
            module = getattr(module, part)
            if not isinstance(module, Module):
                what = f"`{part}` in '{target}' is not a Module"
                fix = "look up the names in dict(module.named_modules())"
                raise error(AttributeError, type(self).__name__, what, fix)
        return module

    def get_parameter(self, target: str) -> Parameter:
        """Return the parameter with a dotted name.  Raises AttributeError if it does not exist."""
        return self._find_member("_parameters", "an nn.Parameter", target)

    def get_buffer(self, target: str) -> Tensor:
        """Return the buffer with a dotted name.  Raises AttributeError if it does not exist."""
        return self._find_member("_buffers", "a buffer", target)

    def _find_member(self, store: str, what: str, target: str) -> Any:
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        found = getattr(module, name)
        if name not in getattr(module, store):
            problem = f"`{name}` in '{target}' is not {what}"
            fix = "look up the names in dict(module.named_parameters()) and dict(module.named_buffers())"
            raise error(AttributeError, type(self).__name__, problem, fix)
        return found

    def set_submodule(self, target: str, module: Module) -> None:
        """Replace the module with a dotted name.  Raises AttributeError if its parent does not exist."""
        path, _, name = target.rpartition(".")
        setattr(self.get_submodule(path), name, module)

    # ------------------------------------------------------------------ settings
    def apply(self, fn: Callable[[Module], Any]) -> Module:
        """Call fn on every module below and then on this one, for instance to initialise weights."""
        for child in self.children():
            child.apply(fn)
        fn(self)
        return self

    def train(self, mode: bool = True) -> Module:
        """Set training mode here and below: dropout drops elements, batch norm uses the batch's statistics."""
        if not isinstance(mode, bool):
            what = f"training mode is expected to be boolean, got {mode!r}"
            raise error(ValueError, "train", what, "write module.train() or module.eval()")
        self.training = mode
        for child in self.children():
            child.train(mode)
        return self

    def eval(self) -> Module:
        """Set evaluation mode, the opposite of train()."""
        note_eval(self)
        return self.train(False)

    def compile(self, **options: Any) -> None:
        """Compile `forward` in place; `options` are those of `minigrad.compile`."""
        object.__setattr__(self, "forward", compile(self.forward, **options))

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Set the gradients of all parameters to None, or with `set_to_none=False` to zeros."""
        for p in self.parameters():
            clear_grad(p, set_to_none)

    def requires_grad_(self, requires_grad: bool = True) -> Module:
        """Set requires_grad of all parameters: False freezes them."""
        for p in self.parameters():
            p.requires_grad_(requires_grad)
        return self

    # ------------------------------------------------------------------ text
    def extra_repr(self) -> str:
        """Return the text between the parentheses of the repr."""
        return ""

    def _get_name(self) -> str:
        return type(self).__name__

    def __repr__(self) -> str:
        extra = self.extra_repr()
        lines = [f"({name}): " + indented(repr(m)) for name, m in self._modules.items()]
        if not lines and "\n" not in extra:
            return f"{self._get_name()}({extra})"
        head = extra.split("\n") if extra else []
        return f"{self._get_name()}(\n  " + "\n  ".join(head + lines) + "\n)"

    _repr_mimebundle_ = mimebundle


def clear_grad(p: Tensor, set_to_none: bool) -> None:
    """Set a gradient to None, or fill it with zeros."""
    if set_to_none or p.grad is None:
        p.grad = None
    else:
        p.grad = p.grad.detach() if p.grad.requires_grad else p.grad
        p.grad.zero_()


def indented(text: str) -> str:
    """Indent all lines but the first by two spaces."""
    return text.replace("\n", "\n  ")
