"""Explanations as pictures, in notebooks and as the command."""

import json

import pytest

import minigrad
import viz
from minigrad.explain.blackboard import labelled
from viz.notebook import mimebundle

from .command import minigrad as command


def explanation(**options):
    def f(w, b):
        return ((w @ w.T).tanh() * b).sum() + w.sum()

    return minigrad.explain(f, minigrad.linspace(-1.0, 1.0, 12).reshape(3, 4), minigrad.tensor(0.5), **options)


def test_a_drawing_has_the_paths_and_nothing_else_in_colour():
    drawing = viz.draw(explanation(of="b"))
    assert drawing.passes == ("backward",)
    flows = {edge.key: bool(edge.flow) for edge in drawing.graph.edges}
    assert sum(flows.values()) == 3 and not all(flows.values())  # b → mul → sum → add
    svg = drawing.svg()
    assert svg.count('class="edge no-gradient"') == len(flows) - 3 and "∂f/∂b" in svg


def test_edges_tell_the_equations_of_single_elements():
    e = explanation(index=(2, 3))
    drawn = viz.draw(e)
    equations = [edge["equations"] for op in labelled(e)["ops"] for edge in op["edges"] if "equations" in edge]
    assert equations and any("[2, 3]" in line and "×" in line for lines in equations for line in lines)
    assert all(line.split(" = ")[-1] in drawn.svg() for lines in equations for line in lines)
    assert drawn.record["program"]["name"] == "∂f/∂w[2, 3]"


def test_a_tangent_is_drawn_in_the_jvp_pass():
    e = minigrad.explain(lambda x: x.sin() * x, minigrad.tensor(2.0), tangents=(minigrad.tensor(1.0),))
    drawing = viz.draw(e)
    assert drawing.passes == ("jvp",) and "tangent" in drawing.text()


def test_a_notebook_shows_the_picture_and_the_text():
    e = explanation(of="b")
    shown = mimebundle(e)
    assert shown["text/plain"] == str(e) and shown["image/svg+xml"].startswith("<svg") and "text/html" in shown
    assert e._repr_mimebundle_() == shown


def test_every_format_can_be_written(tmp_path):
    for suffix in (".svg", ".png", ".pdf", ".dot", ".mmd", ".txt", ".html", ".json"):
        assert viz.draw(explanation()).save(tmp_path / f"e{suffix}").stat().st_size > 100


def test_the_command_writes_the_derivation(net):
    done = command(net, "explain", "net.py:loss", "--of", "w")
    text = done.stdout.decode()
    assert done.returncode == 0 and text.startswith("∂loss/∂w = 1.182: 2 paths, 4 steps"), done.stderr.decode()
    assert "net.py:9" in text and "∂loss/∂w = 0.7616 + 0.42 = 1.182" in text
    assert command(net, "explain", "net.py:loss").stdout == done.stdout  # w is the only parameter


def test_the_command_takes_functions_and_an_element(net):
    done = command(net, "explain", "net.py:g", "--args", "tensor([1., 5., 2.])", "--index", "1")
    assert done.stdout.decode().startswith("∂result/∂a[1] = 10: 2 paths"), done.stderr.decode()
    assert b"df/db" not in done.stdout and command(net, "explain", "net.py:f", "--of", "b").returncode == 0


@pytest.mark.parametrize(
    "suffix, start", [(".svg", b"<svg"), (".txt", "∂loss/∂w".encode()), (".json", b"{"), (".png", b"\x89PNG")]
)
def test_the_command_writes_a_file(net, suffix, start):
    done = command(net, "explain", "net.py:loss", "-o", f"w{suffix}")
    assert done.stdout.decode() == f"wrote w{suffix}\n", done.stderr.decode()
    assert (net / f"w{suffix}").read_bytes().startswith(start)


def test_the_command_gives_data(net):
    data = json.loads(command(net, "explain", "net.py:loss", "--json").stdout)
    assert data["count"] == 2 and data["label"] == "∂loss/∂w"
