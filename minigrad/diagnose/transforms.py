"""Mistakes that only a transform finds: Functions in the wrong form, writes that would escape, and faulty vmap rules."""

import inspect
from typing import Any

from ..core.function import Function
from ..core.tensor import Tensor
from ..errors import error
from ..places import PACKAGE, defined_at, noted, returned_at, user_place
from .inplace_writes import name_of_write
from .report import EXPLAINED, explains
from .users_program import made_at

EXPLAINED |= {
    "a Function under a transform has a setup_context": lambda cls, layer: error(
        RuntimeError,
        cls.__name__,
        f"is used under `{layer.name}` and must override the setup_context staticmethod: a forward that takes ctx "
        "would save tensors of another layer",
        "split its forward in two, and return every saved tensor that is not an input as an output:\n"
        + separate_form(cls),
        notes=noted("its forward is", defined_at(cls.forward)),
    ),
    "a transform does not modify captured tensors": lambda layer, fn, x: error(
        RuntimeError,
        name_of_write(fn),
        f"modifies a captured tensor of shape {tuple(x.shape)} in place: the write would escape from the function under "
        f"`{layer.name}`",
        "pass the tensor as an argument, or clone() it inside first",
    ),
    "a Function has one vmap rule": lambda cls: error(
        RuntimeError,
        cls.__name__,
        "has both generate_vmap_rule=True and an overridden vmap staticmethod",
        "set generate_vmap_rule=False, or delete the vmap staticmethod",
        notes=noted("the method is", defined_at(cls.vmap)),
    ),
    "a Function under vmap has a vmap rule": lambda cls, size: error(
        RuntimeError,
        cls.__name__,
        f"needs a vmap rule to run under vmap, here on {size} examples",
        "write `generate_vmap_rule = True` in the class if its methods use only minigrad operations; else override the "
        "vmap staticmethod: `def vmap(info, in_dims, *args)`, which returns output, out_dims",
        notes=noted("its forward is", defined_at(cls.forward)),
    ),
}


def separate_form(cls: Any) -> str:
    """Return the code that replaces a combined forward, or the forward_extended of a NestedIOFunction."""
    nested = getattr(cls, "_nested", None)
    own = cls.forward if nested is None else nested.forward_extended
    found = list(inspect.signature(own).parameters.values())[1:]
    names = [f"*{p.name}" if p.kind is p.VAR_POSITIONAL else p.name for p in found]
    head = "@staticmethod\n    def forward(" if nested is None else "def forward_extended(self, "
    return f"""\
    {head}{", ".join([str(p) for p in found])}):
        ...  # compute, without ctx
        return output

    @staticmethod
    def setup_context(ctx, inputs, output):
        {names[0] + "," if len(names) == 1 else ", ".join(names)} = inputs
        ctx.save_for_backward(...)  # inputs and outputs; numbers as attributes: ctx.n = n"""


@explains("only a batched tensor can store a batch")
def one_tensor_written(fn: Any, x: Tensor, size: int) -> Exception:
    """Return the error for writing one value per example to a tensor that is the same for all."""
    part = "" if x._base is None else f"(part of one of shape {tuple(x._base.shape)}) "
    return error(
        RuntimeError,
        "vmap",
        f"inplace arithmetic {fn.function_name()}_(self, *extra_args) is not possible: the written tensor of shape "
        f"{tuple(x.shape)} {part}is the same for all examples, but would have to hold one value for each of {size} examples",
        "make it from an input, x.new_zeros(...) instead of zeros(...), or pass it as an argument with a batch "
        "dimension, and return the result; for batch norm set track_running_stats=False",
        notes=made_at(x if x._base is None else x._base),
    )


@explains("a batched tensor has no single value")
def value_of_a_batch(size: int) -> Exception:
    """Return the error for asking a batched tensor for its value."""
    how, instead = reading(), "minigrad.where(condition, a, b) instead of `if`, minigrad.maximum instead of max"
    fix = (
        f"write {instead}"
        if how.startswith("`if`")
        else f"leave out {how.split()[0]}, and compute with the tensor ({instead})"
    )
    what = f"{how} a single value, but this tensor has one for each of {size} examples"
    return error(RuntimeError, "vmap", what, f"{fix}; or read the value outside of vmap")


def reading() -> str:
    """Return the operation by which the user's line reads a value, as "item() needs"."""
    frame, name = inspect.currentframe(), ""
    while frame is not None and frame.f_code.co_filename.startswith(PACKAGE):
        name = frame.f_code.co_name if frame.f_code.co_name in READERS else name
        frame = frame.f_back
    return READERS[name]


READERS = {
    "item": "item() needs",
    "tolist": "tolist() needs",
    "__bool__": "`if`, like bool(), needs",
    "__int__": "int() needs",
    "__float__": "float() needs",
    "": "`if`, like item(), bool() and float(), needs",
}


@explains("a vmap rule returns output, out_dims")
def no_pair(cls: type[Function], result: object) -> Exception:
    """Return the error for a rule that does not return outputs and their dimensions."""
    got = f"a tuple of {len(result)}" if type(result) is tuple else f"a {type(result).__name__}"
    what = f"expected the vmap staticmethod to return a pair (output, out_dims), got {got}"
    return of_rule(cls, what, "return output, out_dims")


@explains("a vmap rule returns one out_dim per output")
def dims_do_not_fit(cls: type[Function], out: Any, dims: object) -> Exception:
    """Return the error for a rule whose dimensions do not match its outputs in number."""
    if not isinstance(out, (tuple, list)):
        return of_rule(cls, f"returns one output, but out_dims={dims!r}", "return one dimension, or None, for it")
    what = f"out_dims={dims!r} are not compatible with its {len(out)} outputs"
    return of_rule(cls, what, "return one dimension, or None, for each output")


@explains("out_dims name the batch dimensions")
def out_dim_does_not_fit(cls: type[Function], value: Tensor, dim: object, size: int) -> Exception:
    """Return the error for a rule that names a dimension that is not the batch."""
    return of_rule(
        cls,
        f"out_dim {dim!r} is not a dimension of size {size} (the batch) of an output of shape {tuple(value.shape)}",
        "return the batch dimension of each output as out_dims, or None for an output that is the same for all examples",
        RuntimeError if type(dim) is not int or -value.ndim <= dim < value.ndim else IndexError,
    )


def of_rule(cls: type[Function], what: str, fix: str, kind: type[Exception] = RuntimeError) -> Exception:
    """Return the error for the result of a user's vmap staticmethod, at the line that returns it."""
    return error(kind, f"{cls.__name__}.vmap", what, fix, returned_at(cls.vmap), [f"applied at {user_place()}"])
