"""The page as a file: what it holds, and what it keeps out."""

import base64
import hashlib
import json
import re
import subprocess
import sys

import pytest

import minigrad
import viz
from minigrad import nn, optim
from viz.graph.drawn_graph import Graph
from viz.viewer import page
from viz.viewer.content import content
from viz.viewer.links import play
from viz.viewer.sources import sources

from .. import records
from ..test_hostile_records import HOSTILE
from . import programs


def data_of(html):
    return json.loads(re.search(r'<script type="application/json" id="record">(.*?)</script>', html, re.S)[1])


def told(graph):
    """Return the data that the page receives, with values and operations as lists."""
    made = content(graph)
    return {**made, "values": list(made["values"]), "ops": list(made["ops"])}


PAGES = {"page": lambda: page(records.two_uses()), "a model": lambda: page(records.mlp()), "play": play}


@pytest.mark.parametrize("name", PAGES)
def test_a_page_allows_its_own_script_and_style_and_no_connection(name):
    html = PAGES[name]()
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', html)[1]
    assert policy.startswith("default-src 'none';")
    assert not re.search("unsafe|http|connect", policy)
    for tag in ("script", "style"):
        (inline,) = re.findall(rf"<{tag}>(.*?)</{tag}>", html, re.DOTALL)
        assert base64.b64encode(hashlib.sha256(inline.encode()).digest()).decode() in policy
    own = html.replace("http://www.w3.org/", "")  # names, not addresses
    assert not re.search(r"https?:|//[a-z]+\.|@import|url\(|<link|<iframe|<img", own)


@pytest.mark.parametrize("name", HOSTILE.values())
def test_hostile_names_stay_data(name):
    record = records.two_uses()
    record["program"]["name"] = record["program"]["file"] = name
    for value in record["values"]:
        value["name"] = value["dtype"] = name
    for op in record["ops"]:
        op["name"] = op["formula"] = op["function"] = name
        op["layer"] = [name]
        op["where"] = {"file": name, "line": 1, "code": name}
        op["call"] = name
        op["edges"] = [{**edge, "formula": name} for edge in op["edges"]]
    html = page(record)
    html.encode()  # no lone surrogates
    assert html.count("<script") == html.count("</script") == 2
    data = re.search(r'id="record">(.*?)</script>', html, re.S)[1]
    assert "<" not in data and data.isascii()
    json.loads(data)


def test_numbers_that_json_has_not_are_words():
    record = records.two_uses()
    record["values"][0]["summary"] = {"values": [float("nan"), float("inf"), "-inf"]}
    assert data_of(page(record))["values"][0]["all"] == ["nan", "inf", "-inf"]


def test_contributions_along_the_edges_sum_to_the_engines_gradient():
    record = programs.branches_record()
    made = told(Graph(record))
    sums = {}
    for op in made["ops"]:
        tensors = [i for i in op["in"] if isinstance(i, int)]
        for value, flow in zip(tensors, op.get("flows", [])):
            if flow:
                sums[value] = sums.get(value, 0.0) + made["values"][flow["gives"]]["all"]
    gradients = dict(made["gradients"])
    assert {made["values"][i]["name"] for i in sums} >= {"w", "x", "h"}
    for value, total in sums.items():
        assert total == pytest.approx(made["values"][gradients[value]]["all"], rel=1e-5)


def test_a_formula_is_told_in_words_and_in_numbers():
    made = told(Graph(records.two_uses()))
    tanh = made["ops"][2]
    assert tanh["flows"][0]["rule"] == "g * (1 - h ** 2)"
    (h,) = tanh["out"]
    assert tanh["flows"][0]["figures"] == [
        tanh["flows"][0]["up"],
        " * (1 - ",
        h,
        " ** 2)",
    ]  # the page has their numbers


def test_steps_of_backward_come_in_the_engines_order():
    record = programs.branches_record()
    ran = [op["of"] for op in record["ops"] if op["phase"] == "backward"]
    made = told(Graph(record))
    assert [made["ops"][i]["id"] for i in made["backward"]] == ran


def test_a_file_is_embedded_where_it_still_says_what_ran(tmp_path):
    file = tmp_path / "net.py"
    file.write_text("x = 1\ny = w * x\n")
    place = {"file": str(file), "line": 2, "code": "y = w * x"}
    (found,), _ = sources([place])
    assert found == {"name": "net.py", "lines": {1: "x = 1", 2: "y = w * x"}}


@pytest.mark.parametrize("code", ["root:x:0:0", ""])
def test_a_record_cannot_bring_other_files_into_a_page(tmp_path, code):
    file = tmp_path / "secret"
    file.write_text("password\nanother\n")
    (found,), _ = sources([{"file": str(file), "line": 1, "code": code}])
    assert found["lines"] == {1: code}


def test_a_drawing_saves_itself_as_a_page(tmp_path):
    drawing = viz.draw(records.two_uses())
    file = drawing.save(tmp_path / "f.html")
    assert file.read_text(encoding="utf-8") == drawing.html()
    assert data_of(drawing.html())["passes"] == ["forward", "backward", "jvp"]


def test_a_cell_of_a_notebook_is_shown_whole(monkeypatch):
    import linecache

    lines = ["x = 1\n", "y = w * x\n"]
    monkeypatch.setitem(linecache.cache, "<cell 3>", (1, None, lines, "<cell 3>"))
    (found,), _ = sources([{"file": "<cell 3>", "line": 2, "code": "y = w * x"}])
    assert found["lines"] == {1: "x = 1", 2: "y = w * x"}


@pytest.mark.parametrize("file", ["/dev/zero", "/", "\x00", "a" * 5000])
def test_what_is_no_file_is_not_read(file):
    (found,), _ = sources([{"file": file, "line": 1, "code": "x"}])
    assert found["lines"] == {1: "x"}


def test_a_parameter_stays_one_after_a_step_of_training():
    layer = nn.Linear(2, 1)
    optimizer = optim.SGD(layer.parameters(), lr=0.1)
    with minigrad.record() as rec:
        for _ in range(2):
            optimizer.zero_grad()
            layer(minigrad.ones(3, 2)).sum().backward()
            optimizer.step()
    made = told(Graph(rec.to_dict()))
    second = [op for op in made["ops"] if op["name"] == "linear"][1]
    assert [made["values"][i]["kind"] for i in second["in"]] == ["input", "parameter", "parameter"]


def test_the_command_renders_a_page(tmp_path):
    program = "import minigrad\nw = minigrad.tensor(2.0, requires_grad=True)\ny = w * w\n"
    (tmp_path / "prog.py").write_text(program, encoding="utf-8")
    command = [sys.executable, "-m", "viz.cli", "render", "prog.py:y", "--pass", "all", "-o", "y.html"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    made = data_of((tmp_path / "y.html").read_text(encoding="utf-8"))
    assert made["passes"] == ["forward", "backward", "jvp"]
    assert made["files"][0]["lines"]["3"] == "y = w * w"


def test_an_empty_record_makes_a_page():
    assert data_of(page({"program": {"passes": ["forward"]}, "values": [], "ops": [], "outputs": []}))["ops"] == []
