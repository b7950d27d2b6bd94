"""A record can have all elements of the values from which a program is computed again."""

import base64

import numpy as np
import pytest

import minigrad
import viz
from minigrad import nn
from minigrad.nn import functional as F
from minigrad.record.contents import SIZES
from minigrad.record.validate import NotARecord, validate
from tests.functions import custom
from viz.graph.trimmed_record import leading_to_outputs


def numbers(*shape, dtype="float32"):
    return minigrad.tensor(np.random.default_rng(0).normal(size=shape).astype(dtype))


def contents(record):
    """Return the elements of a record's values by their labels, as arrays."""
    values = {str(value["id"]): value for value in record["values"]}
    found = {}
    for key, text in record["contents"].items():
        value = values[key]
        array = np.frombuffer(base64.b64decode(text), np.dtype(value["dtype"]).newbyteorder("<"))
        found[value["label"]] = array.reshape(value["shape"])
    return found


def recorded(f, *args, **options):
    record = minigrad.record(f, *args, contents=True, **options).to_dict()
    validate(record)
    return record


Cube = custom(
    "Cube",
    forward=lambda ctx, x: ctx.save_for_backward(x) or minigrad.tensor(x.numpy() ** 3),
    backward=lambda ctx, g: minigrad.tensor(3 * ctx.saved_tensors[0].numpy() ** 2 * g.numpy()),
)


# ---------------------------------------------------------------------- which values
def test_leaves_have_their_elements_in_their_dtype_row_by_row():
    w, x, i = numbers(4, 5, dtype="float64").requires_grad_(), numbers(5, 4).T, minigrad.arange(20).reshape(4, 5)
    found = contents(recorded(lambda w, x, i: w * x + i, w, x, i))
    for label, t in {"w": w.detach(), "x": x, "i": i}.items():
        assert found[label].tolist() == t.tolist()
        assert str(found[label].dtype) == t.dtype.name


def test_values_that_expressions_give_are_left_out():
    w = numbers(4, 5).requires_grad_()
    found = contents(recorded(lambda w: (w.exp() * w + w).sum(), w))
    assert sorted(found) == ["w", "w_t"]  # w's gradient is the sum of three parts, which formulas give


def test_the_gradient_with_which_backward_begins_has_its_elements():
    seed = np.arange(20.0).reshape(4, 5)
    found = contents(recorded(lambda w: w.exp(), numbers(4, 5).requires_grad_(), grad=seed, passes="backward"))
    assert found["v0_grad"].tolist() == seed.tolist()


def test_a_gradient_that_a_hook_replaces_has_its_elements():
    def f(w):
        h = w.exp()
        h.register_hook(lambda g: g * 100)
        return h.sum()

    found = contents(recorded(f, numbers(4, 5).requires_grad_(), passes="backward"))
    assert found["h_grad"].max() == 100


def test_random_numbers_and_the_results_of_operations_that_draw_them_have_their_elements():
    record = recorded(lambda x: F.dropout(x, 0.5) * minigrad.rand(4, 5), numbers(4, 5), passes=())
    dropout = next(op for op in record["ops"] if op["name"] == "dropout")
    kept = set(map(int, record["contents"]))
    assert {*dropout["inputs"], *dropout["outputs"]} <= kept
    assert len(kept) == 4  # with x, and the factor


def test_all_that_a_function_in_numpy_computes_has_its_elements():
    record = recorded(lambda x: Cube.apply(x).sum(), numbers(4, 5).requires_grad_(), passes="backward")
    op = next(op for op in record["ops"] if op["function"] == "Cube")
    assert {*op["outputs"], *(edge["gives"] for edge in op["edges"])} <= set(map(int, record["contents"]))


def test_tensors_that_are_only_saved_have_their_elements():
    record = recorded(lambda x: F.layer_norm(x, (5,)).sum(), numbers(30, 5).requires_grad_(), passes="backward")
    saved = [value["id"] for value in record["values"] if value["shown"].startswith(("x.mean(", "x.var("))]
    assert len(saved) == 2 and set(saved) <= set(map(int, record["contents"]))


@pytest.mark.parametrize(("elements", "there"), [(16, False), (17, True), (4096, True), (4097, False)])
def test_the_summary_has_few_elements_and_nothing_has_many(elements, there):
    assert bool(recorded(lambda x: x.exp(), numbers(elements), passes=())["contents"]) is there


