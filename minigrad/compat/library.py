"""torch.library: custom operators, plain functions with a name that other code can add a derivative to.

`custom_op` turns a function into a `CustomOpDef`. `register_autograd` gives it a backward, `register_fake` its shapes on the
meta device, `register_kernel` its code for a type of device, `register_vmap` its rule for batches. All of them fill one
Function (autograd/function.py), which each call applies; `torch.ops.mylib.double` finds the operator again.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, NoReturn

from ..autograd.grad_mode import is_grad_enabled, no_grad
from ..autograd.graph import increment_version
from ..core.function import Function
from ..core.saved import memory
from ..core.tensor import Tensor
from ..diagnose.boundary import guard as _guard
from ..errors import Unread, error
from ..func.tree import leaves, tree_map
from ..ops.join import stack

__all__ = ["CustomOpDef", "custom_op", "register_autograd", "register_fake", "register_kernel", "register_vmap"]

OPERATORS: dict[str, CustomOpDef] = {}
STARRED = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD, inspect.Parameter.POSITIONAL_ONLY)


def custom_op(
    name: str,
    fn: Callable | None = None,
    /,
    *,
    mutates_args: str | Iterable[str],
    device_types: str | Iterable[str] | None = None,
    schema: str | None = None,
    tags: Any = None,
) -> Any:
    """Make an operator of a function that may compute outside of minigrad, for example in NumPy. Use it as a decorator.

    `name` is "namespace::name". All parameters and the result need type annotations. `mutates_args` lists the parameters that
    the function modifies in place; "unknown" stands for all of them. Results must not share memory with arguments. The
    function is the kernel of all devices, or of `device_types`. `schema` and `tags` have no effect.

    Raises ValueError for a name without namespace, a lacking annotation, or an unknown parameter in `mutates_args`.

    >>> import numpy as np
    >>> import minigrad as torch
    >>> @torch.library.custom_op("mylib::sine", mutates_args=())
    ... def sine(x: torch.Tensor) -> torch.Tensor:
    ...     return torch.from_numpy(np.sin(x.numpy()))
    >>> def setup_context(ctx, inputs, output):
    ...     ctx.save_for_backward(*inputs)
    >>> def backward(ctx, grad):
    ...     (x,) = ctx.saved_tensors
    ...     return grad * x.cos()
    >>> sine.register_autograd(backward, setup_context=setup_context)
    >>> x = torch.zeros(2, requires_grad=True)
    >>> torch.autograd.grad(sine(x).sum(), x)
    (tensor([1., 1.]),)
    """
    if fn is None:
        return lambda function: CustomOpDef(name, function, mutates_args, device_types)
    return CustomOpDef(name, fn, mutates_args, device_types)


class CustomOpDef:
    """A custom operator, which `custom_op` makes. Calls run its kernel; the `register_` methods add to it."""

    def __init__(
        self, name: str, fn: Callable, mutates: str | Iterable[str], device_types: str | Iterable[str] | None = None
    ):
        self._name, self._signature = name, inspect.signature(fn)
        self.__name__, self.__doc__, self.__module__ = name.rpartition("::")[2], fn.__doc__, fn.__module__
        parameters = self._signature.parameters
        self._mutates = (
            set(parameters) if mutates == "unknown" else {mutates} if isinstance(mutates, str) else set(mutates)
        )
        check(name, self._signature, self._mutates)
        self._keywords = [n for n, p in parameters.items() if p.kind is p.KEYWORD_ONLY]
        self._kernels: dict[str | None, Callable] = {}
        self._disabled: set[str] = set()
        self._fake: Callable | None = None
        self._setup: Callable | None = None

        @wraps(fn)  # pictures and checks show its parameters
        def forward(*args: Any) -> Any:
            return self._forward(*args)

        self._function = type(
            self.__name__,
            (Function,),
            {
                "__module__": fn.__module__,
                "forward": staticmethod(forward),
                "setup_context": staticmethod(self._setup_context),
                "backward": staticmethod(self._no_backward),
                "vmap": staticmethod(self._vmap),
            },
        )
        self._function._arity = len(parameters)  # __call__ fills defaults in
        self.register_kernel(device_types)(fn)
        OPERATORS[name] = self

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._name})>"

    @property
    def default(self) -> CustomOpDef:
        """The operator itself: it has one form only."""
        return self

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the operator, and record it for backward if an argument requires grad."""
        try:
            bound = self._signature.bind(*args, **kwargs)
        except TypeError as e:
            call = f"{self.__name__}({', '.join(self._signature.parameters)})"
            raise error(TypeError, self._name, str(e), f"call {call}") from None
        bound.apply_defaults()
        if not self._mutates:
            self._refuse_lists(bound.arguments)
            return self._function.apply(*bound.args, *bound.kwargs.values())
        with no_grad():
            result = self._kernel(bound.args)(*bound.args, **bound.kwargs)
        increment_version([t for n in self._mutates for t in leaves(bound.arguments[n]) if isinstance(t, Tensor)])
        return result

    # ------------------------------------------------------------------ what other code adds
    def register_autograd(self, backward: Callable, /, *, setup_context: Callable | None = None) -> None:
        """Give the operator a derivative: `backward(ctx, *grads)`, with the ctx that `setup_context` has filled.

        `setup_context(ctx, inputs, output)` takes positional arguments in `inputs`; where the operator has parameters that are
        keywords only, it is `setup_context(ctx, inputs, keyword_only_inputs, output)`. backward returns one gradient, or None,
        per positional argument. Raises RuntimeError for an operator that modifies arguments in place.
        """
        if self._mutates:
            names = ", ".join(sorted(self._mutates))
            what = f"modifies {names} in place, and such an operator takes no autograd formula"
            raise error(RuntimeError, self._name, what, "return a new tensor instead, with mutates_args=()")
        none = (None,) * len(self._keywords)

        def with_keywords(ctx: Any, *grads: Any) -> Any:
            grads = backward(ctx, *grads)
            return (*grads, *none) if isinstance(grads, tuple) else (grads, *none)

        self._function.backward = self._function.vjp = staticmethod(with_keywords if none else backward)  # type: ignore
        self._function._checked = False
        self._setup = setup_context

    def register_fake(self, fn: Callable, /) -> Callable:
        """Give the operator its form on the meta device: a function that returns tensors of the right shape and dtype."""
        self._fake = fn
        return fn

    def register_kernel(self, device_types: str | Iterable[str] | None, fn: Callable | None = None, /) -> Callable:
        """Give the operator a kernel for types of devices, "cpu" or "cuda"; None stands for all. Use it as a decorator."""

        def register(fn: Callable) -> Callable:
            types = [device_types] if isinstance(device_types, (str, type(None))) else device_types
            self._kernels.update(dict.fromkeys(types, fn))
            return fn

        return register if fn is None else register(fn)

    def register_vmap(self, func: Callable | None = None) -> Callable:
        """Give the operator a rule for `vmap`: `func(info, in_dims, *args)` returns outputs and their batch dimensions.

        An operator without one runs once per element of the batch. Use it as a decorator.
        """
        if func is None:
            return self.register_vmap
        names = self._keywords

        def vmap(info: Any, in_dims: tuple, *args: Any) -> Any:
            n = len(args) - len(names)
            return func(info, in_dims[:n], *args[:n], **dict(zip(names, args[n:])))

        self._function.vmap = staticmethod(vmap)
        return func

    @contextmanager
    def set_kernel_enabled(self, device_type: str, enabled: bool = True) -> Iterator[None]:
        """Use the kernel for a type of device, or the one for all devices instead, within the block."""
        before = set(self._disabled)
        (self._disabled.discard if enabled else self._disabled.add)(device_type)
        try:
            yield
        finally:
            self._disabled = before

    # ------------------------------------------------------------------ the methods of the Function
    def _forward(self, *args: Any) -> Any:
        n = len(args) - len(self._keywords)
        result = self._kernel(args)(*args[:n], **dict(zip(self._keywords, args[n:])))
        given = [memory(t) for t in leaves(args) if isinstance(t, Tensor)]
        if any(memory(t) is m for t in leaves(result) if isinstance(t, Tensor) for m in given):
            what = "returns an argument, or a view of one; a custom operator must return new memory"
            raise error(RuntimeError, self._name, what, "return a copy: x.clone()")
        return result

    def _setup_context(self, ctx: Any, inputs: tuple, output: Any) -> None:
        if self._setup is None:
            return
        n = len(inputs) - len(self._keywords)
        keywords = {"keyword_only_inputs": dict(zip(self._keywords, inputs[n:]))} if self._keywords else {}
        self._setup(ctx=ctx, inputs=inputs[:n], output=output, **keywords)

    def _no_backward(self, ctx: Any, *grads: Any) -> NoReturn:
        what = "has no autograd formula, so backward cannot pass it"
        fix = f"register one: {self.__name__}.register_autograd(backward, setup_context=setup_context)"
        raise error(RuntimeError, self._name, what, fix)

    def _vmap(self, info: Any, in_dims: tuple, *args: Any) -> Any:
        """Run the operator once per element of the batch."""
        parts = [
            self._function.apply(*[a if d is None else a.select(d, i) for a, d in zip(args, in_dims)])
            for i in range(info.batch_size)
        ]
        result = tree_map(lambda *tensors: stack(tensors), *parts)
        return result, tree_map(lambda _: 0, result)

    def _kernel(self, args: tuple) -> Callable:
        """Return the kernel for the device of the first tensor."""
        kind = next((t.device.type for t in leaves(args) if isinstance(t, Tensor)), "cpu")
        if kind == "meta" and self._fake is not None:
            return self._fake
        found = (None if kind in self._disabled else self._kernels.get(kind)) or self._kernels.get(None)
        if kind == "meta" or found is None:
            register = "register_fake" if kind == "meta" else f'register_kernel("{kind}")'
            what = f"has no kernel for the device {kind}"
            fix = f"register one: @{self.__name__}.{register}"
            raise error(RuntimeError if kind == "meta" else NotImplementedError, self._name, what, fix)
        return found

    def _refuse_lists(self, arguments: dict[str, Any]) -> None:
        """Raise for a list of tensors that require grad: a Function records separate tensors only."""
        lists = [(name, value) for name, value in arguments.items() if isinstance(value, (list, tuple))]
        for name, value in lists if is_grad_enabled() else ():
            if any(isinstance(t, Tensor) and t.requires_grad for t in value):
                what = f"{name} is a list of tensors that require grad, which a custom operator does not record"
                fix = "pass each tensor as a separate argument, or x.detach() for each"
                raise error(NotImplementedError, self._name, what, fix)


