"""Figures of a training run."""

import numpy as np
import pytest

from viz.figures import gradient_magnitudes

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
