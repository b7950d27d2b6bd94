"""Rows on what a Function keeps and changes: attributes, memory that stays, marks, writes to what is not its own."""

from __future__ import annotations

import gc
import weakref
from contextlib import suppress
from typing import Any

import numpy as np

from .case import Case, as_tuple, close, short, weights
from .form import need_backward, need_gradient
from .outcome import Absent, Fault
from .probe import Call, probed


def tensors_on_ctx(case: Case) -> None:
    """Tensors are kept by save_for_backward; as attributes of ctx they leak, and nobody notices when they change."""
    function, calls = probed(case)
    outs = case.apply(case.inputs(), function)
    methods = [c for c in calls if c.ctx is not None]
    for name, value in list(vars(methods[-1].ctx).items()) if methods else ():
        if not contains_tensor(case, value):
            continue
        what = role(case, value, methods[-1].args, outs)
        raise Fault(
            f"ctx.{name} holds {what}: it is not freed with the graph, and its changes in place go unnoticed",
            f"ctx.save_for_backward(...)  # instead of ctx.{name}; in backward: (...,) = ctx.saved_tensors",
            "setup_context" if case.separate else "forward",
            rf"ctx\.{name}\b|saved_data",
        )


def contains_tensor(case: Case, value: Any) -> bool:
    """Whether there is a tensor in an attribute."""
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, (tuple, list)) else ()
    return isinstance(value, case.library.Tensor) or any(contains_tensor(case, part) for part in parts)


def role(case: Case, value: Any, args: tuple, outs: tuple) -> str:
    """What a kept tensor is."""
    if not isinstance(value, case.library.Tensor):
        return "tensors"
    if any(
        np.shares_memory(case.library.array_view(value), case.library.array_view(o)) for o in tensors_of(case, outs)
    ):
        return "an output, which holds ctx in turn"
    mine = [t for a in args for t in tensors_of(case, a if isinstance(a, (tuple, list)) else (a,))]
    if any(t is value or np.shares_memory(case.library.array_view(t), case.library.array_view(value)) for t in mine):
        return "an input"
    return "a tensor"


def tensors_of(case: Case, values: Any) -> list:
    """The tensors among values."""
    return [v for v in values if isinstance(v, case.library.Tensor)]


def memory_freed(case: Case) -> None:
    """When the outputs are gone, so are inputs and graph, at once: nothing holds them, no cycle waits for the collector."""
    need_gradient(case)
    gc.collect()
    working = gc.isenabled()
    gc.disable()
    try:
        watched = run_and_forget(case)
        alive = {what for what, ref in watched if ref() is not None}
        if alive:
            gc.collect()
            stay = {what for what, ref in watched if ref() is not None}
            raise leak(case, alive, stay)
    finally:
        if working:
            gc.enable()


def run_and_forget(case: Case) -> list[tuple[str, Any]]:
    """Forward and backward, of which only weak references are left."""
    args = case.inputs()
    outs = case.apply(args)
    watched = [(f"argument {case.names[i]}", weakref.ref(args[i])) for i in case.tensors]
    watched += [(f"output {k}", weakref.ref(outs[k])) for k in case.tracked]
    watched += [("ctx", weakref.ref(outs[case.tracked[0]].grad_fn))]
    if case.backward:
        case.total(outs).backward()
    return watched


def leak(case: Case, alive: set[str], stay: set[str]) -> Fault:
    """The fault for what outlives its use."""
    what = ", ".join(sorted(stay or alive))
    if stay:
        return Fault(
            f"still alive after the outputs are gone: {what}. Something outside of the graph holds on to it",
            "ctx.save_for_backward(...)  # instead of a list, a global or the class",
            "setup_context" if case.separate else "forward",
            r"append|global|cls\.|\w+\[.*\] =|ctx\.(?!save)|" + rf"{case.name}\.",
        )
    return Fault(
        f"only the garbage collector frees {what}: ctx holds an output and that holds ctx",
        "ctx.save_for_backward(result)  # instead of ctx.result = result",
        "setup_context" if case.separate else "forward",
        r"ctx\.(?!save)\w+ =",
    )


def backward_twice(case: Case) -> str:
    """With retain_graph=True a second backward gives the same numbers; without, it is an error or gives the same."""
    need_backward(case)
    args = case.inputs()
    total = case.total(case.apply(args))
    wanted = [args[i] for i in case.wanted]
    first = case.library.grad(total, wanted, retain_graph=True)
    second = case.library.grad(total, wanted, retain_graph=True)
    for i, a, b in zip(case.wanted, first, second):
        if not close(case.filled(a, i), case.filled(b, i)):
            raise Fault(
                f"a second backward through the same graph gives {short(case.filled(b, i))} for {case.names[i]}, the "
                f"first gave {short(case.filled(a, i))}",
                "# compute in backward from ctx.saved_tensors alone: no random numbers, no state, nothing changed in place",
                case.backward,
                r"rand|dropout|bernoulli|ctx\.\w+ [-+*/]?=|_\(|global|\+=",
            )
    try:
        case.library.grad(total, wanted)
        case.library.grad(total, wanted)
    except RuntimeError:
        return "with retain_graph; without it the second is refused"
    return "with and without retain_graph"


def in_place_marks(case: Case) -> str:
    """An input that forward changes is marked with ctx.mark_dirty and returned; one that is marked is changed."""
    function, calls = probed(case)
    try:
        case.apply(case.inputs(), function, clone=True)
    except Exception:
        check_marks(case, calls)
        raise Absent("forward fails") from None  # which the next row tells
    return check_marks(case, calls)


