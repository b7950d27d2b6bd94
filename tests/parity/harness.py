"""Runs a program under PyTorch and under minigrad and says where the results differ.

A program is a function of one argument, the module to use as `torch`. It returns tensors, numbers, strings, booleans,
dtypes, exceptions (see `attempt`) or lists, tuples and dictionaries of them. `@gives(...)` beside a program states its
result in closed form: PyTorch has to agree with that as well, and then it is checked without PyTorch too.
The programs live in `programs/`, one module for each theme; `collect` finds them.
"""

import importlib
import inspect
import math
import pkgutil
import textwrap
import traceback
import warnings
from dataclasses import dataclass

TOLERANCE = {"float64": 1e-9, "float32": 2e-5}
SHOWN_DIFFERENCES = 12


def gives(expected):
    """State the result of a program: nested lists for tensors, an exception type for what raises it."""

    def note(program):
        program.expected = expected
        return program

    return note


def attempt(action, *args, **kwargs):
    """Return the result of `action`, or the exception that it raises."""
    try:
        return action(*args, **kwargs)
    except Exception as error:
        return error


def leaf(torch, values, dtype=None):
    """Return a new tensor that requires grad."""
    return torch.tensor(values, dtype=dtype, requires_grad=True)


def function(torch, forward=lambda ctx, x: x * 2, backward=lambda ctx, g: g * 2, **others):
    """Return a custom Function with these static methods; None leaves one out.  By default it doubles its argument."""
    methods = {"forward": forward, "backward": backward, **others}
    methods = {name: staticmethod(method) for name, method in methods.items() if method is not None}
    return type("Func", (torch.autograd.Function,), methods)


def collect():
    """Return all programs, as pairs of a name (module.function) and the function, in the order of the files."""
    from tests.parity import programs

    found = []
    for info in pkgutil.iter_modules(programs.__path__):
        module = importlib.import_module(f"{programs.__name__}.{info.name}")
        for name, value in vars(module).items():
            own = inspect.isfunction(value) and value.__module__ == module.__name__
            if own and not name.startswith("_") and list(inspect.signature(value).parameters) == ["torch"]:
                found.append((f"{info.name}.{name}", value))
    return found


@dataclass(frozen=True)
class Array:
    """A tensor as plain data."""

    dtype: str
    shape: tuple
    requires_grad: bool
    values: object


@dataclass(frozen=True)
class Raised:
    """An exception: its type, its text for the reader (not compared), whether the program itself let it escape."""

    type: type
    text: str
    escaped: bool = False

    def __repr__(self):
        return self.text


def run(program, module):
    """Return the result of the program as plain data; a program that raises as a whole gives a Raised."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return plain(program(module), module)
        except Exception as error:
            return Raised(type(error), _located(error), escaped=True)
        finally:
            _restore(module)


def plain(value, module):
    """Replace the tensors, dtypes, sizes and exceptions in a result by plain data."""
    if isinstance(value, module.Tensor):
        requires_grad = value.requires_grad
        value = value.detach().clone()  # a copy has separate memory; not so a zero that PyTorch keeps symbolic
        return Array(_name(value.dtype), tuple(value.shape), requires_grad, value.tolist())
    if isinstance(value, module.dtype):
        return _name(value)
    if isinstance(value, BaseException):
        return Raised(type(value), _located(value))
    if isinstance(value, dict):
        return {key: plain(item, module) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item, module) for item in value]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise TypeError(f"a program may not return a {type(value).__name__}: {value!r}")


def differences(wanted, found, where="result", least=0.0):
    """Say what differs between two results of `run`, in lines, numbers by their dtype's tolerance, by `least` at least."""
    if isinstance(wanted, Raised) or isinstance(found, Raised):
        both = isinstance(wanted, Raised) and isinstance(found, Raised)
        if both and wanted.escaped == found.escaped and related(wanted.type, found.type):
            return []
        return [f"{where}: {wanted!r} against {found!r}"]
    if isinstance(wanted, Array) and isinstance(found, Array):
        lines = [
            f"{where}: {field} {getattr(wanted, field)} against {getattr(found, field)}"
            for field in ("dtype", "shape", "requires_grad")
            if getattr(wanted, field) != getattr(found, field)
        ]
        tolerance = max(least, TOLERANCE.get(wanted.dtype, 0), TOLERANCE.get(found.dtype, 0))
        if wanted.shape == found.shape and not close(wanted.values, found.values, tolerance):
            lines.append(f"{where}: values {wanted.values} against {found.values}")
        return lines
    if type(wanted) is not type(found):
        return [f"{where}: {wanted!r} against {found!r}"]
    if isinstance(wanted, dict):
        lines = [f"{where}: key {key!r} is not on both sides" for key in sorted(wanted.keys() ^ found.keys())]
        for key in wanted:
            lines += differences(wanted[key], found[key], f"{where}[{key!r}]", least) if key in found else []
        return lines
    if isinstance(wanted, list) and len(wanted) == len(found):
        return [
            line for i, pair in enumerate(zip(wanted, found)) for line in differences(*pair, f"{where}[{i}]", least)
        ]
    return [] if close(wanted, found, TOLERANCE["float32"]) else [f"{where}: {wanted!r} against {found!r}"]


