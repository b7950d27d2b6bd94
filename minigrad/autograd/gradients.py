"""`backward` and `grad`: the functions with which users run the engine (minigrad/core/engine.py).

They check their arguments, and determine the edges to start from, each with its gradient, and the edges whose gradients
are requested.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from types import GeneratorType
from typing import Any

import numpy as np

from ..arrays.dtypes import FLOATS
from ..arrays.kinds import KINDS
from ..arrays.meta import has_numbers
from ..core import engine
from ..core.backward import accumulate
from ..core.frames import current, recorder_of
from ..core.graph import Leaf, history, key
from ..core.tensor import Tensor, wrap
from ..diagnose import debug as debugging
from ..diagnose.debug import anomaly as looking
from ..diagnose.first_backward import is_due
from ..diagnose.inplace_writes import pending
from ..diagnose.optimizers import read_for
from ..diagnose.users_program import made_at
from ..errors import error
from ..events import events, intercept, services
from ..layers.batch import batched
from ..places import user_place
from .grad_mode import set_grad_enabled


def backward(
    tensors: Any,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Any = None,
) -> None:
    """Add the gradients of the sum of `tensors` (weighted by `grad_tensors`) to the `.grad` of the leaves, or of `inputs`.

    Non-leaf `inputs` retain their gradient from then on, as after retain_grad().
    Raises RuntimeError for tensors without history, for non-scalars without a gradient, and for a graph already freed.

    >>> import minigrad
    >>> x = minigrad.tensor([1., 2.], requires_grad=True)
    >>> minigrad.autograd.backward((x ** 2).sum())
    >>> x.grad
    tensor([2., 4.])
    """
    tensors = tensors if type(tensors) is tuple else as_sequence(tensors, "backward")
    edges, seeds = roots(tensors, grad_tensors, "backward")
    if inputs is None:
        run("backward", edges, seeds, None, retain_graph, create_graph)
        return
    inputs = as_sequence(inputs, "backward")
    if not inputs:
        raise error(
            RuntimeError, "backward", "`inputs` argument to backward() cannot be empty", "omit it to reach all leaves"
        )
    targets = [edge_of(t, "backward", i) for i, t in enumerate(inputs)]
    for t, e in zip(inputs, targets):
        if isinstance(t, Tensor) and type(e) is not Leaf:
            t.retain_grad()
    found = run("backward", edges, seeds, {key(e) for e in targets}, retain_graph, create_graph)
    with set_grad_enabled(create_graph):
        for e in dict.fromkeys(targets):
            if type(e) is Leaf and (g := found.get(key(e))) is not None:
                accumulate(e, g)


def run(who: str, edges: list, seeds: list, wanted: set | None, retain: bool | None, create: bool) -> dict:
    """Call engine.run, after the checks of a backward that needs them."""
    keep, place, keeps = create if retain is None else retain, user_place(), bool(retain) and not create
    due = who == "backward" and is_due(place)
    if edges and (due or keeps or pending or debugging.mode.on):
        events.backward_begins(who, edges, wanted, keeps=keeps, place=place, due=due)
        if not create and (around := intercept.around_backward(edges)) is not None:
            with around:
                return engine.run(edges, seeds, wanted, keep, create, place)
    return engine.run(edges, seeds, wanted, keep, create, place)


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple:
    """Return the gradients of the sum of `outputs` (weighted by `grad_outputs`) with respect to `inputs`, as a tuple.

    With `is_grads_batched`, the first dimension of each of grad_outputs, and of the results, is a batch of weights.
    Only the inputs get gradients: `only_inputs` exists for the sake of old programs, and must be True.  Raises RuntimeError
    for inputs that do not require grad and, unless `allow_unused`, for inputs that no output depends on.

    >>> import minigrad
    >>> x = minigrad.tensor(2., requires_grad=True)
    >>> minigrad.autograd.grad(x ** 3, x)
    (tensor(12.),)
    """
    if materialize_grads and allow_unused is False:
        what = "expected allow_unused to be True or not passed when materialize_grads=True, but got: False."
        raise error(ValueError, "grad", what)
    if not only_inputs:
        what = "only_inputs=False, which would fill the .grad of all other leaves, is not supported"
        raise error(ValueError, "grad", what, "omit it, and call backward() for the other leaves")
    if is_grads_batched:
        outs, options = as_sequence(outputs, "grad"), (True, allow_unused, False, materialize_grads)
        return batched_grad(lambda *ws: grad(outs, inputs, ws, retain_graph, create_graph, *options), grad_outputs)
    if type(inputs) is GeneratorType:
        read_for("grad", inputs)
    outputs, inputs = as_sequence(outputs, "grad"), as_sequence(inputs, "grad")
    if not inputs:
        raise error(RuntimeError, "grad", "inputs is empty: there is nothing to differentiate with respect to")
    edges, seeds = roots(outputs, grad_outputs, "grad")
    targets = [edge_of(t, "grad", i, tracked=False) for i, t in enumerate(inputs)]
    if None in targets:
        refuse_untracked(inputs, targets.index(None))
    keys = [key(e) for e in targets]
    found = run("grad", edges, seeds, set(keys), retain_graph, create_graph)
    results = tuple([found.get(k) for k in keys])
    if len(KINDS) > 1:
        results = tuple([on_own_device(t, g) for t, g in zip(inputs, results)])
    if not (allow_unused or materialize_grads):
        refuse_unused(results, targets)
    if (recorder := recorder_of(current())) is not None:
        recorder.hand_over(results)
    if materialize_grads:
        return tuple([zero_gradient(t, e) if r is None else r for r, t, e in zip(results, inputs, targets)])
    return results


def batched_grad(gradients: Callable, grad_outputs: Any) -> tuple:
    """Return the gradients for a batch of grad_outputs at once; `gradients` computes them for one of the batch."""
    weights = as_sequence(grad_outputs, "grad")
    sizes = {tuple(w.shape)[:1] for w in weights if w is not None}
    if len(sizes) != 1 or () in sizes:
        raise error(
            ValueError if len(sizes) > 1 else RuntimeError,
            "grad",
            f"is_grads_batched=True needs grad_outputs with one common first dimension, got shapes "
            f"{[tuple(w.shape) for w in weights]}",
        )
    (size,) = sizes.pop()
    return batched(gradients, weights, tuple([None if w is None else 0 for w in weights]), size)


def on_own_device(t: Any, g: Tensor | None) -> Tensor | None:
    """Return the gradient of a number on its own device, since numbers also take part in operations on other devices."""
    if g is not None and not g.ndim and isinstance(t, Tensor) and g.device != t.device:
        return g.to(t.device)
    return g


def zero_gradient(input: Any, edge: Any) -> Tensor:
    """Return a gradient of zeros on the input's device."""
    return input.new_zeros(input.shape) if isinstance(input, Tensor) else wrap(np.zeros(edge._shape, edge._dtype))


