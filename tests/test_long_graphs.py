"""Graphs up to a million operations deep: backward and destruction without recursion.

Each program runs in a separate process, because a stack that overflows in a destructor ends the process.
"""

import subprocess
import sys
import textwrap

import pytest


def output_of(program):
    run = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, f"exit status {run.returncode}\n{run.stderr[-2000:]}"
    return run.stdout.split()


@pytest.mark.slow
def test_backward_through_a_million_operations():
    program = """
        import minigrad as torch
        x = torch.tensor(1.0, dtype=torch.float64, requires_grad=True)
        y = x
        for _ in range(1_000_000):
            y = y * 1.000001
        y.backward()
        print(round(x.grad.item(), 4))
    """
    assert output_of(program) == ["2.7183"]


@pytest.mark.slow
def test_a_long_chain_is_dropped_without_backward():
    program = """
        import minigrad as torch
        x = torch.tensor(1.0, requires_grad=True)
        y = x
        for _ in range(300_000):
            y = y + 1.0
        del y
        print("dropped")
    """
    assert output_of(program) == ["dropped"]


@pytest.mark.slow
def test_a_long_chain_of_custom_functions():
    program = """
        import minigrad as torch

        class Negate(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return -x

            @staticmethod
            def backward(ctx, g):
                assert len(ctx.saved_tensors) == 1
                return -g

        x = torch.tensor(1.0, requires_grad=True)
        for keep in (True, False):
            y = x
            for _ in range(50_000):
                y = Negate.apply(y)
            if keep:
                y.backward()
            del y
        print(x.grad.item())
    """
    assert output_of(program) == ["1.0"]


@pytest.mark.slow
def test_a_long_chain_of_writes_into_one_tensor():
    program = """
        import minigrad as torch
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        y = x.clone()
        for _ in range(20_000):
            y[0].add_(1.0)
        y.sum().backward()
        print(y[0].item(), x.grad.tolist()[0])
    """
    assert output_of(program) == ["20001.0", "1.0"]


def test_a_long_chain_of_views():
    program = """
        import minigrad as torch
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        y = x.clone()
        v = y
        for _ in range(20_000):
            v = v[:]
        v.mul_(3.0)
        y.sum().backward()
        print(x.grad.tolist()[0])
    """
    assert output_of(program) == ["3.0"]


def test_a_long_chain_with_create_graph():
    program = """
        import minigrad as torch
        x = torch.tensor(1.0, dtype=torch.float64, requires_grad=True)
        y = x
        for _ in range(20_000):
            y = y * x
        (g,) = torch.autograd.grad(y, x, create_graph=True)
        (h,) = torch.autograd.grad(g, x)
        print(g.item(), h.item())
    """
    assert output_of(program) == ["20001.0", f"{20001.0 * 20000.0}"]


def test_a_long_chain_in_forward_mode():
    program = """
        import minigrad as torch
        import minigrad.autograd.forward_ad as fwAD
        with fwAD.dual_level():
            y = fwAD.make_dual(torch.tensor(1.0), torch.tensor(1.0))
            for _ in range(10_000):
                y = y + y * 0.0
            print(fwAD.unpack_dual(y).tangent.item())
    """
    assert output_of(program) == ["1.0"]
