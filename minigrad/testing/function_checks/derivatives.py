"""Rows on the derivatives: backward against central differences, jvp against both, second derivatives, partial wishes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from itertools import combinations
from typing import Any

import numpy as np

from .case import ATOL, EPS, MOST, RTOL, Case, close, sample, short, weights
from .form import need_backward, need_gradient, need_jvp
from .forward_mode import pushed
from .outcome import Absent, Fault
from .probe import probed
from .source_lines import place_of_error

ONCE = """@staticmethod
@once_differentiable  # a clear error instead of a second derivative
def backward(ctx, ...):
# or: compute in backward with tensor operations only, on ctx.saved_tensors that are inputs or outputs"""
Column = dict[tuple, tuple[float, float]]  # by element, the slopes to the right and to the left


def gradients(case: Case) -> str:
    """backward gives what central differences of forward give, in float64, for each element."""
    need_backward(case)
    for i in case.wanted:
        compare(case, i, backward_slopes(case, i), case.backward)
        once, twice = scaled(case, i)
        if not close(2 * once, twice):
            raise Fault(
                f"for twice the incoming gradient, the gradient of {case.names[i]} is {short(twice)} instead of "
                f"{short(2 * once)}",
                "return grad_output * ...  # each gradient is a multiple of the incoming one",
                case.backward,
            )
    return f"by {', '.join(case.names[i] for i in case.wanted)}"


def backward_slopes(case: Case, i: int) -> dict[tuple, float]:
    """By (element of argument i, output, element of it): the derivative that backward gives."""
    args, outs = case.tracked_outputs()
    found = {}
    for k, o in zip(case.tracked, outs):
        for place, unit in units(tuple(o.shape)):
            numbers = case.pulled([o], args, [i], [unit], keep=True)[i]
            found |= {(element, k, place): float(numbers[element]) for element in sample(numbers.shape)}
    return found


def forward_slopes(case: Case, i: int) -> dict[tuple, float]:
    """The same, as jvp gives it."""
    found = {}
    for element, unit in units(case.arrays[i].shape):
        for k, tangent in zip(case.tracked, pushed(case, {i: unit}, case.tracked)):
            found |= {(element, k, place): float(tangent[place]) for place in sample(tangent.shape)}
    return found


def units(shape: tuple) -> Iterator[tuple]:
    """Elements of an array, each with the array that is 1 there alone."""
    for element in sample(shape):
        unit = np.zeros(shape)
        unit[element] = 1
        yield element, unit


def compare(case: Case, i: int, slopes: dict[tuple, float], method: str) -> None:
    """Fault at the element where a derivative differs most from the difference of forward.

    Where forward has a corner, anything between its slopes on the two sides is right.
    """
    measured = {element: case.slopes(i, element) for element in sample(case.arrays[i].shape)}
    worst, gap = None, 0.0
    for (element, k, place), a in slopes.items():
        right, left = (float(side[case.tracked.index(k)][place]) for side in measured[element])
        off = off_by(a, right, left)
        if off and not off <= gap:  # NaN is a difference, too
            worst, gap = (element, k, place, a, (right + left) / 2), off
    if worst is not None:
        raise wrong(case, i, slopes, method, worst)


def off_by(a: float, right: float, left: float, atol: float = ATOL) -> float:
    """How far a derivative is from the slopes on the two sides, 0 within the tolerance.

    >>> off_by(2.0, 2.0, 2.0), off_by(0.3, 1.0, 0.0), off_by(3.0, 2.0, 2.0)
    (0.0, 0.0, 1.0)
    """
    n = (right + left) / 2
    corner = abs(right - left) > 1e-3 * (1 + abs(n))
    off = max(min(right, left) - a, a - max(right, left), 0.0) if corner else abs(a - n)
    return 0.0 if off <= atol + RTOL * abs(n) else off


