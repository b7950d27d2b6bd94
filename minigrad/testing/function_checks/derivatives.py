"""Rows on derivatives: backward against central differences, jvp against both, second derivatives, subsets of inputs."""

import inspect
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import combinations
from typing import Any

import numpy as np

from .case import ATOL, MOST, RTOL, Case, close, sample, short, weights
from .form import need_backward, need_gradient, need_jvp
from .forward_mode import pushed
from .outcome import Absent, Fault
from .probe import probed
from .source_lines import first_line, place_of_error

ONCE = """@staticmethod
@once_differentiable  # raises an error instead of returning a wrong second derivative
def backward(ctx, ...):
# or: in backward, use only tensor operations, on those ctx.saved_tensors that are inputs or outputs"""
MEANT = """# if backward is deliberately not the derivative: write "surrogate", "straight-through" or "gradient reversal"
# in a docstring or comment, or pass --surrogate, or check(..., surrogate=True); the other rows are checked all the same"""
LINEAR = f"return grad_output * ...  # linear in the incoming gradient\n{MEANT}"
FLAT = f"{MEANT}\n# otherwise compute forward with a smooth function, whose derivative is not 0"
Column = dict[tuple, tuple[float, float]]  # element -> the slopes on the right and on the left


def gradients(case: Case) -> str:
    """Compare backward with central differences of forward, in float64, for each element; a surrogate may differ."""
    need_backward(case)
    try:
        for i in case.wanted:
            compare(case, i, backward_slopes(case, i), case.backward)
            if uneven := not_linear(case, i):
                raise Fault(f"{case.backward}: {uneven}", LINEAR, case.backward)
    except Fault as fault:
        if not case.surrogate:
            raise
        raise Absent(f"{fault.message.partition(': ')[0]}, which is meant: {case.surrogate}") from None
    return f"with respect to {', '.join(case.names[i] for i in case.wanted)}"


def backward_slopes(case: Case, i: int) -> dict[tuple, float]:
    """Return the derivatives from backward, by (element of argument i, output, element of the output)."""
    args, outs = case.tracked_outputs()
    found = {}
    for k, o in zip(case.tracked, outs):
        for place, unit in units(tuple(o.shape)):
            numbers = case.pulled([o], args, [i], [unit], keep=True)[i]
            found |= {(element, k, place): float(numbers[element]) for element in sample(numbers.shape)}
    return found


def forward_slopes(case: Case, i: int) -> dict[tuple, float]:
    """Return the same derivatives from jvp."""
    found = {}
    for element, unit in units(case.arrays[i].shape):
        for k, tangent in zip(case.tracked, pushed(case, {i: unit}, case.tracked)):
            found |= {(element, k, place): float(tangent[place]) for place in sample(tangent.shape)}
    return found


def units(shape: tuple) -> Iterator[tuple]:
    """Yield elements of an array, each with the array that is 1 there and 0 elsewhere."""
    for element in sample(shape):
        unit = np.zeros(shape)
        unit[element] = 1
        yield element, unit


def compare(case: Case, i: int, slopes: dict[tuple, float], method: str) -> None:
    """Raise Fault for the element whose derivative differs most from the finite difference.

    At a corner of forward, any number between its slopes on the two sides is right.
    """
    measured = {element: case.slopes(i, element) for element in sample(case.arrays[i].shape)}
    worst, gap = None, 0.0
    for (element, k, place), a in slopes.items():
        right, left = (float(side[case.tracked.index(k)][place]) for side in measured[element])
        off = distance_from_slopes(a, right, left, case.atol)
        if off and not off <= gap:  # counts NaN as a difference, too
            worst, gap = (element, k, place, a, (right + left) / 2), off
    if worst is not None:
        flat = not any(side.any() for sides in measured.values() for column in sides for side in column)
        raise wrong(case, i, slopes, method, worst, flat)


def distance_from_slopes(a: float, right: float, left: float, atol: float = ATOL) -> float:
    """Return how far a derivative is from the slopes on the two sides, or 0 within the tolerance.

    >>> [distance_from_slopes(*n) for n in ((2.0, 2.0, 2.0), (0.3, 1.0, 0.0), (3.0, 2.0, 2.0))]
    [0.0, 0.0, 1.0]
    """
    n = (right + left) / 2
    corner = abs(right - left) > 1e-3 * (1 + abs(n))
    off = max(min(right, left) - a, a - max(right, left), 0.0) if corner else abs(a - n)
    return 0.0 if off <= atol + RTOL * abs(n) else off


