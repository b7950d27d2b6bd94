"""Make a page for each mistake of the collection in tests/mistakes, with minigrad's message."""

import contextlib
import inspect
import io
import re
import textwrap
from pathlib import Path

from tests.mistakes import Mistake, collection
from tests.mistakes.test_mistakes import said

from . import ROOT

INDEX = """# Mistakes and minigrad's messages

Each of these {count} pages shows a mistake in autograd code, minigrad's message, and the corrected program. The messages are
real: each build of this site runs the programs.

A warning ends with its name in brackets, `[broadcast-loss]`. `minigrad.silence("broadcast-loss")` turns it off.

Some checks take time. They run only inside `with minigrad.debug():` (or with `MINIGRAD_DEBUG=1` in the
environment), inside `with minigrad.autograd.detect_anomaly():`, or in `minigrad check`; the page of the mistake names the mode.
"""
WHERE = {
    "": "",
    "debug": " inside `with minigrad.debug():`, or with `MINIGRAD_DEBUG=1` in the environment",
    "anomaly": " inside `with minigrad.autograd.detect_anomaly():`",
}


def page(mistake: type[Mistake]) -> str:
    """Return the page of one mistake."""
    title, _, why = inspect.cleandoc(mistake.__doc__ or "").partition("\n\n")
    says = mistake.says if isinstance(mistake.says, str) else mistake.says.__name__
    gives = f"gives the warning `{says}`" if says.islower() else f"raises `{says}`"
    return (
        f"# {title.rstrip('.')}\n\n{why}\n\n## The mistake\n\n```python\n{source(mistake.wrong)}\n```\n\n"
        f"minigrad {gives}{WHERE[mistake.under]}:\n\n"
        f"```text\n{printed(mistake)}\n```\n\n## The corrected program\n\n```python\n{source(mistake.right)}\n```\n"
    )


def source(f) -> str:
    """Return the body of a program, without the marker of the line."""
    lines = textwrap.dedent(inspect.getsource(f)).splitlines()[1:]
    return re.sub(r"  # <-$", "", textwrap.dedent("\n".join(lines)), flags=re.MULTILINE)


def printed(mistake: type[Mistake]) -> str:
    """Return minigrad's message, with the file named program.py and lines counted in the program on the page."""
    file, _ = mistake.place()
    first = inspect.getsourcelines(mistake.wrong)[1]
    with contextlib.redirect_stdout(io.StringIO()):  # some mistakes print something
        text = said(mistake)
    text = re.sub(re.escape(file) + r":(\d+)", lambda m: f"program.py:{int(m[1]) - first}", text)
    return text.replace("  # <-", "").replace(str(ROOT), "...")


def write(folder: Path) -> None:
    """Write all pages and the list of them."""
    folder.mkdir(parents=True, exist_ok=True)
    themes: dict[str, list[type[Mistake]]] = {}
    for mistake in collection():
        themes.setdefault((inspect.getmodule(mistake).__doc__ or "").rstrip("."), []).append(mistake)
        (folder / f"{mistake.slug()}.md").write_text(page(mistake), encoding="utf-8")
    parts = [INDEX.format(count=sum(map(len, themes.values())))]
    for theme, mistakes in themes.items():
        lines = [f"- [{(m.__doc__ or '').partition(chr(10))[0].rstrip('.')}]({m.slug()}.md)" for m in mistakes]
        parts.append(f"## {theme}\n\n" + "\n".join(lines) + "\n")
    (folder / "index.md").write_text("\n".join([*parts, by_name(collection())]), encoding="utf-8")


def by_name(mistakes: list[type[Mistake]]) -> str:
    """Return the warnings in alphabetical order, each with its pages."""
    pages: dict[str, list[str]] = {}
    for m in mistakes:
        if isinstance(m.says, str):
            title = (m.__doc__ or "").partition(chr(10))[0].rstrip(".")
            pages.setdefault(m.says, []).append(f"[{title}]({m.slug()}.md)")
    lines = [f"| `{name}` | {'<br>'.join(links)} |" for name, links in sorted(pages.items())]
    return "## Warnings by name\n\n| warning | pages |\n| --- | --- |\n" + "\n".join(lines) + "\n"
