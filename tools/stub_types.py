"""The types that stubs give to parameters and results of operations: tools/stubs.py writes them.

A declaration in ops/ often says only `dim: Any` or nothing. There the name of a parameter decides, by one table; an annotation
that says more than Any stays. tests/test_stubs.py checks the result: all samples of the table of operations must pass
pyright, and must return what the stub says.
"""

import inspect
from collections.abc import Iterator
from typing import Any

EMPTY = inspect.Parameter.empty
VAGUE = ("Any", "object", "tuple", "Sequence", "Callable", "")  # annotations that the tables below replace

NUMBERS = "Tensor | float"
INTS = "int | Sequence[int]"
NAMES = {  # type -> names of parameters
    NUMBERS: "input other end exponent value min max weight elements test_elements mean std var src fill_value low start step "
    "p",
    "float": "alpha beta negative_slope lambd threshold",
    INTS: "args dim dims size sizes shape shapes kernel_size stride padding dilation output_padding output_size shifts source "
    "destination normalized_shape split_size_or_sections",
    "Sequence[int]": "pad split_sizes",
    "Tensor | int | Sequence[int]": "repeats indices_or_sections high",
    "Tensor | float | Sequence[float]": "q scale_factor",
    "Tensor | Sequence[Tensor]": "tensors inputs",
    "Sequence[Tensor | int | slice | None]": "indices",
    "float | str": "ord",
    "bool": "unbiased",
    "dtype": "dtype",
    "device | str | int": "device",
    "layout": "layout",
    "memory_format": "memory_format",
    "Tensor": "out",
}
PARAMETERS = {name: kind for kind, names in NAMES.items() for name in names.split()}
EXCEPTIONS = {  # where the same name means something else: "operation.parameter", or "operations*.parameter"
    "conv*.padding": "int | Sequence[int] | str",
    "adaptive*.output_size": "int | None | Sequence[int | None]",
    "broadcast_tensors.tensors": "Tensor | Sequence[Tensor]",
    "einsum.args": "str | Tensor | Sequence[Any]",
    "norm.p": "float | str",
    "linalg.cond.p": "float | str | None",
    "linalg.matrix_norm.dim": "Sequence[int]",
    "pad.value": "float",
    "tensordot.dims": "int | Sequence[int] | Sequence[Sequence[int]]",
    "type.dtype": "dtype | str",
    "to.args": "Tensor | dtype | device | str | int | None",
    "view.size": "int | Sequence[int] | dtype",
    "sum_to_size.size": INTS,
    "searchsorted.input": NUMBERS,
}
RESULTS = {  # where the declaration says only `tuple`, or nothing and it is not a Tensor
    **dict.fromkeys("meshgrid split split_with_sizes chunk tensor_split unbind unravel_index".split(), 0),
    "broadcast_tensors": 0,
    **dict.fromkeys(("var_mean", "std_mean"), 2),
}
# parameters on which the result depends: (flags, result if one of them is True), or the parameter whose absence means a Tensor
PAIR = "tuple[Tensor, Tensor]"
MANY = "tuple[Tensor, ...]"
FLAGS = {
    **{f"{kind}max_pool{n}d": (("return_indices",), PAIR) for kind in ("", "adaptive_") for n in (1, 2, 3)},
    "nonzero": (("as_tuple",), MANY),
    "unique": (("return_inverse", "return_counts"), MANY),
    "unique_consecutive": (("return_inverse", "return_counts"), MANY),
}
BY_DIM = {"max", "min", "median", "nanmedian"}  # with dim, values and indices
WRITTEN = {  # functions whose overloads no rule derives
    "where": (
        "(condition: Tensor, input: Tensor | float, other: Tensor | float, *, out: Tensor | None = None) -> Tensor",
        "(condition: Tensor) -> tuple[Tensor, ...]",
    ),
    **dict.fromkeys(
        ("atleast_1d", "atleast_2d", "atleast_3d"),
        (
            "(input: Tensor, /) -> Tensor",
            "(input: Tensor, other: Tensor, /, *tensors: Tensor) -> tuple[Tensor, ...]",
            "(tensors: Sequence[Tensor], /) -> tuple[Tensor, ...]",
        ),
    ),
}


