"""Rows on side effects: attributes of ctx, memory that is not freed, in-place marks, writes to other tensors."""

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
from .probe import MethodCall, probed

WRITES = r"_\(|\[.*\] [-+*/]?=|[-+*/]=|out=|copyto"  # in-place operations, in the source


def tensors_on_ctx(case: Case) -> None:
    """Check that tensors are saved by save_for_backward: attributes of ctx leak, and in-place changes are not detected."""
    function, calls = probed(case)
    outs = case.apply(case.inputs(), function)
    methods = [c for c in calls if c.ctx is not None]
    for name, value in list(vars(methods[-1].ctx).items()) if methods else ():
        if not case.library.tensors_in(value):
            continue
        what = role(case, value, methods[-1].args, outs)
        raise Fault(
            f"ctx.{name} holds {what}: the graph does not free it, and in-place changes to it are not detected",
            f"ctx.save_for_backward(...)  # instead of ctx.{name}; in backward: (...,) = ctx.saved_tensors",
            case.owner,
            rf"ctx\.{name}\b|saved_data",
        )


def role(case: Case, value: Any, args: tuple, outs: tuple) -> str:
    """Describe a tensor on ctx."""
    library = case.library
    if not isinstance(value, library.Tensor):
        return "tensors"
    if any(library.overlap(value, o) for o in library.tensors_in(outs)):
        return "an output, which in turn holds ctx" if value.requires_grad else "an output"
    if any(t is value or library.overlap(value, t) for t in library.tensors_in(args)):
        return "an input"
    return "a tensor"


def memory_freed(case: Case) -> None:
    """Check that deleting the outputs frees inputs and graph at once: no references remain, no cycles for the collector."""
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
    """Run forward and backward, and return only weak references."""
    args = case.inputs()
    outs = case.apply(args)
    watched = [(f"argument {case.names[i]}", weakref.ref(args[i])) for i in case.tensors]
    watched += [(f"output {k}", weakref.ref(outs[k])) for k in case.tracked]
    watched += [("ctx", weakref.ref(outs[case.tracked[0]].grad_fn))]
    if case.backward:
        case.total(outs).backward()
    return watched


def leak(case: Case, alive: set[str], stay: set[str]) -> Fault:
    """Return the fault for objects that stay alive."""
    what = ", ".join(sorted(stay or alive))
    if stay:
        return Fault(
            f"deleting the outputs does not free {what}: something outside the graph holds a reference",
            "ctx.save_for_backward(...)  # instead of a list, a global or the class",
            case.owner,
            r"append|global|cls\.|\w+\[.*\] =|ctx\.(?!save)|" + rf"{case.name}\.",
        )
    return Fault(
        f"only the garbage collector frees {what}: ctx holds an output, which holds ctx",
        "ctx.save_for_backward(result)  # instead of ctx.result = result",
        case.owner,
        r"ctx\.(?!save)\w+ =",
    )


def backward_twice(case: Case) -> str:
    """Check that a second backward gives the same gradients with retain_graph=True, and without it raises or gives the same."""
    need_backward(case)
    args = case.inputs()
    total = case.total(case.apply(args))
    first, second = (case.pulled(total, args, case.wanted, keep=True) for _ in range(2))
    for i in case.wanted:
        if not close(first[i], second[i]):
            raise Fault(
                f"a second backward through the same graph gives {short(second[i])} for {case.names[i]}, but the "
                f"first gives {short(first[i])}",
                "# in backward, use only ctx.saved_tensors: no random numbers, no state, no in-place changes",
                case.backward,
                r"rand|dropout|bernoulli|ctx\.\w+ [-+*/]?=|_\(|global|\+=",
            )
    try:
        case.pulled(total, args, case.wanted)
        case.pulled(total, args, case.wanted)
    except RuntimeError:
        return "with retain_graph=True; without it, the second backward raises an error"
    return "with and without retain_graph"


def in_place_marks(case: Case) -> str:
    """Check that ctx.mark_dirty marks exactly the inputs that forward modifies in place, and that it returns them."""
    function, calls = probed(case)
    try:
        case.apply(case.inputs(), function, clone=True)
    except Exception:
        check_marks(case, calls)
        raise Absent("forward fails") from None  # the next row reports the error
    return check_marks(case, calls)


