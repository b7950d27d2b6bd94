"""Text formats: the drawing for terminals, Mermaid, and what --show and --rankdir do in them and in JSON."""

import json
import math
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import minigrad
import viz
from tests.browser import launched
from tests.formulas.test_programs import PROGRAMS
from tests.functions import custom
from viz.text import contents, gist, norm_of, number
from viz.view import SHOW

from . import records


def nodes_of(mermaid):
    return dict(re.findall(r"^ *(\w+?)(?:\(\[|\{\{|\[\[|\[\(|\[|\(|>)\"(.*?)\"", mermaid, re.M))


def test_the_text_drawing_tells_every_node_and_every_number():
    text = viz.draw(records.two_uses(), passes="all").text()
    for part in (
        "◆  w  leaf",
        "○  x  input",
        "■  mul  w * x",
        "h = 0.6044",
        "grad = 1.239",
        "sum of 2 contributions: 0.6347 + 0.6044",
        "tangent = 1.269",
        "back to v4: g * (1 - h ** 2) = 0.3174",
        "net.py:2  y = h * w",
    ):
        assert part in text


def test_the_text_drawing_holds_only_the_passes_that_are_asked_for():
    text = viz.draw(records.two_uses(), passes="forward").text()
    assert "h = 0.6044" in text and "grad =" not in text and "tangent =" not in text


def test_lines_run_from_a_value_to_its_last_use():
    lines = viz.draw(records.two_uses()).text().splitlines()
    first, last = (next(i for i, line in enumerate(lines) if word in line) for word in ("w  leaf", "mul  h * w"))
    assert all(line[0] in "│├" for line in lines[first + 1 : last]) and lines[last].startswith("■")
    assert [line for line in lines if line.startswith(("├", "╰"))] == ["├─┤", "├─╯"]


def test_several_results_get_a_line_each():
    text = viz.draw(records.odd()).text()
    assert re.search(r"▣  Split\(v3\)\n│ │ ├─╮\n", text)


def test_a_gradient_that_a_hook_changed_says_so():
    def f(x, hook):
        y = x * 2
        y.register_hook(hook)
        return (y * y).exp().sum()

    x = minigrad.tensor([1.0, -2.0], requires_grad=True)
    drawn = lambda hook: viz.draw(lambda x: f(x, hook), x, passes="backward").text()
    assert "changed by a hook" not in drawn(lambda grad: None)
    clamped = lambda x: (y := x.exp(), y.register_hook(lambda grad: grad.clamp(-1, 1)), y.square().sum())[-1]
    assert viz.draw(clamped, x, passes="backward").text().count("changed by a hook") == 1


@pytest.mark.parametrize("most", [None, 5])
@pytest.mark.parametrize("name", PROGRAMS)
def test_only_programs_with_hooks_have_gradients_that_a_hook_changed(name, most):
    program, x = PROGRAMS[name]
    drawn = viz.draw(program, x.clone(), passes="backward", open="none", max_nodes=most).text()
    assert ("changed by a hook" in drawn) == (name == "hooks")


def test_a_gradient_of_several_contributions_that_a_hook_changed_says_so():
    def f(x):
        y = x.exp()
        y.register_hook(lambda grad: grad.clamp(-1, 1))
        return (y * y + y.sin()).sum()

    said = viz.draw(f, minigrad.tensor([1.0, 2.0]), passes="backward").text()
    assert (
        said.index("sum of 3 contributions") < said.index("changed by a hook") and said.count("changed by a hook") == 1
    )


def test_an_accumulated_gradient_was_not_changed_by_a_hook():
    x = minigrad.tensor([1.0, -0.0], requires_grad=True)
    x.grad = minigrad.tensor([2.0, 3.0])
    assert (
        "changed by a hook"
        not in viz.draw(lambda x: (x * minigrad.tensor([1.0, -0.0])).sum(), x, passes="backward").text()
    )


def test_no_line_of_the_drawing_ends_in_blanks():
    assert not re.search(r" +$", viz.draw(records.odd()).text(), re.M)


def test_mermaid_has_a_node_for_each_card_and_an_edge_for_each_use():
    drawing = viz.draw(records.two_uses())
    text = drawing.mermaid()
    assert text.startswith("flowchart TB\n")
    assert set(nodes_of(text)) == {key.replace("-", "_") for key in drawing.cards}
    assert len(re.findall(r"^  \w+ --> \w+$", text, re.M)) == len(drawing.graph.edges)


def test_mermaid_turns_the_arrows_of_the_backward_pass():
    text = viz.draw(records.two_uses(), passes="backward").mermaid()
    assert text.startswith("flowchart BT\n") and 'op_2 -->|"g #42; (1 - h #42;#42; 2) = 0.3174"| op_1' in text


def test_mermaid_has_a_subgraph_for_each_pass():
    text = viz.draw(records.two_uses(), passes="all").mermaid()
    assert re.findall(r"subgraph (\w+)", text) == ["forward", "backward", "jvp"] and text.count("\n  end\n") == 3


def test_mermaid_tells_kinds_by_shape_and_class():
    text = viz.draw(records.mlp()).mermaid() + viz.draw(records.two_uses()).mermaid()
    for part in ('(["images', '{{"w', '[["Softclip', ":::function", "classDef parameter", "class op_3 output"):
        assert part in text


NEEDED = {
    "values": "y = 0.3022",
    "grads": "0.3174",
    "shapes": "float32 ()",
    "saved": "saved for backward: h",
    "lines": "net.py:1",
}


