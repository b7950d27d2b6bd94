"""Copy the pages of docs/ and replace their markers with text generated from the code.

A marker is a separate line, such as `<!-- operations -->`; FILLED maps it to the function that makes its text.
"""

import contextlib
import json
import re
import shutil
import tempfile
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

from . import DOCS, ROOT, bank, dark, documents, live, plans
from .markup import fence, picture, raw, svg, words_of
from .programs import append, printed_by, written_by
from .slides import gallery, talks

PICTURE = re.compile(r"^!\[(.+)\]\((\S+\.svg)\)$", re.MULTILINE)
LEFT_OUT = shutil.ignore_patterns("gen", "build", "__pycache__", "*.py")


def write(out: Path) -> None:
    """Copy the pages and the files beside them, fill the markers, and add the changelog and the page of links."""
    from viz.viewer.links import play

    shutil.copytree(DOCS, out, ignore=LEFT_OUT)
    for name in FILLED:
        (out / name).write_text(filled(name, (DOCS / name).read_text(encoding="utf-8")), encoding="utf-8")
    for page in (*out.glob("*.md"), *out.glob("howto/*.md")):
        page.write_text(drawn(page), encoding="utf-8")
    (out / "play.html").write_text(play(), encoding="utf-8")
    with (out / "pictures.css").open("a", encoding="utf-8") as styles:
        styles.write(dark.rules())
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    (out / "changelog.md").write_text(changelog.replace("](docs/", "]("), encoding="utf-8")


def drawn(page: Path) -> str:
    """Return a page with framed pictures; minigrad's are embedded, so that they follow the page's theme."""

    viewers = live.viewers(page) if page.name in live.PAGES else {}

    def shown(line: re.Match) -> str:
        text, name = (page.parent / line[2]).read_text(encoding="utf-8"), Path(line[2]).stem
        if 'class="minigrad' in text:
            shown = picture(text, f"picture-{name}", line[1])
            up = line[2].partition("pictures/")[0]
            return live.framed(viewers[name], shown, line[1], up) if name in viewers else shown
        return f'<div class="figure" markdown="1">\n\n{line[0]}\n\n</div>'

    return PICTURE.sub(shown, page.read_text(encoding="utf-8"))


def filled(name: str, markdown: str) -> str:
    """Return a page with its markers replaced by texts."""
    return put(markdown, {marker: text(markdown) for marker, text in FILLED[name].items()})


def put(markdown: str, texts: Mapping[str, str]) -> str:
    """Return a page with these markers replaced by these texts; raise ValueError for a missing marker."""
    for marker, text in texts.items():
        line = f"<!-- {marker} -->"
        if line not in markdown:
            title = next((row for row in markdown.splitlines() if row.startswith("# ")), "a page")
            raise ValueError(f"{title}: the page has no line {line}")
        markdown = markdown.replace(line, text)
    return markdown


def operations(page: str) -> str:
    """Return the table of all operations."""
    from minigrad.testing import operations_table

    return operations_table()


def viewer(page: str) -> str:
    """Return the viewer of the page's own example."""
    from viz.viewer import frame

    return frame(names_of(example(page), "f.py")["drawing"].html(), "46rem")


def link(page: str) -> str:
    """Return a link to the page's own example, beside it on the site."""
    from viz.viewer.links import letters, shared_data

    drawing = names_of(example(page), "f.py")["drawing"]
    return f"[Open the example of this page as a link](play.html#r={letters(shared_data(drawing.whole))})"


def rows(page: str) -> str:
    """Return the table of the rows of `minigrad check`."""
    from minigrad.testing.function_checks import TABLE

    lines = [f"| {row.group} | {row.name} | {row.about} |" for row in TABLE]
    return "\n".join(["| group | row | checks |", "| --- | --- | --- |", *lines])


def not_there(page: str) -> str:
    """Return the table of names that PyTorch has and minigrad lacks, with their replacements."""
    from minigrad.diagnose.missing_names import NEED_TORCH, TABLE

    lines = [f"| {row.what} | {named(row.names)} | {row.instead} |" for row in TABLE]
    needs = lambda name: "the other names" if name == "torchvision" else "which needs PyTorch itself"
    lines += [f"| {name}, {needs(name)} | `import {name}` | {fix} |" for name, fix in NEED_TORCH.items()]
    return "\n".join(["| missing | names | instead |", "| --- | --- | --- |", *lines])


