"""PyTorch's own databases of samples, run by minigrad: what both have, samples handed over, results compared.

An entry of `op_db` is an operation with makers of samples.  Where minigrad has its name, the same samples go through both; a
function that PyTorch writes in Python around an operation is run with its `torch` being minigrad.  left_out.py names the
entries that are left out, with the reason.
"""

import ast
import functools
import inspect
import itertools
import json
import types
import warnings
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.testing._internal import autograd_function_db

import minigrad
from tests.parity.left_out import REASONS, UNSET

COUNTS = Path(__file__).with_name("database_counts.json")  # database -> entry -> check -> samples compared
MOST_SAMPLES, MOST_ELEMENTS = 12, 2000
TOLERANCE = {"float64": 1e-7, "float32": 2e-4}
SECOND = 1e-6  # of second derivatives, which are longer sums


class Apart(AssertionError):
    """A result differs from PyTorch's."""


# ---------------------------------------------------------------------- what minigrad has
def found(root, path):
    """Return the object at a dotted path, or None."""
    for name in path.split("."):
        root = getattr(root, name, None)
    return root


def rebound(value):
    """Return a Python function with `torch` being minigrad, in what it closes over, too; anything else as it is."""
    if value is torch:
        return minigrad
    if isinstance(value, torch.dtype):
        return found(minigrad, str(value).split(".")[1])
    if isinstance(value, (types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType)):
        return peer_of(value) or value
    if isinstance(value, functools.partial):
        return functools.partial(rebound(value.func), *value.args, **value.keywords)
    if not isinstance(value, types.FunctionType) or not value.__module__.startswith("torch."):
        return value
    if (own := peer_of(value)) is not None:
        return own
    scope = Scope(value.__globals__)
    cells = tuple(types.CellType(rebound(cell.cell_contents)) for cell in value.__closure__ or ())
    made = types.FunctionType(value.__code__, scope, value.__name__, value.__defaults__, cells)
    made.__kwdefaults__ = value.__kwdefaults__
    return made


class Scope(dict):
    """The globals of a rebound function."""

    def __init__(self, names):
        super().__init__(names)
        self.update({k: minigrad for k in ("torch",) if k in names})
        self.update({"F": minigrad.nn.functional} if "F" in names else {})
        self.update({"TensorLikeType": minigrad.Tensor, "wrapper_set_seed": seeded})


def seeded(op, *args, **kwargs):
    """Run an operation after its seed."""
    minigrad.manual_seed(42)
    return op(*args, **kwargs)


@cache
def places():
    """Return PyTorch's functions -> the place where minigrad has one of that name."""
    names = {}
    for path in ("", "nn.functional.", "linalg.", "special.", "fft.", "Tensor."):
        theirs, ours = found(torch, path[:-1]) if path else torch, found(minigrad, path[:-1]) if path else minigrad
        for name in dir(theirs) if ours is not None else ():
            if (own := getattr(ours, name, None)) is not None and callable(own):
                names.setdefault(id(getattr(theirs, name)), own)
    return names


def peer_of(function):
    """Return minigrad's function for one of PyTorch's, or None."""
    return places().get(id(function))


def operations(op):
    """Return an entry's operation of each library, with the change that PyTorch's own gradient checks make to its input."""
    if op.name in functions():
        return op.op, peer(op)
    wrapper = op.gradcheck_wrapper
    ours, pair = peer(op), rebound(wrapper)
    return (lambda *a, **k: wrapper(op.op, *a, **k)), (lambda *a, **k: pair(ours, *a, **k))


def peer(op):
    """Return minigrad's form of an entry's operation, or None where it does not have the name."""
    name = op.name
    if name in functions():
        return functions()[name]
    known = next((f for path in ("", "Tensor.", "nn.functional.") if callable(f := found(minigrad, path + name))), None)
    if known is None:
        return None
    if isinstance(op.op, (types.FunctionType,)) and peer_of(op.op) is None:
        return rebound(op.op)
    return peer_of(op.op) or known