def wrong(case: Case, i: int, slopes: dict, method: str, worst: tuple, flat: bool) -> Fault:
    """Return the fault for a wrong derivative, with a diagnosis."""
    element, k, place, a, n = worst
    name = case.names[i]
    where, of = indexed(name, element), indexed(f"output {k}", place)
    what, remedy = diagnosis(case, i, slopes, method, (k, a, n), flat)
    numbers = {
        "argument": name, "position": i, "index": list(element), "output": k, "analytical": a, "numerical": n
    }  # fmt: skip
    numbers["cause"] = what.removeprefix(": ")
    gives = f"{method} gives {a:.6g} for the derivative of {of} with respect to {where}, but finite differences give {n:.6g}"
    return Fault(f"{gives}{what}", remedy, method, numbers=numbers if method != "jvp" else None)


def indexed(name: str, element: tuple) -> str:
    """Name an element of a tensor.

    >>> indexed("x", (0, 1)), indexed("x", ())
    ('x[0, 1]', 'x')
    """
    return f"{name}[{', '.join(map(str, element))}]" if element else name


def diagnosis(case: Case, i: int, slopes: dict, method: str, worst: tuple, flat: bool) -> tuple[str, str]:
    """Return a diagnosis of a wrong derivative, and the fix; `flat` is True if forward does not depend on the argument."""
    k, a, n = worst
    name, what = case.names[i], "gradient" if method != "jvp" else "tangent"
    factor = "grad_output" if method != "jvp" else f"tangent_{name}"
    if method != "jvp" and case.arrays[i].size <= MOST and (other := swapped(case, i)):
        order = ", ".join(f"grad_{m}" for m in case.names)
        return f": the gradients of {name} and {other} are swapped", f"return {order}  # in the arguments' order"
    if method != "jvp" and any(slopes.values()) and (uneven := not_linear(case, i)):
        fix = f"return {factor} * ...  # multiply by the incoming gradient" if uneven == IGNORED else LINEAR
        return f": {uneven}", fix
    if flat or n == 0:
        return f": forward is flat{'' if flat else ' at this element'}, so its derivative is 0", (
            "# as for backward: see gradients" if method == "jvp" and case.backward else FLAT
        )
    if all(v == 0 for v in slopes.values()):
        return (
            f": the {what} of {name} is missing",
            f"return ... {factor} * (derivative wrt {name}) ...  # instead of None or 0 for {name}",
        )
    seed = incoming(case, k) if method != "jvp" else factor
    if method != "jvp" and not any(v for (_, output, _), v in slopes.items() if output == k):
        return f": {seed} is not used for {name}", f"return ... + {seed} * (derivative of output {k} wrt {name})"
    if np.isclose(a, -n, rtol=RTOL, atol=case.atol):
        return ": the sign is wrong", f"return -{what}  # flip the sign for {name}\n{MEANT}"
    if method != "jvp" and passes_unchanged(slopes) and passes_unchanged(elsewhere(case, i)):
        return ": the incoming gradient passes unchanged", f"return {seed} * ...  # times the derivative\n{MEANT}"
    if abs(a) > case.atol and np.isfinite(n / a):
        fix = f"return ...  # multiply by {n / a:.4g} for {name}, at this input" + f"\n{MEANT}" * (n / a < 0)
        return f": off by a factor of {n / a:.4g}", fix
    return "", f"return {seed} * ...  # times the derivative of output {k} wrt {name}"


def passes_unchanged(slopes: dict) -> bool:
    """Return True if a gradient is the incoming gradient."""
    return bool(slopes) and all(v == (element == place) for (element, _, place), v in slopes.items())


def elsewhere(case: Case, i: int) -> dict:
    """Return the derivatives from backward at other inputs; {} if it does not run there."""
    with suppress(Exception):
        return backward_slopes(case.changed(lambda a: a * 1.25), i)
    return {}


def incoming(case: Case, k: int) -> str:
    """Return backward's name for the gradient of output k."""
    names = list(inspect.signature(getattr(case.function, case.backward)).parameters)
    return names[k + 1] if k + 1 < len(names) else "grad_output"


