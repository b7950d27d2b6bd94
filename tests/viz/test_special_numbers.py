"""NaN and infinities are shown as they are in every format, with the place where the first one was made."""

import json
import re

import numpy as np
import pytest

import minigrad
import viz
from minigrad.errors import suppressed_warnings
from viz.graph.record_diff import compare
from viz.layout.themes import THEMES
from viz.text import contents, extent, gist, norm

from .command import minigrad as command

INF, NAN = float("inf"), float("nan")
PROGRAM = """
import minigrad as torch
x = torch.tensor([0.0, 1.0], requires_grad=True)
d = (x - 1).abs()
loss = (d / d).sum()
loss.backward()
"""


def drawn(f, *numbers, **options):
    with suppressed_warnings():
        return viz.draw(f, minigrad.tensor(numbers, requires_grad=True), passes="all", **options)


def masked(scores):
    return scores.masked_fill(minigrad.arange(scores.numel()) > 0, -INF)


@pytest.mark.parametrize("size", [2, 9, 20], ids=["whole", "in cells", "summed up by the record"])
def test_minus_infinity_is_named_in_values_of_any_size(size):
    text = drawn(lambda x: masked(x) * 1, *np.arange(size) * 1.0).text()
    assert (f"[0{', -inf' * (size - 1)}]" if size < 17 else f"min 0  mean 0  max 0  -inf {size - 1}×") in text


@pytest.mark.parametrize(
    "elements, said, short",
    [
        ([INF, -INF, 1.0] * 3, "min 1  mean 1  max 1  inf 3×  -inf 3×", "1 inf 3× -inf 3×"),
        ([-INF] * 9, "all -inf", "all -inf"),
        ([NAN] * 9, "all nan", "all nan"),
        ([INF, NAN] * 5, "nan 5×  inf 5×", "nan 5× inf 5×"),
        ([-0.0, 2.0] * 5, "min 0  mean 1  max 2", "0 … 2"),
    ],
)
@pytest.mark.parametrize("times", [1, 3], ids=["elements", "statistics"])
def test_each_infinity_is_counted(elements, said, short, times):
    value = minigrad.record(lambda x: x, minigrad.tensor(elements * times)).to_dict()["values"][0]
    many = lambda text: re.sub(r"(\d+)×", lambda m: f"{int(m[1]) * times}×", text)
    assert ("values" in value["summary"]) == (times == 1)
    assert contents(value) == many(said) and extent(value) == many(short)
    assert gist(value) == f"({len(elements) * times},)  {many(said)}"


def test_the_norm_of_infinities_is_infinite_and_of_nan_is_nan():
    norm_of = lambda *elements: norm(minigrad.record(lambda x: x, minigrad.tensor(elements * 9)).to_dict()["values"][0])
    assert norm_of(INF, 1.0) == norm_of(-INF, 1.0) == "norm inf" and norm_of(NAN, INF) == "norm nan"
    assert norm({"shape": [2], "summary": {"values": ["nan", "inf"]}}) == "norm nan"


@pytest.mark.parametrize("cause", [INF, NAN, -INF], ids=str)
def test_a_gradient_that_is_not_finite_was_not_changed_by_a_hook(cause):
    picture = drawn(lambda x: (x * 2 * cause + x * cause).sum(), 1.0, 0.0)
    assert "hook" not in picture.text() and "hook" not in picture.svg()


def test_a_hook_that_replaces_nan_is_named():
    def program(x):
        h = x * 2
        h.register_hook(lambda g: g.nan_to_num(0.0))
        return (h * NAN).sum()

    assert "changed by a hook" in drawn(program, 1.0, 0.0).text()


@pytest.mark.parametrize("theme", THEMES)
def test_special_numbers_have_a_style_in_every_theme(theme):
    divided, doubled = [drawn(f, 0.0, 1.0, theme=theme).svg() for f in (lambda x: x / x, lambda x: x * 2)]
    assert ">nan</tspan>" in divided and " .t-special{font:bold" in divided
    assert " .t-special{font:bold" not in doubled


def test_only_numbers_have_that_style():
    svg = drawn(lambda nan: nan.log() * nan, 0.0).svg()
    assert set(re.findall(r'<tspan class="t-special(?:-small)?">([^<]*)<', svg)) == {"-inf", "inf", "nan"}
    assert not re.search(r'"t-(?:call|formula)"[^>]*>[^<]*<tspan', svg)


@pytest.mark.parametrize("suffix", ["txt", "svg", "film", "html", "tex", "dot", "mmd"])
def test_every_format_has_the_first_nan_and_its_numbers(tmp_path, suffix):
    (tmp_path / "nan.py").write_text(PROGRAM)
    assert command(tmp_path, "render", "nan.py:loss", "-f", suffix, "-o", "made").returncode == 0
    made = (tmp_path / "made").read_text()
    assert made.count("first NaN here: 0 / 0") >= 1 and made.count("first NaN here: -0 / 0") >= 1


def test_brief_pictures_folds_and_slides_have_it_too():
    def program(x):
        for _ in range(20):
            x = (x / x).sin()
        return x

    for options in ({}, {"depth": 0}, {"max_nodes": 5}):
        assert drawn(program, 0.0, **options).text().count("first NaN here: 0 / 0") >= 1


def test_the_steps_the_sentence_and_the_explanation_say_where_nan_came_from():
    x = minigrad.tensor([0.0, 1.0], requires_grad=True)
    with suppressed_warnings(), minigrad.record() as rec:
        (x * 0).sqrt().sum().backward()
    picture = viz.draw(rec, passes=("forward", "backward"))
    assert "first inf at sqrt in backward: 1 / 0" in picture.alt()
    assert "first NaN at mul in backward: 0 * inf" in picture.alt()
    said = str(minigrad.explain(x.grad))
    assert "(backward: first inf at sqrt," in said and "1 / 0" in said


def test_a_record_read_from_json_and_a_pytorch_program_have_it():
    torch = pytest.importorskip("torch")
    with suppressed_warnings():
        record = minigrad.record(lambda x: x / x, minigrad.tensor([0.0])).to_json()
    assert "first NaN here: 0 / 0" in viz.draw(json.loads(record)).text()
    x = torch.tensor([0.0, 1.0], requires_grad=True)
    assert "first NaN here: 0 / 0" in viz.draw(lambda x: x / x, x).text()


def test_records_that_differ_in_the_sign_of_an_infinity_differ():
    of = lambda sign: minigrad.record(lambda x: x * 1.0, minigrad.tensor([1.0] * 19 + [sign * INF])).to_dict()
    assert not compare(of(1), of(1)) and compare(of(1), of(-1))
    older = of(1)
    for value in older["values"]:
        value["summary"].pop("-inf", None)
    assert not compare(older, of(1))
    assert not compare(*[minigrad.record(lambda x: x * NAN, minigrad.tensor(np.ones(n))).to_dict() for n in (3, 3)])
