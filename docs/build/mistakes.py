"""Make a page for each theme of the collection in tests/mistakes, with minigrad's message for each mistake."""

import contextlib
import inspect
import io
import re
import textwrap
import warnings
from pathlib import Path

import minigrad
from tests.marks import MARK, without_marks
from tests.mistakes import Mistake, body, collection
from tests.mistakes.test_mistakes import MODES, said
from viz.cards.error import headline
from viz.drawing import Drawing
from viz.programs.failures import record_of_failure

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


def page(theme: str, mistakes: list[Mistake], folder: Path) -> str:
    """Return the page of a theme, with pictures in a folder."""
    return "\n".join([f"# {theme}\n", *[section(mistake, picture(mistake, folder)) for mistake in mistakes]])


def section(mistake: Mistake, shown: str) -> str:
    """Return the text of one mistake, with an anchor and what shows its picture."""
    _, _, why = mistake.text.partition("\n\n")
    says = mistake.says if isinstance(mistake.says, str) else mistake.says.__name__
    gives = f"gives the warning `{says}`" if says.islower() else f"raises `{says}`"
    return (
        f"## {title(mistake)} {{ #{mistake.slug} }}\n\n{why}\n\n**The mistake**\n\n"
        f"```python\n{source(mistake.wrong)}\n```\n\n"
        f"minigrad {gives}{WHERE[mistake.under]}:\n\n"
        f"```text\n{printed(mistake)}\n```\n\n{shown}"
        f"**The corrected program**\n\n```python\n{source(mistake.corrected())}\n```\n"
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
    with contextlib.redirect_stdout(io.StringIO()):  # some mistakes print something
        text = said(mistake)
    text = re.sub(re.escape(file) + r":(\d+)", lambda m: f"program.py:{line_on_page(mistake, int(m[1]))}", text)
    return re.sub(MARK.replace("$", ""), "", text).replace(str(ROOT), "...")


def picture(mistake: Mistake, folder: Path) -> str:
    """Draw an error with sizes that do not fit, or one of backward; return what shows it, or "" for any other mistake."""
    if isinstance(mistake.says, str):
        return ""
    quiet, unwarned = contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings(action="ignore")
    mode, recording = MODES[mistake.under](), minigrad.record(inside=True)
    with quiet, unwarned, contextlib.suppress(mistake.says), mode, recording as rec:
        mistake.wrong()
    made = (
        None if rec.failure is None or not rec.failure.knows else record_of_failure(rec, title(mistake), "program.py")
    )
    error = (made or {}).get("error")
    if made is None or not (error["phase"] == "backward" or any(one["marked"] for one in error["shapes"])):
        return ""
    for where in [error["where"], *[one["where"] for one in (*error["lines"], *made["ops"], *made["backwards"])]]:
        if where["file"] == mistake.place()[0]:
            where["file"], where["line"], where["code"] = (
                "program.py",
                line_on_page(mistake, where["line"]),
                uncommented(where),
            )
    made["program"]["iteration"] = headline(error)
    drawing = Drawing(made, tuple(made["program"]["passes"]))
    (folder / f"{mistake.slug}.svg").write_text(drawing.svg(), encoding="utf-8")
    return f"![{drawing.alt()}]({mistake.slug}.svg)\n\n"


def uncommented(where: dict) -> str:
    """Return the code of a line without a mark."""
    return re.sub(MARK, "", where["code"]).rstrip()


def line_on_page(mistake: Mistake, line: int) -> int:
    """Return the number of a line in the program on the page."""
    lines, first = body(mistake.wrong)
    return len(on_page(lines[: max(line - first + 1, 1)]).splitlines())


def write(folder: Path) -> None:
    """Write all pages and the list of them."""
    folder.mkdir(parents=True, exist_ok=True)
    files: dict[str, list[Mistake]] = {}
    for mistake in collection():
        files.setdefault(file_of(mistake), []).append(mistake)
    parts = [INDEX.format(count=len(collection()))]
    for file, mistakes in files.items():
        theme = (inspect.getmodule(mistakes[0].wrong).__doc__ or "").rstrip(".")
        (folder / file).write_text(page(theme, mistakes, folder), encoding="utf-8")
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
