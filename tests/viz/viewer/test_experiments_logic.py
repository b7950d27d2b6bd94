"""The numbers of the viewer's experiments, computed in Node: steps downhill, differences, and mistakes in formulas."""

import json
import re
import subprocess
from copy import deepcopy
from pathlib import Path

import numpy as np
import pytest

import minigrad
from minigrad import tensor
from tests.functions import custom
from tests.mistakes import collection
from tests.recompute.node import node
from viz.recompute.library import script
from viz.recompute.record import live_record

from . import programs
from .linked import data

VIEWER = Path(minigrad.__file__).parents[1] / "viz" / "viewer"
FUNCTIONS = "descended, forwardDifferences, objective, comparisons, mistakesOf, MISTAKES"
NUMBER = "const number = (x, digits = 4) => String(Number(x.toPrecision(digits)));"


@pytest.fixture(scope="module")
def ask(tmp_path_factory):
    """Return a function that calls one of the viewer's functions for a record."""
    files = [(VIEWER / f"{name}.js").read_text() for name in ("differences", "mistakes")]
    path = tmp_path_factory.mktemp("node") / "experiments.js"
    path.write_text("\n".join([script(), NUMBER, *files, f"return {{ live, functions: {{ {FUNCTIONS} }} }};"]))

    def ask(name, record, *more, **options):
        live = live_record(deepcopy(record)) if "schema" in record else record
        question = {"name": name, "record": live, "more": more, "options": options}
        command = [node(), str(Path(__file__).parent / "experiments.mjs"), str(path)]
        done = subprocess.run(command, input=json.dumps(question), capture_output=True, text=True, check=False)
        assert not done.stderr, done.stderr
        return json.loads(done.stdout)

    return ask


def loss(w, b, x):
    return ((minigrad.tanh(x @ w + b) - 0.5) ** 2).sum()


def leaves(dtype="float32"):
    values = [[0.5, -0.7], [0.1, 0.2]], [0.3, -0.1]
    w, b = [tensor(v, dtype=getattr(minigrad, dtype), requires_grad=True) for v in values]
    return w, b, tensor([[1.0, 2.0], [0.5, -1.0], [3.0, 0.2]], dtype=w.dtype)


def test_a_step_downhill_is_that_of_a_training_loop(ask):
    w, b, x = leaves()
    record = programs.recorded(loss, w, b, x)
    moved = ask("descended", record, 0.3)
    loss(w, b, x).backward()
    found = [moved[str(v["id"])] for v in record["values"] if v["kind"] == "parameter"]
    assert len(found) == 2
    for p, next_p in zip((w, b), found, strict=True):
        np.testing.assert_allclose(next_p, (p - 0.3 * p.grad).detach().numpy(), 2e-6)


@pytest.mark.parametrize("h", [1.0, 1e-2, 1e-4, 1e-6])
def test_a_finite_difference_is_taken_in_the_dtype_of_the_program(ask, h):
    w, b, x = leaves()
    (found,) = ask("forwardDifferences", programs.recorded(loss, w, b, x), h)
    along = minigrad.ones_like(w), minigrad.ones_like(b)  # the record's direction, for all leaves that require grad
    with minigrad.no_grad():
        ratio = (loss(w + h * along[0], b + h * along[1], x) - loss(w, b, x)) / h
    _, tangent = minigrad.func.jvp(lambda w, b: loss(w, b, x), (w, b), along)
    rounding = 2 * float(loss(w, b, x).detach()) * 2**-23 / h  # of the last bit of either loss
    assert found["ratio"] == pytest.approx(ratio.item(), rel=1e-5, abs=rounding)
    assert found["error"] == pytest.approx(abs(found["ratio"] - found["tangent"]), rel=1e-5)
    assert found["tangent"] == pytest.approx(tangent.item(), rel=1e-5)


