"""The workflows run commands that exist, on the versions of Python that tools/interpreters.py names."""

import re

import pytest

from tests.forked import ROOT
from tools.interpreters import VERSIONS

WORKFLOWS = {path.stem: path.read_text(encoding="utf-8") for path in (ROOT / ".github" / "workflows").glob("*.yml")}
every_workflow = pytest.mark.parametrize("name", WORKFLOWS)


def pythons(name):
    """Return the versions of Python in the matrix of a workflow."""
    (row,) = re.findall(r"^ +python: \[(.*)\]", WORKFLOWS[name], re.MULTILINE)
    return tuple(re.findall(r'"([\d.]+)"', row))


@every_workflow
def test_each_command_of_make_exists(name):
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    assert set(re.findall(r"run: make (\S+)", WORKFLOWS[name])) <= targets


@every_workflow
def test_each_module_of_python_exists(name):
    modules = re.findall(r"python -m (tools\.\w+)", WORKFLOWS[name])
    assert [module for module in modules if not (ROOT / f"{module.replace('.', '/')}.py").is_file()] == []


@every_workflow
def test_actions_are_named_by_commit(name):
    assert [
        action for action in re.findall(r"uses: (\S+)", WORKFLOWS[name]) if not re.search(r"@[0-9a-f]{40}$", action)
    ] == []


def test_pull_requests_run_on_the_oldest_and_the_newest_python():
    found = pythons("test")
    assert (found[0], found[-1]) == (VERSIONS[0], VERSIONS[-1]) and {*found} <= {*VERSIONS}


def test_each_night_all_pythons_run():
    assert pythons("nightly") == VERSIONS


def test_nothing_is_left_out_every_night():
    for command in ("make test\n", "make test-slow NIGHTLY=1", "make parity NIGHTLY=1"):
        assert command in WORKFLOWS["nightly"]
    assert "make test DURATIONS=1" in WORKFLOWS["test"] and "make lint" in WORKFLOWS["test"]
