"""The hooks of modules: functions called before and after forward, and with gradients during backward.

A module without hooks pays nothing.  For backward hooks, the outputs and the inputs that require grad pass through an
identity (`BackwardHookFunction`) whose backward calls the hooks.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

from ..core.engine import running
from ..core.frames import current
from ..core.function import Function
from ..core.graph import history
from ..core.tensor import Tensor, levels
from ..diagnose.gradient_hooks import check_arguments
from ..errors import error
from ..events import events
from ..places import returned_at
from ..tensors.hooks import Handle

KINDS = {  # kinds of hooks, in calling order, with the arguments of each
    "forward_pre": ("module", "args"),
    "forward": ("module", "args", "output"),
    "backward_pre": ("module", "grad_output"),
    "backward": ("module", "grad_input", "grad_output"),
    "last_node": ("module", "grad_input", "grad_output"),
    "state_pre": ("module", "prefix", "keep_vars"),
    "state": ("module", "state_dict", "prefix", "metadata"),
    "load_pre": ("module", "state_dict", "prefix", "metadata", "strict", "missing", "unexpected", "errors"),
    "load": ("module", "incompatible_keys"),
}


class BackwardHookFunction(Function):
    """The identity; in backward, `passed` receives the gradients and returns those to continue with."""

    generate_vmap_rule = True

    @staticmethod
    def forward(passed: Callable, *tensors: Tensor) -> tuple:
        return tuple([t.view_as(t) for t in tensors])

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple, output: tuple) -> None:
        ctx.passed = inputs[0]
        ctx.set_materialize_grads(False)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> tuple:
        return None, *ctx.passed(grads)

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> tuple:
        return tangents[1:]

    @staticmethod
    def without_hooks(ctx: Any) -> None:
        """Pass gradients on unchanged in a backward that calls no hook (record/unseen.py)."""
        ctx.passed = lambda grads: grads


def hooks_called(kind: str) -> property:
    """Return the dictionary of a module's hooks of one kind as an attribute: programs count, clear and replace them."""
    return property(
        lambda module: module._hooks_by_kind.setdefault(kind, OrderedDict()),
        lambda module, hooks: module._hooks_by_kind.update({kind: hooks}),
    )


