"""LaTeX files: what stands in them, and that LaTeX sets them where it is installed."""

import re

import pytest

import minigrad as torch
import viz
from tests.latex import typeset
from viz.layout.themes import THEMES

from . import records
from .command import minigrad
from .test_hostile_records import HOSTILE


def loss(w, x, b):
    hidden_state = torch.tanh(x @ w + b)
    return (hidden_state**2).mean() / 2


def drawn(**options):
    args = torch.ones(2, 3), torch.ones(4, 2), torch.zeros(3)
    return viz.draw(loss, *(a.requires_grad_() for a in args), passes="all", **options)


def unfinished(tex):
    """Return the environments and braces that a file opens and does not close."""
    code = re.sub(r"(?m)(?<!\\)%.*$", "", tex)
    opened = re.findall(r"\\begin\{(\w+)\}", code), re.findall(r"\\end\{(\w+)\}", code)
    bare = re.sub(r"\\[{}\\%]", "", code)
    return sorted(opened[0]) != sorted(opened[1]) or bare.count("{") != bare.count("}")


def test_each_pass_is_a_page_and_each_operation_and_edge_is_named():
    drawing = viz.draw(records.two_uses(), passes="all")
    tex = drawing.tex()
    assert tex.count(r"\begin{tikzpicture}") == 3 and tex.count(r"\newpage") == 2 and not unfinished(tex)
    for key in [*drawing.cards, *(edge.key for edge in drawing.graph.edges)]:
        assert tex.count(f"% {key}\n") == 3


def test_every_style_and_colour_that_is_used_is_defined():
    for theme in THEMES:
        tex = viz.draw(records.odd(), theme=theme).tex()
        used = set(re.findall(r"\[(l-[\w-]+)\]", tex)) | set(re.findall(r"\[(t-[\w-]+),", tex))
        assert used and used <= set(re.findall(r"([lt]-[\w-]+)/\.style", tex))
        assert set(re.findall(r"=(c[0-9a-f]{6})", tex)) <= set(re.findall(r"definecolor\{(\w+)\}", tex))


def test_formulas_of_all_three_passes_are_mathematics():
    tex = drawn().tex()
    for formula in (r"x \, w", r"\bar{w} = x^{\top} \,", r"\dot{", r"\overline{\mathrm{hidden\_state}}"):
        assert formula in tex, formula


def test_the_gradient_of_a_function_is_mathematics_in_the_names_of_its_backward():
    class Scaled(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**2

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return 2 * grad * x

    x = torch.ones(3, requires_grad=True)
    tex = viz.draw(lambda x: Scaled.apply(x).sum(), x, passes="backward").tex()
    assert re.search(r"t-flow,anchor=west\] at .*\{2 [^{}]*\\mathrm\{grad\} \\odot x\}\}", tex)


def test_names_that_are_told_apart_by_an_index_have_it_in_text_and_mathematics():
    def loop(h):
        h = h * 2
        h = h * 3
        return h * 4

    tex = viz.draw(loop, torch.tensor(0.5), passes="forward").tex()
    assert (
        re.search(r"\{h_\{\d\} \\cdot 4\}", tex)
        and re.search(r"h\$_\d\$ = 3", tex)
        and "₂" not in tex.split(r"\begin{document}")[1]
    )


def test_a_formula_that_would_have_to_be_small_stays_code():
    def long(scores, labels):
        return torch.nn.functional.cross_entropy(scores, labels)

    tex = viz.draw(long, torch.ones(2, 3).requires_grad_(), torch.tensor([0, 1]), passes="backward", size="slide").tex()
    assert r"one\_hot(labels" in tex.replace("~", " ") and r"\frac" not in tex


def test_a_formula_has_the_room_that_it_says():
    for wide, tall in re.findall(
        r"\\formula\{([\d.]+)bp\}\{([\d.]+)bp\}\{\\", drawn().tex().split(r"\begin{document}")[1]
    ):
        assert 5 < float(wide) < 400 and 10 < float(tall) < 40


def test_latex_sets_every_theme_and_slides(tmp_path):
    for theme in THEMES:
        assert len(re.findall(rb"/Type /Page\b(?!s)", typeset(drawn(theme=theme).tex(), tmp_path))) in (
            0,
            3,
        )  # 0: compressed
    assert typeset(drawn(size="slide").tex(), tmp_path).startswith(b"%PDF")


def test_latex_sets_what_users_may_write(tmp_path):
    record = records.odd()
    for i, text in enumerate([*HOSTILE.values(), "größe", "θ", "Ω", "x̂", "a~b^c", "$x_1$", "", "%", "--"]):
        value = record["values"][i % len(record["values"])]
        value.update(name=text, label="")
        op = record["ops"][i % len(record["ops"])]
        op.update(name=text, function=text or None, where={"file": text, "line": 1, "code": text})
        record["program"].update(name=text, file=text)
        made = viz.draw(record).tex()
        assert not unfinished(made), text
        typeset(made, tmp_path)


@pytest.mark.parametrize("way", ["TB", "LR"])
def test_the_file_is_saved_by_its_suffix(way, tmp_path):
    made = viz.draw(records.two_uses(), rankdir=way).save(tmp_path / "x.tex").read_text()
    assert made.splitlines()[1] == r"\documentclass{article}"


def test_the_command_writes_it(net):
    assert minigrad(net, "render", "net.py:loss", "--tex", "-p", "backward").returncode == 0
    assert r"\bar{w}" in (net / "loss.tex").read_text()
