"""The project as a whole keeps its rules: names, what an import loads, the words that its files may mention."""

import ast
import importlib
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import minigrad
from minigrad.ops.base.primitive import Primitive
from tools import contents

ROOT = Path(__file__).parent.parent

# Folders of one machine. What follows a letter, digit or dot is part of a longer address and means something else; ada
# is the user that our examples invent.
MACHINE_PATH = re.compile(r"(?<![\w.~*-])/(?:root|Users|home/(?!ada\b)\w+)(?![\w-])")


def repository_files():
    """Return the files that are, or are about to be, in the repository."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    return [path for name in listing.stdout.decode().split("\0") if name and (path := ROOT / name).is_file()]


NAMES = """
Tensor tensor zeros ones arange no_grad enable_grad float32 float64 int64 bool exp sin matmul autograd.Function
autograd.grad autograd.backward autograd.forward_ad.dual_level autograd.forward_ad.make_dual
"""


@pytest.mark.parametrize("name", NAMES.split())
def test_top_level_has_pytorch_name(name):
    found = minigrad
    for part in name.split("."):
        found = getattr(found, part)


def test_every_listed_name_exists():
    listed = dir(minigrad)
    assert {"sin", "save", "testing", "utils"} <= {*listed}
    assert not [name for name in listed if not hasattr(minigrad, name)]


def test_operations_in_the_table_of_contents_are_those_declared():
    assert contents.section() in contents.CONTENTS.read_text(encoding="utf-8"), "run make contents"


def test_version_is_the_one_in_the_changelog():
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert minigrad.__version__ in changelog


@pytest.mark.parametrize("name", ["viz", "minigrad.compat", "minigrad.testing", "numba", "scipy", "torch"])
def test_an_import_does_not_load(name):
    code = f"import sys, minigrad; sys.exit({name!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT).returncode == 0


def test_no_file_mentions_a_path_of_one_machine():
    found = []
    for path in repository_files():
        text = path.read_bytes().decode("utf-8", errors="ignore")
        found += [f"{path.relative_to(ROOT)}: {match[0]}" for match in MACHINE_PATH.finditer(text)]
    assert not found


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ('"/{}"'.format("root"), True),
        ("cd /{}/me/x".format("home"), True),
        ("https://example.org/" + "root/x", False),
        ("~/.cache/minigrad", False),
        ("docs/root/x.md", False),
    ],
)
def test_machine_path_pattern(text, is_one):
    assert bool(MACHINE_PATH.search(text)) == is_one


def test_every_documentation_page_is_in_the_navigation():
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    pages = [path.relative_to(ROOT / "docs").as_posix() for path in repository_files() if ROOT / "docs" in path.parents]
    missing = [
        page for page in pages if page.endswith(".md") and not page.startswith("build/") and page not in navigation
    ]
    assert not missing


TABLES_OF_FOLDERS = {  # page -> the beginning of its table, and of the text after it
    "CONTRIBUTING.md": ("    minigrad/arrays", "[docs/architecture.md]"),
    "docs/architecture.md": ("| folder | contents |", "## One declaration"),
}


def folders_of_table(text):
    """Return the folders in a table: written in full, or after the row's first folder as the part of it that ends in /."""
    found = set()
    for row in text.splitlines():
        cell = (row.split("|")[1:2] or row.split()[:1] or [""])[0]  # of a table, or the first word of a line
        whole = re.findall(r"[a-z][\w/.]*", cell)
        found |= {*whole, *[f"{whole[0]}/{part}" for part in re.findall(r"(?<![\w/])(\w+)/(?!\w)", row) if whole]}
    return found - {"folder"}


