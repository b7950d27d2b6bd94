"""The pictures: structure, contents and formats; never bytes or coordinates."""

import io
import json
import os
import re
import xml.etree.ElementTree as ET
import zlib

import numpy as np
import pytest

import minigrad
import viz
from minigrad import tensor

from . import records

SVG = "{http://www.w3.org/2000/svg}"


def tree(drawing):
    return ET.fromstring(drawing.svg())


def by_id(root):
    return {element.get("id"): element for element in root.iter() if element.get("id")}


def words(element):
    return " ".join("".join(text.itertext()) for text in element.iter(f"{SVG}text")).replace("\u00a0", " ")


@pytest.fixture
def backward():
    return by_id(tree(viz.draw(records.two_uses(), passes="backward")))


@pytest.mark.parametrize("name", ["forward", "backward", "jvp"])
def test_every_operation_value_and_edge_is_an_element_of_its_own(name):
    record = records.two_uses()
    elements = by_id(tree(viz.draw(record, passes=name)))
    for op in record["ops"]:
        assert elements[f"op-{op['id']}"].get("data-op") == str(op["id"])
        for slot, value in enumerate(op["inputs"]):
            edge = elements[f"edge-{value}-{op['id']}-{slot}"]
            assert (edge.get("data-value"), edge.get("data-op")) == (str(value), str(op["id"]))
    for value in range(7):
        assert elements[f"value-{value}"].get("data-value") == str(value)


@pytest.mark.parametrize("passes", ["forward", "all"])
def test_ids_are_unique(passes):
    ids = re.findall(r' id="([^"]*)"', viz.draw(records.two_uses(), passes=passes).svg())
    assert len(ids) == len(set(ids)) > 10


def test_an_operation_shows_formula_value_shape_saved_bytes_and_the_users_line():
    card = words(by_id(tree(viz.draw(records.two_uses())))["op-2"])
    for part in (
        "tanh (v4)",
        "h = 0.6044",
        "float32 ()",
        "saved for backward: h (4 B)",
        "net.py:1",
        "h = tanh(w*x + b)",
    ):
        assert part in card


def test_formulas_speak_of_the_operands_by_their_names():
    assert words(by_id(tree(viz.draw(records.two_uses())))["op-0"]).startswith("mul w * x")


def test_the_heading_of_a_jvp_pass_counts_no_bytes_for_backward():
    def counts(passes):
        drawing = viz.draw(records.two_uses(), passes=passes)
        return words(tree(drawing)).count("12 B saved for backward"), "saved for backward" in drawing.text()

    assert counts("jvp") == (0, False)
    assert counts(("backward", "jvp")) == (1, True)


def test_backward_edges_show_a_formula_and_what_it_gives(backward):
    assert words(backward["edge-4-2-0"]) == "g * (1 - h ** 2) = 0.3174"


def test_a_leaf_shows_its_gradient_and_the_sum_it_is(backward):
    assert "grad = 1.239" in words(backward["value-0"])
    assert "sum of 2 contributions: 0.6347 + 0.6044" in words(backward["value-0"])


def test_a_plus_marks_where_contributions_meet():
    root = tree(viz.draw(records.two_uses(), passes="backward"))
    assert [g.get("data-value") for g in root.iter(f"{SVG}g") if (g.get("class") or "").startswith("sum ")] == ["0"]


def test_the_backward_picture_says_where_it_starts(backward):
    assert "backward starts here" in words(backward["op-3"])


def test_an_edge_without_gradient_has_no_label():
    elements = by_id(tree(viz.draw(records.mlp(), passes="backward")))
    edge = elements["edge-0-0-0"]
    assert "no-gradient" in edge.get("class") and words(edge) == ""


def test_parameters_of_modules_stand_in_formulas_by_their_path():
    edge = by_id(tree(viz.draw(records.mlp(), passes="backward")))["edge-7-2-0"]
    assert words(edge) == "g @ out.weight"  # the card has the numbers


