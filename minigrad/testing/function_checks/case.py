"""A Function with one set of arguments: fresh inputs, outputs, gradients and finite differences, as arrays.

All rows of the table work on a Case; a smaller Case gives a failure its minimal input.  Tensors among the arguments are
stored as arrays (`Data`), so every run starts from new tensors.
"""

from __future__ import annotations

import ast
import copy
import inspect
import re
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ...arrays.dtypes import FLOATS
from ...core.function import as_tuple
from ...record.constants import brief
from .library import Library
from .source_lines import comments

EPS = 1e-6  # the step of central differences in float64
SINGLE = 1e-3  # and if an output is float32 for float64 inputs: EPS would be lost in its rounding
RTOL, ATOL = 1e-3, 1e-5  # for comparisons with finite differences, as in gradcheck
DELIBERATE = re.compile(
    r"surrogate|straight[- ]through|\bSTEs?\b|pseudo[- ](?:derivative|grad)|\breversal|\bGRL\b|\breverse layer"
    r"|\brev(?:ers\w+)? (?:(?!mode)\w+ )?grad\w*|\bgrad\w* (?:is |are )?rev(?:ers\w+)?\b|perturb\w+"
    r"|not the (?:true |exact )?(?:derivative|gradient)|clip\w* (?:\w+ )?gradients?|gradient clipping",
    re.IGNORECASE,
)  # in the name, a docstring or comment of a Function whose backward is not its derivative
MOST = 12  # differences are taken for at most this many elements of a tensor, spread evenly


class Data(NamedTuple):
    """A tensor among the arguments."""

    array: np.ndarray


