"""mkdocs.yml names every lesson, style and script, and the workflows pin their actions."""

import re

import pytest

from docs.build import DOCS, ROOT
from lessons import lessons

NAVIGATION = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.y*ml"))
ACTION = re.compile(r"^\s*(?:- )?uses: *(.*)$", re.MULTILINE)


@pytest.mark.parametrize("lesson", lessons(), ids=lambda one: one.name)
def test_every_lesson_is_in_the_navigation(lesson):
    assert f"- lessons/{lesson.name}.md\n" in NAVIGATION


def test_lessons_stand_in_their_order():
    listed = re.findall(r"- lessons/(\d\d)_\w+\.md", NAVIGATION)
    assert listed == sorted(set(listed))


def test_the_styles_and_scripts_of_the_site_are_there():
    files = re.findall(r"^  - (\S+\.(?:css|js))$", NAVIGATION, re.MULTILINE)
    assert files and not [name for name in files if not (DOCS / name).is_file()]


def test_every_action_is_pinned_to_a_commit():
    used = [action for path in WORKFLOWS for action in ACTION.findall(path.read_text(encoding="utf-8"))]
    assert used
    assert not [one for one in used if not re.fullmatch(r"[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", one)]
