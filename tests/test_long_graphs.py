"""Graphs up to a million operations deep: backward and destruction without recursion.

Each program runs in a separate process, because a stack that overflows in a destructor ends the process.
"""

import subprocess
import sys

import pytest

HEADER = """
import minigrad as torch
import minigrad.autograd.forward_ad as fwAD

class Negate(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return -x

    @staticmethod
    def backward(ctx, g):
        assert len(ctx.saved_tensors) == 1
        return -g

y = x = torch.tensor(1.0, dtype=torch.float64, requires_grad=True)
"""
PROGRAMS = {
    "a million operations": """
for _ in range(1_000_000):
    y = y * 1.000001
y.backward()
assert round(x.grad.item(), 4) == 2.7183
""",
    "dropped without backward": """
for _ in range(300_000):
    y = y + 1.0
del y
""",
    "custom Functions": """
for keep in (True, False):
    y = x
    for _ in range(50_000):
        y = Negate.apply(y)
    if keep:
        y.backward()
    del y
assert x.grad.item() == 1.0
""",
    "writes into one tensor": """
y = x.reshape(1).expand(2).clone()
for _ in range(20_000):
    y[0].add_(1.0)
y.sum().backward()
assert (y[0].item(), x.grad.item()) == (20001.0, 2.0)
""",
    "views": """
v = y = x.reshape(1).clone()
for _ in range(20_000):
    v = v[:]
v.mul_(3.0)
y.sum().backward()
assert x.grad.item() == 3.0
""",
    "create_graph": """
for _ in range(20_000):
    y = y * x
(g,) = torch.autograd.grad(y, x, create_graph=True)
(h,) = torch.autograd.grad(g, x)
assert (g.item(), h.item()) == (20001.0, 20001.0 * 20000.0)
""",
    "forward mode": """
with fwAD.dual_level():
    y = fwAD.make_dual(torch.tensor(1.0), torch.tensor(1.0))
    for _ in range(10_000):
        y = y + y * 0.0
    assert fwAD.unpack_dual(y).tangent.item() == 1.0
""",
}


@pytest.mark.parametrize("title", PROGRAMS)
def test_a_long_chain(title):
    program = HEADER + PROGRAMS[title]
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, f"exit status {run.returncode}\n{run.stderr[-2000:]}"