class Case:
    """A Function and its arguments."""

    def __init__(
        self, library: Library, function: Any, args: Sequence, wanted: Iterable | None, surrogate: str | None = None
    ):
        self.library, self.function, self.args = library, function, tuple(args)
        self.surrogate = said_in_words(library, function) if surrogate is None else surrogate  # why backward may differ
        self.arrays = {i: a.array for i, a in enumerate(self.args) if isinstance(a, Data)}  # of the tensors, by place
        floats = [i for i, a in self.arrays.items() if a.dtype in FLOATS]
        self.wanted = floats if wanted is None else [i for i in floats if i in wanted]
        self.broken: dict[str, str] = {}  # rows that fail or cannot run -> the row that is to blame
        self.traits: set[str] = set()  # findings of the rows: "random", "in place"

    @classmethod
    def of(cls, library: Library, function: Any, args: Sequence, surrogate: str = "") -> Case:
        """Make a case from the user's arguments.

        If some tensors require grad, derivatives are taken with respect to those, else to all floating-point tensors.
        """
        tensors = [i for i, a in enumerate(args) if isinstance(a, library.Tensor)]
        parts = parts_of_modules(args)
        needs = [i for i in tensors if args[i].requires_grad and id(args[i]) not in parts]
        data = [Data(library.array(a)) if i in tensors else a for i, a in enumerate(args)]
        return cls(library, function, data, needs or None, surrogate or None)

    def replaced(self, arrays: dict[int, np.ndarray]) -> Case:
        """Return the case with other tensors at some positions."""
        args = [Data(np.asarray(arrays[i])) if i in arrays else a for i, a in enumerate(self.args)]
        case = Case(self.library, self.function, args, self.wanted, self.surrogate)
        case.broken, case.traits = self.broken, self.traits
        return case

    def changed(self, change: Callable[[np.ndarray], np.ndarray], floats: bool = True) -> Case:
        """Return the case with each floating-point tensor changed, or each tensor."""
        return self.replaced({i: change(a) for i, a in self.arrays.items() if a.dtype in FLOATS or not floats})

    def cut(self, size: int, less: int) -> Case:
        """Return the case with all dimensions of one size shortened to another."""
        return self.changed(lambda a: a[tuple(slice(less if n == size else None) for n in a.shape)], floats=False)

    def cast(self, dtype: Any) -> Case:
        """Return the case with floating-point tensors of this dtype, and with copies of modules whose parameters have it."""
        case, own = self.changed(lambda a: converted(a, dtype)), getattr(self.library.module, np.dtype(dtype).name)
        copied = [copy.deepcopy(a).to(own) if hasattr(type(a), "named_parameters") else a for a in case.args]
        case.args = tuple(copied)
        return case

    # ---------------------------------------------------------------------- the Function's methods
    @property
    def name(self) -> str:
        """The Function's name."""
        return self.function.__name__

    @cached_property
    def tensors(self) -> list[int]:
        """The positions of the tensors among the arguments."""
        return list(self.arrays)

    @cached_property
    def separate(self) -> bool:
        """True if forward and setup_context are separate methods."""
        return self.library.owns(self.function, "setup_context")

    @property
    def owner(self) -> str:
        """The method that receives ctx in the forward pass."""
        return "setup_context" if self.separate else "forward"

    @cached_property
    def backward(self) -> str:
        """The name under which backward is defined, or an empty string."""
        return next((name for name in ("backward", "vjp") if self.library.owns(self.function, name)), "")

    @property
    def jvp(self) -> bool:
        """True if jvp is defined."""
        return self.library.owns(self.function, "jvp")

    @property
    def batched(self) -> bool:
        """True if there is a vmap rule."""
        return bool(self.function.generate_vmap_rule) or self.library.owns(self.function, "vmap")

    @property
    def once(self) -> bool:
        """True if backward is decorated with @once_differentiable."""
        method = getattr(self.function, self.backward or "backward")
        return getattr(method, "__globals__", {}).get("__name__", "").endswith("autograd.function")

    @cached_property
    def names(self) -> list[str]:
        """The parameter names of forward."""
        found = list(inspect.signature(self.function.forward).parameters.values())
        found = found if self.separate else found[1:]
        names: list[str] = []
        for p in found:
            many = len(self.args) - len(names) if p.kind is p.VAR_POSITIONAL else 0
            names += [f"{p.name}{k}" for k in range(many)] if p.kind is p.VAR_POSITIONAL else [p.name]
        return [*names[: len(self.args)], *(f"arg{i}" for i in range(len(names), len(self.args)))]

    # ---------------------------------------------------------------------- running it
    def inputs(self, needs: Iterable[int] | None = None) -> list:
        """Return fresh arguments; those at the positions `needs` (default: all wanted ones) require grad."""
        needs = self.wanted if needs is None else list(needs)
        made = {i: self.library.tensor(a, i in needs) for i, a in self.arrays.items()}
        return [made.get(i, a) for i, a in enumerate(self.args)]

    def inputs_with(self, tensors: dict[int, Any]) -> list:
        """Return fresh arguments, with the given tensors at their positions."""
        return [tensors.get(i, a) for i, a in enumerate(self.inputs(()))]

    def apply(self, args: Sequence, function: Any = None, clone: bool = False) -> tuple:
        """Return the outputs as a tuple; clone the tensors first if forward modifies them, since leaves may not be modified."""
        self.library.seed()
        clone = clone or "in place" in self.traits
        given = [a.clone() if clone and isinstance(a, self.library.Tensor) else a for a in args]
        return as_tuple((function or self.function).apply(*given))

    def outputs(self) -> dict[int, np.ndarray]:
        """Return the numbers of the output tensors, by position."""
        with self.library.module.no_grad():
            outs = self.apply(self.inputs(()))
        return {k: self.library.array(o) for k, o in enumerate(outs) if isinstance(o, self.library.Tensor)}

    @cached_property
    def tracked(self) -> list[int]:
        """The positions of the outputs that require grad."""
        return [k for k, o in enumerate(self.apply(self.inputs())) if getattr(o, "requires_grad", False)]

    def tracked_outputs(self) -> tuple[list, list]:
        """Return fresh arguments, and the tracked outputs of one call with them."""
        args = self.inputs()
        outs = self.apply(args)
        return args, [outs[k] for k in self.tracked]

    def total(self, outs: Sequence) -> Any:
        """Return a scalar that depends on each element of each tracked output in a different way."""
        parts = [(outs[k] * self.library.tensor(weights(outs[k].shape, k))).sum() for k in self.tracked]
        return sum(parts[1:], parts[0])

    def gradients(self, needs: Iterable[int] | None = None, function: Any = None) -> dict[int, np.ndarray]:
        """Return the gradient of `total` for each input, from a plain backward; zeros if there is none."""
        needs = self.wanted if needs is None else list(needs)
        args = self.inputs(needs)
        return self.pulled(self.total(self.apply(args, function)), args, needs)

    def pulled(
        self, outs: Any, args: list, places: list[int], seeds: Sequence | None = None, keep: bool = False
    ) -> dict[int, np.ndarray]:
        """Return the gradients of outputs, weighted by seeds, for the arguments at `places`; zeros if there is none."""
        given = None if seeds is None else [self.library.tensor(s) for s in seeds]
        found = self.library.grad(outs, [args[i] for i in places], given, retain_graph=keep)
        return {i: np.zeros_like(self.arrays[i]) if g is None else self.library.array(g) for i, g in zip(places, found)}

    # ---------------------------------------------------------------------- finite differences
    @cached_property
    def step(self) -> float:
        """The step of finite differences."""
        outs = self.outputs()
        return EPS if all(outs[k].dtype == np.float64 for k in self.tracked) else SINGLE

    @property
    def atol(self) -> float:
        """The absolute tolerance for derivatives: rounding errors of float32 are divided by a step, too."""
        return ATOL if self.step == EPS else SINGLE

    def moved(self, i: int, step: np.ndarray) -> Case:
        """Return the case with a step added to argument i."""
        return self.replaced({i: self.arrays[i] + step})

    def slopes(self, i: int, element: tuple) -> tuple[list, list]:
        """Return the slopes of each tracked output on the right and on the left of one element of argument i."""
        unit = np.zeros_like(self.arrays[i])
        unit[element] = self.step
        ends = [case.outputs() for case in (self.moved(i, unit), self, self.moved(i, -unit))]
        after, here, before = [[end[k] for k in self.tracked] for end in ends]
        return [(a - h) / self.step for a, h in zip(after, here)], [(h - b) / self.step for h, b in zip(here, before)]

    def numerical_gradient(self, i: int) -> np.ndarray:
        """Return the gradient of `total` for argument i, from central differences."""
        found = np.zeros_like(self.arrays[i])
        for element in np.ndindex(found.shape):
            right, left = self.slopes(i, element)
            found[element] = sum(
                float((weights(r.shape, k) * (r + n) / 2).sum()) for k, r, n in zip(self.tracked, right, left)
            )
        return found

    # ---------------------------------------------------------------------- as text
    def code(self) -> str:
        """Return the call as code to paste."""
        prefix, lines, words = self.library.written, [], []
        for i, (name, a) in enumerate(zip(self.names, self.args)):
            if i in self.arrays:
                lines.append(f"{name} = {tensor_code(prefix, self.arrays[i], i in self.wanted)}")
            elif not is_literal(a):
                lines.append(f"{name} = ...  # {brief(a)}")
            words.append(repr(a) if i not in self.arrays and is_literal(a) else name)
        return "\n".join([*lines, f"{self.name}.apply({', '.join(words)})"])


