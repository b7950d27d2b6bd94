"""The hooks of modules: functions called before and after forward, and with gradients during backward.

A module without hooks pays nothing.  For backward hooks, the outputs and the inputs that require grad pass through an
identity (`Gate`) whose backward calls the hooks.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from ..core.function import Function
from ..core.tensor import Tensor
from ..diagnose.gradient_hooks import check_arguments
from ..errors import error
from ..places import defined_at
from ..tensors.hooks import Handle

KINDS = {  # kinds of hooks, in calling order, with the arguments of each
    "forward_pre": ("module", "args"),
    "forward": ("module", "args", "output"),
    "backward_pre": ("module", "grad_output"),
    "backward": ("module", "grad_input", "grad_output"),
    "state_pre": ("module", "prefix", "keep_vars"),
    "state": ("module", "state_dict", "prefix", "metadata"),
    "load_pre": ("module", "state_dict", "prefix", "metadata", "strict", "missing", "unexpected", "errors"),
    "load": ("module", "incompatible_keys"),
}


class Gate(Function):
    """The identity; in backward, `passed` receives the gradients and returns those to continue with."""

    @staticmethod
    def forward(ctx: Any, passed: Callable, *tensors: Tensor) -> tuple:
        ctx.passed = passed
        ctx.set_materialize_grads(False)
        return tuple([t.view_as(t) for t in tensors])

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> tuple:
        return None, *ctx.passed(grads)

    @staticmethod
    def without_hooks(ctx: Any) -> None:
        """Pass gradients on unchanged in a backward that calls no hook (record/unseen.py)."""
        ctx.passed = lambda grads: grads


class Hooked:
    """The hooks of a Module: how they are registered and called.  The module defines `forward`."""

    _hooks: dict[str, dict[int, Callable]]  # for each of KINDS, in calling order
    _options: dict[int, set]  # id of a hook -> the options that were true at its registration
    forward: Callable

    def register_forward_pre_hook(self, hook: Callable, *, prepend: bool = False, with_kwargs: bool = False) -> Handle:
        """Call hook(module, args) before forward; a result other than None replaces the arguments.

        `with_kwargs` calls hook(module, args, kwargs), which may return both; `prepend` calls it before the others.
        """
        return self._register("forward_pre", hook, prepend, with_kwargs=with_kwargs)

    def register_forward_hook(
        self, hook: Callable, *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ) -> Handle:
        """Call hook(module, args, output) after forward; a result other than None replaces the output.

        `with_kwargs` calls hook(module, args, kwargs, output); `always_call` calls it with None even if forward raises.
        """
        return self._register("forward", hook, prepend, with_kwargs=with_kwargs, always_call=always_call)

    def register_full_backward_pre_hook(self, hook: Callable, prepend: bool = False) -> Handle:
        """Call hook(module, grad_output) with the gradients of the outputs; a returned tuple replaces them."""
        return self._register("backward_pre", hook, prepend)

    def register_full_backward_hook(self, hook: Callable, prepend: bool = False) -> Handle:
        """Call hook(module, grad_input, grad_output) once the gradients of the inputs are known.

        Both are tuples; grad_input has None for arguments without a gradient.  A returned tuple replaces it.
        """
        return self._register("backward", hook, prepend)

    def register_state_dict_pre_hook(self, hook: Callable) -> Handle:
        """Call hook(module, prefix, keep_vars) before state_dict() collects the tensors."""
        return self._register("state_pre", hook)

    def register_state_dict_post_hook(self, hook: Callable) -> Handle:
        """Call hook(module, state_dict, prefix, metadata) after state_dict() has collected; it may edit state_dict in place."""
        return self._register("state", hook)

    def register_load_state_dict_pre_hook(self, hook: Callable) -> Handle:
        """Call hook(module, state_dict, prefix, metadata, strict, missing, unexpected, errors) before loading.

        It may edit its copy of the state_dict in place.
        """
        return self._register("load_pre", hook)

    def register_load_state_dict_post_hook(self, hook: Callable) -> Handle:
        """Call hook(module, incompatible_keys) after loading; it may edit the two lists in place."""
        return self._register("load", hook)

    def _register(self, kind: str, hook: Callable, prepend: bool = False, **options: bool) -> Handle:
        takes = KINDS[kind] if not options.get("with_kwargs") else (*KINDS[kind][:2], "kwargs", *KINDS[kind][2:])
        check_arguments(hook, takes)
        hooks = self._hooks.setdefault(kind, OrderedDict())
        handle = Handle(hooks, hook)
        if prepend:
            hooks.move_to_end(handle.id, last=False)  # type: ignore[attr-defined]
        self._options[handle.id] = {name for name, wanted in options.items() if wanted}
        return handle

    def _of(self, kind: str) -> list:
        """Return the hooks of a kind, each with its options."""
        return [(hook, self._options[key]) for key, hook in self._hooks.get(kind, {}).items()]

    def _run(self, args: tuple, kwargs: dict) -> Any:
        """Run forward with its hooks."""
        called: set = set()
        try:
            for hook, options in self._of("forward_pre"):
                if "with_kwargs" in options:
                    args, kwargs = self._both(hook(self, args, kwargs), args, kwargs)
                elif (given := hook(self, args)) is not None:
                    args = given if isinstance(given, tuple) else (given,)
            gates = Gates(self) if self._hooks.get("backward") or self._hooks.get("backward_pre") else None
            out = self.forward(*(args if gates is None else gates.entered(args)), **kwargs)
            for hook, options in self._of("forward"):
                called.add(hook)
                changed = hook(self, args, kwargs, out) if "with_kwargs" in options else hook(self, args, out)
                out = out if changed is None else changed
            return out if gates is None else gates.left(out)
        except Exception:
            for hook, options in self._of("forward"):
                if "always_call" in options and hook not in called:
                    hook(self, args, kwargs, None) if "with_kwargs" in options else hook(self, args, None)
            raise

    def _both(self, given: Any, args: tuple, kwargs: dict) -> tuple:
        """Return args and kwargs after a hook that may replace both."""
        if given is None:
            return args, kwargs
        if not isinstance(given, tuple) or len(given) != 2:
            raise error(
                RuntimeError,
                type(self).__name__,
                f"a forward pre-hook must return None or a tuple (args, kwargs), but got {type(given).__name__}",
                "write `return args, kwargs`, with args a tuple and kwargs a dict",
            )
        return given


class Gates:
    """One call of a module with backward hooks: the state that its output gate and its input gate share."""

    def __init__(self, module: Any):
        self.module, self.grad_output, self.n_inputs, self.places = module, (), 0, []

    def entered(self, args: tuple) -> tuple:
        """Return the arguments, with the tensors that require grad behind a gate."""
        self.n_inputs = len(args)
        self.places = [i for i, a in enumerate(args) if isinstance(a, Tensor) and a.requires_grad]
        if not self.places:
            return args
        gated = list(args)
        for i, t in zip(self.places, Gate.apply(self.to_inputs, *[args[i] for i in self.places])):
            gated[i] = t
        return tuple(gated)

    def left(self, out: Any) -> Any:
        """Return the outputs (a tensor, or a tuple, list or dictionary of them) behind a gate."""
        tensors: list = []
        replaced(out, lambda t: tensors.append(t) or t)
        if not tensors:
            return out
        gated = iter(Gate.apply(self.from_outputs, *tensors))
        return replaced(out, lambda t: next(gated))

    def from_outputs(self, grads: tuple) -> tuple:
        """Call the pre-hooks; if no input requires grad, no later gate runs, so call the hooks too."""
        for hook, _ in self.module._of("backward_pre"):
            grads = self.checked(hook, hook(self.module, grads), grads)
        self.grad_output = grads
        if not self.places:
            self.call((None,) * self.n_inputs)
        return grads

    def to_inputs(self, grads: tuple) -> tuple:
        """Call the hooks with the gradients of all inputs."""
        every: list = [None] * self.n_inputs
        for i, g in zip(self.places, grads):
            every[i] = g
        result = self.call(tuple(every))
        return tuple([result[i] for i in self.places])

    def call(self, grad_input: tuple) -> tuple:
        for hook, _ in self.module._of("backward"):
            grad_input = self.checked(hook, hook(self.module, grad_input, self.grad_output), grad_input)
        return grad_input

    def checked(self, hook: Callable, given: Any, grads: tuple) -> tuple:
        """Return a hook's result as a tuple.  Raises RuntimeError if its length or shapes differ from the gradients'."""
        if given is None:
            return grads
        given = given if isinstance(given, tuple) else (given,)
        if len(given) != len(grads):
            raise error(
                RuntimeError,
                type(self.module).__name__,
                f"a backward hook returned {len(given)} gradients, expected {len(grads)}",
                f"return a tuple of {len(grads)}, with None for a missing gradient",
                defined_at(hook),
            )
        for i, (g, h) in enumerate(zip(grads, given)):
            if isinstance(g, Tensor) and isinstance(h, Tensor) and g.shape != h.shape:
                raise error(
                    RuntimeError,
                    type(self.module).__name__,
                    f"a backward hook returned gradient {i} with shape {tuple(h.shape)}, expected {tuple(g.shape)}",
                    "return gradients of the module's inputs (grad_input), or None to keep them",
                    defined_at(hook),
                )
        return given


def replaced(out: Any, f: Callable) -> Any:
    """Return a tensor, or a tuple, list or dictionary of them, with f applied to each tensor that requires grad."""
    if isinstance(out, Tensor):
        return f(out) if out.requires_grad else out
    if isinstance(out, dict):
        return type(out)([(k, replaced(v, f)) for k, v in out.items()])
    if isinstance(out, (tuple, list)):
        parts = [replaced(v, f) for v in out]
        return type(out)(*parts) if hasattr(out, "_fields") else type(out)(parts)
    return out