@pytest.mark.parametrize("page", TABLES_OF_FOLDERS)
def test_the_table_of_folders_names_every_folder_and_no_other(page):
    begin, end = TABLES_OF_FOLDERS[page]
    text = (ROOT / page).read_text(encoding="utf-8")
    named = folders_of_table(text[text.index(begin) : text.index(end)])
    used = {parent.as_posix() for path in repository_files() for parent in path.relative_to(ROOT).parents}
    tops = {"viz", "tests", "tools", "benchmarks", "docs", "lessons"}
    wanted = tops | {
        folder for folder in used if folder.partition("/")[0] in {"minigrad", *tops} and folder.count("/") == 1
    }
    tested = {f"tests/{folder.rpartition('/')[2]}" for folder in used if not folder.startswith("tests")}
    assert sorted(wanted - named - tested) == []
    assert [name for name in sorted(named - used) if not (ROOT / name).is_file()] == []


def test_imports_of_the_wheel_are_the_packages_in_it():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    for name in project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]:
        assert Path(importlib.import_module(name).__file__).parent == ROOT / name


def test_command_line_help_answers():
    command = shutil.which("minigrad", path=Path(sys.executable).parent)
    assert command, "the environment has no command minigrad: run make test, which installs the project"
    answer = subprocess.run([command, "--help"], capture_output=True, text=True, timeout=60)
    assert answer.returncode == 0, answer.stderr
    assert "minigrad" in answer.stdout


NUCLEUS = ("core", "layers", "ops/base")


def test_files_and_functions_of_the_nucleus_are_short():
    for folder in NUCLEUS:
        for path in (ROOT / "minigrad" / folder).glob("*.py"):
            text = path.read_text(encoding="utf-8")
            assert folder != "core" or len(text.splitlines()) <= 260, path.name
            functions = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)]
            assert not [f"{path.name}: {f.name}" for f in functions if f.end_lineno - f.lineno >= 40]


def test_at_most_one_parameter_in_twenty_of_the_nucleus_has_no_type():
    annotations = [
        argument.annotation and ast.unparse(argument.annotation)
        for folder in NUCLEUS
        for path in (ROOT / "minigrad" / folder).glob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.arguments)
        for argument in [*node.posonlyargs, *node.args, *node.kwonlyargs, node.vararg, node.kwarg]
        if argument is not None and argument.arg not in ("self", "cls")
    ]
    stated = [a for a in annotations if a is not None]  # lambdas, the formulas, have none
    assert stated.count("Any") <= 0.05 * len(stated)


def test_warning_filters_are_left_to_the_user():
    """They hold for all threads and change what a test suite sees; `minigrad.silence`, in errors.py, is asked for."""
    files = [p for p in (ROOT / "minigrad").rglob("*.py") if p.name != "errors.py"]
    used = {
        (path.name, node.attr)
        for path in files
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and node.attr in ("simplefilter", "filterwarnings", "catch_warnings")
    }
    assert not used


def test_what_a_declaration_says_is_read_somewhere():
    """A misspelt attribute of an operation's class would do nothing, without a word."""
    source = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "minigrad").rglob("*.py"))
    read = set(re.findall(r"(?:\.|def )(\w+)", source))

    def below(cls):
        return [d for c in cls.__subclasses__() for d in (c, *below(c))]

    for cls in below(Primitive):
        formulas = {f"d{name}" for name in cls.names}
        said = {name for name in vars(cls) if not name.startswith("_")} - formulas
        assert said <= read, cls


def test_every_dependency_is_in_the_list_that_is_audited():
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    asked = project["dependencies"] + [
        one
        for extra in ("lessons", "notebook", "marimo", "docs", "dev", "parity", "cuda12", "cuda13")
        for one in extras[extra]
    ]
    names = {re.match(r"[\w-]+", one)[0].lower().replace("_", "-") for one in asked} - {"minigrad-viz"}
    lines = (ROOT / ".ci" / "locked.txt").read_text(encoding="utf-8").splitlines()
    locked = {line.partition("==")[0].lower().replace("_", "-") for line in lines}
    assert names <= locked and all(re.fullmatch(r"[\w.-]+==[\w.]+", line) for line in lines)