def test_jvp_shows_tangents_beside_values_and_their_rule():
    card = words(by_id(tree(viz.draw(records.two_uses(), passes="jvp")))["op-3"])
    for part in ("y = 0.3022", "tangent = 1.239", "= dh * w + h * dw"):
        assert part in card


def test_kinds_are_classes():
    root = tree(viz.draw(records.mlp()))
    classes = {g.get("id"): g.get("class") for g in root.iter(f"{SVG}g") if (g.get("class") or "").startswith("node")}
    assert classes["value-0"] == "node input"
    assert classes["op-1"] == "node function" and classes["op-3"] == "node op output"


def test_the_band_of_a_card_without_a_body_ends_in_the_corners_of_the_card():
    def corners(show):
        root = tree(viz.draw(records.two_uses(), passes="forward", show=show))
        bands = [path.get("d") for path in root.iter(f"{SVG}path") if path.get("class") == "l-band-input"][:1]
        return [band.count("C") for band in bands]

    assert corners(()) == [4] and corners(("values",)) == [2]


def test_a_small_copy_names_the_value_it_stands_for():
    record = records.recurrent(steps=40, weights=1)
    copy = by_id(tree(viz.draw(record, max_nodes=None)))["value-0-copy-1"]
    assert copy.get("data-value") == "0" and copy.get("class") == "node copy" and words(copy) == "W0"


def test_in_place_layers_and_several_outputs_are_shown():
    elements = by_id(tree(viz.draw(records.odd())))
    assert "in place · vmap › grad" in words(elements["op-1"])
    assert "left = [[1, 2], [3, 4]]" in words(elements["op-2"]) and "right = 2" in words(elements["op-2"])
    assert words(elements["value-5"]) == "right = 2 float32 () · 4 B"


def test_odd_values_are_named_as_they_are():
    elements = by_id(tree(viz.draw(records.odd())))
    assert "[1, nan, inf]" in words(elements["value-0"])
    assert "no elements" in words(elements["value-1"])
    assert words(elements["value-7"]) == "v7 float32 (100,) · 400 B"  # not known: nothing is made up


def test_large_values_are_summed_up():
    assert re.search(r"min -\S+  mean \S+  max \S+", words(by_id(tree(viz.draw(records.mlp())))["value-0"]))


def test_several_passes_lie_in_one_svg_with_the_pass_before_each_id():
    elements = by_id(tree(viz.draw(records.two_uses(), passes="all")))
    assert {"pass-forward", "pass-backward", "pass-jvp", "forward-op-0", "backward-op-0", "jvp-op-0"} <= set(elements)


def test_every_text_states_its_width():
    texts = list(tree(viz.draw(records.mlp())).iter(f"{SVG}text"))
    assert texts and all(float(text.get("textLength")) > 0 for text in texts)


def test_colours_are_not_needed_to_tell_kinds_apart():
    from viz.layout.drawn_pass import SHAPES
    from viz.layout.style import LOOKS

    def outline(kind):
        look = LOOKS[f"paper-{kind}"]
        return SHAPES[kind], look.dash, kind == "function"  # which has a bar

    kinds = ["op", "function", "input", "parameter", "copy", "constant"]
    assert len({outline(kind) for kind in kinds}) == len(kinds)


def test_dot_has_the_ids_and_classes_of_the_svg():
    drawing = viz.draw(records.two_uses(), passes="backward")
    pygraphviz = pytest.importorskip("pygraphviz")
    graph = pygraphviz.AGraph(string=drawing.dot())
    assert {node.attr["id"] for node in graph.nodes()} == set(drawing.cards)
    assert {edge.attr["id"] for edge in graph.edges()} == {edge.key for edge in drawing.graph.edges}
    assert {edge.attr["dir"] for edge in graph.edges()} == {"back"}
    assert graph.get_node("op-0").attr["class"] == "node op"


