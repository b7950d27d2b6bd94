"""Activation checkpointing: a function saves only its inputs for backward, which then recomputes the rest.

The usual form (`use_reentrant=False`) makes the operations inside save placeholders, which recomputation.py fills when
backward asks for one.  The older form (`use_reentrant=True`) is a Function whose backward runs the function again with
gradients on, and calls backward inside backward.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from ..autograd import Function, backward, enable_grad, no_grad
from ..autograd.function import once_differentiable
from ..autograd.graph import saved_tensors_hooks
from ..core.engine import running
from ..core.frames import current
from ..core.tensor import Tensor
from ..errors import error, warn
from ..nn import Sequential
from .recomputation import CheckpointError, Contexts, Region, Surroundings, noop_context_fn

__all__ = [
    "CheckpointError",
    "checkpoint",
    "checkpoint_sequential",
    "noop_context_fn",
    "set_checkpoint_debug_enabled",
    "set_checkpoint_early_stop",
]

_early_stop: ContextVar[bool | None] = ContextVar("minigrad.checkpoint.early_stop", default=None)
_debug: ContextVar[bool | None] = ContextVar("minigrad.checkpoint.debug", default=None)


def checkpoint(
    function: Callable,
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: Callable[[], Contexts] = noop_context_fn,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    preserve_rng_state: bool = True,
    **kwargs: Any,
) -> Any:
    """Call `function(*args, **kwargs)` and save only the arguments; backward recomputes everything else.

    With `use_reentrant=False` everything works as without checkpoint: `grad`, keyword arguments, nested structures, second
    derivatives, checkpoints inside checkpoints. The function has to compute the same again: if the number, shapes or dtypes
    of its saved tensors change, backward raises CheckpointError with the line (unless `determinism_check="none"`).
    Inside a transform of `minigrad.func` it only calls the function and saves no memory.

    With `use_reentrant=True`, the default as in PyTorch, there is no graph inside. Only `backward()` without `inputs=` works,
    and only once; gradients flow only to tensors that are arguments themselves, and to parameters if one argument requires
    grad; keyword arguments raise an error. Without `use_reentrant`, a warning asks you to choose.

    Raises ValueError for arguments that the chosen form does not take.

    Parameters
    ----------
    context_fn
        Returns two context managers, for the call and for the recomputation; only with `use_reentrant=False`.
    debug
        Make CheckpointError list all saved tensors of both runs.
    early_stop
        Stop the recomputation once all needed tensors are there.
    preserve_rng_state
        Draw the same random numbers again, without an effect on the numbers drawn after backward.

    Examples
    --------
    >>> import minigrad
    >>> from minigrad.utils.checkpoint import checkpoint
    >>> x = minigrad.tensor([1.0, 2.0], requires_grad=True)
    >>> calls = []
    >>> def f(x):
    ...     calls.append("f")
    ...     return x.exp().sin()
    >>> y = checkpoint(f, x, use_reentrant=False).sum()
    >>> calls
    ['f']
    >>> y.backward()
    >>> calls
    ['f', 'f']
    """
    if use_reentrant is None:
        use_reentrant = True
        warn(
            "checkpoint-form",
            "checkpoint",
            "use_reentrant is missing, so checkpoint uses the older form, which works only with backward()",
            "write use_reentrant=False, or use_reentrant=True to keep the older form",
        )
    if use_reentrant:
        check_reentrant(args, kwargs, context_fn, debug)
        return CheckpointFunction.apply(function, preserve_rng_state, *args)
    frame = current()
    if not frame.grad:
        return function(*args, **kwargs)
    contexts = context_fn()
    if not all([layer.transparent for layer in frame.layers()]):
        with contexts[0]:  # a second run would need this transform, but backward runs after its end
            return function(*args, **kwargs)
    if (setting := _early_stop.get()) is not None:
        early_stop = setting
    if (setting := _debug.get()) is not None:
        debug = setting
    around = Surroundings(preserve_rng_state)
    region = Region(function, args, kwargs, contexts[1], around, determinism_check, early_stop, debug)
    with saved_tensors_hooks(region.pack, region.unpack), contexts[0]:
        return function(*args, **kwargs)


def checkpoint_sequential(
    functions: Sequential | Sequence[Callable],
    segments: int,
    input: Any,
    use_reentrant: bool | None = None,
    *,
    preserve_rng_state: bool = True,
) -> Any:
    """Call functions one after another, in `segments` parts; all parts but the last are checkpointed.

    Raises ValueError unless there is a function for each segment.

    >>> import minigrad
    >>> from minigrad.utils.checkpoint import checkpoint_sequential
    >>> x = minigrad.tensor([1.0, 2.0], requires_grad=True)
    >>> checkpoint_sequential([minigrad.exp, minigrad.sin, minigrad.cos], 2, x, use_reentrant=False).sum().backward()
    >>> minigrad.allclose(x.grad, minigrad.autograd.grad(x.exp().sin().cos().sum(), x)[0])
    True
    """
    steps = list(functions)
    if not 1 <= segments <= len(steps):
        what = f"{len(steps)} functions cannot be divided into {segments} segments"
        raise error(ValueError, "checkpoint_sequential", what, f"pass segments from 1 to {len(steps)}")

    def part(chosen: list[Callable]) -> Callable:
        def run(x: Any) -> Any:
            for step in chosen:
                x = step(x)
            return x

        return run

    size = len(steps) // segments
    for i in range(segments - 1):
        chosen = part(steps[i * size : (i + 1) * size])
        input = checkpoint(chosen, input, use_reentrant=use_reentrant, preserve_rng_state=preserve_rng_state)
    return part(steps[(segments - 1) * size :])(input)


@contextmanager
def set_checkpoint_early_stop(enable: bool) -> Iterator[None]:
    """Set `early_stop` for all checkpoints made inside the `with` block.

    >>> from minigrad.utils.checkpoint import set_checkpoint_early_stop
    >>> with set_checkpoint_early_stop(False):
    ...     pass
    """
    yield from set_to(_early_stop, enable)


@contextmanager
def set_checkpoint_debug_enabled(enabled: bool | None) -> Iterator[None]:
    """Set `debug` for all checkpoints made inside the `with` block; None leaves it to them.

    >>> from minigrad.utils.checkpoint import set_checkpoint_debug_enabled
    >>> with set_checkpoint_debug_enabled(True):
    ...     pass
    """
    yield from set_to(_debug, enabled)


def set_to(variable: ContextVar, value: Any) -> Iterator[None]:
    """Set a variable inside a `with` block."""
    before = variable.get()
    variable.set(value)
    try:
        yield
    finally:
        variable.set(before)


# ---------------------------------------------------------------------- the older form
def check_reentrant(args: tuple, kwargs: dict, context_fn: Callable, debug: bool) -> None:
    """Raise an error for arguments that only the usual form takes; warn if no gradient can flow."""
    if kwargs:
        what = f"unexpected keyword arguments: {', '.join(kwargs)}; use_reentrant=True does not take them"
        raise error(ValueError, "checkpoint", what, "pass them by position, or use_reentrant=False")
    if context_fn is not noop_context_fn or debug:
        what = "passing context_fn or debug is only supported when use_reentrant=False"
        raise error(ValueError, "checkpoint", what, "write use_reentrant=False")
    if current().grad and not any([isinstance(a, Tensor) and a.requires_grad for a in args]):
        warn(
            "checkpoint-without-grad",
            "checkpoint",
            "none of the arguments requires grad, so with use_reentrant=True nothing inside gets a gradient",
            "write use_reentrant=False, which finds the parameters inside",
        )


class CheckpointFunction(Function):
    """A function that runs without a graph in forward, and again with one in backward."""

    @staticmethod
    def forward(ctx: Any, function: Callable, preserve_rng_state: bool, *args: Any) -> Any:
        """Run the function; backward also gives gradients to tensors that are not arguments, such as parameters."""
        ctx.function, ctx.surroundings = function, Surroundings(preserve_rng_state)
        ctx.others = [None if isinstance(a, Tensor) else a for a in args]
        ctx.save_for_backward(*[a if isinstance(a, Tensor) else None for a in args])
        with no_grad():
            return function(*args)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Any) -> tuple:
        """Run the function again with a graph, and backward through it."""
        run = running.get()
        if run is not None and run.targets is not None:
            what = "use_reentrant=True does not work with grad() or with backward(inputs=...)"
            raise error(
                RuntimeError, "checkpoint", what, "write use_reentrant=False, or call backward() without inputs"
            )
        args = [a if t is None else leaf_like(t) for t, a in zip(ctx.saved_tensors, ctx.others)]
        with ctx.surroundings.again(), enable_grad():
            returned = ctx.function(*args)
        outs = returned if isinstance(returned, (tuple, list)) else (returned,)
        pairs = [(o, g) for o, g in zip(outs, grads) if isinstance(o, Tensor) and o.requires_grad]
        if not pairs:
            what = "none of the outputs requires grad in the second run, so this checkpoint is not necessary"
            raise error(
                RuntimeError, "checkpoint", what, "call the function without checkpoint, or do not detach inside it"
            )
        backward([o for o, _ in pairs], [g for _, g in pairs])
        return (None, None, *[a.grad if isinstance(a, Tensor) else None for a in args])


def leaf_like(t: Tensor) -> Tensor:
    """Return a tensor as a leaf, with the same requires_grad."""
    return t.detach().requires_grad_(t.requires_grad)