class Hooked:
    """The hooks of a Module: how they are registered and called.  The module defines `forward`."""

    _hooks_by_kind: dict[str, dict[int, Callable]]  # for each of KINDS, in calling order
    _hook_options: dict[int, set]  # id of a hook -> the options that were true at its registration
    forward: Callable
    _every: ClassVar[Hooked]  # holds the hooks that are called for all modules

    def register_forward_pre_hook(self, hook: Callable, *, prepend: bool = False, with_kwargs: bool = False) -> Handle:
        """Call hook(module, args) before forward; a result other than None replaces the arguments.

        `with_kwargs` calls hook(module, args, kwargs), which may return both; `prepend` calls it before the others.
        """
        return self._register_hook("forward_pre", hook, prepend, with_kwargs=with_kwargs)

    def register_forward_hook(
        self, hook: Callable, *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ) -> Handle:
        """Call hook(module, args, output) after forward; a result other than None replaces the output.

        `with_kwargs` calls hook(module, args, kwargs, output); `always_call` calls it with None even if forward raises.
        """
        return self._register_hook("forward", hook, prepend, with_kwargs=with_kwargs, always_call=always_call)

    def register_full_backward_pre_hook(self, hook: Callable, prepend: bool = False) -> Handle:
        """Call hook(module, grad_output) with the gradients of the outputs; a returned tuple replaces them.

        The tuple has one entry per output, None for one without a gradient.
        """
        return self._register_hook("backward_pre", hook, prepend)

    def register_full_backward_hook(self, hook: Callable, prepend: bool = False) -> Handle:
        """Call hook(module, grad_input, grad_output) once the gradients of the inputs are known.

        Both are tuples, with None for arguments and outputs without a gradient.  A returned tuple replaces grad_input.  A
        backward that does not compute gradients of the outputs, such as a second one through grad_input, calls no hook.
        """
        return self._register_hook("backward", hook, prepend)

    def register_backward_hook(self, hook: Callable) -> Handle:
        """Call hook(module, grad_input, grad_output) after the backward of the output's node.  Deprecated in PyTorch.

        The gradients are those of the last operation in forward, as in `out.grad_fn.register_hook`: a hook of a Linear gets
        the gradients of input, weight and bias.  Use register_full_backward_hook for the gradients of the module.
        """
        return self._register_hook("last_node", hook)

    def register_state_dict_pre_hook(self, hook: Callable) -> Handle:
        """Call hook(module, prefix, keep_vars) before state_dict() collects the tensors."""
        return self._register_hook("state_pre", hook)

    def register_state_dict_post_hook(self, hook: Callable) -> Handle:
        """Call hook(module, state_dict, prefix, metadata) after state_dict() has collected; it may edit state_dict in place."""
        return self._register_hook("state", hook)

    def _register_state_dict_hook(self, hook: Callable) -> Handle:
        """Do the same, except that state_dict() returns the hook's result unless that is None."""
        return self._register_hook("state", hook, returns=True)

    def register_load_state_dict_pre_hook(self, hook: Callable) -> Handle:
        """Call hook(module, state_dict, prefix, metadata, strict, missing, unexpected, errors) before loading.

        It may edit its copy of the state_dict in place.
        """
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def _register_load_state_dict_pre_hook(self, hook: Callable, with_module: bool = False) -> Handle:
        """Do the same, for a hook without the argument `module` unless `with_module`."""
        return self._register_hook("load_pre", hook, with_module=with_module)

    def register_load_state_dict_post_hook(self, hook: Callable) -> Handle:
        """Call hook(module, incompatible_keys) after loading; it may edit the two lists in place."""
        return self._register_hook("load", hook)

    _forward_pre_hooks, _forward_hooks = hooks_called("forward_pre"), hooks_called("forward")
    _backward_pre_hooks, _backward_hooks = hooks_called("backward_pre"), hooks_called("backward")

    def _register_hook(self, kind: str, hook: Callable, prepend: bool = False, **options: bool) -> Handle:
        takes = KINDS[kind] if not options.get("with_kwargs") else (*KINDS[kind][:2], "kwargs", *KINDS[kind][2:])
        takes = takes if options.get("with_module", True) else takes[1:]
        check_arguments(hook, takes)
        hooks = self._hooks_by_kind.setdefault(kind, OrderedDict())
        handle = Handle(hooks, hook)
        if prepend:
            hooks.move_to_end(handle.id, last=False)  # type: ignore[attr-defined]
        self._hook_options[handle.id] = {name for name, wanted in options.items() if wanted}
        return handle

    def _hooks_of(self, kind: str) -> list:
        """Return the hooks of a kind, those of all modules first, each with its options."""
        return [
            (hook, owner._hook_options.get(key, ()))
            for owner in (EVERY, self)
            for key, hook in list(owner._hooks_by_kind.get(kind, {}).items())
        ]

    def _run_hooked(self, args: tuple, kwargs: dict) -> Any:
        """Run forward with its hooks."""
        called: set = set()
        try:
            for hook, options in self._hooks_of("forward_pre"):
                if "with_kwargs" in options:
                    args, kwargs = self._args_and_kwargs(hook(self, args, kwargs), args, kwargs)
                elif (given := hook(self, args)) is not None:
                    args = given if isinstance(given, tuple) else (given,)
            gates = HookGates(self) if self._hooks_of("backward") or self._hooks_of("backward_pre") else None
            out = self.forward(*(args if gates is None else gates.entered(args)), **kwargs)
            for hook, options in self._hooks_of("forward"):
                called.add(hook)
                changed = hook(self, args, kwargs, out) if "with_kwargs" in options else hook(self, args, out)
                out = out if changed is None else changed
            out = out if gates is None else gates.left(out)
            for hook, _ in self._hooks_of("last_node"):
                self._hook_node(hook, out)
            return out
        except Exception:
            for hook, options in self._hooks_of("forward"):
                if "always_call" in options and hook not in called:
                    hook(self, args, kwargs, None) if "with_kwargs" in options else hook(self, args, None)
            raise

    def _hook_node(self, hook: Callable, out: Any) -> None:
        """Give the node of the first tensor of an output a hook of register_backward_hook."""
        values: list = []
        replaced(out, lambda v: values.append(v) or v)
        node = next((v.grad_fn for v in values if isinstance(v, Tensor)), None)
        if node is not None:
            node.register_hook(lambda grad_input, grad_output: hook(self, grad_input, grad_output))

    def _args_and_kwargs(self, given: Any, args: tuple, kwargs: dict) -> tuple:
        """Return args and kwargs after a hook that may replace both."""
        if given is None:
            return args, kwargs
        if not isinstance(given, tuple) or len(given) != 2:
            what = f"a forward pre-hook must return None or a tuple (args, kwargs), but got {type(given).__name__}"
            fix = "write `return args, kwargs`, with args a tuple and kwargs a dict"
            raise error(RuntimeError, type(self).__name__, what, fix)
        return given


