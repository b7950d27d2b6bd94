"""From what `draw` receives to a record: the graph behind a tensor, or a call of a function of minigrad or PyTorch."""

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from types import FrameType
from typing import Any

import minigrad
from minigrad.explain.value_names import name_after, public_variables
from minigrad.places import home, users_code
from minigrad.record.passes import applied
from minigrad.record.validate import NotARecord, validate

from ..graph import stories
from ..graph.foreign_graph import is_node, record_of_graph
from ..layout.directions import instead_of_ones, vanishing
from .libraries import document_of, library_of, library_of_tensor


def validated(record: dict) -> dict:
    """Return the dictionary if it is a valid record, else raise ValueError."""
    try:
        validate(record)
    except NotARecord as wrong:
        raise ValueError(f"draw: the dictionary is not a record: {wrong}. Make one with minigrad.record.") from wrong
    return record


def recorded(
    what: Any, args: tuple, passes: tuple[str, ...], chosen: bool, seeds: dict[str, Any], caller: FrameType, times: bool
) -> tuple[Any, dict[str, str]]:
    """Record a tensor, with names from its caller's variables, or a function; `chosen` tells that the user chose the passes.

    Return the recording, and sentences about the passes that do not begin with ones.
    """
    if of_torch(what):
        raise TypeError(
            "draw: PyTorch does not keep the values behind a tensor. Pass the function that computes it, with its arguments."
        )
    if not isinstance(what, minigrad.Tensor) and is_node(what):
        if given := [seed for seed in seeds if seeds[seed] is not None]:
            raise ValueError(f"draw: the nodes have their gradients and tangents. Leave out {' and '.join(given)}.")
        return record_of_graph(what, public_variables(caller)), {}
    tensors = isinstance(what, (tuple, list)) and what and all(isinstance(one, minigrad.Tensor) for one in what)
    if isinstance(what, minigrad.Tensor) or tensors or hasattr(what, "next_functions"):
        if seeds["tangent"] is not None:
            raise ValueError("draw: a tensor has no jvp pass. Pass a function with its arguments, and tangent.")

        def recorded_graph(grad):
            made = minigrad.record_of(what, grad)
            name_after(made, caller)
            return made

        made, said = with_seeds(recorded_graph, {"grad": seeds["grad"]})
    elif isinstance(what, Callable):
        made, said = recorded_function(what, args, passes, chosen, seeds, times)
    else:
        raise TypeError(
            f"draw: {type(what).__name__} cannot be drawn. Pass a record, a tensor, or a function with its arguments."
        )
    return (made if hasattr(made, "to_dict") else made.document()), said


def recorded_function(
    fn: Callable, args: tuple, passes: tuple[str, ...], chosen: bool, seeds: dict[str, Any], times: bool
) -> tuple[Any, dict[str, str]]:
    """Record a call of a function; one that uses transforms runs once more without derivatives of its results."""
    made, said = with_seeds(partial(recorded_call, fn, args, passes, times), seeds)
    given = seeds != {"tangent": None, "grad": None}
    if not chosen and not given and hasattr(made, "to_dict") and stories.transforms(made.to_dict()):
        own = as_it_is(fn, args, times)
        made, said = (made, said) if own is None else (own, {})
    return made, said


def with_seeds(record: Callable, given: dict[str, Any]) -> tuple[Any, dict[str, str]]:
    """Record with the seeds that are `given`, and once more where ones give 0 and other seeds do not.

    The second recording was not asked for, so a program that cannot run again keeps the first one.
    """
    made = record(**given)
    if not (made.ran_backward or made.ran_jvp):
        return made, {}
    seeds, said = instead_of_ones(made, document_of(made), given)
    again = None
    if seeds:
        with suppress(Exception):
            again = record(**{**given, **seeds})
    if again is None or said.keys() <= vanishing(document_of(again)):
        return made, {}
    return again, said


def as_it_is(fn: Callable, args: tuple, times: bool) -> Any:
    """Return the recording of a function without derivatives that it does not compute itself; None if that fails."""
    plain = [a.detach() if isinstance(a, minigrad.Tensor) else a for a in args]
    try:
        made = recorded_call(fn, tuple(plain), (), times)
    except Exception:  # it needs arguments that require grad
        return None
    return made if stories.is_nested(made.to_dict()) else None


def of_torch(what: Any) -> bool:
    """Return True for a tensor of PyTorch, or a node of its graph."""
    is_node = hasattr(what, "next_functions") and not home(what).startswith("minigrad")
    return library_of_tensor(what) == "torch" or is_node and library_of(what) != "minigrad"


def recorded_call(
    fn: Callable, args: tuple, passes: tuple[str, ...], times: bool, tangent: Any = None, grad: Any = None
) -> Any:
    """Record a call of a function in the library that it uses."""
    if library_of(fn, args) == "torch":
        from ..pytorch.torch_recording import recording_of

        if times:
            raise ValueError("draw: times of PyTorch's operations are not recorded. Choose color='grad' or 'memory'.")
        return recording_of(fn, args, passes, None, tangent, grad)
    made = minigrad.record(
        fn, *args, passes=passes, inside=True, times=times, contents=True, tangent=tangent, grad=grad
    )
    if not made.outputs and not made.groups:
        name = getattr(fn, "__name__", type(fn).__name__)
        raise TypeError(
            f"draw: {name} computes and returns no tensor of minigrad. Return one; for PyTorch call viz.from_torch."
        )
    function = applied(fn)
    code = users_code(fn if function is None else function.forward)
    made.file = code.co_filename if code else ""
    return made
