"""Make a page for each theme of the collection in tests/mistakes, with minigrad's message for each mistake."""

import contextlib
import inspect
import io
import re
import textwrap
from pathlib import Path

from tests.marks import MARK, without_marks
from tests.mistakes import Mistake, body, collection
from tests.mistakes.test_mistakes import said

from . import ROOT

INDEX = """# Mistakes and minigrad's messages

These {count} programs make a mistake in autograd code. Each has minigrad's message and the corrected program. The messages are
real: each build of this site runs the programs.

A warning ends with its name in brackets, `[broadcast-loss]`. `minigrad.silence("broadcast-loss")` turns it off.

Some checks take time. They run only inside `with minigrad.debug():` (or with `MINIGRAD_DEBUG=1` in the
environment), inside `with minigrad.autograd.detect_anomaly():`, or in `minigrad check`; the text of the mistake names the mode.
"""
WHERE = {
    "": "",
    "debug": " inside `with minigrad.debug():`, or with `MINIGRAD_DEBUG=1` in the environment",
    "anomaly": " inside `with minigrad.autograd.detect_anomaly():`",
}


def page(theme: str, mistakes: list[Mistake]) -> str:
    """Return the page of a theme."""
    return "\n".join([f"# {theme}\n", *map(section, mistakes)])


def section(mistake: Mistake) -> str:
    """Return the text of one mistake, with an anchor."""
    _, _, why = mistake.text.partition("\n\n")
    says = mistake.says if isinstance(mistake.says, str) else mistake.says.__name__
    gives = f"gives the warning `{says}`" if says.islower() else f"raises `{says}`"
    return (
        f"## {title(mistake)} {{ #{mistake.slug} }}\n\n{why}\n\n**The mistake**\n\n"
        f"```python\n{source(mistake.wrong)}\n```\n\n"
        f"minigrad {gives}{WHERE[mistake.under]}:\n\n"
        f"```text\n{printed(mistake)}\n```\n\n**The corrected program**\n\n```python\n{source(mistake.corrected())}\n```\n"
    )


def title(mistake: Mistake) -> str:
    """Return the title of a mistake."""
    return mistake.text.partition("\n")[0].rstrip(".")


def link(mistake: Mistake) -> str:
    """Return a link from the list to the text of a mistake."""
    return f"[{title(mistake)}]({file_of(mistake)}#{mistake.slug})"


def file_of(mistake: Mistake) -> str:
    """Return the name of the page that contains a mistake: its module's."""
    return f"{mistake.wrong.__module__.rpartition('.')[2]}.md"


def source(f) -> str:
    """Return a program as its reader sees it."""
    return on_page(body(f)[0])


def on_page(lines: list[str]) -> str:
    """Return the first lines of a program, without marks and repeated blank lines."""
    text = textwrap.dedent(without_marks(lines)).strip("\n")
    return re.sub("\n{3,}", "\n\n", text)


def printed(mistake: Mistake) -> str:
    """Return minigrad's message, with the file named program.py and lines counted in the program on the page."""
    file, _ = mistake.place()
    lines, first = body(mistake.wrong)
    number = lambda line: len(on_page(lines[: line - first + 1]).splitlines())
    with contextlib.redirect_stdout(io.StringIO()):  # some mistakes print something
        text = said(mistake)
    text = re.sub(re.escape(file) + r":(\d+)", lambda m: f"program.py:{number(int(m[1]))}", text)
    return re.sub(MARK.replace("$", ""), "", text).replace(str(ROOT), "...")


def write(folder: Path) -> None:
    """Write all pages and the list of them."""
    folder.mkdir(parents=True, exist_ok=True)
    files: dict[str, list[Mistake]] = {}
    for mistake in collection():
        files.setdefault(file_of(mistake), []).append(mistake)
    parts = [INDEX.format(count=len(collection()))]
    for file, mistakes in files.items():
        theme = (inspect.getmodule(mistakes[0].wrong).__doc__ or "").rstrip(".")
        (folder / file).write_text(page(theme, mistakes), encoding="utf-8")
        parts.append(f"## {theme}\n\n" + "".join(f"- {link(one)}\n" for one in mistakes))
    (folder / "index.md").write_text("\n".join([*parts, by_name(collection())]), encoding="utf-8")


def by_name(mistakes: list[Mistake]) -> str:
    """Return the warnings in alphabetical order, each with its mistakes."""
    links: dict[str, list[str]] = {}
    for mistake in mistakes:
        if isinstance(mistake.says, str):
            links.setdefault(mistake.says, []).append(link(mistake))
    lines = [f"| `{name}` | {'<br>'.join(found)} |" for name, found in sorted(links.items())]
    return "## Warnings by name\n\n| warning | mistakes |\n| --- | --- |\n" + "\n".join(lines) + "\n"