def check_marks(case: Case, calls: list[MethodCall]) -> str:
    """Raise Fault for inputs that are modified but not marked, marked but not modified, or marked but not returned."""
    call = next(c for c in calls if c.method == "forward")
    dirty = [d for c in calls for d in c.dirty]
    marked = [i for i, a in enumerate(call.args) if any(a is d for d in dirty)]
    for i in sorted({*call.written} ^ {*marked}):
        name = case.names[i]
        if i in call.written:
            raise Fault(
                f"forward modifies {name} in place without ctx.mark_dirty({name})",
                f"ctx.mark_dirty({name})  # and return {name}; or work on {name}.clone()",
                "forward",
                WRITES,
            )
        raise Fault(
            f"{name} is marked with mark_dirty, but forward does not modify it",
            f"# remove mark_dirty({name})",
            case.owner,
            "mark_dirty",
        )
    for i in marked:
        if call.returned is not None and not any(call.args[i] is o for o in as_tuple(call.returned)):
            raise Fault(
                f"{case.names[i]} is marked with mark_dirty, but forward does not return it",
                f"return {case.names[i]}  # the modified tensor itself",
                "forward",
            )
    if not marked:
        return "modifies no input"
    case.traits.add("in place")
    return f"{', '.join(case.names[i] for i in marked)} is modified in place and marked"


def shared_outputs(case: Case) -> str:
    """Check that an output which shares an input's memory is a view of it: a write to it is detected or raises."""
    library = case.library
    args = [a.clone() if isinstance(a, library.Tensor) else a for a in case.inputs()]
    outs = as_tuple(case.function.apply(*args))
    notes = []
    others = [(k, o) for k, o in enumerate(outs) if isinstance(o, library.Tensor) and not any(o is a for a in args)]
    for (k, o), i in product(others, case.tensors):
        if not library.overlap(o, args[i]):
            continue
        notes.append(f"output {k} shares memory with {case.names[i]}")
        version = args[i]._version
        with suppress(RuntimeError):  # raised for views that must not be modified
            o.mul_(2)
            if args[i]._version == version:
                raise Fault(
                    f"output {k} shares memory with {case.names[i]}, but is not a view of it: a write to it silently changes "
                    f"{case.names[i]}",
                    "return result.clone()",
                    "forward",
                )
    return "; ".join(notes) + "; a write to it is detected or raises" if notes else "no output shares an input's memory"


def gradients_memory(case: Case) -> None:
    """Check that .grad shares memory with no input, no other gradient and no incoming gradient."""
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
                    f"the gradient of {case.names[i]} shares memory with {what}: a write to one changes the other",
                    f"return ..., grad_{case.names[i]}.clone()",
                    case.backward,
                )


def writes_in_backward(case: Case) -> str:
    """Check that backward and jvp modify neither incoming gradients nor saved tensors, which other code reads too."""
    if not case.backward and not case.jvp:
        raise Absent("no backward")
    need_gradient(case)
    function, calls = probed(case)
    passes = [lambda: case.gradients(function=function)] if case.backward else []
    passes += [lambda: pushed(case, function=function)] if case.jvp else []
    for run in passes:
        with suppress(Exception):  # perhaps caused by such a write; other rows report other errors
            run()
    for call in calls:
        check_writes(case, call)
    return "modifies neither incoming gradients nor saved tensors"


def check_writes(case: Case, call: MethodCall) -> None:
    """Raise Fault if a call of backward or jvp modifies other tensors."""
    if call.method not in ("backward", "vjp", "jvp"):
        return
    incoming = "incoming gradient" if call.method != "jvp" else "incoming tangent"
    for k in call.written:
        raise Fault(
            f"{call.method} modifies {incoming} {k} in place",
            "grad = grad_output.clone()  # and modify the clone; or write x = x * 2 instead of x.mul_(2)",
            call.method,
            WRITES,
        )
    for k in call.spoilt:
        raise Fault(
            f"{call.method} modifies saved tensor {k} in place, so a second backward uses different numbers",
            "x = x.clone()  # and modify the clone; or write x = x * 2 instead of x.mul_(2)",
            call.method,
            WRITES,
        )