@pytest.mark.parametrize("part", sorted(NEEDED))
@pytest.mark.parametrize("form", ["svg", "dot", "mermaid", "text", "film"])
def test_what_is_not_to_be_shown_is_in_no_format(part, form):
    def made(show):
        text = getattr(viz.draw(records.two_uses(), passes="all", show=show), form)()
        return re.sub(r"#160;|\u00a0", " ", text)

    assert NEEDED[part] in made(SHOW)
    assert NEEDED[part] not in made([one for one in SHOW if one != part])


@pytest.mark.parametrize("part", sorted(NEEDED))
def test_json_leaves_out_what_is_not_to_be_shown(part):
    record = records.two_uses()
    less = json.loads(viz.draw(record, show=[one for one in SHOW if one != part]).json())
    assert [value["id"] for value in less["values"]] == [value["id"] for value in record["values"]]
    gone = {
        "values": not any(v["summary"] for v in less["values"] if v["kind"] not in ("gradient", "tangent")),
        "grads": not less["gradients"] and not any(op["edges"] or op["tangents"] for op in less["ops"]),
        "shapes": not any(v["bytes"] for v in less["values"]),
        "saved": not any(op["saved"] for op in less["ops"]),
        "lines": not any(op["where"]["code"] for op in less["ops"]),
    }
    assert gone[part] and sum(gone.values()) == 1
    viz.draw(less).svg()


Reading = custom("Reading", forward=lambda ctx, x: x * x.max().item(), backward=lambda ctx, g: g * 2)


def test_hidden_lines_are_gone_from_the_methods_of_functions():
    drawing = viz.draw(Reading.apply, minigrad.tensor([1.0, 2.0]), show=[one for one in SHOW if one != "lines"])
    text = drawing.json()
    assert "x.max().item()" not in text and "test_texts.py" not in text.partition('"values"')[2]
    (forward, *_) = json.loads(text)["ops"][0]["inside"]
    assert forward["ops"] and forward["reads"] and not any(op["where"]["line"] for op in forward["ops"])
    assert "Reading" in drawing.svg()


@pytest.mark.parametrize("way", ["TB", "BT", "LR", "RL"])
def test_the_way_is_told_to_graphviz_and_mermaid(way):
    drawing = viz.draw(records.two_uses(), rankdir=way)
    assert f"rankdir={way}" in drawing.dot() and drawing.mermaid().startswith(f"flowchart {way}\n")


@given(st.floats(-1e300, 1e300))
def test_a_number_is_short_and_within_half_of_its_fourth_digit(x):
    said = number(x)
    assert math.isclose(float(said), x, rel_tol=0.5001e-3) and len(said) <= 11
    assert said == "0" or float(said) != 0


def test_zero_has_no_sign_in_any_format():
    record = records.two_uses()
    for value in record["values"]:
        value["summary"] = {"values": -0.0}
    drawing = viz.draw(record, passes="all")
    for made in (drawing.svg(), drawing.film(), drawing.dot(), drawing.mermaid(), drawing.text()):
        assert not re.search(r"(?<![\w.])-0(?![\w.-])", re.sub(r'id="[^"]*"| (?:d|x|y)="[^"]*"', "", made))
    assert contents({"shape": [9], "summary": {"min": -0.0, "mean": -0.0, "max": 0.5}}) == "min 0  mean 0  max 0.5"


def test_a_small_gradient_beside_large_ones_keeps_its_size():
    assert contents({"shape": [3], "summary": {"values": [1.0, -1e-7, 0.25]}}) == "[1, -1e-7, 0.25]"


def test_a_large_value_beside_no_type_has_its_shape_and_least_mean_and_greatest():
    summary = {"min": -0.5, "mean": 1e-7, "max": 12345.6}
    assert gist({"shape": [8, 4], "summary": summary}) == "(8, 4)  min -0.5  mean 1e-7  max 12346"
    assert gist({"shape": [8, 4], "summary": {}}) == ""


def test_equal_elements_are_told_once_and_never_hide_what_is_not_finite():
    summary = {"min": 2.0, "mean": 2.0, "max": 2.0, "nan": 0}
    assert contents({"shape": [100], "summary": summary}) == "all 2"
    assert contents({"shape": [100], "summary": {**summary, "nan": 3}}) == "min 2  mean 2  max 2  nan 3×"


def test_the_viewer_writes_numbers_as_the_pictures_do():
    script = (Path(viz.__file__).parent / "viewer" / "model.js").read_text()
    function = re.search(r"^function number.*?^}", script, re.M | re.S)[0]
    numbers = [
        0.0,
        -0.0,
        1.0,
        -3.0,
        0.1,
        1 / 3,
        1e-4,
        1.23456e-5,
        -1e-7,
        999.96,
        9999.6,
        12345.6,
        1e7 - 1,
        1e7,
        -2.5e9,
        1e300,
    ]
    with launched() as browser:
        said = browser.new_page().evaluate(
            f"numbers => {{ const minus = (text) => text; {function}; return numbers.map((x) => [number(x), number(x, 3)]); }}",
            numbers,
        )
    assert said == [[number(x), number(x, 3)] for x in numbers]


def test_a_long_formula_stands_in_named_parts_whole():
    norm = minigrad.nn.LayerNorm(4)
    record = minigrad.record(norm, minigrad.randn(3, 4).requires_grad_(), passes=("forward", "backward", "jvp"))
    text = viz.draw(record, passes="backward").text()
    said = " ".join(text.replace("│", " ").split())
    assert "p = sqrt(input.var(1, correction=0, keepdim=True) + 1e-5)" in said and "…" not in said


def test_the_norm_of_complex_numbers_is_that_of_their_magnitudes():
    assert norm_of({"summary": {"values": ["(3+4j)", "12j"]}}) == 13
