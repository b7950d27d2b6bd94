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

from viz.source_text import cells_of

LIST, KEPT = Path(__file__).with_name("courses.toml"), Path(__file__).with_name("courses.json")
USES_TORCH = re.compile(r"^\s*(?:import|from) torch\b", re.MULTILINE)
ONE_THREAD = dict.fromkeys(("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
NEEDS = {
    "data": r"URLError|Connection|FileNotFound|NotADirectory|no such file|cannot download|not found in|num_samples=0",
    "a GPU": r"there is no CUDA device|expected a cuda device",
    "ffmpeg": r"MovieWriter \(ffmpeg\)",
    "an older PyTorch": r"too many indices for tensor of dimension 0",
    "an older NumPy": r"module 'numpy' has no attribute|inhomogeneous shape",
    "an older Matplotlib": r"use_line_collection",
    "a name that it does not define": r"NameError: name",
    "arguments": r"arguments are required",
}  # what a program lacks that stops with such an error
LACKING = re.compile(r"No module named '(?!torch\b|minigrad\b)([\w.]+)'")
ENDED, LIMIT = "runs to its end", "runs as far as the limit"  # both mean that it runs


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
    with tempfile.TemporaryDirectory() as place:
        here = Path(place, "course", "chapter", path.parent.name)  # programs write to ../../data
        shutil.copytree(path.parent, here, symlinks=True)
        variables = {**os.environ, **ONE_THREAD, "MPLBACKEND": "Agg", "MINIGRAD_DATA": "digits"}
        if imports is not None:
            variables["PYTHONPATH"] = os.pathsep.join([str(imports), *filter(None, [os.environ.get("PYTHONPATH")])])
        limit = lambda: resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        words = [sys.executable, "-m", "viz.cli", "run", path.name]
        streams = {"capture_output": True, "stdin": subprocess.DEVNULL}
        try:
            done = subprocess.run(words, cwd=here, env=variables, preexec_fn=limit, timeout=10 * seconds, **streams)
        except subprocess.TimeoutExpired:
            return LIMIT
    if done.returncode in (0, -signal.SIGXCPU, -signal.SIGKILL):
        return LIMIT if done.returncode else ENDED
    return reason(done.stderr.decode(errors="replace"))


def reason(text: str) -> str:
    """Return why a program stopped, from its standard error.

    >>> reason("Traceback ...\\nModuleNotFoundError: No module named 'gym'")
    'needs the package gym'
    >>> reason("urllib.error.URLError: <urlopen error>"), reason("a\\nValueError: too many values")
    ('needs data', 'stops: ValueError: too many values')
    """
    lines = [line for line in text.splitlines() if re.match(r"[\w.]+(Error|Exception|Exit|Failure)\b", line)]
    last = lines[-1] if lines else (text.strip().splitlines() or ["without a message"])[-1]
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
        parts.append("| chapter | programs | run | need something else | stop |\n| --- | --: | --: | --- | --- |\n")
        parts += [row(chapter, results) for chapter, results in chapters(found["programs"]).items()]
    return "".join(parts)


def chapters(programs: dict[str, str]) -> dict[str, list[tuple[str, str]]]:
    """Return the programs and results of each chapter; all together if most chapters have a single program.

    >>> chapters({"book/one/a.py": "runs", "book/one/b.py": "stops", "book/two/c.py": "runs", "book/two/d.py": "runs"})
    {'one': [('a.py', 'runs'), ('b.py', 'stops')], 'two': [('c.py', 'runs'), ('d.py', 'runs')]}
    >>> chapters({"gan/main.py": "runs", "vae/main.py": "stops"})
    {'all': [('gan/main.py', 'runs'), ('vae/main.py', 'stops')]}
    """
    found: dict[str, list[tuple[str, str]]] = {}
    for path, what in programs.items():
        found.setdefault(Path(path).parent.name, []).append((Path(path).name, what))
    if 2 * len(found) > len(programs):
        return {"all": [("/".join(Path(path).parts[-2:]), what) for path, what in programs.items()]}
    return found


def row(chapter: str, results: list[tuple[str, str]]) -> str:
    """Return the row of a chapter."""
    ran = sum(what in (ENDED, LIMIT) for _, what in results)
    needs = Counter(what.removeprefix("needs ") for _, what in results if what.startswith("needs "))
    stops = [f"`{name}`: {what.removeprefix('stops: ')}" for name, what in results if what.startswith("stops: ")]
    cells = [chapter, len(results), ran, ", ".join(f"{what} ({n})" for what, n in needs.items()), "; ".join(stops)]
    return f"| {' | '.join(str(cell).replace('|', '/') for cell in cells)} |\n"


def commit(folder: Path) -> str:
    """Return the abbreviated commit of a course's files."""
    done = subprocess.run(["git", "-C", folder, "rev-parse", "--short", "HEAD"], capture_output=True, text=True)
    return done.stdout.strip() or "unknown"


if __name__ == "__main__":
    from . import page

    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("only", nargs="*", help="paths of courses, chapters or programs; default: all that are there")
    parser.add_argument("--seconds", type=int, default=30, help="of processor time for each program")
    parser.add_argument("--jobs", type=int, default=1, help="programs at a time")
    given = parser.parse_args()
    kept = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {}
    with ThreadPoolExecutor(given.jobs) as pool:
        for course in courses():
            home = given.folder / course["folder"]
            paths = programs(course, given.folder)
            chosen = [path for path in paths if is_chosen(path.relative_to(given.folder), given.only)]
            if not chosen:
                continue
            results = kept.get(course["name"], {}).get("programs", {})
            imports = home.resolve() / course["imports"] if "imports" in course else None
            outcomes = pool.map(partial(outcome, seconds=given.seconds, imports=imports), chosen)
            for path, what in zip(chosen, outcomes, strict=True):
                results[str(path.relative_to(home))] = what
                print(f"{path.relative_to(given.folder)}: {what}", flush=True)
            names = [str(path.relative_to(home)) for path in paths]
            results = {name: results[name] for name in names if name in results}  # in order, without what is gone
            kept[course["name"]] = {"commit": commit(home), "seconds": given.seconds, "programs": results}
            KEPT.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    page.PAGE.write_text(page.text())