def wrong(case: Case, i: int, slopes: dict, method: str, worst: tuple) -> Fault:
    """The fault for a derivative, with what it looks like."""
    element, k, place, a, n = worst
    name = case.names[i]
    where, of = indexed(name, element), indexed(f"output {k}", place)
    numbers = {
        "argument": name, "position": i, "index": list(element), "output": k, "analytical": a, "numerical": n
    }  # fmt: skip
    what, remedy = diagnosis(case, i, slopes, method, (k, a, n))
    gives = f"{method} gives {a:.6g} for the derivative of {of} by {where}, differences of forward give {n:.6g}"
    return Fault(f"{gives}{what}", remedy, method, numbers=numbers if method != "jvp" else None)


def indexed(name: str, element: tuple) -> str:
    """An element of a tensor, in words.

    >>> indexed("x", (0, 1)), indexed("x", ())
    ('x[0, 1]', 'x')
    """
    return f"{name}[{', '.join(map(str, element))}]" if element else name


def diagnosis(case: Case, i: int, slopes: dict, method: str, worst: tuple) -> tuple[str, str]:
    """What a wrong derivative looks like, and the remedy."""
    k, a, n = worst
    name, what = case.names[i], "gradient" if method != "jvp" else "tangent"
    factor = "grad_output" if method != "jvp" else f"tangent_{name}"
    if method != "jvp" and case.arrays[i].size <= MOST and (other := swapped(case, i)):
        order = ", ".join(f"grad_{m}" for m in case.names)
        return f", and that of {other} is swapped with it", f"return {order}  # in the order of forward's arguments"
    if method != "jvp" and close(*scaled(case, i)) and any(slopes.values()):
        return ", whatever the incoming gradient is", f"return {factor} * ...  # each gradient is a multiple of it"
    if all(v == 0 for v in slopes.values()):
        return (
            f": no {what} of {name} arrives",
            f"return ... {factor} * (derivative by {name}) ...  # instead of None or 0 for {name}",
        )
    seed = incoming(case, k) if method != "jvp" else factor
    if method != "jvp" and not any(v for (_, output, _), v in slopes.items() if output == k):
        return f": {seed} is not used for {name}", f"return ... + {seed} * (derivative of output {k} by {name})"
    if np.isclose(a, -n, rtol=RTOL, atol=ATOL):
        return ": the sign is wrong", f"return -{what}  # in the place of {name}"
    if abs(a) > ATOL and np.isfinite(n / a):
        return f": {n / a:.4g} times as much", f"return ...  # {n / a:.4g} times as much for {name}, at this input"
    return "", f"return {seed} * ...  # times the derivative of output {k} by {name}"


def incoming(case: Case, k: int) -> str:
    """What backward calls the gradient of output k."""
    names = list(inspect.signature(getattr(case.function, case.backward)).parameters)
    return names[k + 1] if k + 1 < len(names) else "grad_output"


def swapped(case: Case, i: int) -> str:
    """The other argument whose gradient stands in the place of this one's, if there is one."""
    found, fits = case.gradients(), lambda g, j: close(g, case.numerical_gradient(j), RTOL, ATOL)
    alike = [j for j in case.wanted if j != i and case.arrays[j].shape == case.arrays[i].shape]
    return next((case.names[j] for j in alike if fits(found[i], j) and fits(found[j], i)), "")


def scaled(case: Case, i: int) -> tuple[np.ndarray, np.ndarray]:
    """The gradient of argument i, and the one for twice the incoming gradients."""
    args, outs = case.tracked_outputs()
    seeds = [weights(o.shape, k) for k, o in enumerate(outs)]
    once, twice = (case.pulled(outs, args, [i], [scale * s for s in seeds], keep=True)[i] for scale in (1.0, 2.0))
    return once, twice


