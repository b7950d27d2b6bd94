"""`python -m tests.programs.courses FOLDER`: which programs of public courses run, for docs/programs.md.

courses.toml lists the courses; nothing of them is in the repository. Fetch those that you want into FOLDER (git clone). Name
courses, chapters or programs, as paths in FOLDER, to run only these. Each program that imports torch runs as `minigrad run`
does, in a copy of its folder, on one thread, for at most `--seconds` of processor time. The results are kept in courses.json.
"""

import argparse
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TypeVar

from viz.programs.notebook_cells import cells_of

from . import numbers

LIST, KEPT = Path(__file__).with_name("courses.toml"), Path(__file__).with_name("courses.json")
USES_TORCH = re.compile(r"^\s*(?:import|from) torch\b", re.MULTILINE)
ROOT = Path(__file__).parents[2]
ONE_THREAD = dict.fromkeys(("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
ZEROS = {"MALLOC_PERTURB_": "255"}  # glibc fills what malloc returns: uninitialised tensors are zero in both libraries
SURROUNDINGS = {**ONE_THREAD, **ZEROS, "MPLBACKEND": "Agg", "PYTHONUNBUFFERED": "1"}
NEEDS = {
    "data": r"URLError|Connection|FileNotFound|NotADirectory|no such file|cannot download|not found in|num_samples=0"
    r"|os\.path\.exists",
    "a GPU": r"there is no CUDA device|expected a cuda device",
    "ffmpeg": r"MovieWriter \(ffmpeg\)",
    "an older PyTorch": r"too many indices for tensor of dimension 0",
    "an older NumPy": r"module 'numpy' has no attribute|inhomogeneous shape",
    "an older pandas": r"with string dtype",
    "an older Matplotlib": r"use_line_collection",
    "an older IPython": r"from 'IPython\.",
    "a name that it does not define": r"NameError: name",
    "arguments": r"arguments are required",
}  # what a program lacks that stops with such an error
ERROR = re.compile(r"[\w.]+(Error|Exception|Exit|Failure)\b")
LACKING = re.compile(r"No module named '(?!torch\b|minigrad\b)([\w.]+)'")
T = TypeVar("T")
ENDED, LIMIT = "runs to its end", "runs as far as the limit"  # both mean that it runs
PYTORCH = "stops in PyTorch, too"


def courses() -> list[dict]:
    """Return the entries of courses.toml."""
    return tomllib.loads(LIST.read_text(encoding="utf-8"))["course"]


def programs(course: dict, folder: Path) -> list[Path]:
    """Return the programs of a course that import torch, if it was fetched."""
    found = sorted({path for files in course["files"] for path in (folder / course["folder"]).glob(files)})
    found = [path for path in found if path.name not in course.get("modules", ()) and path.stat().st_size]
    return [path for path in found if USES_TORCH.search(script(path))]


def is_chosen(program: Path, only: list[str]) -> bool:
    """Return True if a program is one of those named, or in a folder that is named, or if none is named.

    >>> is_chosen(Path("d2l/chapter/a.py"), ["d2l/chapter"]), is_chosen(Path("d2l/chapter/a.py"), ["gan", "d2l/b.py"])
    (True, False)
    """
    return not only or any(program.is_relative_to(name) for name in only)


def script(path: Path) -> str:
    """Return the text of a program; of a notebook, its code."""
    if path.suffix == ".ipynb":
        return "\n".join(cells_of(str(path), path.read_bytes()))
    return path.read_text(encoding="utf-8")


def outcome(path: Path, seconds: int, imports: Path | None = None) -> str:
    """Run a program that imports from a folder; return what happened: it runs, needs something, or stops with an error."""
    return what_happened(ran(["viz.cli", "run", path.name], path, seconds, imports))


def compared(path: Path, seconds: int, imports: Path | None = None) -> str:
    """Run a program in minigrad and in PyTorch (numbers.py); return SAME, or the first line whose numbers differ.

    Training enlarges differences of rounding, so the programs that differ run again in float64, less far. A program that
    stops in PyTorch, too, cannot be judged: PYTORCH, unless it needs more of torchvision than minigrad has.
    """
    first = numbers_of(path, seconds, imports, "float32")
    if first in (numbers.SAME, numbers.NONE) or ", not " not in first:
        return first
    again = numbers_of(path, seconds, imports, "float64")
    return f"{again} in float64" if again in (numbers.SAME, numbers.NONE) else first


def numbers_of(path: Path, seconds: int, imports: Path | None, dtype: str) -> str:
    """Compare the numbers of a program, with a default dtype."""
    words = [["tests.programs.numbers", library, path.name, dtype] for library in ("minigrad", "torch")]
    ours, theirs = (ran(each, path, seconds, imports) for each in words)
    if (why := what_happened(theirs)) not in (ENDED, LIMIT):
        return why if "minigrad has no" in why else f"{PYTORCH}: {why}"
    if (why := what_happened(ours)) not in (ENDED, LIMIT):
        return f"{why}, only here"
    return numbers.difference(ours.stdout, theirs.stdout)


def ran(words: list[str], path: Path, seconds: int, imports: Path | None) -> subprocess.CompletedProcess:
    """Run a module in a copy of a program's folder, for at most some seconds of processor time, or ten times on the clock."""
    with tempfile.TemporaryDirectory() as place:
        here = Path(place, "course", "chapter", path.parent.name)  # programs write to ../../data
        shutil.copytree(path.parent, here, symlinks=True)
        for there, copy in ((path.parent, here), (path.parents[1], here.parent)):  # programs read ../img and ../../data
            for beside in there.parent.iterdir():
                if beside != there and not (copy.parent / beside.name).exists():
                    (copy.parent / beside.name).symlink_to(beside.resolve())
        folders = [ROOT, *([imports] if imports else []), *filter(None, [os.environ.get("PYTHONPATH")])]
        variables = {**os.environ, **SURROUNDINGS, "PYTHONPATH": os.pathsep.join(map(str, folders))}
        limit = lambda: resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        command = [sys.executable, "-m", *words]
        streams = {"capture_output": True, "text": True, "errors": "replace", "stdin": subprocess.DEVNULL}
        try:
            return subprocess.run(command, cwd=here, env=variables, preexec_fn=limit, timeout=10 * seconds, **streams)
        except subprocess.TimeoutExpired as late:
            return subprocess.CompletedProcess(command, -signal.SIGXCPU, (late.stdout or b"").decode(), "")


def what_happened(done: subprocess.CompletedProcess) -> str:
    """Return whether a program ended, reached the limit, or why it stopped."""
    if done.returncode in (0, -signal.SIGXCPU, -signal.SIGKILL):
        return LIMIT if done.returncode else ENDED
    return reason(done.stderr)


def reason(text: str) -> str:
    """Return why a program stopped, from its standard error.

    >>> reason("Traceback ...\\nModuleNotFoundError: No module named 'gym'")
    'needs the package gym'
    >>> reason("Traceback ...\\n    assert len(x) == 3\\nAssertionError")
    'stops: AssertionError: assert len(x) == 3'
    >>> reason("urllib.error.URLError: <urlopen error>"), reason("a\\nValueError: too many values")
    ('needs data', 'stops: ValueError: too many values')
    """
    lines = [line for line in text.splitlines() if line.strip("~^ ")] or ["without a message"]
    n = max((n for n, line in enumerate(lines) if ERROR.match(line)), default=-1)
    last = f"{lines[n]}: {lines[n - 1].strip()}" if lines[n] == "AssertionError" else lines[n]
    if lacking := LACKING.search(last):
        return f"needs the package {lacking[1].partition('.')[0]}"
    need = next((need for need, words in NEEDS.items() if re.search(words, last, re.IGNORECASE)), None)
    return f"needs {need}" if need else f"stops: {last.removeprefix('minigrad.errors.')[:120]}"


def table() -> str:
    """Return the section about courses for docs/programs.md, from the results that are kept."""
    kept = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {}
    parts = []
    for course in courses():
        found = kept.get(course["name"])
        if not found:
            continue
        parts.append(f"\n### [{course['name']}]({course['source']})\n\n")
        parts.append(f"Commit {found['commit']}, at least {found['seconds']} seconds for each program.\n\n")
        parts.append("| chapter | programs | run | same numbers | need something else | stop, or differ |\n")
        parts.append("| --- | --: | --: | --: | --- | --- |\n")
        both = {path: (what, found.get("numbers", {}).get(path, "")) for path, what in found["programs"].items()}
        parts += [row(chapter, results) for chapter, results in chapters(both).items()]
    return "".join(parts)


def chapters(programs: dict[str, T]) -> dict[str, list[tuple[str, T]]]:
    """Return the programs and results of each chapter; all together if most chapters have a single program.

    >>> chapters({"book/one/a.py": "runs", "book/one/b.py": "stops", "book/two/c.py": "runs", "book/two/d.py": "runs"})
    {'one': [('a.py', 'runs'), ('b.py', 'stops')], 'two': [('c.py', 'runs'), ('d.py', 'runs')]}
    >>> chapters({"gan/main.py": "runs", "vae/main.py": "stops"})
    {'all': [('gan/main.py', 'runs'), ('vae/main.py', 'stops')]}
    """
    found: dict[str, list[tuple[str, T]]] = {}
    for path, what in programs.items():
        found.setdefault(Path(path).parent.name, []).append((Path(path).name, what))
    if 2 * len(found) > len(programs):
        return {"all": [("/".join(Path(path).parts[-2:]), what) for path, what in programs.items()]}
    return found


def row(chapter: str, results: list[tuple[str, tuple[str, str]]]) -> str:
    """Return the row of a chapter, whose programs have what happened to them and, if it was looked at, to their numbers."""
    judged = {name: (what, same) for name, (what, same) in results if not same.startswith(PYTORCH)}
    run = {name: same for name, (what, same) in judged.items() if what in (ENDED, LIMIT)}
    numbered = {name: same for name, same in run.items() if same and not same.startswith(numbers.NONE)}
    differ = {name: same for name, same in numbered.items() if not same.startswith(numbers.SAME)}
    stop = {name: what for name, (what, _) in judged.items() if what.startswith("stops: ")}
    needs = Counter(what.removeprefix("needs ") for what, _ in judged.values() if what.startswith("needs "))
    needs.update([PYTORCH] * (len(results) - len(judged)))
    cells = [chapter, len(results), len(run), f"{len(numbered) - len(differ)} of {len(numbered)}" if numbered else ""]
    cells += [", ".join(f"{what} ({n})" for what, n in needs.items() if n)]
    cells += ["; ".join(f"`{name}`: {what.removeprefix('stops: ')}" for name, what in {**stop, **differ}.items())]
    return f"| {' | '.join(str(cell).replace('|', '/') for cell in cells)} |\n"


def commit(folder: Path) -> str:
    """Return the abbreviated commit of a course's files."""
    done = subprocess.run(["git", "-C", folder, "rev-parse", "--short", "HEAD"], capture_output=True, text=True)
    return done.stdout.strip() or "unknown"


if __name__ == "__main__":
    from . import page

    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("only", nargs="*", help="paths of courses, chapters or programs; default: all that are there")
    parser.add_argument("--seconds", type=int, default=30, help="of processor time for each program")
    parser.add_argument("--jobs", type=int, default=1, help="programs at a time")
    parser.add_argument("--compare", action="store_true", help="the numbers of those that run with PyTorch's")
    given = parser.parse_args()
    kept = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {}
    with ThreadPoolExecutor(given.jobs) as pool:
        for course in courses():
            home = given.folder / course["folder"]
            paths = programs(course, given.folder)
            chosen = [path for path in paths if is_chosen(path.relative_to(given.folder), given.only)]
            if not chosen:
                continue
            os.environ["MINIGRAD_DATA"] = course.get("digits", "digits")
            results, same = (kept.get(course["name"], {}).get(key, {}) for key in ("programs", "numbers"))
            imports = home.resolve() / course["imports"] if "imports" in course else None
            outcomes = pool.map(partial(outcome, seconds=given.seconds, imports=imports), chosen)
            for path, what in zip(chosen, outcomes, strict=True):
                results[str(path.relative_to(home))] = what
                print(f"{path.relative_to(given.folder)}: {what}", flush=True)
            if given.compare:
                chosen = [path for path in chosen if not results[str(path.relative_to(home))].startswith("needs ")]
                found = pool.map(partial(compared, seconds=given.seconds, imports=imports), chosen)
                for path, what in zip(chosen, found, strict=True):
                    same[str(path.relative_to(home))] = what
                    print(f"{path.relative_to(given.folder)}: {what}", flush=True)
            names = [str(path.relative_to(home)) for path in paths]
            in_order = lambda found: {name: found[name] for name in names if name in found}  # without what is gone
            kept[course["name"]] = {
                "commit": commit(home),
                "seconds": given.seconds,
                "programs": in_order(results),
                "numbers": in_order(same),
            }
            KEPT.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    page.PAGE.write_text(page.text())
