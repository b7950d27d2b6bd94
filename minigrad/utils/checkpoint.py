"""Activation checkpointing: a function saves only its inputs for backward, which then recomputes the rest.

The operations inside save placeholders, which recomputation.py fills when backward asks for one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..autograd.graph import saved_tensors_hooks
from ..core.frames import current
from ..diagnose.boundary import guard as _guard
from ..errors import error
from ..nn import Sequential
from .recomputation import CheckpointError, Contexts, Region, Surroundings, noop_context_fn

__all__ = [
    "CheckpointError",
    "checkpoint",
    "checkpoint_sequential",
    "noop_context_fn",
]


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

    Everything works as without checkpoint: `grad`, keyword arguments, nested structures, second derivatives, checkpoints
    inside checkpoints. The function has to compute the same again: if the number, shapes or dtypes of its saved tensors
    change, backward raises CheckpointError with the line (unless `determinism_check="none"`). Inside a transform of
    `minigrad.func` it only calls the function and saves no memory.

    Raises ValueError for another `determinism_check`.

    Parameters
    ----------
    use_reentrant
        PyTorch's older form for True; minigrad has one form, which does what either does.
    context_fn
        Returns two context managers, for the call and for the recomputation.
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
    frame = current()
    if not frame.grad:
        return function(*args, **kwargs)
    contexts = context_fn()
    if not isinstance(contexts, (tuple, list)) or len(contexts) != 2:
        what = f"context_fn must return two contexts, but returned {type(contexts).__name__}"
        raise error(TypeError, "checkpoint", what, "return (forward_context, recompute_context)")
    if not all([layer.transparent for layer in frame.layers()]):
        with contexts[0]:  # a second run would need this transform, but backward runs after its end
            return function(*args, **kwargs)
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
        input = checkpoint(chosen, input, preserve_rng_state=preserve_rng_state)
    return part(steps[(segments - 1) * size :])(input)


_guard(__name__)