def type_of(name: str, p: inspect.Parameter, several: bool) -> str:
    """Return the type of a parameter of an operation, which takes several operands or one."""
    given = "" if p.annotation is EMPTY else p.annotation if isinstance(p.annotation, str) else p.annotation.__name__
    if given not in VAGUE and not (several and p.name in ("input", "other")):
        return given
    exception = next((kind for key, kind in EXCEPTIONS.items() if matches(key, f"{name}.{p.name}")), None)
    kind = exception or PARAMETERS.get(p.name)
    if kind is None:
        kind = type(p.default).__name__ if isinstance(p.default, (bool, int, float, str)) else given or "Any"
    if p.name == "input" and kind == NUMBERS and given in ("", "Tensor") and not several:
        kind = "Tensor"
    if p.kind is p.VAR_POSITIONAL and p.name == "tensors":
        kind = exception or "Tensor | Sequence[Tensor]"
    return f"{kind} | None" if p.default is None and not kind.endswith(("None", "Any")) else kind


def matches(key: str, name: str) -> bool:
    """Return True if a key of EXCEPTIONS, which may have a star before the parameter, means this name."""
    before, star, after = key.partition("*")
    return name.startswith(before) and name.endswith(after) if star else key == name


def result_of(name: str, given: str) -> str:
    """Return the type of an operation's result."""
    if name in RESULTS:
        return f"tuple[{', '.join(['Tensor'] * RESULTS[name])}]" if RESULTS[name] else MANY
    return "Tensor" if given in ("Any", "") else given


def overloads(
    name: str, parameters: list[inspect.Parameter], result: str
) -> Iterator[tuple[list[inspect.Parameter], str]]:
    """Yield the parameters and the result of each overload; a single pair if there is only one."""
    if name in FLAGS:
        flags, several = FLAGS[name]
        yield [set_flag(p, "Literal[False]", False) if p.name in flags else p for p in parameters], "Tensor"
        for flag in flags:
            yield by_keyword(parameters, flag), several
        yield parameters, "Any"
    elif name in BY_DIM:
        k = next(i for i, p in enumerate(parameters) if p.name == "dim")
        alone = [p for p in parameters[:k] if p.name != "other"]
        out = [p for p in parameters if p.name == "out"]
        yield [*alone, *out], "Tensor"
        yield [*alone, set_flag(parameters[k], "int"), parameters[k + 1], *map(with_outs, out)], "Selected"
        if any(p.name == "other" for p in parameters):
            yield [*alone, inspect.Parameter("other", parameters[k].kind, annotation="Tensor"), *out], "Tensor"
    else:
        yield [with_outs(p) if not result.startswith(("Tensor", "bool")) else p for p in parameters], result


def with_outs(p: inspect.Parameter) -> inspect.Parameter:
    """Return a parameter; the `out` of an operation with several results takes as many tensors."""
    return p.replace(annotation=f"{MANY} | None") if p.name == "out" else p


def set_flag(p: inspect.Parameter, annotation: str, default: Any = EMPTY) -> inspect.Parameter:
    """Return a parameter with another annotation and default."""
    return p.replace(annotation=annotation, default=default)


def by_keyword(parameters: list[inspect.Parameter], flag: str) -> list[inspect.Parameter]:
    """Return the parameters with one flag, which must be True, as a keyword without default."""
    chosen = next(p for p in parameters if p.name == flag)
    others = [p for p in parameters if p is not chosen]
    first = [p for p in others if p.kind is not p.KEYWORD_ONLY]
    rest = [p for p in others if p.kind is p.KEYWORD_ONLY]
    return [*first, set_flag(chosen, "Literal[True]").replace(kind=inspect.Parameter.KEYWORD_ONLY), *rest]
