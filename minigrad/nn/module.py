"""Module: a part of a model that knows the parameters, buffers and sub-modules assigned to it.

Assigning a Parameter, a Module or a registered buffer to an attribute puts it into one of three dictionaries; everything
else in this file walks those dictionaries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ..arrays import dtypes
from ..arrays.devices import device
from ..compile.api import compile
from ..core.tensor import Tensor
from ..diagnose import optimizers
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
from ..ops.create import empty_like
from ..signatures import CallsForward, P, R_co
from .module_hooks import EVERY
from .parameter import Parameter
from .state import Stateful

# A registered name keeps its kind: (its dictionary, the kind, other types that may be assigned, the fix).
HELD = (
    ("_parameters", "parameter", (), "assign an nn.Parameter or None, or write into it with copy_ under no_grad()"),
    ("_modules", "child module", (), "assign a Module or None"),
    ("_buffers", "buffer", Tensor, "assign a tensor or None"),
)
STATE = ("_parameters", "_buffers", "_modules", "_hooks", "_options")  # the dictionaries of every module


class Module(Stateful):
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
        object.__setattr__(self, "_transient", set())  # buffers that are not part of the state_dict
        object.__setattr__(self, "training", True)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Compute the output; every module defines its own forward."""
        raise no_forward(self)

    def __call__(self: CallsForward[P, R_co], *args: P.args, **kwargs: P.kwargs) -> R_co:
        module: Any = self  # to type checkers it has forward alone
        if events.module_begins is not unheard:
            events.module_begins(module)
        try:
            return module._run(args, kwargs) if module._hooks or EVERY._hooks else module.forward(*args, **kwargs)
        except TypeError as e:
            check_call(module, args, kwargs, e)
            raise
        finally:
            if events.module_ends is not unheard:
                events.module_ends(module)

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
            store[name] = value
            return
        for store, what, kinds, fix in HELD:
            if name in stores.get(store, ()):
                if value is not None and not isinstance(value, kinds):
                    given = type(value).__name__
                    raise error(TypeError, type(self).__name__, f"cannot assign '{given}' as {what} '{name}'", fix)
                stores[store][name] = value
                return
        if name == "requires_grad" and not inside(self):
            warn_requires_grad(self, value)
        object.__setattr__(self, name, value)

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
                self._transient.discard(name)
                return
        object.__delattr__(self, name)

    def __dir__(self) -> list:
        return sorted({*super().__dir__(), *self._parameters, *self._buffers, *self._modules})

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Add a parameter under a name; None reserves the name."""
        self._check_name(name, "parameter")
        if param is not None and not isinstance(param, Parameter):
            raise error(
                TypeError,
                type(self).__name__,
                f"cannot assign '{type(param).__name__}' object to parameter '{name}'",
                "pass an nn.Parameter or None",
            )
        self._parameters[name] = param

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Add a tensor that belongs to the state but is not a parameter; the state_dict includes it if `persistent`."""
        self._check_name(name, "buffer")
        if tensor is not None and not isinstance(tensor, Tensor):
            raise error(
                TypeError,
                type(self).__name__,
                f"cannot assign '{type(tensor).__name__}' object to buffer '{name}'",
                "pass a tensor or None",
            )
        self._buffers[name] = tensor
        if not persistent:
            self._transient.add(name)

    def register_module(self, name: str, module: Module | None) -> None:
        """Add a sub-module under a name."""
        self._check_name(name, "module")
        if module is not None and not isinstance(module, Module):
            name = type(self).__name__
            fix = "pass an instance of a class that derives from nn.Module, such as nn.ReLU()"
            fix = f"pass the modules one by one: {name}(*layers)" if isinstance(module, (list, tuple)) else fix
            raise error(TypeError, name, f"{type(module).__name__} is not a Module subclass", fix)
        self._modules[name] = module

    add_module = register_module

    def _check_name(self, name: str, kind: str) -> None:
        store = self.__dict__.get({"parameter": "_parameters", "buffer": "_buffers", "module": "_modules"}[kind])
        if store is None:
            raise not_initialised(self, f"cannot assign {kind} before Module.__init__() call: '{name}'")
        if not isinstance(name, str) or "." in name or not name:
            raise error(
                KeyError if isinstance(name, str) else TypeError,
                type(self).__name__,
                f"{kind} name has to be a string without dots and not empty, got {name!r}",
                "choose a name that can be an attribute, such as 'weight'",
            )
        taken = (self.__dict__, self._parameters, self._buffers, self._modules)
        given = any(name in names for names in taken) or hasattr(type(self), name) and hasattr(self, name)
        if name not in store and given:  # a property that raises AttributeError leaves its name to the buffer
            raise error(
                KeyError,
                type(self).__name__,
                f"attribute '{name}' already exists",
                "choose another name, or delete that attribute first",
            )

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

    def modules(self) -> Iterator[Module]:
        """Yield this module and all below it, each once."""
        return (m for _, m in self.named_modules())

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

    def _named(self, store: str, prefix: str, recurse: bool, remove_duplicate: bool) -> Iterator[tuple[str, Any]]:
        """Yield the members of one of the dictionaries, here and below."""
        seen = set()
        for path, module in (
            self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]
        ):
            for name, t in getattr(module, store).items():
                if t is not None and not (remove_duplicate and id(t) in seen):
                    seen.add(id(t))
                    yield f"{path}.{name}" if path else name, t

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """Yield (dotted name, parameter) for all parameters, each once."""
        return self._named("_parameters", prefix, recurse, remove_duplicate)

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
        return self._named("_buffers", prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """Yield all buffers, each once."""
        return (b for _, b in self.named_buffers(recurse=recurse))

    def get_submodule(self, target: str) -> Module:
        """Return the module with a dotted name.  Raises AttributeError if it does not exist."""
        module: Any = self
        for part in target.split(".") if target else ():
            module = getattr(module, part)
            if not isinstance(module, Module):
                raise error(
                    AttributeError,
                    type(self).__name__,
                    f"`{part}` in '{target}' is not a Module",
                    "look up the names in dict(module.named_modules())",
                )
        return module

    def get_parameter(self, target: str) -> Parameter:
        """Return the parameter with a dotted name.  Raises AttributeError if it does not exist."""
        return self._get("_parameters", "an nn.Parameter", target)

    def get_buffer(self, target: str) -> Tensor:
        """Return the buffer with a dotted name.  Raises AttributeError if it does not exist."""
        return self._get("_buffers", "a buffer", target)

    def _get(self, store: str, what: str, target: str) -> Any:
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        found = getattr(module, name)
        if name not in getattr(module, store):
            raise error(
                AttributeError,
                type(self).__name__,
                f"`{name}` in '{target}' is not {what}",
                "look up the names in dict(module.named_parameters()) and dict(module.named_buffers())",
            )
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
            raise error(
                ValueError,
                "train",
                f"training mode is expected to be boolean, got {mode!r}",
                "write module.train() or module.eval()",
            )
        for m in self.modules():
            object.__setattr__(m, "training", mode)
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

    def share_memory(self) -> Module:
        """Return the module itself: other processes receive copies of the parameters."""
        return self

    def to(
        self,
        *args: Any,
        dtype: Any = None,
        device: Any = None,
        non_blocking: bool = False,
        memory_format: Any = None,
    ) -> Module:
        """Convert floating-point parameters and buffers in place: to(dtype), to(device), to(device, dtype), to(like).

        `memory_format` is accepted as in PyTorch and ignored: the layout of a result follows its inputs.
        """
        place = device
        for a in args:
            if isinstance(a, Tensor):
                dtype, place = a.dtype, a.device
            elif isinstance(a, bool):
                non_blocking = a
            elif isinstance(a, (str, int, type(DEVICE))):
                place = a
            elif a is not None:
                dtype = a
        if dtype is not None and dtypes.numpy_dtype(dtype) not in dtypes.FLOATS:
            raise error(
                TypeError,
                "to",
                f"Module.to only accepts floating point dtypes, but got desired dtype={dtype}",
                "write module.to(minigrad.float64), or convert the inputs instead",
            )
        for _, p in self._named("_parameters", "", True, True):
            p.data = converted(p.data, dtype, place, non_blocking)
            if p._grad is not None:
                p._grad = converted(p._grad, dtype, place, non_blocking)
        for m in self.modules():
            for name, b in m._buffers.items():
                if b is not None:
                    m._buffers[name] = converted(b, dtype, place, non_blocking)
        return self

    def type(self, dst_type: Any) -> Module:
        """Convert to a dtype."""
        return self.to(dst_type)

    def half(self) -> Module:
        """Convert to float16."""
        return self.to(dtypes.float16)

    def bfloat16(self) -> Module:
        """Convert to bfloat16."""
        return self.to(dtypes.bfloat16)

    def float(self) -> Module:
        """Convert to float32."""
        return self.to(dtypes.float32)

    def double(self) -> Module:
        """Convert to float64."""
        return self.to(dtypes.float64)

    def cpu(self) -> Module:
        """Move to the CPU's memory."""
        return self.to("cpu")

    def cuda(self, device: Any = None) -> Module:
        """Move to a GPU's memory."""
        return self.to("cuda" if device is None else device)

    def to_empty(self, *, device: Any, recurse: bool = True) -> Module:
        """Move to a device without copying: give all parameters and buffers fresh, uninitialized memory there.

        This gives memory to a module made on the device `meta`; set its numbers afterwards.
        """
        for _, p in self._named("_parameters", "", recurse, True):
            p.data = empty_like(p.data, device=device)
            p.grad = None
        for m in self.modules() if recurse else (self,):
            for name, b in m._buffers.items():
                if b is not None:
                    m._buffers[name] = empty_like(b, device=device)
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


DEVICE = device("cpu")


def converted(t: Tensor, dtype: Any, place: Any, non_blocking: bool) -> Tensor:
    """Return a tensor moved to a device and, if it is floating-point, converted to a dtype."""
    return t.to(device=place, dtype=dtype if t.is_floating_point() else None, non_blocking=non_blocking)


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