def test_the_difference_shrinks_with_h_and_grows_again_when_digits_run_out(ask):
    record = programs.recorded(loss, *leaves())
    errors = [ask("forwardDifferences", record, h)[0]["error"] for h in (1.0, 1e-3, 1e-8)]
    assert errors[1] < errors[0] / 100 and errors[1] < errors[2] / 100


def test_backward_starts_from_the_sum_of_an_output_with_several_elements(ask):
    x = tensor([1.0, 2.0, 4.0], requires_grad=True)
    assert ask("objective", programs.recorded(lambda x: x * x, x)) == 21


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_gradients_agree_with_central_differences(ask, dtype):
    found = ask("comparisons", programs.recorded(loss, *leaves(dtype)))
    assert [(one["label"], one["state"]) for one in found] == [("w", "agrees"), ("b", "agrees")]


def test_a_comparison_that_passes_a_limit_of_the_page_says_which(ask):
    found = ask("comparisons", programs.recorded(loss, *leaves()), limits={"calls": 140})
    assert [(one["label"], one["state"]) for one in found] == [("w", "unknown"), ("b", "agrees")]
    assert found[0]["by"] == "the computation makes more than 140 calls"


def test_a_formula_too_long_to_read_has_no_mistakes_to_choose(ask):
    live = data("cube")["live"]
    known = [found for op in ask("mistakesOf", live) for found in op]
    assert any(known)
    for edge in (edge for op in live["ops"] for edge in op["edges"] if edge["formula"]):
        edge["formula"] = " + ".join([edge["formula"]] * 2000)
    assert not any(found for op in ask("mistakesOf", live) for found in op)


def test_large_leaves_are_not_compared(ask):
    x = minigrad.ones(33, requires_grad=True)
    record = minigrad.record(lambda x: (x * x).sum(), x, contents=True).to_dict()
    (found,) = ask("comparisons", record)
    assert (found["state"], found["by"]) == ("unknown", "it has more than 32 elements")


def test_a_detached_path_is_a_difference(ask):
    x = tensor([1.0, 3.0], requires_grad=True)
    (found,) = ask("comparisons", programs.recorded(lambda x: (x * x.detach()).sum(), x))
    assert (found["state"], found["by"]) == ("differs", "by a factor of 0.5")


def test_each_mistake_is_in_the_collection(ask):
    record = programs.recorded(loss, *leaves())
    assert set(ask("names", record)) <= {mistake.name for mistake in collection()}


FORMULAS = {
    "grad_output * dx + grad_dx * 6 * x": {
        "without grad_output and grad_dx": "dx + 6 * x",
        "with the wrong sign": "-(grad_output * dx + grad_dx * 6 * x)",
        "without a factor": "grad_output * dx + grad_dx * x",
        "without the last term": "grad_output * dx",
        "with the gradients of two outputs exchanged": "grad_dx * dx + grad_output * 6 * x",
        "with input and output confused": "grad_output * dx + grad_dx * 6 * y",
    },
    "(grad_output * 2 ** x).sum(dim=(0, 1), keepdim=True)": {
        "without grad_output": "(2 ** x).sum(dim=(0, 1), keepdim=True)",
        "with the wrong sign": "-((grad_output * 2 ** x).sum(dim=(0, 1), keepdim=True))",
        "without the sum over the broadcast dimension": "(grad_output * 2 ** x)",
        "with input and output confused": "(grad_output * 2 ** y).sum(dim=(0, 1), keepdim=True)",
    },
    "-grad_output @ dx.T": {
        "without grad_output": "-ones(2, dtype=float32) @ dx.T",
        "with the wrong sign": "grad_output @ dx.T",
        "without the transpose": "-grad_output @ dx",
        "with input and output confused": "-grad_output @ x.T",
    },
    "2 * x.exp() * grad_output": {
        "without grad_output": "2 * x.exp()",
        "with the wrong sign": "-(2 * x.exp() * grad_output)",
        "without a factor": "x.exp() * grad_output",
        "with input and output confused": "2 * y.exp() * grad_output",
    },
}