def refuse_untracked(inputs: tuple, i: int) -> None:
    """Raise RuntimeError for an input that does not require grad."""
    raise error(
        RuntimeError,
        "grad",
        f"one of the differentiated tensors does not require grad: input {i}, of shape {tuple(inputs[i].shape)}",
        "call requires_grad_() on it before computing with it",
        notes=made_at(inputs[i]),
    )


def refuse_unused(results: tuple, targets: list) -> None:
    """Raise RuntimeError for the first input that no output depends on."""
    for i, (r, e) in enumerate(zip(results, targets)):
        if r is None:
            raise services.problem("an input is not used", i=i, edge=e)


def tensor_backward(
    self: Tensor,
    gradient: Tensor | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Any = None,
) -> None:
    """Add the gradients of this tensor to the `.grad` of the leaves it was computed from.

    `gradient` (of this tensor's shape) is needed unless it has one element.
    """
    backward((self,), None if gradient is None else (gradient,), retain_graph, create_graph, inputs)


methods: Any = Tensor
methods.backward = tensor_backward


def as_sequence(x: Any, who: str) -> tuple:
    """Return one tensor, or several, as a tuple.  Raises TypeError for anything else."""
    if type(x) is tuple or type(x) is list:
        return tuple(x)
    if isinstance(x, Tensor) or hasattr(x, "edge"):
        return (x,)
    if not isinstance(x, Iterable):
        raise error(
            TypeError, who, f"expected a tensor or a sequence of tensors, got {type(x).__name__}", "pass tensors"
        )
    return tuple(x)