def jvp(case: Case) -> str:
    """jvp gives what central differences give, and so, where backward holds, its transpose."""
    need_jvp(case)
    need_gradient(case)
    for i in case.wanted:
        compare(case, i, forward_slopes(case, i), "jvp")
    check_sum(case)
    return f"by {', '.join(case.names[i] for i in case.wanted)}" + " and backward" * bool(case.backward)


def check_sum(case: Case) -> None:
    """Tangents for all inputs at once have to give the sum of what each gives alone, where None stands for the others."""
    directions = {i: weights(case.arrays[i].shape, i) for i in case.wanted}
    alone = [pushed(case, {i: direction}, case.tracked) for i, direction in directions.items()]
    for k, found, *parts in zip(case.tracked, pushed(case, directions, case.tracked), *alone):
        if not close(found, sum(parts[1:], parts[0])):
            raise Fault(
                f"with tangents for all inputs at once, that of output {k} is {short(found)}; the sum of those for one "
                f"input each is {short(sum(parts[1:], parts[0]))}",
                "return tangent_a * ... + tangent_b * ...  # linear in the tangents; None stands for zeros",
                "jvp",
            )


def second_derivatives(case: Case) -> str:
    """backward can be differentiated once more, and gives what central differences of it give.

    A gradient depends on the inputs and on the incoming gradients, so it is differentiated by both.
    """
    need_backward(case)
    if case.once:
        raise Absent(
            "backward is marked @once_differentiable",
            f"# take the decorator away, if backward is made of {case.library.name} operations only",
        )
    try:
        args, seeds, found = graph_of_gradients(case)
    except Exception as e:  # a plain backward works, as other rows have found: this is no silent mistake
        case.traits.add("first derivatives only")
        raise Absent(f"backward refuses it: {str(e).splitlines()[0]}", ONCE) from None
    inputs = [*(args[i] for i in case.wanted), *seeds]
    names = [*(case.names[i] for i in case.wanted), *(f"grad_output {k}" for k in range(len(seeds)))]
    for i, g in found.items():
        total = (g * case.library.tensor(weights(g.shape))).sum()
        known = g.requires_grad
        gives = case.library.grad(total, inputs, retain_graph=True) if known else [None] * len(inputs)
        measured = moved_gradients(case, i, [case.library.array(s) for s in seeds])
        for name, x, h, expected in zip(names, inputs, gives, measured):
            numbers = np.zeros(tuple(x.shape)) if h is None else case.library.array(h)
            for element, (right, left) in expected.items():
                a = float(numbers[element])
                if off_by(a, right, left, 10 * ATOL):
                    n, cut = (right + left) / 2, all(h is None for h in gives)
                    raise second_wrong(case, case.names[i], name, element, a, n, cut)
    return "of backward, by inputs and incoming gradients"


def graph_of_gradients(case: Case) -> tuple[list, list, dict[int, Any]]:
    """Inputs, incoming gradients and, by input, the gradient as a tensor with its history."""
    args, outs = case.tracked_outputs()
    seeds = [case.library.tensor(weights(o.shape, k), True) for k, o in enumerate(outs)]
    found = case.library.grad(outs, [args[i] for i in case.wanted], seeds, create_graph=True)
    return args, seeds, {i: g for i, g in zip(case.wanted, found) if g is not None}


def gradient_of(case: Case, i: int, seeds: list[np.ndarray]) -> float:
    """A weighted sum of the gradient of argument i, by a first-order backward."""
    args, outs = case.tracked_outputs()
    return float((case.pulled(outs, args, [i], seeds)[i] * weights(case.arrays[i].shape)).sum())


def moved_gradients(case: Case, i: int, seeds: list[np.ndarray]) -> list[Column]:
    """Per wanted argument, then per incoming gradient, how the gradient of argument i moves with its elements."""
    by_input = [
        column(case.arrays[j].shape, lambda step, j=j: gradient_of(case.moved(j, step), i, seeds)) for j in case.wanted
    ]
    return by_input + [
        column(s.shape, lambda step, k=k: gradient_of(case, i, [*seeds[:k], seeds[k] + step, *seeds[k + 1 :]]))
        for k, s in enumerate(seeds)
    ]