def named(names: tuple[str, ...], most: int = 6) -> str:
    """Return the first `most` of these names, as code."""
    shown = ", ".join(f"`{name}`" for name in names[:most])
    return shown + f" and {len(names) - most} more" * (len(names) > most)


def history_of_shape(page: str) -> object:
    """Return the result of the last example on the page about explanations."""
    last = re.findall(r"```python\n(.*?)```", page, re.DOTALL)[-1]
    return names_of(f"import minigrad as torch\n{last}", "net.py")["history"]


def film(page: str) -> str:
    """Return the film of the page's own example, wide and, for narrow screens, tall."""
    import viz

    record = names_of(example(page), "f.py")["drawing"].record
    films = {
        name: viz.draw(record, passes="all", rankdir=rankdir, show=("values", "grads")).film()
        for name, rankdir in (("wide", "LR"), ("tall", "TB"))
    }
    return "\n".join(raw(f'class="film figure {name}"', svg(text, name)) for name, text in films.items())


def live_picture(page: str) -> str:
    """Return the viewer of the page's own example, whose numbers a reader can drag."""
    from viz.viewer.links import shared_data

    drawing = names_of(example(page), "f.py")["drawing"]
    picture_of_it = picture(drawing.svg(), "hero")
    return live.framed(json.loads(shared_data(drawing.whole)), picture_of_it, words_of(picture_of_it), lazy=False)


def example(page: str) -> str:
    """Return the first example of a page."""
    found = re.search(r"```python\n(.*?)```", page, re.DOTALL)
    if found is None:
        raise ValueError("the page has no example in Python")
    return found[1]


def names_of(program: str, file: str) -> dict:
    """Return the names that a program defines, run as if it were this file."""
    return run(program, file)[0]


@cache
def run(program: str, file: str) -> tuple[dict, str]:
    """Run a program as if it were this file; return its names and its output."""
    names = {"__name__": file.removesuffix(".py")}
    return names, printed_by(program, file, names)


def output_of(command: str, file: str, program: str) -> str:
    """Return the output of a command in a folder that contains this program; raise ValueError if it is empty."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(Path(folder).resolve()):
        append(file, program)
        output = written_by(command)
    if not output:
        raise ValueError(f"{command} writes nothing")
    return output


# page -> marker -> function that makes its text from the text of the page
FILLED: dict[str, dict[str, Callable[[str], str]]] = {
    "index.md": {"live": live_picture, "film": film},
    "operations.md": {"operations": operations},
    "viewer.md": {"viewer": viewer, "link": link},
    "teachers.md": {
        "slides": gallery,
        "decks": plans.listed,
        "talks": talks,
        "lecture slides": lambda page: f"Slides: {plans.links(page, 'lecture')}",
        "afternoon slides": lambda page: f"Slides: {plans.links(page, 'afternoon')}",
        "weekend slides": lambda page: f"Slides: {plans.links(page, 'weekend')}",
        "semester slides": lambda page: f"Slides: {plans.links(page, 'semester')}",
    },
    "exercises.md": {"bank": bank.listed},
    "lessons/documents.md": {"documents": documents.listed},
    "errors.md": {"printed error": lambda page: fence("text", run(example(page), "program.py")[1])},
    "howto/port.md": {"what is not there": not_there},
    "compile.md": {
        "compiled step": lambda page: fence("python", names_of(example(page), "step.py")["step"].source()),
        "explained step": lambda page: fence("text", names_of(example(page), "step.py")["step"].explain()),
    },
    "drawing.md": {
        "text drawing": lambda page: fence(
            "text", output_of("minigrad render neuron.py:loss -p backward -f txt -o -", "neuron.py", example(page))
        )
    },
    "explain.md": {
        "derivation": lambda page: fence("text", names_of(example(page), "neuron.py")["derivation"]),
        "shape": lambda page: fence("text", history_of_shape(page)),
    },
    "check.md": {
        "check cube": lambda page: fence("text", output_of("minigrad check cube.py:Cube", "cube.py", example(page))),
        "rows": rows,
    },
}