EVERY = Hooked._every = Hooked()
EVERY._hooks_by_kind, EVERY._hook_options = {}, {}


class GateTensors:
    """The inputs or the outputs of one call: how many there are, and which of them are tensors that require grad."""

    def __init__(self):
        self.size, self.places = 0, []

    def all(self, grads: tuple) -> tuple:
        """Return one gradient per value, None for a value that does not require grad."""
        found = dict(zip(self.places, grads))
        return tuple([found.get(i) for i in range(self.size)])

    def tracked(self, grads: tuple) -> tuple:
        """Return the gradients of the tensors that require grad."""
        return tuple([grads[i] for i in self.places])


class HookGates:
    """One call of a module with backward hooks: the state that its output gate and its input gate share."""

    def __init__(self, module: Any):
        self.module = module
        self.inputs, self.outputs = GateTensors(), GateTensors()
        # by backward, from the outputs to the inputs: a pass that does not reach the outputs calls no hook
        self.grad_outputs: WeakKeyDictionary = WeakKeyDictionary()

    def entered(self, args: tuple) -> tuple:
        """Return the arguments, with the tensors that require grad behind a gate."""
        return tuple(self.gate(self.to_inputs, self.inputs, list(args)))

    def left(self, out: Any) -> Any:
        """Return the outputs (a tensor, or a tuple, list or dictionary of them) behind a gate."""
        values: list = []
        replaced(out, lambda v: values.append(v) or v)
        gated = iter(self.gate(self.from_outputs, self.outputs, values))
        return replaced(out, lambda v: next(gated))

    def gate(self, passed: Callable, group: GateTensors, values: list) -> list:
        """Return the values, with the tensors that require grad behind a gate; errors about a write to one name the module."""
        group.size = len(values)
        group.places = [i for i, v in enumerate(values) if tracked(v)] if current().grad else []
        if not group.places:
            return values
        events.changes(f"calls the backward hooks of {type(self.module).__name__}")
        gated = BackwardHookFunction.apply(passed, *[values[i] for i in group.places])
        for i, t in zip(group.places, gated):
            values[i] = t
            for low in levels(t):
                if low._view is not None:
                    low._view.fixed = f"it passes the backward hooks of {type(self.module).__name__}"
        return values

    def from_outputs(self, grads: tuple) -> tuple:
        """Call the pre-hooks; if no input requires grad, no later gate runs, so call the hooks too."""
        grad_output = self.outputs.all(grads)
        for hook, _ in self.module._hooks_of("backward_pre"):
            grad_output = self.checked(hook, hook(self.module, grad_output), grad_output)
        if not self.inputs.places:
            self.call(self.inputs.all(()), grad_output)
        elif (run := running.get()) is not None:
            self.grad_outputs[run] = grad_output
        return self.outputs.tracked(grad_output)

    def to_inputs(self, grads: tuple) -> tuple:
        """Call the hooks with the gradients of all inputs, if those of the outputs were computed in this backward."""
        run = running.get()
        if run not in self.grad_outputs:
            return grads
        return self.inputs.tracked(self.call(self.inputs.all(grads), self.grad_outputs.pop(run)))

    def call(self, grad_input: tuple, grad_output: tuple) -> tuple:
        for hook, _ in self.module._hooks_of("backward"):
            grad_input = self.checked(hook, hook(self.module, grad_input, grad_output), grad_input)
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
                returned_at(hook),
            )
        for i, (g, h) in enumerate(zip(grads, given)):
            if isinstance(g, Tensor) and isinstance(h, Tensor) and g.shape != h.shape:
                raise error(
                    RuntimeError,
                    type(self.module).__name__,
                    f"a backward hook returned gradient {i} with shape {tuple(h.shape)}, expected {tuple(g.shape)}",
                    "return gradients of the module's inputs (grad_input), or None to keep them",
                    returned_at(hook),
                )
        return given


def tracked(value: Any) -> bool:
    """Return True for a tensor that requires grad, itself or in a derivative around the transforms that run here."""
    return isinstance(value, Tensor) and any([history(low) is not None for low in levels(value)])


def replaced(out: Any, f: Callable) -> Any:
    """Return an output, or a tuple, list or dictionary of them, with f applied to each value."""
    if isinstance(out, dict):
        return type(out)([(k, replaced(v, f)) for k, v in out.items()])
    if isinstance(out, (tuple, list)):
        parts = [replaced(v, f) for v in out]
        return type(out)(*parts) if hasattr(out, "_fields") else type(out)(parts)
    return f(out)
