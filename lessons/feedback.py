"""A page of feedback for each student: the verdicts on all of the student's notebooks, with pictures and marks.

A page names no other student.  It is a single file without scripts.  Its pictures were drawn where the notebook ran, so they
are embedded as images, in which a browser runs nothing.
"""

import base64
from collections.abc import Iterable, Sequence
from pathlib import Path

from .catalogue import all_lessons
from .class_report import STYLE, number, program, text
from .exercise import COLOURS, SIGNS
from .grading import Graded
from .sheet import slug
from .students import ABSENT
from .table import plain

LONGEST = 80  # characters of a file's name


def write(all_of_them: Iterable[Graded], folder: Path) -> list[Path]:
    """Write a page for each student, and return the paths; a page of the same name is replaced."""
    of_student: dict[str, list[Graded]] = {}
    for graded in all_of_them:
        of_student.setdefault(graded.student, []).append(graded)
    folder.mkdir(parents=True, exist_ok=True)
    paths: list[Path] = []
    for student, own in of_student.items():
        stem, i = slug(student)[:LONGEST], 1
        while (path := folder / f"{stem}{f'_{i}' * (i > 1)}.html") in paths:
            i += 1
        path.write_text(page(student, own), encoding="utf-8")
        paths.append(path)
    return paths


def page(student: str, own: Sequence[Graded]) -> str:
    """Return the feedback for a student as an HTML document.

    >>> "✓ three_uses" in page("Ann", [Graded("ann.ipynb", "01", {"three_uses": "right"}, {"three_uses": "Yes."})])
    True
    """
    weighed = any(one.marks is not None for one in own)
    if weighed:
        total = f"{plain(sum(one.earned for one in own))} of {plain(sum(one.most for one in own))} marks"
    else:
        total = (
            f"{sum(one.points for one in own)} of {number(sum(len(one.statuses) for one in own), 'exercise')} solved"
        )
    parts = [f"<header><h1>Feedback for {text(student)}</h1><p>{total}</p></header>", *map(of_notebook, own)]
    return PAGE.format(title=f"Feedback for {text(student)}", style=STYLE, body="\n".join(parts))


def of_notebook(one: Graded) -> str:
    """Return the part about a notebook: the notes, and its verdicts in order."""
    known = next((each for each in all_lessons() if each.name == one.lesson), None)
    head = f"Lesson {known.called}: {known.title}" if known else one.lesson or one.file
    if not one.file:
        return f"<h2>{text(head)}</h2>\n<p>{text(ABSENT)}</p>"
    verdicts = "".join(of_exercise(one, name) for name in one.statuses)
    notes = "".join(f"<li>{text(note)}</li>" for note in one.notes)
    listed = f"<h3>When your notebook ran</h3><ul>{notes}</ul>" if notes else ""
    return f"<h2>{text(head)}</h2>\n<p><small>{text(one.file)}</small></p>{listed}{verdicts}"


def of_exercise(one: Graded, name: str) -> str:
    """Return the verdict on an answer, with the marks, the answer if it is wrong, and the picture."""
    status = one.statuses[name]
    message = one.messages.get(name) or f"The notebook does not define {name}."
    marks = ""
    if one.marks is not None and one.worth(name):
        marks = f" <span>{plain(one.worth(name) * (status == 'right'))} of {plain(one.worth(name))}</span>"
    given = (
        f"<p>Your answer:</p><pre>{program(one.given[name])}</pre>" if status == "wrong" and one.given.get(name) else ""
    )
    picture = one.pictures.get(name, "")
    data = base64.b64encode(picture.encode(errors="replace")).decode()
    image = f'<img alt="the mistake as a picture" src="data:image/svg+xml;base64,{data}">' if picture else ""
    said = program(message).replace("\n", "<br>")
    colour = COLOURS.get(status, COLOURS["open"])
    head = f"<h4>{SIGNS.get(status, '○')} {text(name)}{marks}</h4>"
    return f"<section class='verdict' style='border-color:{colour}'>{head}<p>{said}</p>{given}{image}</section>"


PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<title>{title}</title>
<style>
{style}
.verdict {{ margin: 1rem 0; border-left: 4px solid; padding: 0 .8rem; }}
.verdict p {{ margin: .2rem 0; }}
h4 span {{ float: right; font: 1rem system-ui, sans-serif; }}
img {{ display: block; max-width: 100%; margin: .6rem 0; background: #fff; }}
</style>
{body}
</html>
"""
