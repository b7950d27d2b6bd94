"""Programs that run several backward passes: what is shown of a loss is what its own pass computed."""

import re

import numpy as np
import pytest

import minigrad
import viz
from minigrad.explain import explain
from tests.viz.command import minigrad as command
from viz import text
from viz.cards.step_through import walk
from viz.commands.explain_command import explanation
from viz.errors import Usage
from viz.programs.run_program import Program, show_lines
from viz.programs.tensor_names import names_of_tensors
from viz.viewer.content import content

BOTH = ("forward", "backward")

# the program, and its leaves; every loss from which it runs backward is looked at
PROGRAMS = {
    "two losses on one trunk": "h = w * 3\na = h.sum()\nb = (h * h).sum()\na.backward(retain_graph=True)\nb.backward()",
    "one loss twice": "a = (w * w).sum()\na.backward(retain_graph=True)\na.backward()",
    "the other order": "h = w * 3\na = h.sum()\nb = (h * h).sum()\nb.backward(retain_graph=True)\na.backward()",
    "a generator and a discriminator": """fake = w * 5
a = (fake.detach() * v).sum()
a.backward()
b = (fake * v).sum()
b.backward()""",
    "an actor and a critic": """h = (w * v).tanh()
value = h * 2
a = -(h * value.detach()).sum()
b = ((value - 1) ** 2).sum()
a.backward(retain_graph=True)
b.backward()""",
    "three losses": """h = (w * v).exp()
a = h.sum()
b = (h * v).sum()
c = (v * v).sum()
a.backward(retain_graph=True)
c.backward()
b.backward()""",
    "a part and the whole": "a = (w * v).sum()\nb = a + (w ** 2).sum()\na.backward(retain_graph=True)\nb.backward()",
    "other leaves": "a = (w * 2).sum()\nb = (v * v).sum()\na.backward()\nb.backward()",
    "autograd.grad before it": """a = (w * v).sin().sum()
(g,) = torch.autograd.grad(a, v, retain_graph=True)
a.backward()""",
    "autograd.grad of another loss": """h = w * v
a = (h * h).sum()
b = h.sum()
a.backward(retain_graph=True)
(g,) = torch.autograd.grad(b, w)""",
    "a penalty on the gradient": """a = (w * v).tanh().sum()
(g,) = torch.autograd.grad(a, w, create_graph=True)
b = (g * g).sum()
b.backward()""",
    "a step between": """opt = torch.optim.SGD([w], lr=0.1)
a = (w * w * v).sum()
a.backward()
opt.step()
b = (w * v).exp().sum()
b.backward()""",
    "zero_grad between": """opt = torch.optim.Adam([w, v], lr=0.1)
a = (w * v).sum()
a.backward()
opt.step()
opt.zero_grad()
b = (w - v).pow(2).sum()
b.backward()""",
    "zeros between": """opt = torch.optim.SGD([w, v], lr=0.1)
a = (w * v).sum()
a.backward()
opt.zero_grad(set_to_none=False)
b = (w * v * v).sum()
b.backward()""",
    "a write between": """a = (w * w).sum()
a.backward()
with torch.no_grad():
    w.mul_(2)
b = (w ** 3).sum()
b.backward()""",
    "two optimizers": """one, two = torch.optim.SGD([w], lr=0.1), torch.optim.SGD([v], lr=0.2)
a = (w * v).sigmoid().sum()
a.backward()
one.step()
b = (w * v).pow(2).sum()
b.backward()
two.step()""",
    "a function that runs backward": """def train(x):
    x.backward(retain_graph=True)
h = w.exp()
a, b = (h * v).sum(), h.sum()
a.backward(retain_graph=True)
b.backward()""",
    "a custom Function": """class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x
    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 2 * g * x
h = Double.apply(w)
a, b = h.sum(), (h * v).sum()
a.backward(retain_graph=True)
b.backward()""",
    "modules": """from torch import nn
torch.manual_seed(0)
trunk, left, right = nn.Linear(2, 3), nn.Linear(3, 1), nn.Linear(3, 1)
h = trunk(w * v).relu()
a, b = left(h).sum(), right(h).pow(2).sum()
a.backward(retain_graph=True)
b.backward()""",
    "classes and distances": """import torch.nn.functional as F
h = torch.stack([w * v, w + v])
a = F.cross_entropy(h, torch.tensor([0, 1]))
b = F.mse_loss(h, torch.zeros(2, 2))
a.backward(retain_graph=True)
b.backward()""",
    "elements": "h = w * v\na = h[0] * 2\nb = h[1] * h[0]\na.backward(retain_graph=True)\nb.backward()",
    "the largest": "h = w * v\na = h.max()\nb = h.relu().sum()\na.backward(retain_graph=True)\nb.backward()",
    "a hook": "w.register_hook(lambda g: g * 2)\na = (w * v).sum()\nb = (w * w).sum()\na.backward()\nb.backward()",
    "a shared weight": """h = w * v
h = h * w
a = (h * w).sum()
b = h.sum()
b.backward(retain_graph=True)
a.backward()""",
    "views": "h = w.view(2, 1)\na = (h * v).sum()\nb = h.t().exp().sum()\na.backward()\nb.backward()",
    "broadcast": "s = w.sum()\na = (s * v).sum()\nb = s * s\na.backward(retain_graph=True)\nb.backward()",
    "four passes": """h = w * v
a, b = h.sum(), (h * h).sum()
a.backward(retain_graph=True)
b.backward(retain_graph=True)
a.backward(retain_graph=True)
b.backward()""",
    "no gradient in one of them": """a = (w.detach() * v).sum()
b = (w * v.detach()).sum()
a.backward()
b.backward()""",
    "written in place": "h = w * 2\nh.mul_(v)\na = h.sum()\nb = (h * h).sum()\na.backward(retain_graph=True)\nb.backward()",
    "an average beside": """a = (w * v).sum()
average = torch.zeros(2)
a.backward()
average.mul_(0.9).add_(w.grad)
b = (w * average).sum()
b.backward()""",
}
LEAVES = ("w", "v")
HEAD = """import torch
w = torch.tensor([2.0, -1.0], requires_grad=True)
v = torch.tensor([0.5, 3.0], requires_grad=True)
"""
BACKWARD = re.compile(r"^(\w+)\.backward\(", re.M)


