"""The folder binder/, from which mybinder.org makes a machine with the lessons, as far as it can be checked without one."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from docs.build.lessons import BINDER, NOTEBOOKS
from lessons import lessons
from lessons.as_notebook import notebook

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def asked():
    """Return the lines of the requirements without comments."""
    lines = (ROOT / "binder" / "requirements.txt").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def requirements(extra=""):
    """Return the requirements of an extra, with those of the extras that it names."""
    for one in PROJECT["optional-dependencies"][extra] if extra else PROJECT["dependencies"]:
        own = re.fullmatch(rf"{PROJECT['name']}\[(\w+)\]", one)
        yield from requirements(own[1]) if own else [one]


def test_the_requirements_are_this_package_with_the_extra_of_the_notebooks():
    assert asked() == [".[lessons]"], "pip takes . as the folder that it starts in, here the repository"
    assert PROJECT["name"] == "minigrad-viz" and "lessons" in PROJECT["optional-dependencies"]


def test_the_requirements_can_be_met_without_a_network():
    words = [*requirements(), *requirements("lessons")]
    command = [sys.executable, "-m", "pip", "install", "--dry-run", "--no-index", "--disable-pip-version-check", *words]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0 and "Would install" not in done.stdout, done.stdout + done.stderr


def test_python_is_one_that_the_project_supports():
    version = (ROOT / "binder" / "runtime.txt").read_text(encoding="utf-8").strip()
    least = re.fullmatch(r">=3\.(\d+)", PROJECT["requires-python"])[1]
    assert int(re.fullmatch(r"python-3\.(\d+)", version)[1]) >= int(least)


def test_after_the_build_the_notebooks_are_where_the_links_lead(tmp_path):
    pytest.importorskip("jupytext")
    script = ROOT / "binder" / "postBuild"
    assert script.read_text(encoding="utf-8").startswith("#!/usr/bin/env python\n")
    assert os.name != "posix" or os.access(script, os.X_OK)
    paths = [str(ROOT), os.environ.get("PYTHONPATH", "")]
    subprocess.run(
        [sys.executable, script], cwd=tmp_path, env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)}, check=True
    )
    for one in lessons():
        linked = BINDER.format(repository="ada/engine", name=one.name).partition("urlpath=lab/tree/")[2]
        assert (tmp_path / linked).read_text(encoding="utf-8") == notebook(one)


def test_the_workflow_pushes_the_branch_that_colab_reads():
    workflow = (ROOT / ".github" / "workflows" / "pages.yml").read_text(encoding="utf-8")
    assert f"HEAD:refs/heads/{NOTEBOOKS}" in workflow and "path: site/lessons/*.ipynb" in workflow