def check(name: str, signature: inspect.Signature, mutates: set[str]) -> None:
    """Raise for an operator whose name or signature PyTorch would not take."""
    problem, fix = "", ""
    bare = [p.name for p in signature.parameters.values() if p.annotation is p.empty]
    if name.count("::") != 1:
        problem, fix = "the name has no namespace", f'write "mylib::{name.replace(":", "")}"'
    elif starred := [p for p in signature.parameters.values() if p.kind in STARRED]:
        problem, fix = f"takes {starred[0]}", "give each parameter a name that callers may use"
    elif bare:
        problem, fix = f"parameter {bare[0]} has no type annotation", f"write {bare[0]}: torch.Tensor, or its type"
    elif signature.return_annotation is signature.empty:
        problem, fix = "the result has no type annotation", "write -> torch.Tensor, or its type"
    elif unknown := mutates - set(signature.parameters):
        problem = (
            f"mutates_args names {', '.join(sorted(unknown))}, but the parameters are {', '.join(signature.parameters)}"
        )
        fix = "list the parameters that the function modifies in place"
    if problem:
        raise error(ValueError, f"custom_op {name}", problem, fix)


# ---------------------------------------------------------------------- by name
def operator(op: str | CustomOpDef) -> CustomOpDef:
    """Return an operator by its name, "namespace::name"; RuntimeError if there is none."""
    if isinstance(op, CustomOpDef):
        return op
    if op not in OPERATORS:
        known = ", ".join(sorted(OPERATORS)) or "there are none"
        raise error(
            RuntimeError, f"operator {op}", f"does not exist (known: {known})", "make it first, with library.custom_op"
        )
    return OPERATORS[op]


