"""Rows on how a Function runs: repeatedly, in two threads at once, and compiled."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Any

from ...core.function import as_tuple
from ...errors import suppressed_warnings
from .batches import require_no_random_numbers
from .case import Case, close, short
from .outcome import Absent, Fault
from .source_lines import first_line


def determinism(case: Case) -> str:
    """Check that forward, run again from the same random seed, gives the same; note if it draws random numbers."""
    first, second = case.outputs(), case.outputs()
    for k, a in first.items():
        if not close(a, second[k]):
            raise Fault(
                f"with the same inputs and random seed, output {k} is {short(a)} in the first call and {short(second[k])} in "
                "the second: forward depends on something that is not an argument",
                f"{case.name}.apply(..., state)  # pass it as an argument",
                "forward",
                r"global|next\(|append|\+=|cls\.|" + rf"{case.name}\.|time",
            )
    if not draws(case, first):
        return ""
    case.traits.add("random")
    return "draws random numbers; the other rows reset the seed before each call"


def draws(case: Case, first: dict) -> bool:
    """Return True if forward gives different numbers when the generators continue."""
    with case.library.module.no_grad():
        outs = as_tuple(case.function.apply(*case.inputs(())))
    numbers = [case.library.array(o) for o in case.library.tensors_in(outs)]
    return not all(close(a, b) for a, b in zip(first.values(), numbers))


def threads(case: Case) -> str:
    """Check that two threads, both in forward before either runs backward, get the same as one thread alone."""
    require_no_random_numbers(case)
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
    return "two threads, forward and backward"


def compare_threads(case: Case, alone: dict, found: Any) -> None:
    """Compare the numbers of one thread with those without the other."""
    for i, g in alone.items():
        if not close(g, found[i]):
            raise Fault(
                f"with another call between forward and backward, the gradient of {case.names[i]} is {short(found[i])} "
                f"instead of {short(g)}: two calls share state that belongs on ctx",
                "ctx.n = n  # and ctx.save_for_backward(x): the state of one call belongs on its ctx",
                case.owner,
                r"global|cls\.|\w+\[.*\] =|append|" + rf"{case.name}\.",
            )


def compiled(case: Case) -> str:
    """Compare the compiled function with eager code."""
    if case.library.name != "minigrad":
        raise Absent("compilation is checked for minigrad only")
    require_no_random_numbers(case)
    fast = case.library.module.compile(lambda *tensors: as_tuple(case.function.apply(*with_tensors(case, tensors))))
    # code compiled for one input has to be right for another
    for one in (case, *other_input(case), case):
        with suppressed_warnings():  # hides the warning that it runs eagerly, which explain() reports too
            compare_compiled(one, fast)
    eagerly = [line for line in fast.explain().splitlines() if line.startswith("runs eagerly")]
    if eagerly:
        raise Absent(f"compiled functions run it eagerly: {eagerly[0].partition(': ')[2]}")
    return "values and gradients, also for other inputs than at compilation"


def other_input(case: Case) -> list[Case]:
    """Return the case with other numbers, opposite ones if the Function takes them; none if it refuses all that are tried."""
    for factor in (-1.25, 1.25):
        other = case.changed(lambda a, factor=factor: a * factor)
        try:
            other.outputs()
        except Exception:  # such as a matrix that has to be positive definite
            continue
        return [other]
    return []


def with_tensors(case: Case, tensors: tuple) -> list:
    """Return the arguments with these tensors at their positions."""
    own = [t.clone() if "in place" in case.traits else t for t in tensors]
    return case.inputs_with(dict(zip(case.tensors, own)))


def compare_compiled(case: Case, fast: Any) -> None:
    """Compare the compiled function with the eager one, at one input."""
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
            f"compiling fails: {first_line(e)}",
            f"is_traceable = False  # or use only {case.library.written} operations in all methods",
            "forward",
            "numpy|item",
        ) from e
    for what, (eager, compiled, method) in found.items():
        if not close(eager, compiled, 1e-6, 1e-8):
            raise Fault(
                f"{what} is {short(compiled)} when compiled, but {short(eager)} in eager mode",
                "is_traceable = False  # a method depends on more than its tensors, or branches on their values",
                method,
                r"\bif\b|numpy|item",
            )