@pytest.mark.parametrize("formula", FORMULAS)
def test_mistakes_change_only_formulas_to_which_they_apply(ask, formula):
    labels = {"x": 0, "y": 1, "dx": 2, "grad_output": 3, "grad_dx": 4}
    values = [
        {"id": i, "label": label, "kind": "computed", "shape": [2], "dtype": "float32"} for label, i in labels.items()
    ]
    names = {name: i for name, i in labels.items() if name in re.findall(r"\w+", formula)}
    edge = {"input": 0, "formula": formula, "names": names, "gives": 4, "upstream": 3}
    op = {"id": 0, "phase": "forward", "inputs": [0], "outputs": [1, 2], "edges": [edge]}
    op |= {"call": "", "pushes": [], "tangents": {}}
    made = {"values": values, "ops": [op], "outputs": [1], "gradients": {"1": 3, "2": 4}}
    [[found]] = ask("mistakesOf", made)
    assert {one["title"]: one["shown"] for one in found} == FORMULAS[formula]
    assert all(one["formula"].endswith(".sum_to_size(2)") for one in found)


AddColumn = custom(
    "AddColumn", forward=lambda ctx, x, column: x + column[:, None], backward=lambda ctx, g: (g, g.sum(1))
)


def cube(x, column):
    y, dx = programs.MyCube.apply(x)
    return (AddColumn.apply(y * dx, column) ** 2).mean()


def cube_record():
    x, column = tensor([[1.0, 0.5, -0.3], [2.0, -1.0, 0.4]]), tensor([0.5, 0.2])
    return programs.recorded(cube, x, column, passes=("forward", "backward"))


VERDICTS = {
    "": {"x": "agrees", "column": "agrees"},
    "without grad_output and grad_dx": {"x": "differs", "column": "agrees"},
    "with the wrong sign": {"x": "differs by its sign", "column": "agrees"},
    "without a factor": {"x": "differs", "column": "agrees"},
    "without the last term": {"x": "differs", "column": "agrees"},
    "with the gradients of two outputs exchanged": {"x": "differs", "column": "agrees"},
    "with input and output confused": {"x": "differs", "column": "agrees"},
}


@pytest.mark.parametrize("title", VERDICTS)
def test_finite_differences_find_a_mistake_in_a_function(ask, title):
    record = cube_record()
    (op,) = [op["id"] for op in record["ops"] if op["function"] == "MyCube" and op["phase"] == "forward"]
    made = [one for one in ask("mistakesOf", record)[op][0] if one["title"] == title]
    assert len(made) == bool(title)
    options = {"formulas": {f"{op}:0": one["formula"]}, "names": one["names"]} if (one := (made or [None])[0]) else {}
    found = ask("comparisons", record, **options)
    for one in found:
        assert f"{one['state']} {one['by']}".startswith(VERDICTS[title][one["label"]])


def test_a_gradient_without_its_sum_has_a_wrong_shape(ask):
    record = cube_record()
    (op,) = [op["id"] for op in record["ops"] if op["function"] == "AddColumn" and op["phase"] == "forward"]
    (missing,) = [one["formula"] for one in ask("mistakesOf", record)[op][1] if one["name"] == "gradient_not_summed"]
    found = {one["label"]: one["state"] for one in ask("comparisons", record, formulas={f"{op}:1": missing})}
    assert found == {"x": "agrees", "column": "impossible"}


def test_a_forgotten_tensor_makes_the_gradients_behind_it_impossible(ask):
    record = cube_record()
    op, x = next((op["id"], op["inputs"][0]) for op in record["ops"] if op["function"] == "MyCube")
    found = {one["label"]: one for one in ask("comparisons", record, forgotten=[f"{op}:{x}"])}
    assert found["column"]["state"] == "agrees" and found["x"]["state"] == "impossible"
    assert found["x"]["by"] == "the saved tensor x is forgotten"
