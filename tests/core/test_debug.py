"""Debug mode: lines of what made a tensor, and writes that nothing else notices."""

import os
import subprocess
import sys

import numpy as np
import pytest

import minigrad as torch


def refused(f, *args):
    with pytest.raises(RuntimeError) as raised:
        f(*args)
    return str(raised.value)


def test_an_error_names_the_lines_that_created_its_tensors():
    with torch.debug():
        a = torch.ones(3, 4) * 2
        text = refused(lambda: a + torch.ones(3))
    assert f"made by mul at {__file__}:" in text and "a = torch.ones(3, 4) * 2" in text


def test_the_error_names_debug_mode_as_the_way_to_the_line():
    a = torch.ones(3, 4, requires_grad=True) * 2
    assert "made by mul; `with torch.debug():` shows the line" in refused(lambda: a + torch.ones(3))


def test_a_tensor_without_a_known_line_is_left_out():
    text = refused(lambda: torch.ones(3, 4, requires_grad=True) + torch.ones(3))
    assert "made by" not in text


@pytest.mark.parametrize(
    "write",
    [
        lambda x: x.data.mul_(2),
        pytest.param(
            lambda x: x.detach().numpy().fill(7.0),
            marks=pytest.mark.cpu("arrays of NumPy lie in the computer's memory"),
        ),
    ],
)
def test_a_saved_tensor_written_past_its_counter_is_found(write):
    with torch.debug():
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        y = x.exp()
        z = y * y
        write(y)
        text = refused(z.sum().backward)
    assert "MulBackward0" in text and "has new values" in text and "z = y * y" in text and "no_grad" in text


@pytest.mark.cpu("what NumPy tells of NaN; a GPU would have to be waited for, as detect_anomaly does")
def test_unmodified_tensors_and_nan_are_not_reported():
    with torch.debug():
        x = torch.tensor([1.0, float("nan")], requires_grad=True)
        with pytest.warns(torch.MinigradWarning, match="nan-loss"):
            (x.exp() * x).sum().backward()
    assert np.isnan(x.grad.numpy()[1])


def test_an_error_in_backward_names_the_forward_line():
    class Broken(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            raise ValueError("broken")

    with torch.debug():
        y = Broken.apply(torch.ones(2, requires_grad=True))
        with pytest.raises(ValueError) as raised:
            y.sum().backward()
    assert "y = Broken.apply" in "".join(raised.value.__notes__)


def test_debug_mode_ends_with_its_block_and_can_be_switched_off():
    from minigrad.core.frames import ON, current

    with torch.debug():
        assert current() is not ON
        with torch.debug(False):
            assert current() is ON
        with torch.autograd.detect_anomaly():
            assert torch.is_anomaly_check_nan_enabled()
        assert not torch.is_anomaly_check_nan_enabled()
    assert current() is ON and not torch.is_anomaly_enabled()


def test_the_environment_variable_switches_debug_mode_on_in_every_thread():
    program = """
import threading, minigrad as torch
def run():
    x = torch.tensor([1.0], requires_grad=True)
    y = x.exp()
    y.data.zero_()
    try:
        y.sum().backward()
    except RuntimeError as e:
        print("found" if "has new values" in str(e) else e)
run()
t = threading.Thread(target=run); t.start(); t.join()
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env={**os.environ, "MINIGRAD_DEBUG": "1"}
    )
    assert done.stdout == "found\nfound\n", done.stderr