def swapped(case: Case, i: int) -> str:
    """Return the other argument whose gradient is swapped with this one's, or an empty string."""
    found, fits = case.gradients(), lambda g, j: close(g, case.numerical_gradient(j), RTOL, case.atol)
    alike = [j for j in case.wanted if j != i and case.arrays[j].shape == case.arrays[i].shape]
    return next((case.names[j] for j in alike if fits(found[i], j) and fits(found[j], i)), "")


IGNORED = "it ignores the incoming gradient"


def not_linear(case: Case, i: int) -> str:
    """Return how the gradient of argument i depends on the incoming gradients, or "" if linearly, as it must."""
    args, outs = case.tracked_outputs()
    seeds = [weights(o.shape, k) for k, o in enumerate(outs)]
    once, *others = (case.pulled(outs, args, [i], [c * s for s in seeds], keep=True)[i] for c in (1, 2, -1, 0))
    if once.any() and all(close(once, other) for other in others):
        return IGNORED
    for scale, words, found in zip((2, -1, 0), ("a doubled", "a negated", "a zero"), others):
        if not close(scale * once, found):
            gives = f"the gradient of {case.names[i]} is {short(found)} instead of {short(scale * once)}"
            return f"it is not linear in the incoming gradient: with {words} one, {gives}"
    return ""


def jvp(case: Case) -> str:
    """Compare jvp with central differences, and so with backward, its transpose; that of a surrogate with backward."""
    need_jvp(case)
    need_gradient(case)
    for i in case.wanted:
        if case.surrogate and case.backward:
            compare_with_backward(case, i)
        else:
            compare(case, i, forward_slopes(case, i), "jvp")
    check_sum(case)
    return f"with respect to {', '.join(case.names[i] for i in case.wanted)}" + ", like backward" * bool(case.backward)


def compare_with_backward(case: Case, i: int) -> None:
    """Raise Fault unless jvp and backward of a surrogate have the same derivatives with respect to argument i."""
    back = backward_slopes(case, i)
    for key, a in forward_slopes(case, i).items():
        if key in back and not np.isclose(a, back[key], RTOL, case.atol):
            element, k, place = key
            raise Fault(
                f"jvp gives {a:.6g} for the derivative of {indexed(f'output {k}', place)} with respect to "
                f"{indexed(case.names[i], element)}, but backward gives {back[key]:.6g}",
                f"return tangent_{case.names[i]} * ...  # with the derivative that backward uses",
                "jvp",
            )


def check_sum(case: Case) -> None:
    """Raise Fault unless tangents for all inputs at once give the sum of the results for each alone, with None for the rest."""
    directions = {i: weights(case.arrays[i].shape, i) for i in case.wanted}
    alone = [pushed(case, {i: direction}, case.tracked) for i, direction in directions.items()]
    for k, found, *parts in zip(case.tracked, pushed(case, directions, case.tracked), *alone):
        if not close(found, sum(parts[1:], parts[0])):
            raise Fault(
                f"with tangents for all inputs at once, the tangent of output {k} is {short(found)}, but the tangents for one "
                f"input at a time add up to {short(sum(parts[1:], parts[0]))}",
                "return tangent_a * ... + tangent_b * ...  # linear in the tangents; None means zeros",
                "jvp",
            )


def second_derivatives(case: Case) -> str:
    """Compare second derivatives, from differentiating backward, with central differences of backward.

    A gradient depends on the inputs and on the incoming gradients, so both are varied.
    """
    need_backward(case)
    if case.once:
        raise Absent(
            "backward is decorated with @once_differentiable",
            f"# remove the decorator if backward uses only {case.library.written} operations",
        )
    try:
        args, seeds, found = graph_of_gradients(case)
    except Exception as e:  # other rows show that a plain backward works, so this error is not a silent mistake
        case.traits.add("first derivatives only")
        raise Absent(f"backward cannot be differentiated: {first_line(e)}", ONCE) from None
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
                if distance_from_slopes(a, right, left, 10 * case.atol):
                    n, cut = (right + left) / 2, all(h is None for h in gives)
                    raise second_derivative_fault(case, case.names[i], name, element, a, n, cut)
    return "of backward, with respect to inputs and incoming gradients"


