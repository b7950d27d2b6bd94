"""Put faults into the library, one at a time, and see after how many random programs `fuzz` finds each.

`python -m tests.parity.faults` works on a copy of the package.  A fault that is not found within 10,000 programs says that
the programs lack what it takes: give them that.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from .fuzz import MODES, difference, restore_thresholds

ROOT = Path(__file__).parent.parent.parent
MOST = 10_000


class Fault(NamedTuple):
    """A line of a file under minigrad/, what stands there instead, and the modes of programs that should notice."""

    file: str
    right: str
    wrong: str
    modes: str = "programs"


FAULTS = {
    "engine: the second gradient of a node replaces the first": Fault(
        "core/engine.py", "waiting[edge] = waiting[edge] + g", "waiting[edge] = g"
    ),
    "engine: the second gradient of a leaf replaces the first": Fault(
        "core/engine.py", "leaves[edge] + d if summed else d", "d"
    ),
    "engine: an older node runs before a younger one": Fault(
        "core/engine.py",
        "heappush(heap, (-edge._seq if type(edge) is not Leaf else",
        "heappush(heap, (edge._seq if type(edge) is not Leaf else",
    ),
    "engine: a view keeps its history when its base is modified": Fault(
        "core/graph.py", "if edge is not view.seen:", "if edge is None:"
    ),
    "engine: only the nearest base of a modified view gets a new history": Fault(
        "core/inplace.py", "        x = parent\n", "        break\n"
    ),
    "engine: backward uses a saved tensor that was modified": Fault(
        "core/saved.py", "if version(t) != saved.version:", "if False:"
    ),
    "engine: the gradient of a broadcast operand is half its sum": Fault(
        "core/backward.py", "d = sum_down(d, edge._shape)", "d = sum_down(d, edge._shape) * 0.5"
    ),
    "families: forward mode takes the last of several tangents": Fault(
        "ops/base/families.py", "total = term if total is None else added(total, term, tangents)", "total = term"
    ),
    "families: a value that a write replaces keeps its gradient": Fault(
        "ops/base/families.py", "ViewScatter.within(for_base, region).zero_()", "ViewScatter.within(for_base, region)"
    ),
    "families: minus one times g is g": Fault("ops/base/families.py", "return g if d == 1 else -g", "return g"),
    "families: the tangent of a product has one term": Fault(
        "ops/base/families.py", "return terms[0] if len(terms) == 1 else terms[0] + terms[1]", "return terms[0]"
    ),
    "families: the tangent of a reduction is the tangent of one element": Fault(
        "ops/base/families.py",
        "return t.sum(dims, keepdim) if dims else t",
        "return t.amax(dims, keepdim) if dims else t",
    ),
    "layers: under grad a view forgets its base": Fault(
        "layers/grad.py", "if cls.view and self.owns(args[0]):", "if False:", "transforms"
    ),
    "layers: under jvp a write does not change the tangent": Fault(
        "layers/jvp.py", "self.buffer(x, t).copy_(0.0 if t is None else t)", "self.buffer(x, t)", "transforms"
    ),
    "layers: under jvp a view keeps its tangent": Fault(
        "layers/jvp.py", "if seen is not base:", "if seen is None:", "transforms"
    ),
    "layers: vmap aligns examples at their first dimension": Fault(
        "layers/batching.py", "sizes[:1] + (1,) * missing + sizes[1:]", "sizes + (1,) * missing", "transforms"
    ),
    "layers: vmap's result keeps its batch dimension in place": Fault(
        "layers/batching.py",
        "return o._value.movedim(o._extra, 0) if o._extra else o._value",
        "return o._value",
        "transforms",
    ),
    "kernels: the sine has the wrong sign in every second half turn": Fault(
        "kernels/vecmath/trigonometric.py", "((i & 2) << i", "((i & 1) << i", "kernels"
    ),
    "kernels: a reversed scan starts one element too early": Fault(
        "kernels/cpu/scans_cpu.py",
        "k = n - 1 - i if reverse else i",
        "k = max(n - 2 - i, 0) if reverse else i",
        "kernels",
    ),
    "kernels: the sum of a row is its last term": Fault(
        "compile/emit/cpu_rows.py", "part += some[i]", "part = some[i]", "kernels"
    ),
    "kernels: added rows begin at the second element": Fault(
        "kernels/cpu/index_cpu.py",
        "given, made = given_[r, k], made_[r, at(index[k])]",
        "given, made = given_[r, k], made_[r, at(index[min(k + 1, index.size - 1)])]",
        "kernels",
    ),
}


def found_after(fault: Fault) -> int | None:
    """Run programs on a copy of the library with a fault; return how many it took, or None if they all agreed."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        shutil.copytree(ROOT / "minigrad", place / "minigrad", ignore=shutil.ignore_patterns("__pycache__"))
        for name in ("tests", "viz"):
            (place / name).symlink_to(ROOT / name)
        file = place / "minigrad" / fault.file
        text = file.read_text(encoding="utf-8")
        if text.count(fault.right) != 1:
            raise ValueError(f"{fault.file} has {fault.right!r} {text.count(fault.right)} times")
        file.write_text(text.replace(fault.right, fault.wrong), encoding="utf-8")
        command = [sys.executable, "-m", "tests.parity.fuzz", *fault.modes.split(), "--programs", str(MOST)]
        command += ["--jobs", "1", "--state", str(place / "state"), "--found", str(place / "found"), "--until-found"]
        variables = {"PYTHONPATH": folder, "MINIGRAD_CACHE": str(place / "kernels")}
        subprocess.run(command, cwd=place, env={**os.environ, **variables}, capture_output=True, check=False)
        state = json.loads((place / "state").read_text())
        for kept in (place / "found").glob("*.json"):
            check_agreement(kept)
    modes = [state[name] for name in fault.modes.split()]
    return sum(sum(mode["counts"].values()) for mode in modes) if any(mode["found"] for mode in modes) else None


def check_agreement(kept: Path) -> None:
    """Raise if the program of that file differs without the fault, too: then it does not find the fault."""
    name, seed = kept.stem.split("-")
    try:
        lines = difference(MODES[name], MODES[name].write(int(seed)))
    finally:
        restore_thresholds()
    if lines:
        raise ValueError(f"{kept.stem} differs without the fault, too: {lines[0]}")


def main() -> None:
    """Try all faults, or those whose names hold a word."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("word", nargs="?", default="")
    options = parser.parse_args()
    missed = 0
    for name, fault in FAULTS.items():
        if options.word in name:
            after = found_after(fault)
            missed += after is None
            print(f"{name}: {'not found' if after is None else f'found in the first {after:,} programs'}", flush=True)
    sys.exit(missed > 0)


if __name__ == "__main__":
    main()
