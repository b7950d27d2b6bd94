"""Pages, docstrings, comments and messages use none of the phrases that docs/voice.md tells writers to avoid."""

import ast
import functools
import re

import pytest

from docs.build import ROOT

VOICE = ROOT / "docs/voice.md"
FOLDERS = ("minigrad", "viz", "lessons", "docs", "benchmarks", "tools")
GENERATED = re.compile(r"docs/(gen/|mistakes/|operations\.md|performance\w*\.md|programs\.md)")  # made from other texts


@functools.cache
def avoided():
    """Return the phrases in the first column of the table."""
    table = VOICE.read_text(encoding="utf-8").split("## Words to avoid")[1]
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    return [phrase for row in rows for phrase in re.findall("`([^`]+)`", row)]


@functools.cache
def pattern(phrase):
    """Return the regular expression of a phrase, which may go on in the next line of a docstring or comment.

    A phrase that begins with a capital letter is one only at the start of a sentence that is no question.
    """
    words = r"\s+(?:#\s+)?".join(map(re.escape, phrase.split()))
    if phrase[0].isupper():
        return re.compile(rf"\b{words}\b(?![^.!\n]*\?)")
    return re.compile(rf"\b{words}\b", re.IGNORECASE)


def written(folder):
    """Return the Python files and pages of a folder, without those that are generated."""
    found = sorted([*(ROOT / folder).rglob("*.py"), *(ROOT / folder).rglob("*.md")])
    return [f for f in found if f != VOICE and not GENERATED.match(f.relative_to(ROOT).as_posix())]


def offences(text):
    """Return line and phrase of each match in a text."""
    words = text.lower()  # most texts lack a word of most phrases
    return sorted(
        (text.count("\n", 0, match.start()) + 1, phrase)
        for phrase in avoided()
        if all(word in words for word in phrase.lower().split())
        for match in pattern(phrase).finditer(text)
    )


def docstrings(file):
    """Yield the line and the text of each docstring in a Python file."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) is not None:
            yield node.body[0].lineno, node.body[0].value.value


def test_the_phrases_are_found_where_they_stand():
    text = (
        "# It is a number of its\n# own.\nWhether it is.\nTell whether it is.\nWhat is it? What is asked is a question."
    )
    assert offences(text) == [(1, "of its own"), (3, "Whether"), (5, "What is")]
    assert len(avoided()) > 20


@pytest.mark.parametrize("folder", [*FOLDERS, "README.md", "CONTRIBUTING.md"])
def test_texts_avoid_them(folder):
    files = written(folder) if (ROOT / folder).is_dir() else [ROOT / folder]
    found = [
        f"{file.relative_to(ROOT)}:{line}: {phrase}"
        for file in files
        for line, phrase in offences(file.read_text(encoding="utf-8"))
    ]
    assert not found, "see docs/voice.md:\n" + "\n".join(found)


def test_docstrings_of_tests_avoid_them():
    found = [
        f"{file.relative_to(ROOT)}:{first + line - 1}: {phrase}"
        for file in sorted((ROOT / "tests").rglob("*.py"))
        for first, text in docstrings(file)
        for line, phrase in offences(text)
    ]
    assert not found, "see docs/voice.md:\n" + "\n".join(found)
