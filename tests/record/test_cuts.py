"""Where no gradient passes: 20 kinds of cuts in records, pictures and explanations; tests/parity has them with PyTorch."""

from __future__ import annotations

import re

import numpy as np
import pytest

import minigrad
import viz
from minigrad.record.validate import validate


def detach(lib, x, w):
    c = x.detach()
    return (x * c * w).sum()


def detach_function(lib, x, w):
    return (lib.detach(x * 2) * w * x).sum()


def data(lib, x, w):
    return ((x * w).data * x).sum()


def detach_in_place(lib, x, w):
    h = x * w
    h.detach_()
    return (h * x + w).sum()


def frozen(lib, x, w):
    p = (x.detach() + 1).requires_grad_()
    y = p * w
    p.requires_grad_(False)
    return (y * p * x).sum()


def under_no_grad(lib, x, w):
    with lib.no_grad():
        h = x * w
    return (h * x).sum() + w.sum()


def grad_off(lib, x, w):
    with lib.set_grad_enabled(False):
        h = x.exp()
    return (h * x * w).sum()


def inference(lib, x, w):
    with lib.inference_mode():
        h = x * 2
    return (x + w + h).sum()


def argmax(lib, x, w):
    return (x * w * x.argmax()).sum()


def comparison(lib, x, w):
    mask = x > 1
    return (x * w * mask).sum()


def cast(lib, x, w):
    return (x * w * (x * 2).int()).sum()


def rounding(lib, x, w):
    return (x.round() * w + x).sum()


def floor(lib, x, w):
    return ((x * w).floor() * x + w).sum()


def sign(lib, x, w):
    return (x.sign() * w + x).sum()


def straight_through(lib, x, w):
    y = x + (x.round() - x).detach()
    return (y * y * w).sum()


