"""Text formats: the drawing for terminals, Mermaid, and what --show and --rankdir do in them and in JSON."""

import json
import re

import pytest

import viz
from viz.drawn_graph import SHOW

from . import records
from .test_pictures import HOSTILE


def nodes_of(mermaid):
    return dict(re.findall(r"^ *(\w+?)(?:\(\[|\{\{|\[\[|\[\(|\[|\(|>)\"(.*?)\"", mermaid, re.M))


def test_the_text_drawing_tells_every_node_and_every_number():
    text = viz.draw(records.two_uses(), passes="all").text()
    for part in (
        "◆  w  parameter",
        "○  x  input",
        "■  mul(w, x)  w * x",
        "h = 0.6044",
        "grad = 1.239",
        "sum of 2 contributions: 0.6347 + 0.6044",
        "tangent = 1.269",
        "back to v4: 0.5 × (1 - h * h) = 0.3174",
        "net.py:2  y = h * w",
    ):
        assert part in text


def test_the_text_drawing_holds_only_the_passes_that_are_asked_for():
    text = viz.draw(records.two_uses(), passes="forward").text()
    assert "h = 0.6044" in text and "grad =" not in text and "tangent =" not in text


def test_lines_run_from_a_value_to_its_last_use():
    lines = viz.draw(records.two_uses()).text().splitlines()
    first, last = (next(i for i, line in enumerate(lines) if word in line) for word in ("w  parameter", "mul(h, w)"))
    assert all(line[0] in "│├" for line in lines[first + 1 : last]) and lines[last].startswith("■")
    assert [line for line in lines if line.startswith(("├", "╰"))] == ["├─┤", "├─╯"]


def test_several_results_get_a_line_each():
    text = viz.draw(records.odd()).text()
    assert re.search(r"▣  Split\(y₂\)\n│ │ ├─╮\n", text)


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
    assert text.startswith("flowchart BT\n") and 'op_2 -->|"0.5 × (1 - h #42; h) = 0.3174"| op_1' in text


def test_mermaid_has_a_subgraph_for_each_pass():
    text = viz.draw(records.two_uses(), passes="all").mermaid()
    assert re.findall(r"subgraph (\w+)", text) == ["forward", "backward", "jvp"] and text.count("\n  end\n") == 3


def test_mermaid_tells_kinds_by_shape_and_class():
    text = viz.draw(records.mlp()).mermaid()
    for part in (
        '(["images',
        '{{"hidden.weight',
        '[["Softclip',
        ":::function",
        "classDef parameter",
        "class op_3 output",
    ):
        assert part in text


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_no_text_of_the_user_breaks_mermaid_or_the_terminal(text):
    record = records.two_uses()
    for value in record["values"]:
        value["name"] = text
    for op in record["ops"]:
        op.update(name=text, formula=text, function=text, layer=[text], where={"file": text, "line": 1, "code": text})
    record["program"].update(name=text, file=text)
    drawing = viz.draw(record, passes="all")
    mermaid = drawing.mermaid()
    labels = nodes_of(mermaid)
    assert len(labels) == 3 * 7 and not any(set('"<>`') & set(label.replace("<br/>", "")) for label in labels.values())
    assert drawing.text().replace("\n", "").isprintable()


NEEDED = {
    "values": "y = 0.3022",
    "grads": "0.3174",
    "shapes": "float32 ()",
    "saved": "saved for backward: h",
    "lines": "net.py:1",
}


@pytest.mark.parametrize("part", SHOW)
@pytest.mark.parametrize("form", ["svg", "dot", "mermaid", "text", "film"])
def test_what_is_not_to_be_shown_is_in_no_format(part, form):
    def made(show):
        text = getattr(viz.draw(records.two_uses(), passes="all", show=show), form)()
        return re.sub(r"#160;|\u00a0", " ", text)

    assert NEEDED[part] in made(SHOW)
    assert NEEDED[part] not in made([one for one in SHOW if one != part])


@pytest.mark.parametrize("part", SHOW)
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


@pytest.mark.parametrize("way", ["TB", "BT", "LR", "RL"])
def test_the_way_is_told_to_graphviz_and_mermaid(way):
    drawing = viz.draw(records.two_uses(), rankdir=way)
    assert f"rankdir={way}" in drawing.dot() and drawing.mermaid().startswith(f"flowchart {way}\n")


def test_an_unknown_part_or_way_is_refused():
    with pytest.raises(ValueError, match="no part is called 'colours'. There are values, grads"):
        viz.draw(records.two_uses(), show=["colours"])
    with pytest.raises(ValueError, match="'UP'"):
        viz.draw(records.two_uses(), rankdir="UP")