@pytest.mark.parametrize("dtype", SIZES)
def test_every_dtype_has_its_bytes(dtype):
    x = minigrad.ones(3, 7).to(getattr(minigrad, dtype)).T
    record = recorded(lambda x: x.reshape(3, 7), x, passes=())
    assert len(base64.b64decode(next(iter(record["contents"].values())))) == 21 * SIZES[dtype]
    if dtype == "bfloat16":
        assert base64.b64decode(record["contents"]["0"])[:2] == b"\x80\x3f"


def test_parameters_have_their_elements_although_their_initialization_is_recorded():
    record = recorded(lambda: nn.Linear(5, 4)(numbers(3, 5)).sum(), passes="backward")
    weights = {
        str(value["id"])
        for value in record["values"]
        if value["name"].endswith("weight") or value["kind"] == "parameter"
    }
    large = {str(value["id"]) for value in record["values"] if value["bytes"] > 64}
    assert weights & large and weights & large <= record["contents"].keys()


# ---------------------------------------------------------------------- at which moment
def test_a_leaf_that_is_written_keeps_the_elements_it_had():
    x = numbers(4, 5)
    before = x.tolist()

    def f(x):
        y = x.exp()
        x.zero_()
        return y + x

    assert contents(recorded(f, x, passes=()))["x"].tolist() == before


def test_a_view_of_foreign_memory_that_is_written_keeps_the_elements_it_had():
    a = np.arange(40, dtype=np.float32).reshape(2, 20)
    x = minigrad.from_numpy(a)[1]

    def f(x):
        y = x.exp()
        x.add_(1)
        return y

    assert contents(recorded(f, x, passes=()))["x"][0] == 20


# ---------------------------------------------------------------------- on request
def test_without_contents_there_are_none_and_everything_else_is_the_same():
    w = numbers(4, 5).requires_grad_()
    rec = minigrad.record(lambda w: w.exp().sum(), w)
    plain, full = rec.to_dict(), rec.to_dict(contents=True)
    assert plain["contents"] == {} and full["contents"]
    assert {**full, "contents": {}} == plain == rec.to_dict()


def test_drawings_have_contents_in_json():
    import json

    record = json.loads(viz.draw(lambda w: w.exp().sum(), numbers(4, 5).requires_grad_()).rendered(".json"))
    validate(record)
    assert "w" in contents(record)


@pytest.mark.parametrize(("show", "left"), [("grads", {"w_t"}), ("values,grads,lines", {"w", "w_t"}), ("lines", set())])
def test_hidden_parts_have_no_contents(show, left):
    import json

    drawing = viz.draw(lambda w: w.exp().sum(), numbers(4, 5).requires_grad_(), passes="all", show=f"{show},shapes")
    assert set(contents(json.loads(drawing.rendered(".json")))) == left


def test_a_part_of_a_record_has_its_own_contents_and_reads():
    def program():
        other = (numbers(5, 5) * 2).exp()
        if other.sum() > 0:
            w = numbers(4, 5).requires_grad_()
        return w.exp().sum()

    record = recorded(program, passes=())
    part = leading_to_outputs(record)
    validate(part)
    assert len(record["contents"]) == 2 and len(part["contents"]) == 1
    assert len(record["reads"]) == 1 and part["reads"] == []


# ---------------------------------------------------------------------- damage
@pytest.mark.parametrize(
    ("damage", "words"),
    [
        ({"0": "AAAA"}, "contents.0: the text has 3 bytes, but shape [4, 5] of float32 has 80"),
        ({"0": "no base64!"}, "contents.0: the text is not base64"),
        ({"0": 3}, "contents.0: 3 is not a string"),
        ({"0": "A" * 100_000}, "contents.0: the text is too long"),
        ({"99": ""}, "contents: '99' is not a value"),
        ([], "contents: a list is not an object"),
    ],
)
def test_damaged_contents_are_refused(damage, words):
    record = recorded(lambda x: x.exp(), numbers(4, 5), passes=())
    with pytest.raises(NotARecord) as e:
        validate({**record, "contents": damage})
    assert str(e.value) == words


@pytest.mark.parametrize(
    ("field", "other", "words"),
    [("shape", [2**40], "more than 4,096 elements"), ("dtype", "complex64", "dtype"), ("dtype", "float64", "has 160")],
)
def test_contents_must_fit_their_value(field, other, words):
    record = recorded(lambda x: x.exp(), numbers(4, 5), passes=())
    record["values"][0][field] = other
    with pytest.raises(NotARecord, match=words):
        validate(record)