def one_of_two_marked(lib, x, w):
    class Pair(lib.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            double, triple = a * 2, a * 3
            ctx.mark_non_differentiable(triple)
            return double, triple

        @staticmethod
        def backward(ctx, g, unused):
            return g * 2

    double, triple = Pair.apply(x)
    return (double * triple * w).sum()


def item(lib, x, w):
    return (x * w / (x * x).sum().item()).sum()


def numpy_memory(lib, x, w):
    return (x * w * lib.from_numpy((x * 3).detach().numpy())).sum()


def is_nan(lib, x, w):
    return (x * w * lib.isnan(x)).sum() + (x * w).sum()


def function_of_one_leaf(lib, x, w):
    return lib.func.grad(lambda a: (a * a.detach() * w.detach()).sum())(x.detach()).sum() + (x * w).sum()


CUTS = {
    detach: ("detach", "x.detach()"),
    detach_function: ("detach", "v0.detach()"),
    data: ("data", "v0.data"),
    detach_in_place: ("detach_", "h.detach_()"),
    frozen: ("requires_grad_", "p.requires_grad_(False)"),
    under_no_grad: ("no_grad", "no_grad"),
    grad_off: ("no_grad", "no_grad"),
    inference: ("inference_mode", "inference_mode"),
    argmax: ("argmax", "x.argmax()"),
    comparison: ("gt", "x > 1"),
    cast: ("to", ".to(int32)"),
    rounding: ("round", "x.round()"),
    floor: ("floor", "v0.floor()"),
    sign: ("sign", "x.sign()"),
    straight_through: ("detach", ".detach()"),
    one_of_two_marked: ("mark_non_differentiable", "mark_non_differentiable"),
    item: ("", ".item()"),
    numpy_memory: ("detach", ".detach()"),
    is_nan: ("isnan", "isnan"),
    function_of_one_leaf: ("detach", ".detach()"),
}
X, W = [0.4, 1.7], [2.0, -1.0]


def leaves(lib):
    return lib.tensor(X, requires_grad=True), lib.tensor(W, requires_grad=True)


def recorded(lib, program):
    x, w = leaves(lib)
    made = minigrad.record if lib is minigrad else viz.from_torch
    return made(lambda x, w: program(lib, x, w), x, w).to_dict()


def numbers(record, value):
    return None if value is None else np.array(record["values"][value]["summary"]["values"])


def same(found, expected):
    return expected is None if found is None else np.allclose(found, 0 if expected is None else expected, rtol=1e-5)


@pytest.fixture
def lib():
    return minigrad


kinds = pytest.mark.parametrize("program", CUTS, ids=lambda f: f.__name__)


@kinds
def test_a_cut_is_in_the_record_with_its_reason(lib, program):
    record = recorded(lib, program)
    validate(record)
    reason, _ = CUTS[program]
    assert reason in {op["cut"] for op in record["ops"] if op["phase"] == "forward"}
    if program is item:
        assert [read["how"] for read in record["reads"] if read["cut"]] == ["item"]


@kinds
def test_no_tangent_is_behind_a_cut_that_stops_tangents(lib, program):
    record = recorded(lib, program)
    of = {value: tangent for op in record["ops"] for value, tangent in op["tangents"].items()}
    for op in [
        op for op in record["ops"] if op["cut"] in ("detach", "data", "detach_", "requires_grad_", "inference_mode")
    ]:
        assert not [value for value in op["outputs"] if str(value) in of]
    for op in [op for op in record["ops"] if op["cut"] in ("argmax", "gt", "to", "isnan")]:
        assert not [value for value in op["outputs"] if str(value) in of]
    for op in [op for op in record["ops"] if op["cut"] in ("round", "floor", "sign")]:
        assert all(not numbers(record, of[str(o)]).any() for o in op["outputs"] if str(o) in of)


@kinds
def test_each_format_says_that_no_gradient_passes(lib, program):
    x, w = leaves(lib)
    passes = ("forward", "backward") if program in (one_of_two_marked, inference) else "all"
    drawing = viz.draw(lambda x, w: program(lib, x, w), x, w, passes=passes)
    _, call = CUTS[program]
    text = " ".join(drawing.text().replace("│", " ").split())
    sentences = re.findall(r"no gradient beyond here: (.+?), test_cuts.py:", text)
    assert "✂" in text and any(call in one for one in sentences)
    for made in (drawing.svg(), drawing.html(), drawing.dot(), drawing.mermaid(), drawing.json()):
        assert "cut" in made
    assert all("no gradient beyond here" in made for made in (drawing.svg(), drawing.dot(), drawing.mermaid()))
    assert r"\ding{34}" in drawing.tex()


explained = pytest.mark.parametrize("program", [detach, comparison, cast, straight_through], ids=lambda f: f.__name__)


@explained
def test_an_explanation_names_the_constant_and_the_cut(program):
    x, w = leaves(minigrad)
    record = minigrad.record(lambda x, w: program(minigrad, x, w), x, w)
    assert "no gradient beyond here" in str(minigrad.explain(record, of="x"))


def test_a_product_with_the_detached_factor_has_that_as_its_derivative():
    x = minigrad.tensor([1.0, 2.0], requires_grad=True)
    with minigrad.record(passes=("forward", "backward")) as rec:
        c = x.detach()
        y = x * c
        y.sum().backward()
    text = str(minigrad.explain(x.grad))
    assert "y = x * c" in text and "∂y/∂x = c" in text and "c = x.detach(): no gradient beyond here" in text
    assert rec


# ---------------------------------------------------------------------- memory that a detached tensor shares
def forward(rec):
    return [op for op in rec.to_dict()["ops"] if op["phase"] in ("forward", "update")]


def test_a_write_to_the_source_shows_in_the_detached_tensor():
    w = minigrad.tensor([1.0, 2.0], requires_grad=True)

    def program():
        y = w * 2
        c = y.detach()
        before = c + w
        y.add_(1)
        return (before * (c + w)).sum()

    record = minigrad.record(program).to_dict()
    assert [op["name"] for op in record["ops"] if op["phase"] == "forward"] == [
        *("mul", "detach", "add", "add", "detach", "add", "mul", "sum"),
    ]
    last = [op for op in record["ops"] if op["name"] == "detach"][-1]
    assert numbers(record, last["outputs"][0]).tolist() == [3.0, 5.0]


def test_a_write_to_the_detached_tensor_shows_in_the_source():
    w = minigrad.tensor([1.0, 2.0], requires_grad=True)

    def program():
        y = w * 2
        c = y.detach()
        before = c + w
        c.add_(1)
        return (before * c * (y + 0)).sum()

    record = minigrad.record(program).to_dict()
    (write,) = [op for op in record["ops"] if op["inplace"]]
    assert [numbers(record, o).tolist() for o in write["outputs"]] == [[3.0, 5.0]] * 2  # of c and of y
    assert [op["name"] for op in record["ops"]].count("detach") == 1


def test_a_training_step_that_writes_to_data_has_no_cut():
    w = minigrad.tensor([1.0, 2.0], requires_grad=True)

    def program():
        loss = (w * w).sum()
        loss.backward()
        w.data -= 0.1 * w.grad.data
        w.data.mul_(0.5)
        return (w * 3).sum()

    assert not [op for op in minigrad.record(program).to_dict()["ops"] if op["cut"]]


def test_optimizers_layers_and_shapes_are_no_cuts():
    net = minigrad.nn.Sequential(minigrad.nn.Linear(2, 3), minigrad.nn.BatchNorm1d(3), minigrad.nn.Dropout(0.5))
    optimizer = minigrad.optim.Adam(net.parameters())

    def program(x):
        loss = (net(x) + minigrad.zeros_like(net(x))).max(1)[0].sum()
        loss.backward()
        optimizer.step()
        return loss

    assert not [op["call"] for op in minigrad.record(program, minigrad.randn(4, 2)).to_dict()["ops"] if op["cut"]]


def test_what_needs_no_gradient_is_not_cut():
    x, y = minigrad.tensor([1.0]), minigrad.tensor([2.0], requires_grad=True)
    record = minigrad.record(lambda: (x.detach() * (x > 0) * x.data * y).sum()).to_dict()
    assert not [op for op in record["ops"] if op["cut"]]


def test_a_detached_tensor_that_nothing_uses_is_not_in_the_record():
    x = minigrad.tensor([1.0, 2.0], requires_grad=True)

    def program():
        y = x * 2
        shown = y.detach().numpy()
        assert y.sum().detach().item() == shown.sum()
        return y.sum()

    assert "detach" not in [op["name"] for op in minigrad.record(program).to_dict()["ops"]]


def test_detaching_twice_is_one_cut():
    x = minigrad.tensor([1.0, 2.0], requires_grad=True)
    record = minigrad.record(lambda: (x * x.detach().detach()).sum()).to_dict()
    (cut,) = [op for op in record["ops"] if op["cut"]]
    assert record["values"][cut["outputs"][0]]["shown"] == "x.detach()"
    assert record["values"][cut["outputs"][0]]["label"] == "x_detach"


def test_lines_of_numpy_are_a_cut_between_the_tensors_that_they_read_and_make():
    x = minigrad.tensor([1.0, 4.0], requires_grad=True)

    def program():
        h = x * 2
        a = h.detach().numpy()
        t = minigrad.tensor(np.sqrt(a))
        return (t * h).sum()

    record = minigrad.record(program).to_dict()
    (cut,) = [op for op in record["ops"] if op["cut"]]
    assert (cut["name"], cut["where"]["code"].strip()) == ("NumPy", "t = minigrad.tensor(np.sqrt(a))")
    assert [record["values"][i]["shown"] for i in (*cut["inputs"], *cut["outputs"])] == ["h", "t"]


def test_a_frozen_leaf_has_a_sentence_and_no_tangent():
    net = minigrad.nn.Linear(2, 1)
    frozen = minigrad.tensor([[1.0, 2.0]], requires_grad=True)

    def program():
        frozen.requires_grad_(False)
        return (net(frozen)).sum()

    text = " ".join(viz.draw(program, passes="all").text().replace("│", " ").split())
    assert "✂ no gradient beyond here: frozen.requires_grad_(False), test_cuts.py:" in text
    frozen.requires_grad_(True)


def test_debug_mode_notes_a_detach_that_a_recording_hears_of_too():
    x = minigrad.tensor([1.0], requires_grad=True)
    with minigrad.record(), minigrad.debug():
        y = x.detach()
    with (
        minigrad.debug(),
        pytest.raises(RuntimeError, match=r"detach returns a tensor of shape \(1,\) without its history"),
    ):
        (y * 2).sum().backward()
