"""Run random programs under PyTorch and under minigrad for hours: `make fuzz HOURS=8`, or `python -m tests.parity.fuzz`.

A mode writes programs from seeds and says where the two differ.  Programs run in short-lived processes, a chunk of seeds in
each, so that a crash or a program without end costs itself alone.  build/fuzz.json keeps the seeds that were run, and
the next call goes on from them.  A program that differs is shrunk and written to tests/parity/found/, whose programs
test_found.py runs from then on.
"""

import argparse
import importlib
import json
import multiprocessing
import os
import sys
import time
import traceback
import types
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

import minigrad
from minigrad.compile import loaded
from minigrad.compile.api import compile
from minigrad.kernels.compiler import prepare
from tests.compile import interpreted
from tests.compile import random_programs as compiled

from . import random_programs as eager
from . import random_transforms as transforms
from .harness import Raised, attempt, differences

ROOT = Path(__file__).parent.parent.parent
FOUND = ROOT / "tests" / "parity" / "found"
STATE = ROOT / "build" / "fuzz.json"
FIRST = 10_000_000  # seeds below are those of the test suites
thresholds: dict[str, dict[str, int]] = {}  # that were lowered, by module: from how many elements on kernels are used
CHUNK, PATIENCE = 1000, 90  # programs, and seconds for one, which may have to be shrunk
MANY = 5  # that differ end a chunk


class Mode(NamedTuple):
    """A kind of programs: its share, its class, how one is written, where it differs, how it is shrunk, what it counts as."""

    weight: int
    program: Callable[..., Any]
    write: Callable[[int], Any]
    differs: Callable[[Any], list[str]]
    shrink: Callable
    kind: Callable[[Any], str]


def differs_eagerly(program: Any) -> list[str]:
    """Run a program of views, writes and arithmetic; one that PyTorch refuses as misuse says nothing."""
    wanted, found = program.run(torch), program.run(minigrad)
    if isinstance(wanted, Raised) and not issubclass(wanted.type, RuntimeError) or eager.COPIED.search(repr(found)):
        return []
    if isinstance(wanted, Raised) and "a leaf Variable that requires grad" in wanted.text:
        return []  # PyTorch takes a view of what has been given a history for a leaf, until it is asked for its node
    return differences(wanted, found)


def differs_by_kernels(program: Any) -> list[str]:
    """Run such a program with compiled kernels for the smallest arrays, which NumPy computes otherwise."""
    for name in sys.modules.keys() - thresholds.keys():
        known = vars(sys.modules[name]) if name.partition(".")[0] == "minigrad" else {}
        thresholds[name] = {key: n for key, n in known.items() if key.endswith("_FROM") and type(n) is int}
        known.update(dict.fromkeys(thresholds[name], 1))
    return differs_eagerly(program)


def restore_thresholds() -> None:
    """Let kernels begin where they did before such programs."""
    for name, constants in thresholds.items():
        for key, n in constants.items():
            setattr(sys.modules[name], key, n)
    thresholds.clear()


def differs_recorded(program: Any) -> list[str]:
    """Run a program under a recording, which changes nothing, and whose document comes back from JSON as it was."""
    from viz import Drawing

    wanted = program.run(minigrad)
    if isinstance(wanted, Raised):
        return []
    with minigrad.Record(jvp=program.about == "backward") as rec:
        result = program.run(minigrad)
    lines, document = differences(wanted, result), rec.to_dict()
    lines += ["the document is another one after JSON"] * (json.loads(json.dumps(document)) != document)
    drawn = attempt(lambda: Drawing(document).text())
    return [*lines, f"drawing: {drawn!r}"] if isinstance(drawn, Exception) else lines


def differs_compiled(program: Any) -> list[str]:
    """Run a compiled program, captured, looked up, and by the fast path; its generated text runs as Python."""
    loaded.cache = types.SimpleNamespace(load=interpreted.load)  # type: ignore[attr-defined]
    make, f = program.arguments(minigrad), compile(program.function(minigrad))
    given = program.arguments(torch)
    wanted = attempt(lambda: compiled.outcome(torch, program.function(torch), given()))
    if isinstance(wanted, Exception):
        return []
    lines: list[str] = []
    for call in range(3):
        result = attempt(lambda: compiled.outcome(minigrad, f, make()))
        if isinstance(result, Exception):
            if eager.COPIED.search(str(result)):
                return []
            return [f"call {call}: {result!r}"]
        lines += [f"call {call}: {line}" for pair in zip(wanted, result, strict=True) for line in unlike(*pair)]
    if lines:
        rounded = compiled.outcome(torch, program.function(torch), [nudged(a) for a in given()])
        if any(unlike(*pair) for pair in zip(wanted, rounded)):
            return []  # nothing but roundings that have grown
    return lines + ["compiling failed"] * ("failed" in f.explain())