def test_png_is_an_image_of_the_picture_twice_its_size():
    drawing = viz.draw(records.two_uses())
    image = drawing.png()
    page = drawing.pictures()["forward"]
    assert image.startswith(b"\x89PNG") and int.from_bytes(image[16:20], "big") == pytest.approx(2 * page.width, abs=2)


def test_png_shows_ink_in_each_card():
    from matplotlib.image import imread

    drawing = viz.draw(records.two_uses())
    pixels = imread(io.BytesIO(drawing.png(scale=1)))
    page = drawing.pictures()["forward"]
    shift = next(group.shift for group in page.items if group.classes == "nodes")
    for key, (x, y) in drawing.layout.corners.items():
        card = drawing.cards[key]
        x, y = int(x + shift[0]), int(y + shift[1] + card.strip)
        inside = pixels[y + 3 : y + int(card.height) - 3, x + 12 : x + int(card.width) - 12, :3]
        assert np.ptp(inside) > 0.5, key


def test_pdf_has_a_page_for_each_pass_and_its_texts_are_text():
    document = viz.draw(records.two_uses(), passes="all").pdf()
    assert document.startswith(b"%PDF") and len(re.findall(rb"/Type /Page\b(?!s)", document)) == 3
    streams = re.findall(rb"stream\r?\n(.*?)endstream", document, re.S)
    texts = b"".join(zlib.decompressobj().decompress(stream) for stream in streams if stream[:1] == b"x")
    assert b"BT" in texts and b"Tf" in texts


def test_save_takes_the_format_from_the_suffix(tmp_path):
    drawing = viz.draw(records.two_uses())
    starts = {
        ".svg": b"<svg",
        ".png": b"\x89PNG",
        ".pdf": b"%PDF",
        ".dot": b"digraph",
        ".gv": b"digraph",
        ".mmd": b"flowchart",
        ".mermaid": b"flowchart",
        ".txt": b"two_uses",
        ".json": b"{",
    }
    for suffix, start in starts.items():
        assert drawing.save(tmp_path / f"x{suffix}").read_bytes().startswith(start)


def test_an_unknown_suffix_names_the_known_ones_and_writes_nothing(tmp_path):
    with pytest.raises(ValueError, match=r"'\.bmp'.*\.svg, \.png"):
        viz.draw(records.two_uses()).save(tmp_path / "x.bmp")
    assert not list(tmp_path.iterdir())


def test_json_is_the_record():
    record = records.two_uses()
    assert json.loads(viz.draw(record).json()) == record


def test_a_pass_that_was_not_recorded_is_refused_with_the_way_to_record_it():
    with pytest.raises(ValueError, match=r"no jvp pass \(it has: forward, backward\): record it: minigrad\.record"):
        viz.draw(records.mlp(), passes="jvp")


UNKNOWN = {
    "'sideways'": {"passes": "sideways"},
    "unknown theme 'sepia'. Choose from light, dark, print.": {"theme": "sepia"},
    "unknown size 'poster'. Choose from slide.": {"size": "poster"},
    "unknown part 'colours'. Choose from values, grads": {"show": ["colours"]},
    "unknown color 'size'. Choose from grad, memory, time": {"color": "size"},
    "'UP'": {"rankdir": "UP"},
}


@pytest.mark.parametrize("said", UNKNOWN)
def test_an_unknown_setting_is_refused(said):
    with pytest.raises(ValueError, match=said):
        viz.draw(records.mlp(), **UNKNOWN[said])


def test_a_record_without_operations_is_drawn():
    r = records.Builder(name="nothing")
    for suffix in (".svg", ".png", ".pdf", ".dot"):
        assert viz.draw(r.record).rendered(suffix)


def test_a_notebook_gets_the_svg():
    assert viz.draw(records.two_uses())._repr_mimebundle_()["image/svg+xml"].startswith("<svg")