def contradictions(expected, found, where="result"):
    """Return the differences between the literal of `@gives` and a result of `run`."""
    if inspect.isclass(expected):
        agrees = isinstance(found, Raised) and not found.escaped and related(expected, found.type)
    elif isinstance(expected, dict) and isinstance(found, dict) and expected.keys() == found.keys():
        return [line for key in expected for line in contradictions(expected[key], found[key], f"{where}[{key!r}]")]
    elif isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        return [
            line for i, pair in enumerate(zip(expected, found)) for line in contradictions(*pair, where=f"{where}[{i}]")
        ]
    else:
        agrees = close(expected, found.values if isinstance(found, Array) else found, TOLERANCE["float32"])
    return [] if agrees else [f"{where}: {expected!r} against {found!r}"]


def close(a, b, tolerance):
    """Return True if two nested lists agree, numbers within the tolerance; True and 1 are different things."""
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(close(x, y, tolerance) for x, y in zip(a, b))
    if type(a) is not type(b):
        return False
    if isinstance(a, float):
        return a == b or (math.isnan(a) and math.isnan(b)) or math.isclose(a, b, rel_tol=tolerance, abs_tol=tolerance)
    return a == b


def related(a, b):
    """Return True if one exception type is a kind of the other, judged by the built-in types that they derive from."""
    a, b = (next(kind for kind in error.__mro__ if kind.__module__ == "builtins") for error in (a, b))
    if Exception in (a, b):
        return a is b
    return issubclass(a, b) or issubclass(b, a)


def report(name, program, first, second, lines):
    """Return the text of a failure: the program, both results (a pair of a label and a value each), what differs."""
    path, line = inspect.getsourcefile(program), inspect.getsourcelines(program)[1]
    more = [f"... and {len(lines) - SHOWN_DIFFERENCES} more"] if len(lines) > SHOWN_DIFFERENCES else []
    width = max(len(first[0]), len(second[0]))
    results = [f"{label:<{width}}  {_shortened(value)}" for label, value in (first, second)]
    return "\n".join(
        [
            f"{name} ({path}:{line})",
            "",
            textwrap.indent(textwrap.dedent(inspect.getsource(program)), "    "),
            *results,
            "",
            f"differences, {first[0]} against {second[0]}:",
            *(f"  {text}" for text in lines[:SHOWN_DIFFERENCES] + more),
        ]
    )


def _restore(module):
    """Set back what a program may have changed for the next one, had it not failed half-way."""
    module.set_grad_enabled(True)
    module.set_default_dtype(module.float32)
    module.autograd.set_detect_anomaly(False)


def _name(dtype):
    return str(dtype).rsplit(".", 1)[-1]


def _located(error):
    steps = traceback.extract_tb(error.__traceback__)
    place = f" at {steps[-1].filename}:{steps[-1].lineno}" if steps else ""
    return f"{type(error).__name__}({str(error)[:300]!r}){place}"


def _shortened(value):
    text = repr(value)
    return text if len(text) <= 1500 else f"{text[:1500]} ..."
