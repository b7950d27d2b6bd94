"""Rows on how a Function runs: the same numbers each time, in two threads at once, and compiled."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Any

from ...core.function import as_tuple
from ...errors import unsaid
from .batches import need_no_chance
from .case import Case, close, short
from .outcome import Absent, Fault


def determinism(case: Case) -> str:
    """Run again from the same random numbers, forward gives the same; it says here whether it draws any."""
    first, second = case.outputs(), case.outputs()
    for k, a in first.items():
        if not close(a, second[k]):
            raise Fault(
                f"output {k} is {short(second[k])} at the second call with the same inputs and random numbers, {short(a)} at "
                "the first: forward depends on something that is no argument",
                f"{case.name}.apply(..., state)  # pass it as an argument",
                "forward",
                r"global|next\(|append|\+=|cls\.|" + rf"{case.name}\.|time",
            )
    if not draws(case, first):
        return ""
    case.traits.add("random")
    return "draws random numbers: the other rows start them anew at each call"


def draws(case: Case, first: dict) -> bool:
    """Whether forward gives other numbers when the random numbers go on."""
    with case.library.module.no_grad():
        outs = as_tuple(case.function.apply(*case.inputs(())))
    numbers = [case.library.array(o) for o in case.library.tensors_in(outs)]
    return not all(close(a, b) for a, b in zip(first.values(), numbers))


def threads(case: Case) -> str:
    """Two threads, each with its inputs, both forward before either goes backward, get what one alone gets."""
    need_no_chance(case)
    cases = [case, case.changed(lambda a: a * 1.25)]
    differentiable = case.backward and case.wanted and case.tracked
    alone = [one.gradients() if differentiable else one.outputs() for one in cases]
    meet = threading.Barrier(2)

    def work(one: Case) -> dict:
        try:
            args = one.inputs()
            outs = one.apply(args)
            meet.wait(60)
            return one.pulled(one.total(outs), args, one.wanted) if differentiable else one.outputs()
        except Exception:
            meet.abort()
            raise

    with ThreadPoolExecutor(2) as pool:
        runs = [pool.submit(copy_context().run, work, one) for one in cases]
    errors = [e for run in runs if (e := run.exception()) is not None]
    if errors:
        raise next((e for e in errors if not isinstance(e, threading.BrokenBarrierError)), errors[0])
    for numbers, run in zip(alone, runs):
        compare_threads(case, numbers, run.result())
    return "two, forward and backward"


def compare_threads(case: Case, alone: dict, found: Any) -> None:
    """The numbers of one thread against those without the other."""
    for i, g in alone.items():
        if not close(g, found[i]):
            raise Fault(
                f"with another call between its forward and its backward, the gradient of {case.names[i]} is "
                f"{short(found[i])}; alone it is {short(g)}: two calls share what should be on ctx",
                "ctx.n = n  # and ctx.save_for_backward(x): what belongs to one call stands on its ctx",
                case.owner,
                r"global|cls\.|\w+\[.*\] =|append|" + rf"{case.name}\.",
            )


def compiled(case: Case) -> str:
    """The compiled function gives what eager code gives."""
    if case.library.name != "minigrad":
        raise Absent("compiling is checked for minigrad only")
    need_no_chance(case)
    fast = case.library.module.compile(lambda *tensors: as_tuple(case.function.apply(*with_tensors(case, tensors))))
    # what was compiled for one input has to be right for another
    for one in (case, case.changed(lambda a: a * -1.25), case):
        with unsaid():  # that it runs eagerly, which explain() says too
            compare_compiled(one, fast)
    eagerly = [line for line in fast.explain().splitlines() if line.startswith("runs eagerly")]
    if eagerly:
        raise Absent(f"compiled functions run it as it is: {eagerly[0].partition(': ')[2]}")
    return "values and gradients, also of other inputs than it was compiled for"


def with_tensors(case: Case, tensors: tuple) -> list:
    """The arguments with these in the places of the tensors."""
    own = [t.clone() if "in place" in case.traits else t for t in tensors]
    return case.inputs_with(dict(zip(case.tensors, own)))


def compare_compiled(case: Case, fast: Any) -> None:
    """The compiled function against the eager one, at one input."""
    args = case.inputs()
    plain = case.outputs()
    try:
        outs = fast(*[args[i] for i in case.tensors])
        found = {f"output {k}": (plain[k], case.library.array(outs[k]), "forward") for k in case.tracked}
        if case.backward and case.wanted and case.tracked:
            for i, g in case.pulled(case.total(outs), args, case.wanted).items():
                found[f"the gradient of {case.names[i]}"] = case.gradients()[i], g, case.backward
    except Exception as e:
        raise Fault(
            f"compiling fails: {str(e).splitlines()[0]}",
            "is_traceable = False  # or make all methods of minigrad operations",
            "forward",
            "numpy|item",
        ) from e
    for what, (eager, compiled, method) in found.items():
        if not close(eager, compiled, 1e-6, 1e-8):
            raise Fault(
                f"compiled, {what} is {short(compiled)}; eager, it is {short(eager)}",
                "is_traceable = False  # a method decides by more than its tensors, or by their values",
                method,
                r"\bif\b|numpy|item",
            )
