"""Random programs for compile: lines of maps, reductions, products, slices and writes; equal for equal seeds.

Arguments have sizes 0 and 1 and equal sizes, NaN and infinity, other layouts.
"""

import random
from dataclasses import dataclass, replace

import numpy as np

from .both import defined

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


@dataclass(frozen=True)
class Program:
    """The lines of a function of x and y (tensors of one shape), k (classes) and s (a float), and the names it returns."""

    seed: int
    lines: tuple
    results: tuple

    @property
    def source(self):
        """The text of the function."""
        return "\n    ".join(["def f(x, y, k, s):", *self.lines, f"return {', '.join(self.results)},\n"])

    def function(self, torch):
        """Return the function, of this module."""
        namespace = {"torch": torch, "F": torch.nn.functional}
        defined(self.source, namespace)
        return namespace["f"]

    def arguments(self, torch):
        """Return a maker of equal arguments: some have special numbers, some another memory layout."""
        seed, shape = self.seed, SHAPES[self.seed % len(SHAPES)]
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


def write(seed, torch):
    """Return one random program, without the lines that fail on its arguments."""
    choice = random.Random(seed)
    program, names = Program(seed, (), ("x * 1",)), ["x", "y"]
    for i in range(choice.randint(3, 9)):
        kind = choice.random()
        if kind < 0.1 and len(names) > 2:
            program = with_line(program, filled(choice, choice.choice(WRITES), names[2:]), torch)
            continue
        line = f"v{i} = " + filled(choice, choice.choice(MAPS if kind < 0.6 else ROWS), names)
        longer = with_line(program, line, torch)
        names += [f"v{i}"] * (longer is not program)
        program = longer
    return replace(program, results=tuple(choice.sample(names[2:], min(2, len(names) - 2))) or program.results)


def with_line(program, line, torch):
    """Return the program with another line, if it does not fail then."""
    longer = replace(program, lines=(*program.lines, line))
    try:
        with np.errstate(all="ignore"):
            longer.function(torch)(*longer.arguments(torch)())
    except Exception:
        return program
    return longer


def filled(choice, text, names):
    """Return a template with variables, the latest ones more often."""
    pick = lambda: choice.choice([*names, *names[-3:], *names[-1:]])
    return text.format(*[pick() for _ in range(4)])


def outcome(torch, f, args):
    """Run a program; return its results and gradients."""
    outs = f(*args)
    tracked = [o for o in outs if o.requires_grad]
    leaves = [a for a in args if isinstance(a, torch.Tensor) and a.requires_grad]
    total = sum([(o * o.detach().cos()).sum() for o in tracked])
    return [*outs, *(torch.autograd.grad(total, leaves, allow_unused=True) if tracked else [])]


def shrink(program, differs):
    """Return the program without every line and result that can go while `differs(program)` stays true."""
    for result in program.results:
        shorter = replace(program, results=(result,))
        if len(program.results) > 1 and differs(shorter):
            program = shorter
    return shortened(program, "lines", differs)


def shortened(program, field, differs):
    """Return the program without every entry of a field that can go while `differs(program)` stays true."""
    for place in reversed(range(len(getattr(program, field)))):
        entries = getattr(program, field)
        shorter = replace(program, **{field: entries[:place] + entries[place + 1 :]})
        program = shorter if differs(shorter) else program
    return program
