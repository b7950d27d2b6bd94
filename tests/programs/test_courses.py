"""The table of public courses: what counts as a program, what happens to it, and what the page says about it."""

import json

import pytest

from . import courses

COURSE = {"name": "A course", "source": "https://example.org", "folder": "course", "files": ["*/*.py", "*/*.ipynb"]}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return a folder with a fetched course of one chapter."""
    monkeypatch.setattr(courses, "courses", lambda: [{**COURSE, "modules": ["helper.py"]}])
    monkeypatch.setattr(courses, "KEPT", tmp_path / "courses.json")
    chapter = tmp_path / "course" / "one chapter"
    chapter.mkdir(parents=True)
    (chapter / "helper.py").write_text("import torch\none = torch.ones(1)\n")
    (chapter / "plain.py").write_text("print(1)\n")
    (chapter / "sum.py").write_text(
        "import torch\nfrom helper import one\nopen('written', 'w').close()\nassert one.sum() == 1\n"
    )
    (chapter / "wrong.py").write_text("import torch\ntorch.ones(2) @ torch.ones(3)\n")
    (chapter / "other.py").write_text("import torch\nimport no_such_package.part\n")
    (chapter / "data.py").write_text("import torch\nopen('no such file')\n")
    (chapter / "long.py").write_text("import torch\nwhile True: pass\n")
    cells = [
        ("markdown", "# Title"),
        ("code", "%matplotlib inline\n!pip install it\nimport torch"),
        ("code", "torch.ones(2).sum()"),
    ]
    book = [
        {"cell_type": kind, "metadata": {}, "source": text, "outputs": [], "execution_count": None}
        for kind, text in cells
    ]
    for cell in book[:1]:
        del cell["outputs"], cell["execution_count"]
    document = {
        "cells": book,
        "metadata": {"kernelspec": {"name": "python3", "language": "python", "display_name": "P"}},
    }
    (chapter / "a book.ipynb").write_text(json.dumps({**document, "nbformat": 4, "nbformat_minor": 4}))
    return tmp_path


def test_programs_are_those_that_import_torch(folder):
    found = [path.name for path in courses.programs(courses.courses()[0], folder)]
    assert found == ["a book.ipynb", "data.py", "long.py", "other.py", "sum.py", "wrong.py"]


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("a book.ipynb", courses.ENDED),
        ("sum.py", courses.ENDED),
        ("data.py", "needs data"),
        ("other.py", "needs the package no_such_package"),
        ("long.py", courses.LIMIT),
        ("wrong.py", "stops: "),
    ],
)
def test_a_program_runs_in_a_copy_of_its_folder(name, what, folder):
    chapter = folder / "course" / "one chapter"
    before = {path.name for path in chapter.iterdir()}
    assert courses.outcome(chapter / name, 8).startswith(what)
    assert {path.name for path in chapter.iterdir()} == before


@pytest.mark.parametrize(
    ("error", "what"),
    [
        ("RuntimeError: device: there is no CUDA device: either no GPU was found, or ...", "needs a GPU"),
        ("AttributeError: module 'numpy' has no attribute 'float'.", "needs an older NumPy"),
        ("TypeError: Cannot perform reduction 'mean' with string dtype", "needs an older pandas"),
        ("RuntimeError: Requested MovieWriter (ffmpeg) not available", "needs ffmpeg"),
        (
            "ModuleNotFoundError: No module named 'torch.nowhere'",
            "stops: ModuleNotFoundError: No module named 'torch.nowhere'",
        ),
    ],
)
def test_what_a_program_lacks_in_any_library_is_no_stop(error, what):
    assert courses.reason(f"Traceback ...\n{error}\nsee https://example.org") == what


def test_programs_import_from_their_course(folder):
    chapter = folder / "course" / "one chapter"
    (chapter.parent / "models.py").write_text("import torch\nmodel = torch.nn.Linear(1, 1)\n")
    (chapter / "uses.py").write_text("from models import model\nprint(model)\n")
    assert courses.outcome(chapter / "uses.py", 8, imports=chapter.parent) == courses.ENDED


def test_programs_find_the_files_beside_their_folder_and_above(folder):
    chapter = folder / "course" / "one chapter"
    for place in (chapter.parent / "img", folder / "data"):
        place.mkdir()
        (place / "numbers.txt").write_text("3")
    reads = (
        "import torch\nfor place in ('../img', '../../data'):\n    print(float(open(place + '/numbers.txt').read()))\n"
    )
    (chapter / "reads.py").write_text(reads + "open('../written.txt', 'w').close()\n")
    assert courses.outcome(chapter / "reads.py", 8) == courses.ENDED
    assert not (chapter.parent / "written.txt").exists()


def test_the_table_has_a_row_for_each_chapter(folder):
    results = {
        "one/a.py": courses.ENDED, "one/b.py": courses.LIMIT, "one/c.py": "needs data", "one/d.py": "needs data",
        "two/e.py": "stops: ValueError: a | b", "two/f.py": "stops: ValueError: c", "two/g.py": courses.ENDED,
        "two/h.py": courses.ENDED,
    }  # fmt: skip
    same = {
        "one/a.py": "same in float64", "one/b.py": "loss 1, not loss 2", "two/f.py": f"{courses.PYTORCH}: stops",
        "two/g.py": courses.numbers.NONE,
    }  # fmt: skip
    kept = {"commit": "abc", "seconds": 60, "programs": results, "numbers": same}
    courses.KEPT.write_text(json.dumps({"A course": kept}))
    rows = courses.table().splitlines()
    assert "### [A course](https://example.org)" in rows and "Commit abc, at least 60 seconds for each program." in rows
    assert rows[-2:] == [
        "| one | 4 | 2 | 1 of 2 | data (2) | `b.py`: loss 1, not loss 2 |",
        f"| two | 4 | 2 |  | {courses.PYTORCH} (1) | `e.py`: ValueError: a / b |",
    ]
