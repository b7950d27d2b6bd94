"""The navigation has every lesson, mkdocs.yml every style and script, and the workflows pin their actions."""

import re

from docs.build import DOCS, ROOT, hooks
from lessons import lessons
from lessons.catalogue import steps
from lessons.tracks import tracks

NAVIGATION = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.y*ml"))
ACTION = re.compile(r"^\s*(?:- )?uses: *(.*)$", re.MULTILINE)


def test_every_lesson_is_in_the_navigation_once_below_a_track():
    nav = hooks.with_tracks([{"Home": "index.md"}, {"Lessons": ["lessons/index.md", {"Bank": "exercises.md"}]}])
    home, (first, *sections, bank) = nav[0], nav[1]["Lessons"]
    assert (home, first, bank) == ({"Home": "index.md"}, "lessons/index.md", {"Bank": "exercises.md"})
    assert [name for section in sections for name in section] == [track.name for track in tracks()]
    pages = [page for section in sections for part in section.values() for page in part]
    assert sorted(pages) == sorted(f"lessons/{one.name}.md" for one in [*lessons(), *steps()])


def test_the_styles_and_scripts_of_the_site_are_there():
    files = re.findall(r"^  - (\S+\.(?:css|js))$", NAVIGATION, re.MULTILINE)
    assert files and not [name for name in files if not (DOCS / name).is_file()]


def test_every_action_is_pinned_to_a_commit():
    used = [action for path in WORKFLOWS for action in ACTION.findall(path.read_text(encoding="utf-8"))]
    assert used
    assert not [one for one in used if not re.fullmatch(r"[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", one)]
