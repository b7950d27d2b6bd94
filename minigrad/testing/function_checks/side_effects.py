"""Rows on what a Function keeps and changes: attributes, memory that stays, marks, writes to what is not its own."""

from __future__ import annotations

import gc
import weakref
from contextlib import suppress
from itertools import product
from typing import Any

from ...core.function import as_tuple
from .case import Case, close, short, weights
from .form import need_backward, need_gradient
from .forward_mode import pushed
from .outcome import Absent, Fault
from .probe import Call, probed

WRITES = r"_\(|\[.*\] [-+*/]?=|[-+*/]=|out=|copyto"  # to a tensor in place, in the source


def tensors_on_ctx(case: Case) -> None:
    """Tensors are kept by save_for_backward; as attributes of ctx they leak, and nobody notices when they change."""
    function, calls = probed(case)
    outs = case.apply(case.inputs(), function)
    methods = [c for c in calls if c.ctx is not None]
    for name, value in list(vars(methods[-1].ctx).items()) if methods else ():
        if not case.library.tensors_in(value):
            continue
        what = role(case, value, methods[-1].args, outs)
        raise Fault(
            f"ctx.{name} holds {what}: it is not freed with the graph, and its changes in place go unnoticed",
            f"ctx.save_for_backward(...)  # instead of ctx.{name}; in backward: (...,) = ctx.saved_tensors",
            case.owner,
            rf"ctx\.{name}\b|saved_data",
        )


def role(case: Case, value: Any, args: tuple, outs: tuple) -> str:
    """What a kept tensor is."""
    library = case.library
    if not isinstance(value, library.Tensor):
        return "tensors"
    if any(library.overlap(value, o) for o in library.tensors_in(outs)):
        return "an output, which holds ctx in turn"
    if any(t is value or library.overlap(value, t) for t in library.tensors_in(args)):
        return "an input"
    return "a tensor"


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
            case.owner,
            r"append|global|cls\.|\w+\[.*\] =|ctx\.(?!save)|" + rf"{case.name}\.",
        )
    return Fault(
        f"only the garbage collector frees {what}: ctx holds an output and that holds ctx",
        "ctx.save_for_backward(result)  # instead of ctx.result = result",
        case.owner,
        r"ctx\.(?!save)\w+ =",
    )


def backward_twice(case: Case) -> str:
    """With retain_graph=True a second backward gives the same numbers; without, it is an error or gives the same."""
    need_backward(case)
    args = case.inputs()
    total = case.total(case.apply(args))
    first, second = (case.pulled(total, args, case.wanted, keep=True) for _ in range(2))
    for i in case.wanted:
        if not close(first[i], second[i]):
            raise Fault(
                f"a second backward through the same graph gives {short(second[i])} for {case.names[i]}, the "
                f"first gave {short(first[i])}",
                "# compute in backward from ctx.saved_tensors alone: no random numbers, no state, nothing changed in place",
                case.backward,
                r"rand|dropout|bernoulli|ctx\.\w+ [-+*/]?=|_\(|global|\+=",
            )
    try:
        case.pulled(total, args, case.wanted)
        case.pulled(total, args, case.wanted)
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
    for i in sorted({*call.written} ^ {*marked}):
        name = case.names[i]
        if i in call.written:
            raise Fault(
                f"forward changes {name} in place and does not say so",
                f"ctx.mark_dirty({name})  # and return {name}; or work on {name}.clone()",
                "forward",
                WRITES,
            )
        raise Fault(
            f"{name} is marked with mark_dirty, but forward does not change it",
            f"# take mark_dirty({name}) away",
            case.owner,
            "mark_dirty",
        )
    for i in marked:
        if call.returned is not None and not any(call.args[i] is o for o in as_tuple(call.returned)):
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
    others = [(k, o) for k, o in enumerate(outs) if isinstance(o, library.Tensor) and not any(o is a for a in args)]
    for (k, o), i in product(others, case.tensors):
        if not library.overlap(o, args[i]):
            continue
        notes.append(f"output {k} lies in the memory of {case.names[i]}")
        version = args[i]._version
        with suppress(RuntimeError):  # refused
            o.mul_(2)
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
    (args, tracked), library = case.tracked_outputs(), case.library
    seeds = [library.tensor(weights(o.shape, k)) for k, o in enumerate(tracked)]
    library.module.autograd.backward(tracked, seeds)
    others = [(f"the incoming gradient of output {k}", s) for k, s in zip(case.tracked, seeds)]
    others += [(f"argument {case.names[i]}", args[i]) for i in case.tensors]
    others += [(f"the gradient of {case.names[i]}", args[i].grad) for i in case.wanted]
    for i in case.wanted:
        for what, other in others:
            g = args[i].grad
            if g is not None and other is not None and other is not g and library.overlap(g, other):
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
    passes += [lambda: pushed(case, function=function)] if case.jvp else []
    for run in passes:
        with suppress(Exception):  # it may be about such a write; what else it may be about, other rows tell
            run()
    for call in calls:
        check_writes(case, call)
    return "writes nothing that is not its own"


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
            WRITES,
        )
    for k in call.spoilt:
        raise Fault(
            f"{call.method} changes saved tensor {k} in place, so that a second backward finds other numbers",
            "x = x.clone()  # and change that; or write x = x * 2 for x.mul_(2)",
            call.method,
            WRITES,
        )
