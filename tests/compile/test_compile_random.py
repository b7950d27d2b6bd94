"""Random programs, compiled and eager: values, gradients, NaN and infinity, sizes 0 and 1, layouts, writes in place.

A program is a list of lines of Python; one that fails is shown as such.  They run as plain Python (interpreted.py), some of
them through Numba as well.
"""

import random

import numpy as np
import pytest

import minigrad as torch
from minigrad.compile.api import compile
from tests.floats import some

from .interpreted import interpreted

__all__ = ["interpreted"]
F = torch.nn.functional

MAPS = ["{}.sin()", "{}.exp()", "{} * {}", "{} + {}", "{} - {} * 2", "{} / ({} + 1.5)", "-{}", "torch.maximum({}, {})",
        "torch.where({} > 0.2, {}, {})", "{}.tanh() + {}", "{} ** 2", "F.relu({})", "{}.clone()", "{} * 1", "{}.detach() * {}",
        "{}.sigmoid()", "{} * s", "{}.abs().sqrt()"]  # fmt: skip
ROWS = ["torch.softmax({}, -1)", "torch.log_softmax({}, -1)", "F.layer_norm({}, {}.shape[-1:])", "{}.sum(-1, keepdim=True)",
        "{}.mean(-1, keepdim=True)", "torch.logsumexp({}, -1, keepdim=True)", "{}.sum(0)", "{}.mean(0, keepdim=True)",
        "{}.sum()", "{}.sum(-1)", "torch.softmax({}, 0)", "F.layer_norm({}, {}.shape[-1:], {}[0], {}[-1])",
        "F.cross_entropy({}, k)", "F.cross_entropy({}, k, reduction='none')", "F.nll_loss({}, k, ignore_index=1)",
        "{}.cumsum(0)", "{}.T @ {}", "{} @ {}.T", "{}.T.sum(0)", "{}.T.reshape({}.shape)", "{}[:, :1].expand({}.shape)",
        "{}[:1] * {}", "torch.outer({}.sum(1), {}.sum(0))", "{}.flip(1)", "{}[1:3]", "{}[:, :2] * 2", "{}[0] * {}",
        "{}[:, None] + {}[None]", "{}[::2]", "{}[0:4:2].sum(1)", "{}[-1]", "{}[1:]", "{}[1, 1:3]", "{}[:2].clone()",
        "{}[:, 0:1] * {}", "{}.amax(1)", "{}.amax(0)", "{}.max()",
        "{}.amax(-1, keepdim=True)", "{}.sum(0) * {}.sum(1, keepdim=True)",
        "{}[None] @ {}.T", "{}[:, :, None] @ {}[:, None]", "{}[:, None] @ {}[:, :, None]", "{}.expand(2, *{}.shape).mT @ {}",
        "{}.mT @ {}[:, :, None]", "torch.einsum('ij,kj->ki', {}, {})", "torch.einsum('ij,ij->i', {}, {})",
        "torch.einsum('...ij,...kj->...k', {}, {})", "F.linear({}[:, None], {})", "F.linear({}, {}[:2], {}[:2, 0])",
        "F.cross_entropy({}[:, None].mT, k[:, None])", "({} > 0.1).all(0) * {}", "{}.reshape(-1)", "{}.squeeze(1)",
        "{}.sum(-1, keepdim=True).sum(-1)", "{}[:, None, :1]", "{}.mT"]  # fmt: skip
WRITES = ["{0}.mul_({1})", "{0}.add_({1}, alpha=2)", "{0}.copy_({1})", "{0}.sub_({1} * s)"]
SHAPES = [(5, 7), (4, 4), (1, 6), (6, 1), (0, 3), (3, 0), (1, 1), (9, 2)]