def expected(library, name):
    """Return for each loss the gradients of the leaves that autograd.grad computes right before its last backward."""
    found = {}

    def back(loss, name, *args, **kwargs):
        given = dict(zip(("gradient",), args)) | kwargs
        grads = library.autograd.grad(loss, (names["w"], names["v"]), retain_graph=True, allow_unused=True)
        found[name] = [None if g is None else np.array(g.detach().tolist()) for g in grads]
        loss.backward(**given)

    names = {"back": back, "torch": library}
    source = BACKWARD.sub(r'back(\1, "\1", ', HEAD + PROGRAMS[name])
    exec(source if library is not minigrad else ours(source), names)
    return found


def ours(source):
    source = source.replace("import torch\n", "import minigrad as torch\n")
    return source.replace("import torch.nn", "import minigrad.nn").replace("from torch import", "from minigrad import")


def program(name, **more):
    return Program("prog.py", ours(HEAD + PROGRAMS[name]).encode(), **more)


@pytest.fixture(params=PROGRAMS)
def case(request):
    return request.param


def leaf_of(record, name):
    return [v["id"] for v in record["values"] if v["name"] == name and v["kind"] == "parameter"]


def numbers(entry):
    return None if entry is None else np.array(entry["summary"]["values"], float)


def check(found, wanted, what):
    assert (found is None) == (wanted is None), what
    assert wanted is None or np.allclose(found, wanted, rtol=1e-5), what


def test_a_loss_is_shown_with_the_gradients_of_its_own_pass(case):
    for loss, wanted in expected(minigrad, case).items():
        record, _ = program(case).record(loss, BOTH)
        drawing = viz.Drawing(record, BOTH)
        graph, page = drawing.whole, content(drawing.whole)
        known = {run for one in graph.origins for run in one.runs}
        assert {edge["run"] for op in record["ops"] for edge in op["edges"]} <= known
        pairs, values = dict(page["gradients"]), list(page["values"])
        told = [line for step in walk(drawing.graph, drawing.cards, BOTH) for line in step.lines]
        for name, grad in zip(LEAVES, wanted):
            values_of_it = [i for i in leaf_of(record, name) if i in graph.shown]
            if not values_of_it:
                assert grad is None or not grad.any()
                continue
            value = values_of_it[-1]
            check(numbers(graph.gradient(value)), grad, (loss, name))
            place = next(i for i, v in enumerate(record["values"]) if v["id"] == value)
            on_page = values[pairs[place]]["all"] if place in pairs else None
            check(on_page, grad, (loss, name, "page"))
            amount = None if grad is None else text.nested(grad.tolist())
            if drawing.story is not None:  # one picture of a derivative that is differentiated
                assert amount in drawing.text()
                continue
            blocks = drawing.cards[f"value-{value}"].passes.get("backward", ())
            words = " ".join(line.text for block in blocks for line in block.lines)
            assert (f"grad = {amount}" in words or f"grad += {amount}" in words) if amount else "grad" not in words
            assert grad is None or any(f"back to {graph.name(value)}" in line for line in told)


