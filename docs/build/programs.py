"""Run the programs and commands on the pages as a reader would, for the tests and for the pictures.

A page's Python blocks are one program, run from top to bottom.  A block with a title is instead a file of that name, or is
appended to it; in a `console` block the lines with `$` are commands that run beside these files.  The expected output is
the comment after a `print(...)`, a block titled "Output", or the text below a command; a line with `...` matches any
lines.  A file that needs another library, as in `import jax`, runs only if that is installed.
"""

import contextlib
import importlib.util
import io
import itertools
import linecache
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from minigrad.distributed.launch import mpiexec

from . import DOCS, ROOT

BLOCK = re.compile(r'^```(\w+)(?: title="(.+?)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)
PROMISED = re.compile(r"print\(.*\)  # (.*)")
COMMAND = re.compile(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
PAGES = [ROOT / "README.md", *sorted(p for folder in ("", "howto") for p in (DOCS / folder).glob("*.md"))]
OTHERS = re.compile(r"^(?:import|from) (torch|jax|micrograd)\b", re.MULTILINE)
PROCESSES = re.compile(r"^(?:import|from) minigrad\.distributed\b", re.MULTILINE)
LOOK = re.compile(r" --(?:show|rankdir) \S+")
PICTURE = re.compile(r"!\[[^\]]+\]\((?:\.\./|docs/)?pictures/([\w-]+\.svg)\)")


@dataclass
class Written:
    """Output of one program or command: what the page promises, and the actual text."""

    by: str
    promised: str
    text: str


def run(page: Path, folder: Path) -> list[Written]:
    """Run all programs and commands of a page in a folder; return promised and actual outputs."""
    found, scope, printed = [], {"__name__": "__main__"}, ""
    with contextlib.chdir(folder), importing_from(folder):
        for language, title, text in BLOCK.findall(page.read_text()):
            promised = "\n".join(PROMISED.findall(text)) if language == "python" else text
            if language == "python" and title:
                append(title, text)
                if promised and not missing(text):
                    found.append(Written(title, promised, written_by(f"python {title}")))
            elif language == "python":
                printed = printed_by(text, f"{page.stem}.py", scope)
                if promised:
                    found.append(Written(text, promised, printed))
            elif title == "Output":
                found.append(Written("the program before it", text, printed))
            elif language == "console":
                found += [Written(c, told, written_by(c)) for c, told in COMMAND.findall(text)]
    return found


def draw(page: Path, folder: Path, suffix: str = ".svg") -> list[Path]:
    """Run only the commands of a page that write pictures, in a format; return those that the page shows.

    The viewer, ".html", has no directions, and shows everything.
    """
    with contextlib.chdir(folder):
        for language, title, text in BLOCK.findall(page.read_text()):
            if language == "python" and title:
                append(title, text)
            elif language == "console":
                for command, _ in COMMAND.findall(text):
                    if ".svg" in command:
                        written_by(command if suffix == ".svg" else LOOK.sub("", command).replace(".svg", suffix))
    return [made for name in pictures(page) if (made := (folder / name).with_suffix(suffix)).exists()]


def pictures(page: Path) -> list[str]:
    """Return the files in docs/pictures that a page shows."""
    return PICTURE.findall(page.read_text())


def missing(program: str) -> list[str]:
    """Return the other libraries that a program imports but that are not installed."""
    names = [*OTHERS.findall(program), *["mpi4py"] * bool(PROCESSES.search(program))]
    return [name for name in names if importlib.util.find_spec(name) is None]


def append(name: str, text: str) -> None:
    """Append to a file in the current folder, or create it."""
    with open(name, "a") as file:
        file.write(text)


def printed_by(program: str, name: str, scope: dict) -> str:
    """Run a program in a scope; return its output."""
    linecache.cache[name] = (len(program), None, program.splitlines(True), name)  # errors and pictures show lines
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(program, name, "exec"), scope)
    return printed.getvalue()


def written_by(command: str) -> str:
    """Return the output of a command, `minigrad ...` or `python ...`, in the current folder, including errors and warnings.

    Environment variables and `mpiexec -n 2` may come before it.
    """
    words = shlex.split(command)
    own = list(itertools.takewhile(lambda word: "=" in word, words))
    program, *words = words[len(own) :]
    start: list[str] = []
    if program == "mpiexec":
        start, (program, *words) = [mpiexec(), *words[:2]], words[2:]
    module = {"minigrad": ["-m", "viz.cli"], "python": []}[program]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "100", "PYTHONUNBUFFERED": "1"}
    environment |= dict(variable.split("=") for variable in own)
    done = subprocess.run(
        [*start, sys.executable, *module, *words],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    return done.stdout.replace(f"{Path.cwd()}{os.sep}", "")


@contextlib.contextmanager
def importing_from(folder: Path) -> Iterator[None]:
    """Let files in the folder be imported, and forget them afterwards."""
    before = set(sys.modules)
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))
        for name in set(sys.modules) - before:
            if Path(getattr(sys.modules[name], "__file__", None) or "/").is_relative_to(folder):
                del sys.modules[name]
