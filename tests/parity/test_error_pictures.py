"""The pictures of tests/viz/test_error_pictures.py for PyTorch programs that raise."""

import pytest
import torch

from tests.viz.command import minigrad as command
from tests.viz.test_error_pictures import (  # noqa: F401  collected here, with the library below
    test_a_graph_used_twice_marks_the_node_and_the_line_of_the_first_backward,
    test_a_write_to_a_saved_tensor_marks_the_node_the_write_and_both_lines,
    test_an_error_in_the_backward_of_a_function_marks_it_and_draws_the_gradients_that_came,
    test_an_error_in_the_forward_of_a_function_names_the_call_and_the_line_inside,
    test_an_error_of_python_has_a_card_without_operands,
    test_nan_under_anomaly_detection_marks_the_node,
    test_the_call_that_raises_is_drawn_with_its_operands_and_the_sizes_that_do_not_fit,
    test_the_modules_around_the_call_are_known,
    test_under_a_transform_the_operands_are_the_programs,
)


@pytest.fixture
def lib():
    return torch


def test_render_writes_the_picture_prints_the_traceback_and_ends_with_1(tmp_path):
    lines = "import torch\nx = torch.ones(4, 3)\nw = torch.ones(4, 2, requires_grad=True)\nloss = (x * 2) @ w\n"
    (tmp_path / "net.py").write_text(lines)
    done = command(tmp_path, "render", "net.py:loss", "-o", "loss.txt")
    assert done.returncode == 1 and b"mat1 and mat2" in done.stderr and done.stderr.count(b'File "') == 1
    made = (tmp_path / "loss.txt").read_text()
    assert "✗  matmul" in made and "To fix: transpose (x * 2): (x * 2).mT @ w" in made