def parts_of_modules(args: Sequence) -> set[int]:
    """Return the ids of the parameters of modules among arguments: a module that is passed does not move with an argument."""
    modules = [a for a in args if hasattr(type(a), "named_parameters")]
    return {id(p) for module in modules for p in module.parameters()}


def said_in_words(library: Library, function: Any) -> str:
    """Return the word in a Function's name, docstrings or comments that says that backward is not the derivative, or "".

    >>> import minigrad
    >>> class Step(minigrad.autograd.Function):
    ...     "A step whose backward is a straight-through estimator."
    >>> said_in_words(Library(minigrad), Step)
    'its docstring says "straight-through"'
    """
    own = [
        c for c in function.__mro__ if issubclass(c, library.Function) and c.__module__ != library.Function.__module__
    ]
    methods = [getattr(vars(c).get(name), "__func__", None) for c in own for name in ("forward", "backward", "vjp")]
    words = {
        "its name": [c.__qualname__ for c in own],
        "its docstring": [one.__doc__ or "" for one in (*own, *methods)],
        "a comment in it": [comment for c in own for comment in comments(c)],
    }
    for where, texts in words.items():
        if found := DELIBERATE.search(separated(" ".join(texts))):
            return f'{where} says "{found[0]}"'
    return ""


def separated(text: str) -> str:
    """Return a text whose words are separate, also those of names.

    >>> separated("class _RoundSTE: SignSTEFn,\\n straight_through")
    'class Round STE: Sign STE Fn, straight through'
    """
    return " ".join(re.sub(r"_|(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", text).split())


def is_literal(value: Any) -> bool:
    """Return True if the repr of an argument is code that makes it, on one line."""
    try:
        ast.literal_eval(text := repr(value))
    except Exception:  # of any kind: the object's class may define the repr
        return False
    return "\n" not in text


def converted(array: np.ndarray, dtype: Any) -> np.ndarray:
    """Return numbers in another dtype; float32 becomes the float64 with the same digits, 0.1 and not 0.10000000149."""
    return (array.astype(str) if array.dtype == np.float32 else array).astype(dtype)


def weights(shape: Iterable[int], salt: int = 0) -> np.ndarray:
    """Return irregular, distinct numbers that are not near 0, the same at each call."""
    shape = tuple(shape)
    n = int(np.prod(shape, dtype=int))
    return (0.6 + 0.9 * np.abs(np.sin(1.7 * np.arange(1, n + 1) + 2.3 * salt))).reshape(shape)


def sample(shape: tuple) -> list[tuple]:
    """Return all elements of a small array, or some elements of a large one, spread evenly."""
    n = int(np.prod(shape, dtype=int))
    chosen = range(n) if n <= MOST else sorted({round(j * (n - 1) / (MOST - 1)) for j in range(MOST)})
    return [tuple(int(v) for v in np.unravel_index(j, shape)) if shape else () for j in chosen]


def close(a: Any, b: Any, rtol: float = 1e-7, atol: float = 1e-9) -> bool:
    """Return True if two arrays have the same shape and nearly the same numbers; NaN equals NaN."""
    return np.shape(a) == np.shape(b) and np.allclose(a, b, rtol=rtol, atol=atol, equal_nan=True)


def tensor_code(prefix: str, array: np.ndarray, needs: bool = False) -> str:
    """Return a tensor as code.

    >>> tensor_code("torch", np.array([1.0, 2.5]), True)
    'torch.tensor([1.0, 2.5], dtype=torch.float64, requires_grad=True)'
    """
    made = f"tensor({array.tolist()}"
    if array.size == 0 or array.size > 64:
        made = f"{'rand' if array.size and array.dtype in FLOATS else 'zeros'}({array.shape}"
    return f"{prefix}.{made}, dtype={prefix}.{array.dtype}{', requires_grad=True' * needs})"


def short(array: Any) -> str:
    """Return numbers as text for a message: a few digits of a few elements."""
    array = np.asarray(array)
    if array.ndim == 0:
        return f"{float(array):.6g}"
    return np.array2string(array, precision=5, threshold=8, edgeitems=2, separator=", ").replace("\n", "")