def test_a_derivation_of_a_loss_is_that_of_its_own_pass(case):
    for loss, wanted in expected(minigrad, case).items():
        for name, grad in zip(LEAVES, wanted):
            if grad is None:
                with pytest.raises(Usage, match="has no gradient here"):
                    explanation(program(case), loss, name, None, None)
            else:
                check(explanation(program(case), loss, name, None, None).numbers, grad, (loss, name))


def test_a_record_has_the_gradients_of_every_pass(case):
    wanted = expected(minigrad, case)
    names = {}
    with minigrad.record(passes=BOTH) as rec:
        show_lines("prog.py", program(case).text.decode())
        exec(compile(program(case).text, "prog.py", "exec"), names)
    rec.settle()
    rec.name_values(names_of_tensors(names))
    document = rec.to_dict()
    values = {value["id"]: value for value in document["values"]}
    for one in document["backwards"]:
        gives = {}
        for edge in [edge for op in document["ops"] for edge in op["edges"] if edge["run"] == one["run"]]:
            gives.setdefault(str(edge["input"]), []).append(numbers(values[edge["gives"]]))
        for value, parts in gives.items() if "hook" not in case else ():
            check(sum(parts), numbers(values[one["gradients"][value]]), (one["run"], value))
    for loss, grads in wanted.items():
        (*_, last) = [b for b in document["backwards"] if loss in [values[i]["name"] for i in b["roots"]]]
        for name, grad in zip(LEAVES, grads):
            known = [last["gradients"].get(str(i)) for i in leaf_of(document, name)]
            (*_, held) = [None, *(g for g in known if g is not None)]
            check(None if held is None else numbers(values[held]), grad, (loss, name))


def recorded(source, name="loss", **more):
    made = Program("prog.py", source.encode(), **more)
    return made.record(name, BOTH)[0]


TWICE = """import minigrad as torch
w = torch.tensor([2.0], requires_grad=True)
loss = (w * w).sum()
loss.backward(torch.tensor(3.0), retain_graph=True)
loss.backward(torch.tensor(10.0))
"""


def test_the_last_of_several_passes_is_shown_and_another_on_request():
    last, first = (viz.Drawing(recorded(TWICE, backward=k), BOTH).text() for k in (None, 1))
    assert "backward 2 of 2, prog.py:5" in last and "grad += [40], now [52]: 12 from prog.py:4" in last
    assert "backward 1 of 2, prog.py:4" in first and "grad = [12]" in first and "now" not in first
    with pytest.raises(Usage, match="loss has 2 backward passes from it, so there is no --backward 3"):
        recorded(TWICE, backward=3)


def test_saved_tensors_are_freed_by_the_pass_that_frees_them():
    last, first = (recorded(TWICE, backward=k) for k in (None, 1))
    kept, freed = ({one["freed_by"] for op in made["ops"] for one in op["saved"]} for made in (first, last))
    assert kept == {None} and freed and None not in freed


def test_a_value_on_the_way_says_from_where_its_gradient_arrives():
    source = TWICE.replace("loss = (w * w).sum()", "h = w * w\nloss = h.sum()")
    words = viz.Drawing(recorded(source, "h"), BOTH).text()
    assert "arrives from loss" in words and "backward starts here" not in words


def test_the_history_of_grad_lists_the_passes_before_and_what_was_there():
    source = """import minigrad as torch
w = torch.tensor([1.0], requires_grad=True)
w.grad = torch.tensor([100.0])
for k in range(1, 7):
    loss = (w * k).sum()
    loss.backward()
"""
    words = viz.Drawing(recorded(source), BOTH).text()
    assert (
        "grad += [6]" in words
        and "now [121]: 5 from prog.py:6, 4 from prog.py:6, 3 from prog.py:6, 3 others"
        in " ".join(line.strip("│ ") for line in words.splitlines())
    )
    assert "100 already there" in viz.Drawing(recorded(source.replace("7", "3")), BOTH).text()


LOOP = """import minigrad as torch
w = torch.tensor([2.0], requires_grad=True)
opt = torch.optim.SGD([w], lr=0.25)
for k in range(N):
    opt.zero_grad()
    loss = (w * w).sum()
    loss.backward()
    opt.step()
"""


