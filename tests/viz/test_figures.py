"""Figures of a training run."""

import base64
import io
import re

import numpy as np
import pytest
from PIL import Image

import minigrad
import viz
from viz.figures import gradient_magnitudes, histograms, kept_bytes, saved_memory
from viz.training import TrainingFilm

from . import records

HISTORY = {"hidden": [2.0, 1.0, 0.5, 0.25], "out": [1.0, 0.9, 0.8, 0.7]}


def test_each_layer_has_its_steps_and_their_running_mean():
    lines = gradient_magnitudes(HISTORY).axes[0].lines
    assert [list(line.get_ydata()) for line in lines[::2]] == list(HISTORY.values())
    assert lines[1].get_ydata()[-1] == pytest.approx(0.9 * (0.9 * (0.9 * 2.0 + 0.1) + 0.05) + 0.025)


def test_layers_differ_without_colour():
    means = gradient_magnitudes({f"layer {i}": [1.0, 2.0] for i in range(4)}).axes[0].lines[1::2]
    assert len({line.get_linestyle() for line in means}) == 4


def test_a_name_with_dollars_is_not_set_as_mathematics(tmp_path):
    gradient_magnitudes({"$x_{$": [1.0]}).savefig(tmp_path / "x.png")
    assert (tmp_path / "x.png").stat().st_size > 1000


def test_gradients_of_zero_are_no_error(tmp_path):
    gradient_magnitudes({"dead": np.zeros(5).tolist()}).savefig(tmp_path / "x.png")


def record_of_a_step():
    def step(w, x):
        h = (x @ w).tanh()
        return (h * h).mean()

    w, x = minigrad.ones(20, 20), minigrad.linspace(-1.0, 1.0, 400).reshape(20, 20)
    return minigrad.record(step, w.requires_grad_(), x)


def test_saved_memory_grows_forward_and_is_all_freed_backward():
    figure = saved_memory(record_of_a_step())
    kept = list(figure.axes[0].lines[0].get_ydata())
    top = kept.index(max(kept))
    assert kept[: top + 1] == sorted(kept[: top + 1]) and kept[top:] == sorted(kept[top:], reverse=True)
    assert kept[0] == kept[-1] == 0 and max(kept) == viz.draw(record_of_a_step()).graph.saved_bytes()


def test_memory_that_is_never_freed_stays():
    keep = {"value": 3, "bytes": 8, "freed_by": None}
    assert kept_bytes([{"id": 0, "saved": [keep]}, {"id": 1, "saved": []}]) == [0, 8, 8]


def test_histograms_have_a_row_for_each_result_with_its_gradient(tmp_path):
    figure = histograms(record_of_a_step())
    rows = [axes.get_ylabel() for axes in figure.axes[::2]]
    assert len(rows) == 3 and "tanh\nh" in rows  # the mean is a single number
    assert all(axes.patches for axes in figure.axes)
    figure.savefig(tmp_path / "x.png")


def test_histograms_show_a_few_of_many_results():
    record = minigrad.record(lambda x: [x := x * 1.01 for _ in range(100)][-1].sum(), minigrad.ones(50))
    assert len(histograms(record, most=5).axes) == 10


def test_histograms_of_values_that_are_not_known_say_so(tmp_path):
    histograms(records.odd()).savefig(tmp_path / "x.png")


@pytest.mark.parametrize("suffix", [".gif", ".html"])
def test_a_training_run_is_a_film(tmp_path, suffix):
    made = TrainingFilm(HISTORY).save(tmp_path / f"run{suffix}").read_bytes()
    picture = made if suffix == ".gif" else base64.b64decode(re.search(rb"base64,([^\"]+)", made)[1])
    frames = Image.open(io.BytesIO(picture))
    assert frames.n_frames == 4 and (suffix == ".gif" or b"default-src 'none'" in made)


@pytest.mark.slow
def test_a_long_run_is_shown_in_not_too_many_frames():
    assert Image.open(io.BytesIO(TrainingFilm({"out": [1.0 / (i + 1) for i in range(1000)]}).gif())).n_frames <= 120


def test_a_film_without_steps_or_of_another_kind_is_refused(tmp_path):
    with pytest.raises(ValueError, match="the history is empty"):
        TrainingFilm({"out": []})
    with pytest.raises(ValueError, match="'.mp4'"):
        TrainingFilm(HISTORY).save(tmp_path / "run.mp4")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("shown", "kind"),
    [(gradient_magnitudes(HISTORY), "image/png"), (TrainingFilm(HISTORY), "text/html")],
    ids=["figure", "film"],
)
def test_a_notebook_shows_figures_and_films(shown, kind):
    display = pytest.importorskip("IPython.core.formatters").DisplayFormatter()
    made, _ = display.format(shown)
    assert "base64," in made[kind] if kind == "text/html" else made[kind].startswith(b"\x89PNG")
