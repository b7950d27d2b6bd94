"""The nucleus works alone: imported without the rest of the package it computes, differentiates and raises plain errors."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
PROGRAM = """
import sys, types

package = types.ModuleType("minigrad")
package.__path__ = [{path!r}]
sys.modules["minigrad"] = package

import numpy as np
from minigrad.core import engine
from minigrad.core.function import Function
from minigrad.core.tensor import wrap


class Square(Function):
    @staticmethod
    def forward(x):
        return wrap(x._a * x._a)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return wrap(g._a * 2 * x._a)

    @staticmethod
    def jvp(ctx, t):
        (x,) = ctx.saved_tensors
        return wrap(t._a * 2 * x._a)


x = wrap(np.array([2.0, 3.0])).requires_grad_()
y = Square.apply(Square.apply(x))
engine.run([y._edge], [wrap(np.ones(2))])
assert (x.grad._a == 4 * x._a**3).all()

ctx = Square.Node(None, (True,))
Square.setup_context(ctx, (x,), None)
(tangent,) = Square.tangents((x,), [wrap(np.ones(2))], (Square.forward(x),), ctx)
assert (tangent._a == 2 * x._a).all()

try:
    engine.run([y._edge], [wrap(np.ones(2))])
except RuntimeError as e:
    assert type(e) is RuntimeError and "freed" in str(e)
else:
    raise AssertionError("a graph was gone through twice")

loaded = {{name.split(".")[1] for name in sys.modules if name.startswith("minigrad.")}}
assert loaded <= {{"arrays", "config", "core", "errors", "events", "places", "scopes", "signatures"}}, loaded
"""


def test_the_core_without_plugins_computes_and_raises_plain_errors(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM.format(path=str(ROOT / "minigrad")))
    done = subprocess.run([sys.executable, "program.py"], cwd=tmp_path, capture_output=True, text=True)
    assert not done.returncode, done.stderr