@cache
def functions():
    """Return the Functions of autograd_function_db, compiled with `torch` being minigrad: name -> callable."""
    definitions = [
        node
        for node in ast.parse(inspect.getsource(autograd_function_db)).body
        if isinstance(node, ast.ClassDef) or isinstance(node, ast.FunctionDef) and node.name == "to_numpy"
    ]
    scope = {"torch": minigrad, "np": np, "__name__": "functions_of_torch"}
    exec(compile(ast.Module(definitions, []), inspect.getsourcefile(autograd_function_db), "exec"), scope)
    return {
        op.name: types.FunctionType(op.op.__code__, scope)
        if isinstance(op.op, types.FunctionType)
        else scope[op.op.__self__.__name__].apply
        for op in autograd_function_db.autograd_function_db
    }


# ---------------------------------------------------------------------- samples handed over
def handed(value, memo=None):
    """Return PyTorch's tensors, dtypes and what holds them as minigrad's, in the same layout of memory."""
    memo = {} if memo is None else memo
    if isinstance(value, torch.Tensor):
        if id(value) not in memo:
            memo[id(value)] = (tensor(value), value)  # the tensor is kept, so that its id stays its own
        return memo[id(value)][0]
    if isinstance(value, torch.Size):
        return tuple(value)
    if isinstance(value, (tuple, list)):
        items = [handed(v, memo) for v in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    if isinstance(value, dict):
        return {k: handed(v, memo) for k, v in value.items()}
    if isinstance(value, slice):
        return slice(*[handed(v, memo) for v in (value.start, value.stop, value.step)])
    if isinstance(value, (torch.dtype, torch.memory_format, torch.layout)):
        return found(minigrad, str(value).split(".")[1])
    if isinstance(value, torch.device):
        return minigrad.device(value.type)
    if isinstance(value, torch.nn.TransformerEncoderLayer):
        return encoder_layer(value)
    return rebound(value)


def encoder_layer(layer):
    """Return a module that a constructor takes."""
    first, attention = layer.linear1, layer.self_attn
    made = minigrad.nn.TransformerEncoderLayer(
        attention.embed_dim,
        attention.num_heads,
        first.out_features,
        layer.dropout.p,
        rebound(layer.activation),
        layer.norm1.eps,
        attention.batch_first,
        layer.norm_first,
        first.bias is not None,
    )
    made.load_state_dict({k: handed(v) for k, v in layer.state_dict().items()})
    return made


def tensor(t):
    """One tensor, with its strides."""
    if t.is_sparse or t.is_complex() or t.is_quantized or t.layout is not torch.strided:
        raise NotImplementedError("sparse, complex or quantized")
    plain = t.detach()
    if plain.dtype is torch.bfloat16:
        out = minigrad.from_numpy(np.array(plain.float())).bfloat16()
    elif plain.is_contiguous() and not plain.storage_offset():
        out = minigrad.from_numpy(np.array(plain))
    else:
        n = plain.untyped_storage().nbytes() // plain.element_size()
        flat = minigrad.from_numpy(np.array(torch.as_strided(plain, (n,), (1,), 0)))
        out = minigrad.as_strided(flat, plain.shape, plain.stride(), plain.storage_offset()).detach()
    return out.requires_grad_() if t.requires_grad else out


def handed_over(sample):
    """Return a sample's input, args and kwargs, as minigrad's."""
    memo = {}
    return handed(sample.input, memo), handed(sample.args, memo), handed(sample.kwargs, memo)


def samples(op, dtype, requires_grad=False):
    """Return some small samples of an entry; not by op.sample_inputs, which looks through the whole stack for each."""
    torch.manual_seed(7)
    made = itertools.islice(op.sample_inputs_func(op, "cpu", dtype, requires_grad), 40)
    small = [s for s in made if sum(t.numel() for t in tensors((s.input, s.args, s.kwargs))) <= MOST_ELEMENTS]
    step = max(len(small) // MOST_SAMPLES, 1)
    return small[::step][:MOST_SAMPLES]


# ---------------------------------------------------------------------- results
def tensors(value):
    """Return the tensors in nested results, of either library."""
    if hasattr(value, "requires_grad"):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [t for v in value for t in tensors(v)] if isinstance(value, (tuple, list)) else []


def leaves(value):
    """Return the tensors by which a sample is differentiated."""
    return [t for t in tensors(value) if t.requires_grad]


def plain(t):
    if getattr(t, "_is_zerotensor", lambda: False)():  # zeros without memory, which PyTorch makes in backward
        t = torch.zeros(t.shape, dtype=t.dtype)
    return np.asarray(t.detach().double() if "float" in str(t.dtype) else t.detach())


def dtype_of(t):
    return str(t.dtype).split(".")[-1]


def compare(theirs, ours, what, tolerance=None, unset=False):
    """Raise Apart where results differ in number, shape, dtype or value; without the values where none were written."""
    a, b = tensors(theirs), tensors(ours)
    if len(a) != len(b):
        raise Apart(f"{what}: {len(b)} tensors, torch {len(a)}")
    if not a and not isinstance(theirs, (tuple, list)) and not same(theirs, ours):
        raise Apart(f"{what}: {ours!r}, torch {theirs!r}")
    for x, y in zip(a, b):
        if tuple(x.shape) != tuple(y.shape):
            raise Apart(f"{what}: shape {tuple(y.shape)}, torch {tuple(x.shape)}")
        if dtype_of(x) != dtype_of(y):
            raise Apart(f"{what}: dtype {dtype_of(y)}, torch {dtype_of(x)}")
        allowed = tolerance or TOLERANCE.get(dtype_of(x), 0)
        if unset:
            continue
        if not np.allclose(plain(y), plain(x), rtol=allowed, atol=allowed, equal_nan=True):
            raise Apart(f"{what}:\n{plain(y)}\ntorch\n{plain(x)}")


def same(theirs, ours):
    """Return whether two things that are no tensors agree."""
    return ours == theirs or handed(theirs) == ours or np.allclose(ours, theirs, equal_nan=True)


def text(sample):
    """Return a sample in few words."""

    def short(v):
        if isinstance(v, torch.Tensor):
            return f"{dtype_of(v)}{list(v.shape)}"
        if isinstance(v, (tuple, list)):
            return f"({', '.join(map(short, v))})"
        return str(v)

    given = [short(sample.input), *map(short, sample.args), *(f"{k}={short(v)}" for k, v in sample.kwargs.items())]
    return f"({', '.join(given)})"[:300]


def kind_of(e):
    """Return the built-in type of an exception, of either library."""
    return next(kind for kind in type(e).__mro__ if kind.__module__ == "builtins")


# ---------------------------------------------------------------------- what is left out
def name_of(op):
    """Return an entry's name with its variant."""
    return op.name + (f".{op.variant_test_name}" if getattr(op, "variant_test_name", "") else "")


@cache
def left_out():
    """(entry, check) -> reason."""
    table, reason = {}, ""
    for line in REASONS.strip().splitlines():
        checks, _, names = line.partition(":")
        if not line.startswith(" "):
            reason = line
            continue
        for key in itertools.product(names.split(), checks.split()):
            assert key not in table, f"{' '.join(key)} stands in two lines"
            table[key] = reason
    return table


def unset(op):
    """Return whether the values are those of memory that was never written."""
    return op.name in UNSET


# ---------------------------------------------------------------------- the tests
@cache
def counts():
    """Return the counts of the last written table."""
    return json.loads(COUNTS.read_text(encoding="utf-8"))


def cases(database, entries, checks):
    """Return a test of each check that compares something, or is left out: pytest's parameters (entry, check)."""
    known = counts()[database]
    made = []
    for entry in entries:
        name = name_of(entry)
        for check in checks:
            reason = left_out().get((name, check))
            marks = [pytest.mark.xfail(strict=True, reason=reason)] if reason else []
            if reason or known.get(name, {}).get(check):
                made.append(pytest.param(entry, check, marks=marks, id=f"{name}-{check}"))
    return made


def judge(database, entry, check, function):
    """Run a check, and see that it compares as many samples as the table in the documentation has."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        n = function(entry)
    written = counts()[database].get(name_of(entry), {}).get(check, 0)
    assert n == written, f"{n} samples were compared, the table has {written}: run python -m tests.parity.count"
