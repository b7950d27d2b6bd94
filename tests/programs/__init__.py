"""Programs as people write them for PyTorch, in scripts/, and how they train here and there.

Each is a script that runs unchanged: it imports torch, and prints `step 20 loss 0.5` as it trains.  `output` runs one
by minigrad or by PyTorch, and `curve` reads its losses; a seed gives the same numbers in both.
`python -m tests.programs` runs all, keeps the losses in curves.json and makes docs/programs.md (page.py) of them.
"""

import contextlib
import io
import json
import re
import runpy
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import minigrad

FOLDER = Path(__file__).parent
SCRIPTS = {path.stem: path for path in sorted((FOLDER / "scripts").glob("*.py"))}
KEPT = FOLDER / "curves.json"
LINE = re.compile(r"^step (\d+) .*?loss (.*)$", re.MULTILINE)
NUMBER = re.compile(r"-?(?:\d+\.?\d*(?:e[+-]\d+)?|nan|inf)\b")
FIRST, LAST = 1e-5, 1e-3  # relative differences that rounding may make of losses, at a program's start and at its end
DIGIT = 1e-6  # what a loss may be off by itself: the last digit that the programs print

Curve = dict[str, list[float]]  # the steps at which losses are printed, and the first loss of each


def output(name: str, by: str) -> str:
    """Run a program by "minigrad" or by "torch"; return what it prints."""
    with {"minigrad": in_minigrad, "torch": in_torch}[by]():
        return printed(SCRIPTS[name])


def curve(text: str) -> Curve:
    """Read the losses out of what a program prints.

    >>> curve("step 10 loss 0.5\\nstep 20 lr 0.1 loss 0.25\\ndone")
    {'steps': [10, 20], 'losses': [0.5, 0.25]}
    """
    found = [(int(step), NUMBER.findall(losses)[0]) for step, losses in LINE.findall(text)]
    return {"steps": [step for step, _ in found], "losses": [float(loss) for _, loss in found]}


def printed(script: Path) -> str:
    """Run a script in this process, as a command without arguments; what it prints."""
    text, words = io.StringIO(), sys.argv
    sys.argv = [str(script)]
    try:
        with contextlib.redirect_stdout(text):
            runpy.run_path(str(script), run_name="__main__")
    finally:
        sys.argv = words
    return text.getvalue()


@contextlib.contextmanager
def in_minigrad() -> Iterator[None]:
    """`import torch` gives minigrad, and its default dtype is what it was at the end."""
    dtype = minigrad.get_default_dtype()
    try:
        with minigrad.as_torch():
            yield
    finally:
        minigrad.set_default_dtype(dtype)


@contextlib.contextmanager
def in_torch() -> Iterator[None]:
    """`import torch` gives PyTorch, on one thread."""
    import torch

    dtype, threads = torch.get_default_dtype(), torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # PyTorch's, of what it deprecates
            yield
    finally:
        torch.set_default_dtype(dtype)
        torch.set_num_threads(threads)


def difference(a: Curve, b: Curve) -> float:
    """Return the largest relative difference between two curves' losses."""
    return max(abs(x - y) / max(abs(y), DIGIT) for x, y in zip(a["losses"], b["losses"], strict=True))


def allowed(kept: Curve) -> list[float]:
    """Return how far each loss may be from the kept one.

    Two libraries round differently, as one does on two processors, and a step of training enlarges a difference about as
    much as any other step does, so that it grows like a power: from FIRST at the first loss to LAST at the last.  Measured
    are 1e-5, also with BLAS's kernels for another processor.  Programs that would enlarge rounding more, such as games whose
    moves are drawn, compute in float64.
    """
    last = max(len(kept["losses"]) - 1, 1)
    return [
        FIRST * (LAST / FIRST) ** (n / last) * abs(loss) + 2 * DIGIT * max(1.0, abs(loss))
        for n, loss in enumerate(kept["losses"])
    ]


def assert_same(found: Curve, kept: Curve, name: str) -> None:
    """Fail, with the first losses that are too far apart, unless a curve is the kept one."""
    assert found["steps"] == kept["steps"] and found["steps"], f"{name}: other steps than are kept"
    for step, a, b, far in zip(found["steps"], found["losses"], kept["losses"], allowed(kept), strict=True):
        assert abs(a - b) <= far, f"{name}, step {step}: the loss is {a}, not {b}; {far:.2g} apart would be rounding"


def kept() -> dict[str, dict]:
    """Return the curves of curves.json: {program: {"minigrad": curve, "torch": curve, "same": is all text the same}}."""
    return json.loads(KEPT.read_text())
