"""The texts in records of PyTorch programs run: each formula gives the number that PyTorch computes beside it."""

import re

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import viz
from minigrad.core.tensor import wrap
from minigrad.ops.base.registry import TABLE
from minigrad.record import schema
from minigrad.testing.samples import Maker
from tests.formulas.evaluated import NAMES
from tests.table import SMOOTH, call, floats

from .test_table import peer

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(autouse=True)
def whole(monkeypatch):
    """All values stand in the records, so that formulas can be evaluated."""
    monkeypatch.setattr(schema, "WHOLE", 10**6)


def array(value):
    return np.array(value.summary["values"], value.dtype.replace("bfloat16", "float32")).reshape(value.shape)


def same(found, value, text):
    expected = array(value)
    assert tuple(found.shape) == expected.shape, text
    assert np.allclose(found.detach().numpy(), expected, 1e-4, 1e-5, equal_nan=True), text


def check(record):
    """Evaluate what a record says; return the edges that it says nothing of."""
    labels = {v.label: wrap(array(v)) for v in record.values}
    silent = []
    for op in record.ops:
        for edge in op.edges:
            if not edge.formula:
                silent.append(edge)
                continue
            given = [wrap(np.zeros_like(array(record.values[o]))) if u is None else wrap(array(record.values[u]))
                     for u, o in zip(edge.upstreams, op.outputs)]  # fmt: skip
            names = {**NAMES, **labels, "g": given[0] if len(given) == 1 else given}
            same(eval(edge.formula, names), record.values[edge.gives], edge.formula)
            assert edge.latex.startswith(r"\bar{") or len(edge.formula) > 2000  # too long to typeset
        tangents = {f"d{record.values[v].label}": wrap(array(record.values[t])) for v, t in op.tangents.items()}
        for push in op.pushes:
            tangent = record.values[op.tangents[push["output"]]]
            same(eval(push["formula"], {**NAMES, **labels, **tangents}), tangent, push["formula"])
        if op.phase == "forward":
            assert op.call and op.call.count("(") == op.call.count(")")
    return silent


def recorded(name, sample):
    """Return the record of PyTorch's operation on a sample of the table; None where nothing is differentiated."""
    entry = TABLE[name]
    maker = Maker(torch, entry, sample)
    eval(f"(lambda *a, **k: None)({sample})", {"torch": torch, **{n: getattr(maker, n) for n in "TPISB"}})
    leaves = [t.detach().requires_grad_() for t in maker.leaves]

    def run(*given):
        result, _ = call(torch, peer(entry), entry, sample, leaves=list(given))
        return [t for t in floats(result) if t.requires_grad] or leaves

    return viz.from_torch(run, *leaves) if leaves else None


# where minigrad's formula speaks of indices or parts that it computes itself, or PyTorch takes an operation apart
SILENT = set(
    """adaptive_max_pool1d adaptive_max_pool2d broadcast_tensors cholesky_inverse cholesky_solve col2im cummax cummin im2col
    linalg.matrix_norm linalg.norm matrix_power max max_pool1d max_pool2d max_pool3d median
    adaptive_max_pool3d entr erfcx i0 i0e i1 i1e linalg.cholesky_ex linalg.inv_ex linalg.lstsq linalg.lu_factor_ex
    linalg.solve_ex log_ndtr lu_unpack ndtr ndtri xlog1py zeta embedding_bag min mode nanmedian sort topk""".split()
)
REFUSED = {("max", "T(0, 3), 1"), ("min", "T(0, 3), 1")}


@pytest.mark.parametrize("name", [n for n in SMOOTH if not TABLE[n].differs])
def test_formulas_of_operations_give_the_numbers(name):
    for sample in TABLE[name].samples:
        try:
            record = recorded(name, sample)
        except IndexError:  # PyTorch refuses the backward of nothing
            continue
        assert record is None or not check(record) or name in SILENT


def said(f, *args):
    """Return the calls and the formulas of a program."""
    ops = [op for op in viz.from_torch(f, *args).ops if op.phase == "forward"]
    return [(op.call, *[edge.formula for edge in op.edges]) for op in ops]


def test_calls_are_as_they_were_written():
    def f(x, index):
        y = x[1:, index].view(2, -1).float()
        y = torch.cat([y, y.sum(0, keepdim=True)])
        return F.softmax(y, dim=-1).T.mul(2).clamp_min(0.1)

    calls = [call for call, *_ in said(f, torch.rand(3, 2), torch.tensor([0, 1]))]
    assert [re.sub(r"v\d+", "v", call) for call in calls] == [
        "x[1:, index]", "v.view(2, -1)", "v.sum(dim=0, keepdim=True)", "cat([v, v])", "softmax(y, dim=-1)", "v.T", "v * 2",
        "v.clamp_min(0.1)",
    ]  # fmt: skip


def test_what_minigrad_has_not_is_called_by_pytorchs_name():
    assert said(lambda x: torch.special.bessel_j0(x), torch.tensor([1, 2]))[0][0] == "special_bessel_j0(x)"
    cell = torch.nn.RNNCell(2, 2)
    assert said(cell, torch.ones(1, 2))[0][0].startswith("rnn_tanh_cell(input, v")


def test_attention_is_looked_into():
    layer = torch.nn.MultiheadAttention(4, 2, bias=False)
    x = torch.rand(3, 1, 4)
    record = viz.from_torch(lambda x: layer(x, x, x, need_weights=False)[0], x)
    names = [op.name for op in record.ops if op.phase == "forward"]
    assert "scaled_dot_product_attention" in names and names.count("linear") == 2 and not check(record)[3:]
    assert {op.module[-1] for op in record.ops} == {"MultiheadAttention"}
    assert "bmm" in [op.name for op in viz.from_torch(lambda x: layer(x, x, x)[0], x).ops]


def test_dropout_multiplies_by_what_it_keeps():
    torch.manual_seed(0)
    record = viz.from_torch(lambda x: F.dropout(x, 0.5) * x, torch.ones(4))
    (edge,) = record.ops[0].edges
    assert edge.formula == "g * v2" and record.ops[0].pushes[0]["formula"] == "x_t * v2" and not check(record)


def test_under_vmap_formulas_are_those_of_one_example():
    rows, w = torch.rand(3, 2), torch.rand(3)
    slope = torch.func.grad(lambda row: (row @ w).sin() * row.sum())
    record = viz.from_torch(lambda: torch.vmap(slope, 1)(rows))
    formulas = [edge.formula for op in record.ops if op.name in ("matmul", "sum") for edge in op.edges]
    assert [re.sub(r"v\d+", "v", formula) for formula in sorted(formulas)] == ["g * w", "g.expand(3)"]


def test_gradients_that_are_rounding_alone_have_their_formulas():
    layer = torch.nn.LayerNorm(4)
    record = viz.from_torch(lambda x: layer(x).sum(), torch.rand(2, 4))
    assert not check(record)


def test_half_precision_and_complex_numbers_do_not_fail():
    assert all(
        formula
        for _, *formulas in said(lambda x: x * x + x, torch.ones(3, dtype=torch.bfloat16))
        for formula in formulas
    )
    assert said(lambda x: torch.complex(x, x).abs(), torch.ones(2))[0][0] == "complex(x, x)"


def test_minigrads_random_numbers_and_warnings_stay_as_they_were(recwarn):
    import minigrad

    minigrad.manual_seed(1)
    first = minigrad.rand(1).item()
    minigrad.manual_seed(1)
    viz.from_torch(lambda x: F.dropout(x, 0.5), torch.ones(4))
    assert minigrad.rand(1).item() == first and not recwarn.list