def nudged(a: Any) -> Any:
    """Return a tensor of PyTorch's as other roundings could have left it."""
    if not isinstance(a, torch.Tensor) or not a.is_floating_point():
        return a
    return (a.detach() * (1 + 8 * torch.finfo(a.dtype).eps)).requires_grad_(a.requires_grad)


def unlike(wanted: Any, found: Any) -> list[str]:
    """Compare two tensors, numbers relative to the largest; None stands for no gradient."""
    if wanted is None or found is None:
        return [] if wanted is found else [f"{wanted!r} against {found!r}"]
    a, b = wanted.detach().numpy(), found.detach().numpy()
    few = 2e-3 if a.dtype == np.float32 else 1e-9
    size = max(1.0, np.max(np.abs(a), initial=0, where=np.isfinite(a)))
    same = a.dtype == b.dtype and a.shape == b.shape and np.allclose(a, b, few, few * size, equal_nan=True)
    return [] if same else [f"{a.dtype} {a.tolist()} against {b.dtype} {b.tolist()}"]


MODES = {
    "programs": Mode(
        5, eager.Program, lambda seed: eager.write(seed, torch), differs_eagerly, eager.shrink, lambda p: p.about
    ),
    "kernels": Mode(
        2, eager.Program, lambda seed: eager.write(seed, torch), differs_by_kernels, eager.shrink, lambda p: p.about
    ),
    "transforms": Mode(
        4,
        transforms.Program,
        lambda seed: transforms.write(seed, torch),
        lambda p: transforms.found(p, torch, minigrad),
        transforms.shrink,
        lambda p: f"{len(p.transforms)} transforms{', in forward mode' * p.dual}",
    ),
    "compile": Mode(
        1,
        compiled.Program,
        lambda seed: compiled.write(seed, minigrad),
        differs_compiled,
        compiled.shrink,
        lambda p: "compile",
    ),
    "record": Mode(
        1, eager.Program, lambda seed: eager.write(seed, torch), differs_recorded, eager.shrink, lambda p: p.about
    ),
}


def difference(mode: Mode, program: Any) -> list[str]:
    """Say where a program differs; an error that is no answer of either library is a difference, too."""
    with np.errstate(all="ignore"):
        try:
            return mode.differs(program)
        except Exception:
            return traceback.format_exc().splitlines()[-6:]


def kept(name: str, seed: int, found_in: Path) -> list[str]:
    """Run the program of a seed; if it differs, keep what is left of it when it is shrunk."""
    mode = MODES[name]
    program = mode.write(seed)
    if not difference(mode, program):
        return [mode.kind(program), ""]
    short = mode.shrink(program, lambda p: difference(mode, p))
    place = found_in / f"{name}-{seed}.json"
    found_in.mkdir(exist_ok=True)
    document = {"mode": name, "program": asdict(short), "source": short.source.splitlines()}
    lines = [line.replace(f"{ROOT}{os.sep}", "") for line in difference(mode, short)]  # the same on every machine
    place.write_text(json.dumps({**document, "differs": lines}, indent=1) + "\n", encoding="utf-8")
    return [mode.kind(program), place.name]


def read(place: Path) -> tuple[Mode, Any]:
    """Read a program that was kept, and its mode."""
    document = json.loads(place.read_text(encoding="utf-8"))
    fields = {key: tuple_of(value) for key, value in document["program"].items()}
    return MODES[document["mode"]], MODES[document["mode"]].program(**fields)


def tuple_of(value: Any) -> Any:
    """Return a list as the tuple that it was before it was written."""
    return tuple(map(tuple_of, value)) if isinstance(value, list) else value