class Program:
    """Lines that compute from x and y (tensors of one shape), k (classes) and s (a float)."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.lines, names = [], ["x", "y"]
        for i in range(self.random.randint(3, 9)):
            kind = self.random.random()
            if kind < 0.1 and len(names) > 2:
                self.lines.append(self.filled(self.random.choice(WRITES), names[2:]))
                continue
            self.lines.append(f"v{i} = " + self.filled(self.random.choice(MAPS if kind < 0.6 else ROWS), names))
            names.append(f"v{i}")
        results = self.random.sample(names[2:], min(2, len(names) - 2)) or ["x * 1"]
        self.head = "def f(x, y, k, s):\n    "
        self.end = f"return {', '.join(results)},"

    def filled(self, text, names):
        """A template with variables, the latest ones more often."""
        pick = lambda: self.random.choice([*names, *names[-3:], *names[-1:]])  # noqa: E731
        return text.format(*[pick() for _ in range(4)])

    def function(self, arguments):
        """The function, without the lines that fail on these arguments."""
        kept = []
        for line in [*self.lines, self.end]:
            namespace = {"torch": torch, "F": F}
            try:
                with np.errstate(all="ignore"):
                    exec(
                        self.head + "\n    ".join([*kept, line.replace("return", "_ =") or "pass", "return x,"]),
                        namespace,
                    )
                    namespace["f"](*arguments())
            except Exception:
                if line is self.end:
                    line = f"return {kept[-1].split(' = ')[0] if kept and ' = ' in kept[-1] else 'x * 1'},"
                else:
                    continue
            kept.append(line)
        self.text = self.head + "\n    ".join(kept)
        exec(self.text, namespace)
        return namespace["f"]


def arguments(seed, shape):
    """Makers of equal arguments: some have special numbers, some lie otherwise in memory."""
    rng = np.random.default_rng(seed)
    dtype = ["f4", "f8"][seed % 2]
    arrays = [rng.standard_normal(shape).astype(dtype) for _ in range(2)]
    if seed % 5 == 0 and arrays[0].size:
        arrays[0].flat[rng.integers(0, arrays[0].size)] = rng.choice([np.nan, np.inf, -np.inf, 0.0])
    if seed % 3 == 0:
        arrays[1] = np.asfortranarray(arrays[1])
    elif seed % 7 == 0:
        arrays[1] = np.repeat(arrays[1], 2, 1)[:, ::2]
    classes = rng.integers(0, max(shape[1], 1), shape[0])

    def make():
        made = [torch.from_numpy(a.copy("K")) for a in arrays]
        return *[t.requires_grad_() if seed % 4 else t for t in made], torch.tensor(classes), 0.75

    return make


def outcome(f, args):
    """Results and gradients."""
    outs = f(*args)
    tracked = [o for o in outs if o.requires_grad]
    leaves = [a for a in args if isinstance(a, torch.Tensor) and a.requires_grad]
    total = sum([(o * o.detach().cos()).sum() for o in tracked])
    return [*outs, *(torch.autograd.grad(total, leaves, allow_unused=True) if tracked else [])]


def close(a, b, text):
    """Of the same dtype and shape, and nearly the same numbers."""
    assert (a.dtype, a.shape) == (b.dtype, b.shape), text
    few = 2e-3 if a.dtype == torch.float32 else 1e-9
    a, b = a.detach().cpu().numpy(), b.detach().numpy()
    size = max(1.0, np.max(np.abs(b), initial=0, where=np.isfinite(b)))
    np.testing.assert_allclose(a, b, few, few * size, err_msg=text)


def moved(args, device):
    """Equal arguments on a device, the tensors among them laid out as they were."""
    to = lambda t: t.detach().to(device).requires_grad_(t.requires_grad) if isinstance(t, torch.Tensor) else t
    return [to(a) for a in args]


def compare(seed, device):
    """A program compiled on a device gives what eager code gives on the processor."""
    with torch.device("cpu"):
        program, make = Program(seed), arguments(seed, SHAPES[seed % len(SHAPES)])
        f = program.function(make)
        with np.errstate(all="ignore"):
            try:
                wanted = outcome(f, make())
            except RuntimeError:  # it has written to what its backward needs
                return compile(f)
    compiled = compile(f)
    for again in range(4):  # captured, looked up, by the short road
        with torch.device(device), np.errstate(all="ignore"):
            found = outcome(compiled, moved(make(), device))
        for a, b in zip(found, wanted, strict=True):
            assert (a is None) == (b is None), program.text
            if a is not None:
                close(a, b, f"call {again} of seed {seed}\n{program.text}")
    assert "failed" not in compiled.explain(), f"{compiled.explain()}\n{program.text}"
    return compiled


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("part", [0, 1, *[pytest.param(k, marks=pytest.mark.slow) for k in range(2, 8)]])
def test_random_programs(part, interpreted):
    compiled = [compare(seed, torch.get_default_device()) for seed in range(part * 40, part * 40 + 40)]
    assert sum(["eagerly" not in c.explain() for c in compiled]) > 20


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", some(range(1000, 1012)))
def test_random_programs_by_numba(seed):
    compare(seed, torch.get_default_device())