def graph_of_gradients(case: Case) -> tuple[list, list, dict[int, Any]]:
    """Return inputs, incoming gradients and, for each input, its gradient as a tensor with a graph."""
    args, outs = case.tracked_outputs()
    seeds = [case.library.tensor(weights(o.shape, k), True) for k, o in enumerate(outs)]
    found = case.library.grad(outs, [args[i] for i in case.wanted], seeds, create_graph=True)
    return args, seeds, {i: g for i, g in zip(case.wanted, found) if g is not None}


def gradient_of(case: Case, i: int, seeds: list[np.ndarray]) -> float:
    """Return a weighted sum of the gradient of argument i, from a first-order backward."""
    args, outs = case.tracked_outputs()
    return float((case.pulled(outs, args, [i], seeds)[i] * weights(case.arrays[i].shape)).sum())


def moved_gradients(case: Case, i: int, seeds: list[np.ndarray]) -> list[Column]:
    """Return the slopes of the gradient of argument i, for each wanted argument, then for each incoming gradient."""
    by_input = [
        column(case, case.arrays[j].shape, lambda step, j=j: gradient_of(case.moved(j, step), i, seeds))
        for j in case.wanted
    ]
    return by_input + [
        column(case, s.shape, lambda step, k=k: gradient_of(case, i, [*seeds[:k], seeds[k] + step, *seeds[k + 1 :]]))
        for k, s in enumerate(seeds)
    ]


def column(case: Case, shape: tuple, f: Callable[[np.ndarray], float]) -> Column:
    """Return the slopes of f on both sides of 0 along each element, except where f jumps and has no derivative."""
    here, found, step = f(np.zeros(shape)), {}, case.step
    for element, unit in units(shape):
        after, before = f(step * unit), f(-step * unit)
        if abs(after - before) < 0.1 * (1 + abs(here)):
            found[element] = (after - here) / step, (here - before) / step
    return found


def second_derivative_fault(case: Case, of: str, by: str, element: tuple, a: float, n: float, cut: bool) -> Fault:
    """Return the fault for a second derivative."""
    says = (
        f"differentiating the gradient of {of} with respect to {indexed(by, element)} gives {a:.6g}, but finite differences "
        f"give {n:.6g}"
    )
    if cut:
        return Fault(
            f"{says}: backward cuts the graph, so the second derivative is silently 0",
            ONCE,
            case.backward,
            r"numpy|detach|\.data\b|\.item\(|no_grad|ctx\.(?!save)",
        )
    return Fault(
        says,
        "ctx.save_for_backward(...)  # only inputs and outputs: an intermediate result has no graph;\n"
        "# return it from forward as one more output, and add its gradient in backward",
        case.backward,
        r"ctx\.",
    )


def needs_input_grad(case: Case) -> str:
    """Check that each subset of the inputs gets the same gradients as when all inputs require grad."""
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
                        f"with requires_grad=True for {alone} only, the gradient of {case.names[i]} is {short(g)}, "
                        f"but with all inputs it is {short(expected[i])}",
                        f"if ctx.needs_input_grad[{i}]:  # {case.names[i]} is argument {i} of forward, not counting ctx",
                        case.backward,
                        "needs_input_grad",
                    )
    return f"{subsets} subsets"


def unused_outputs(case: Case) -> str:
    """Check that backward works if only some outputs are used and the other gradients are zeros or None."""
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
                    f"if only output {k} is used, backward gets None for the others and fails: {e}".split("\n")[0],
                    "if grad_output is not None:  # or remove ctx.set_materialize_grads(False)",
                    case.backward,
                    place=place_of_error(e),
                ) from e
            raise
        for i, g in found.items():
            compare_used(case, i, k, g)
    return f"{len(case.tracked)} output{'s' * (len(case.tracked) != 1)}"


def compare_used(case: Case, i: int, k: int, found: np.ndarray) -> None:
    """Compare the gradient from one output with that for zeros from the others."""
    args, outs = case.tracked_outputs()
    seeds = [weights(o.shape, j) * (j == k) for j, o in zip(case.tracked, outs)]
    with_zeros = case.pulled(outs, args, [i], seeds)[i]
    if not close(found, with_zeros):
        raise Fault(
            f"if only output {k} is used, the gradient of {case.names[i]} is {short(found)}, but with zeros for the "
            f"other outputs it is {short(with_zeros)}",
            "if grad_output is not None:  # None means zeros",
            case.backward,
            "None",
        )