def roots(outputs: tuple, weights: Any, what: str) -> tuple[list, list]:
    """Return the edges where differentiation starts, each with a gradient."""
    t = outputs[0] if weights is None and len(outputs) == 1 else None
    if type(t) is Tensor and t._view is None and t._edge is not None:  # by far the most common case
        return [t._edge], [seed(t, None, t._edge, what)]
    weights = (None,) * len(outputs) if weights is None else as_sequence(weights, what)
    if len(weights) != len(outputs):
        problem = f"got {len(outputs)} tensors and {len(weights)} gradients"
        raise error(RuntimeError, what, problem, "pass one gradient per tensor")
    edges, seeds = [], []
    for i, (t, g) in enumerate(zip(outputs, weights)):
        if isinstance(t, Tensor) and t._layer is not None and what == "backward" and not t._layer.accumulates:
            raise error(
                RuntimeError,
                what,
                f"backward() inside a `{t._layer.name}` transform would lose its gradients",
                "return the loss and let the transform differentiate it, or use minigrad.func.grad or "
                "minigrad.autograd.grad inside",
            )
        edges.append(edge_of(t, what, i))
        seeds.append(seed(t, g, edges[-1], what))
    return edges, seeds


def seed(t: Any, g: Tensor | None, edge: Any, what: str) -> Tensor:
    """Return the gradient to start with: the given one, checked, or 1 for a scalar."""
    shape, dtype = edge._shape, edge._dtype
    if g is None:
        if shape and math.prod(shape) != 1:
            raise error(
                RuntimeError,
                what,
                f"grad can be implicitly created only for scalar outputs, but got one of shape {shape}",
                "reduce it to a scalar, e.g. with .sum(), or pass a gradient of its shape",
                notes=made_at(t),
            )
        if dtype not in FLOATS:
            raise error(RuntimeError, what, f"only floating-point tensors have gradients, got {dtype}")
        if getattr(t, "_layer", None) is not None:
            return t.new_ones(shape)
        if (
            type(t) is Tensor
            and (type(t._a) is np.ndarray or looking.on and has_numbers(t._a))  # reading from a GPU would wait for it
            and t._a.size
            and not math.isfinite(number := t._a.item())
            and (
                what == "backward" or number != number  # a derivative may be requested where a function is infinite
            )
        ):
            services.notice("root is not finite", t=t)
        if type(t) is Tensor and type(t._a) is not np.ndarray:
            return t.new_ones(shape)
        return wrap(np.ones(shape, dtype) if shape else np.array(1.0, dtype))
    if not isinstance(g, Tensor):
        got = f"gradients can be either tensors or None, but got {type(g).__name__}"
        raise error(TypeError, what, got, f"pass a tensor of shape {shape}: minigrad.tensor(...)")
    if tuple(g.shape) != shape:
        problem = f"Mismatch in shape: the gradient has shape {tuple(g.shape)} and the tensor has shape {shape}"
        raise error(RuntimeError, what, problem, "pass a gradient of the tensor's shape")
    if len(KINDS) > 1 and isinstance(t, Tensor) and g.device != t.device:
        problem = f"the gradient of shape {shape} is on {g.device} and the tensor on {t.device}"
        raise error(RuntimeError, what, problem, f"pass gradient.to('{t.device}')")
    return g if g._np_dtype == dtype else g.to(dtype)


def edge_of(t: Any, what: str, i: int, tracked: bool = True) -> Any:
    """Return the edge of a tensor (or GradientEdge); None if it does not require grad and need not."""
    if not isinstance(t, Tensor):
        if not hasattr(t, "edge"):
            raise services.problem("only tensors can be differentiated", what=what, t=t, i=i)
        return t.edge()
    edge = history(t)
    if edge is None and tracked:
        raise services.problem("the tensor does not require grad", what=what, t=t, i=i)
    return edge