def check_marks(case: Case, calls: list[Call]) -> str:
    """Fault for inputs that are changed and not marked, marked and not changed, or marked and not returned."""
    call = next(c for c in calls if c.method == "forward")
    dirty = [d for c in calls for d in c.dirty]
    marked = [i for i, a in enumerate(call.args) if any(a is d for d in dirty)]
    owner = "setup_context" if case.separate else "forward"
    for i in sorted({*call.written} ^ {*marked}):
        name = case.names[i]
        if i in call.written:
            raise Fault(
                f"forward changes {name} in place and does not say so",
                f"ctx.mark_dirty({name})  # and return {name}; or work on {name}.clone()",
                "forward",
                r"_\(|\[.*\] [-+*/]?=|[-+*/]=|out=|copyto",
            )
        raise Fault(
            f"{name} is marked with mark_dirty, but forward does not change it",
            f"# take mark_dirty({name}) away",
            owner,
            "mark_dirty",
        )
    returned = call.returned if isinstance(call.returned, (tuple, list)) else (call.returned,)
    for i in marked:
        if call.returned is not None and not any(call.args[i] is o for o in returned):
            raise Fault(
                f"{case.names[i]} is marked with mark_dirty, but forward does not return it",
                f"return {case.names[i]}  # the very tensor that was changed",
                "forward",
            )
    if not marked:
        return "changes no input"
    case.traits.add("in place")
    return f"{', '.join(case.names[i] for i in marked)} is changed in place, and marked"


def shared_outputs(case: Case) -> str:
    """An output in an input's memory is known to be a view of it: a write to it is seen, or refused."""
    library = case.library
    args = [a.clone() if isinstance(a, library.Tensor) else a for a in case.inputs()]
    outs = as_tuple(case.function.apply(*args))
    notes = []
    for k, o in enumerate(outs):
        for i in case.tensors:
            if not isinstance(o, library.Tensor) or o is args[i] or o.numel() == 0:
                continue
            if not np.shares_memory(library.array_view(o), library.array_view(args[i])):
                continue
            notes.append(f"output {k} lies in the memory of {case.names[i]}")
            version = args[i]._version
            try:
                o.mul_(2)
            except RuntimeError:
                continue
            if args[i]._version == version:
                raise Fault(
                    f"output {k} lies in the memory of {case.names[i]} and nothing knows: a write to it changes "
                    f"{case.names[i]} without a word",
                    "return result.clone()",
                    "forward",
                )
    return "; ".join(notes) + "; writing to it is seen or refused" if notes else "no output lies in an input's memory"


def gradients_memory(case: Case) -> None:
    """.grad has memory of its own: that of no input, of no other gradient, not that of the incoming gradient."""
    need_backward(case)
    args, library = case.inputs(), case.library
    outs = case.apply(args)
    tracked = [outs[k] for k in case.tracked]
    seeds = [library.tensor(weights(o.shape, k)) for k, o in enumerate(tracked)]
    library.module.autograd.backward(tracked, seeds)
    others = [(f"the incoming gradient of output {k}", s) for k, s in zip(case.tracked, seeds)]
    others += [(f"argument {case.names[i]}", args[i]) for i in case.tensors]
    others += [(f"the gradient of {case.names[i]}", args[i].grad) for i in case.wanted]
    for i in case.wanted:
        for what, other in others:
            g = args[i].grad
            if g is None or other is None or other is g or not g.numel():
                continue
            if np.shares_memory(library.array_view(g), library.array_view(other)):
                raise Fault(
                    f"the gradient of {case.names[i]} lies in the memory of {what}: a write to one changes the other",
                    f"return ..., grad_{case.names[i]}.clone()",
                    case.backward,
                )


def writes_in_backward(case: Case) -> str:
    """backward and jvp change neither what comes in nor what was saved: others read it too."""
    if not case.backward and not case.jvp:
        raise Absent("no backward")
    need_gradient(case)
    function, calls = probed(case)
    passes = [lambda: case.gradients(function=function)] if case.backward else []
    passes += [lambda: push(case, function)] if case.jvp else []
    for run in passes:
        with suppress(Exception):  # it may be about such a write; what else it may be about, other rows tell
            run()
    for call in calls:
        check_writes(case, call)
    return "writes nothing that is not its own"


def push(case: Case, function: Any) -> None:
    """One pass of tangents."""
    from .forward_mode import duals

    with case.library.module.autograd.forward_ad.dual_level():
        case.apply(duals(case), function)


def check_writes(case: Case, call: Call) -> None:
    """Fault for what a call of backward or jvp has written to."""
    if call.method not in ("backward", "vjp", "jvp"):
        return
    incoming = "incoming gradient" if call.method != "jvp" else "incoming tangent"
    for k in call.written:
        raise Fault(
            f"{call.method} changes {incoming} {k} in place",
            "grad = grad_output.clone()  # and change that; or write x = x * 2 for x.mul_(2)",
            call.method,
            r"_\(|\[.*\] [-+*/]?=|[-+*/]=|out=|copyto",
        )
    for k in call.spoilt:
        raise Fault(
            f"{call.method} changes saved tensor {k} in place, so that a second backward finds other numbers",
            "x = x.clone()  # and change that; or write x = x * 2 for x.mul_(2)",
            call.method,
            r"_\(|\[.*\] [-+*/]?=|[-+*/]=|out=|copyto",
        )