# ---------------------------------------------------------------------- many of them
class Chunk:
    """Seeds of a mode, run in a separate process; where it crashes or is silent, another goes on with the next seed."""

    def __init__(self, name: str, first: int, count: int, found_in: Path, most: int):
        self.name, self.first, self.end, self.found_in, self.most = name, first, first + count, found_in, most
        self.next, self.begun = first, time.monotonic()
        self.counts: Counter = Counter()
        self.found: list[str] = []
        self.start()

    def start(self) -> None:
        """Start a process at the next seed."""
        self.answers, answer = multiprocessing.Pipe(duplex=False)
        self.process = multiprocessing.get_context("fork").Process(target=self.run, args=(answer,))
        self.process.start()
        self.heard = time.monotonic()
        answer.close()

    def run(self, answer: Any) -> None:
        """Run the programs, here in the process."""
        os.nice(5)
        torch.set_num_threads(1)
        warnings.simplefilter("ignore")
        for seed in range(self.next, self.end):
            answer.send(kept(self.name, seed, self.found_in))

    def ended(self) -> bool:
        """Take what the process has said; say whether the chunk has come to its end."""
        try:
            while self.next < self.end and len(self.found) < self.most and self.answers.poll(0.1):
                kind, file = self.answers.recv()
                self.next, self.heard = self.next + 1, time.monotonic()
                self.counts[kind] += 1
                self.found += [file] if file else []
            silent = time.monotonic() - self.heard > PATIENCE
        except EOFError:
            silent = True
        if silent and self.next < self.end:
            self.found.append(f"{self.name}: no answer from seed {self.next}")
            self.next += 1
        over = self.next >= self.end or len(self.found) >= self.most  # `most` failures may be of one fault
        if over or silent:
            self.process.kill()
            self.process.join()
        if silent and not over:
            self.start()
        return over


def load(place: Path) -> dict:
    """Read what earlier calls have run: by mode the next seed, the counts and what was found."""
    fresh = {"next": FIRST, "seconds": 0.0, "counts": {}, "found": []}
    state = json.loads(place.read_text(encoding="utf-8")) if place.exists() else {}
    return {name: {**fresh, **state.get(name, {})} for name in MODES}


def fuzz(
    names: list[str], until: Callable[[int], bool], jobs: int, place: Path, found_in: Path = FOUND, most: int = MANY
) -> bool:
    """Run chunks until it is time; say whether none of them found anything."""
    for name in ("torch._dynamo", "torch._decomp.decompositions_for_jvp"):
        importlib.import_module(name)  # takes seconds, and many programs need it: here, once for all processes
    prepare()
    state, running, done, clean = load(place), [], 0, True
    turns = [name for name in names for _ in range(MODES[name].weight)]
    place.parent.mkdir(exist_ok=True)
    while running or not until(done):
        while len(running) < jobs and not until(done + CHUNK * len(running)):
            name = turns[0]
            turns = turns[1:] + turns[:1]
            running.append(Chunk(name, state[name]["next"], CHUNK, found_in, most))
            state[name]["next"] += CHUNK
        for chunk in list(running):
            if not chunk.ended():
                continue
            running.remove(chunk)
            done += CHUNK
            clean = clean and not chunk.found
            mode = state[chunk.name]
            mode["counts"] = dict(Counter(mode["counts"]) + chunk.counts)
            mode["found"] = [*mode["found"], *chunk.found]
            mode["seconds"] = round(mode["seconds"] + time.monotonic() - chunk.begun, 1)
            part = place.with_suffix(".part")
            part.write_text(json.dumps(state, indent=1), encoding="utf-8")
            part.replace(place)
            print(
                f"{chunk.name} {chunk.first}: {chunk.counts.total()} programs, {len(chunk.found)} differ {chunk.found or ''}",
                flush=True,
            )
    return clean


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Run random programs under PyTorch and under minigrad.")
    parser.add_argument("modes", nargs="*", default=list(MODES), help=f"some of {', '.join(MODES)}")
    parser.add_argument("--hours", type=float, default=1.0)
    parser.add_argument("--programs", type=int, default=10**12, help="end after so many")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--state", type=Path, default=STATE)
    parser.add_argument("--found", type=Path, default=FOUND)
    parser.add_argument("--until-found", action="store_true")
    options = parser.parse_args()
    end = time.monotonic() + 3600 * options.hours
    found = lambda: options.until_found and any(mode["found"] for mode in load(options.state).values())
    until = lambda done: time.monotonic() > end or done >= options.programs or found()
    clean = fuzz(options.modes, until, options.jobs, options.state, options.found, 1 if options.until_found else MANY)
    for name, mode in load(options.state).items():
        print(f"{name}: {sum(mode['counts'].values()):,} programs so far, {len(mode['found'])} found, {mode['counts']}")
    sys.exit(not clean)


if __name__ == "__main__":
    main()