def test_letters_that_no_font_has_are_named_before_png_and_pdf(tmp_path):
    record = records.two_uses()
    record["values"][0]["name"] = record["values"][0]["label"] = "名前"
    drawing = viz.draw(record)
    with pytest.warns(UserWarning, match="no font here has 前名"):
        drawing.save(tmp_path / "x.png")
    assert drawing.warnings("pdf") and not drawing.warnings("svg")
    assert not viz.draw(records.two_uses(), passes="all").warnings("png")


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path, monkeypatch):
    (tmp_path / "x.svg").write_text("precious")

    def refuse(*names):
        raise OSError("the disk is full")

    with monkeypatch.context() as patched, pytest.raises(OSError):
        patched.setattr(os, "replace", refuse)
        viz.draw(records.two_uses()).save(tmp_path / "x.svg")
    assert [path.read_text() for path in tmp_path.iterdir()] == ["precious"]


def test_a_new_file_has_the_rights_that_new_files_have(tmp_path):
    (tmp_path / "usual").write_text("")
    made = viz.draw(records.two_uses()).save(tmp_path / "x.svg")
    assert made.stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_inner_values_that_are_saved_have_names():
    record = records.two_uses()
    record["ops"][2]["saved"] += [{"value": value, "bytes": 24, "freed_by": None} for value in (7, 8)]
    names = [viz.draw(record).graph.name(value) for value in (7, 8)]
    expected = f"saved for backward: h (4 B), {names[0]} (24 B), {names[1]} (24 B)"
    assert expected in words(by_id(tree(viz.draw(record)))["op-2"])


def test_a_drawing_of_a_tensor_calls_values_by_the_callers_variables():
    a = tensor(3.0, requires_grad=True)
    result = a * a
    graph = viz.draw(result).graph
    assert [graph.name(node.outputs[0]) for node in graph.nodes] == ["a", "result"]


def test_what_is_shortened_stands_whole_in_the_title_of_its_element():
    record = records.two_uses()
    long = "g * (" + " + ".join(f"w_{i}" for i in range(60)) + ")"
    record["ops"][2]["edges"][0]["formula"] = record["ops"][2]["call"] = long
    record["values"][1].update(name="x" * 80, label="x" * 80)
    elements = by_id(tree(viz.draw(record, passes="backward")))
    for key in ("op-2", "edge-4-2-0"):
        assert "…" in words(elements[key]) and any(long in (t.text or "") for t in elements[key].iter(f"{SVG}title"))
    assert [t.text for t in elements["value-1"].iter(f"{SVG}title")] == ["x" * 80]


def test_a_long_call_stands_below_the_name_whole():
    record = records.two_uses()
    record["ops"][2]["call"] = "tanh(v4, a_long_argument=1, another_argument=2, and_one_more=3)"
    card = words(by_id(tree(viz.draw(record)))["op-2"])
    assert card.startswith("tanh (v4, a_long_argument=1, another_argument=2,") and "and_one_more=3)" in card


def test_a_notebook_shows_a_slide_and_a_theme_as_they_are():
    for options in ({"size": "slide"}, {"theme": "dark"}):
        assert set(viz.draw(records.two_uses(), **options)._repr_mimebundle_()) == {"image/svg+xml", "text/plain"}


def test_a_card_says_how_many_examples_or_gradients_are_computed_at_once():
    def per_sample(w, x):
        return minigrad.vmap(minigrad.func.grad(lambda w, x: (w * x).sum() ** 2), in_dims=(None, 0))(w, x)

    said = viz.draw(per_sample, tensor([1.0, 2.0, 3.0]), minigrad.ones(5, 3)).text()
    assert said.count("vmap: 5 at once") >= 3 and "vmap: 1" not in said
    jacobian = minigrad.record(minigrad.func.jacrev(lambda x: x[:2] * x[0]), minigrad.ones(3), passes=()).to_dict()
    assert "vmap: 2 at once" in viz.draw(jacobian, passes=("forward", "backward")).text()