def register_autograd(
    op: str | CustomOpDef, backward: Callable, /, *, setup_context: Callable | None = None, lib: Any = None
) -> None:
    """Give an operator a derivative; see `CustomOpDef.register_autograd`."""
    operator(op).register_autograd(backward, setup_context=setup_context)


def register_fake(op: str | CustomOpDef, func: Callable | None = None, /, *, lib: Any = None) -> Callable:
    """Give an operator its form on the meta device; see `CustomOpDef.register_fake`. Use it as a decorator."""
    return operator(op).register_fake if func is None else operator(op).register_fake(func)


def register_kernel(
    op: str | CustomOpDef, device_types: str | Iterable[str] | None, func: Callable | None = None, /, *, lib: Any = None
) -> Callable:
    """Give an operator a kernel for types of devices; see `CustomOpDef.register_kernel`. Use it as a decorator."""
    return operator(op).register_kernel(device_types, func)


def register_vmap(op: str | CustomOpDef, func: Callable | None = None, /, *, lib: Any = None) -> Callable:
    """Give an operator a rule for `vmap`; see `CustomOpDef.register_vmap`. Use it as a decorator."""
    return operator(op).register_vmap(func)


class Namespace:
    """One namespace of `torch.ops`, which finds a custom operator by its name: `torch.ops.mylib.sine(x)`."""

    def __init__(self, name: str):
        self._name = name

    def __getattr__(self, name: str) -> CustomOpDef:
        if name.startswith("__") or f"{self._name}::{name}" not in OPERATORS:
            raise Unread(f"ops.{self._name}", lambda: (f"has no operator {name}", "make it with library.custom_op"))
        return OPERATORS[f"{self._name}::{name}"]


_guard(__name__)