@pytest.mark.parametrize("many", [5, 50])
def test_a_loop_shows_its_last_iteration_or_the_one_that_is_asked_for(many):
    source = LOOP.replace("N", str(many))
    for k in (None, 3):
        record = recorded(source, iteration=k)
        assert record["program"]["iteration"] == f"iteration {k or many} of {many}"
        (loss,) = [value for value in record["values"] if value["id"] in record["outputs"]]
        assert loss["summary"]["values"] == pytest.approx(4 * 0.25 ** ((k or many) - 1))
        assert f"iteration {k or many} of {many}" in viz.Drawing(record, BOTH).text()
    with pytest.raises(Usage, match=f"loss has {many} iterations with a backward, so there is no --iteration 99"):
        recorded(source, iteration=99)


def test_an_iteration_needs_a_tensor_of_a_loop():
    with pytest.raises(Usage, match="--iteration is for tensors of a loop, and f is a function"):
        recorded("import minigrad\ndef f(x):\n    return x * 2\n", "f", iteration=2)


TWO = """import minigrad as torch
w = torch.tensor([2.0], requires_grad=True)
h = w * 3
a = h.sum()
b = (h * h).sum()
"""


@pytest.mark.parametrize(
    "own", ["", "a.backward(retain_graph=True)\nb.backward()\n", "b.backward(retain_graph=True)\n"]
)
def test_several_losses_in_one_picture_stay_apart(own):
    drawing = viz.Drawing(recorded(TWO + own, "a,b"), BOTH)
    words = drawing.text()
    assert "grad from a = [3]" in words.replace("+=", "=") and "grad from b = [36]" in words.replace("+=", "=")
    assert "= [3] from a = [36] from b" in words
    svg = drawing.svg()
    assert "edge-backward-2" in svg and "from a" in svg and "from b" in svg
    assert all(drawing.rendered(suffix) for suffix in (".dot", ".mmd", ".tex", ".json", ".html"))


def test_the_page_of_several_losses_has_the_contributions_of_each():
    made = content(viz.Drawing(recorded(TWO, "a,b"), BOTH).whole)
    values = list(made["values"])
    (mul, *_) = made["ops"]
    assert [values[flow["gives"]]["all"] for flow in mul["flows"]] in ([[3.0], [36.0]], [[36.0], [3.0]])
    assert "from a" in made["program"]["file"] and "from b" in made["program"]["file"]


def test_draw_takes_several_losses():
    names = {}
    exec(TWO, names)
    a, b = names["a"], names["b"]
    words = viz.draw((a, b), passes=BOTH).text()
    assert "grad from a = [3]" in words and "grad from b = [36]" in words


def test_the_commands_know_the_options(tmp_path):
    (tmp_path / "net.py").write_text(TWO + "a.backward(retain_graph=True)\nb.backward()\na2 = b.detach()\n")
    done = command(tmp_path, "render", "net.py", "--from", "a,b", "-f", "txt", "-o", "-")
    assert b"backward from a, net.py:6 and from b, net.py:7" in done.stdout
    done = command(tmp_path, "step", "net.py:a", "-p", "backward", "--backward", "1")
    assert done.returncode == 0 and b"36" not in done.stdout
    done = command(tmp_path, "explain", "net.py:a")
    assert done.stdout.startswith("∂a/∂w = [3]".encode())
    done = command(tmp_path, "render", "net.py:a", "--from", "a,b")
    assert done.returncode == 2 and b"Write the program alone: net.py" in done.stderr


def test_explain_of_grad_adds_up_the_passes_since_it_was_empty():
    w = minigrad.tensor([2.0], requires_grad=True)
    with minigrad.record(passes=BOTH) as rec:
        (w * 100).sum().backward()
        w.grad = None
        h = w * 3
        h.sum().backward(retain_graph=True)
        first = explain(w.grad).numbers
        (h * h).sum().backward()
    assert rec is not None and first == [3.0] and explain(w.grad).numbers == [39.0] and not explain(w.grad).notes


def test_every_format_names_the_pass_among_several():
    record = recorded(TWICE)
    whole, one = viz.Drawing(record, BOTH), viz.Drawing(record, ("backward",))
    slide = viz.Drawing(record, ("backward",), view=viz.view.view_of(size="slide"))
    said = "backward 2 of 2, prog.py:5"
    for made in (whole.dot(), one.dot(), whole.mermaid(), whole.svg(), whole.text(), whole.tex(), whole.alt()):
        assert said in made.replace("\\_", "_")
    assert "Backward pass 2 of 2, prog.py:5" in slide.svg()
    assert said in list(whole.html().splitlines())[-1] + whole.html()


def test_a_page_tells_what_grad_holds():
    made = content(viz.Drawing(recorded(TWICE), BOTH).whole)
    ((leaf, words),) = made["held"]
    assert list(made["values"])[leaf]["name"] == "w" and words == "now [52]: 12 from prog.py:4"
    assert not content(viz.Drawing(recorded(TWICE, backward=1), BOTH).whole)["held"]