def column(shape: tuple, f: Callable[[np.ndarray], float]) -> Column:
    """The slopes of f on the two sides of 0 along each element; nothing where f jumps, and has no derivative."""
    here, found = f(np.zeros(shape)), {}
    for element, unit in units(shape):
        after, before = f(EPS * unit), f(-EPS * unit)
        if abs(after - before) < 0.1 * (1 + abs(here)):
            found[element] = (after - here) / EPS, (here - before) / EPS
    return found


def second_wrong(case: Case, of: str, by: str, element: tuple, a: float, n: float, cut: bool) -> Fault:
    """The fault for a second derivative."""
    says = f"differentiating the gradient of {of} by {indexed(by, element)} gives {a:.6g}, differences of backward give {n:.6g}"
    if cut:
        return Fault(
            f"{says}: its history is cut, so the second derivative is silently 0",
            ONCE,
            case.backward,
            r"numpy|detach|\.data\b|\.item\(|no_grad|ctx\.(?!save)",
        )
    return Fault(
        says,
        "ctx.save_for_backward(...)  # inputs and outputs only: what was computed from them in between has no history;\n"
        "# return it from forward as one more output, and add its gradient in backward",
        case.backward,
        r"ctx\.",
    )


def needs_input_grad(case: Case) -> str:
    """Each subset of the inputs alone gets the same gradients as when all require grad."""
    need_backward(case)
    if len(case.wanted) < 2:
        return "one input"
    expected, subsets = case.gradients(), 0
    for size in range(1, len(case.wanted)):
        for needs in list(combinations(case.wanted, size))[:10]:
            subsets += 1
            for i, g in case.gradients(needs).items():
                if not close(g, expected[i]):
                    alone = ", ".join(case.names[j] for j in needs)
                    raise Fault(
                        f"with requires_grad for {alone} only, the gradient of {case.names[i]} is {short(g)}, "
                        f"but {short(expected[i])} with all",
                        f"if ctx.needs_input_grad[{i}]:  # {case.names[i]} is argument {i} of forward, without ctx",
                        case.backward,
                        "needs_input_grad",
                    )
    return f"{subsets} subsets"


def unused_outputs(case: Case) -> str:
    """backward works when only some of the outputs are used, as zeros or None come in for the others."""
    need_backward(case)
    function, calls = probed(case)
    for k in case.tracked:
        args = case.inputs()
        outs = case.apply(args, function)
        weight = case.library.tensor(weights(outs[k].shape, k))
        try:
            found = case.pulled((outs[k] * weight).sum(), args, case.wanted)
        except Exception as e:
            if len(case.tracked) > 1 and any(g is None for c in calls[-1:] for g in c.args):
                raise Fault(
                    f"with output {k} alone in use, backward gets None for the others and fails: {e}".split("\n")[0],
                    "if grad_output is not None:  # or take ctx.set_materialize_grads(False) away",
                    case.backward,
                    place=place_of_error(e),
                ) from e
            raise
        for i, g in found.items():
            compare_used(case, i, k, g)
    return f"{len(case.tracked)} output{'s' * (len(case.tracked) != 1)}"


def compare_used(case: Case, i: int, k: int, found: np.ndarray) -> None:
    """The gradient from one output against that with zeros for the others."""
    args, outs = case.tracked_outputs()
    seeds = [weights(o.shape, j) * (j == k) for j, o in zip(case.tracked, outs)]
    with_zeros = case.pulled(outs, args, [i], seeds)[i]
    if not close(found, with_zeros):
        raise Fault(
            f"with output {k} alone in use, the gradient of {case.names[i]} is {short(found)}, but "
            f"{short(with_zeros)} with zeros for the other outputs",
            "if grad_output is not None:  # None stands for zeros",
            case.backward,
            "None",
        )
