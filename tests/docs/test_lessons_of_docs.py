"""Lessons become pages: what is run, what is kept, what stands on the page, and what stops the build."""

import os
import re
import shutil
import subprocess
import sys
import time
from types import SimpleNamespace

import jupytext
import pytest

from docs.build import ROOT, execute
from docs.build import lessons as pages_of_lessons
from docs.build.execute import LessonError
from docs.build.lessons import Page, doors, listed
from lessons import Lesson, lesson, lessons
from lessons.as_notebook import notebook
from lessons.tracks import Track

pytestmark = pytest.mark.slow  # kernels take a second to start

OUTPUTS = """# %% [markdown]
# # Outputs
#
# *Needs no other lesson.*

# %%
import os, sys
print("\\x1b[31mred\\x1b[0m", "MINIGRAD_LESSONS_PROGRESS" in os.environ)
print("hidden", file=sys.stderr)

# %%
from IPython.display import HTML, SVG, display
import viz
import minigrad as torch
for x in (1.0, 2.0):
    display(viz.draw(torch.exp, torch.tensor(x)))

# %%
try:

    torch.ones(2) @ torch.ones(3)
except RuntimeError as e:
    print(e)
print(torch.explain(lambda x: x * x, torch.tensor(2.0)))

# %% alt="A line [that rises]"
import matplotlib.pyplot as plt
_ = plt.plot([1, 2])

# %%
HTML("<b>bold</b>\\n\\n<i>italic</i>")

# %% [markdown]
# === "Python"
#
#     tab

# %%
6 * 7
"""


def made_lesson(path):
    return Lesson(1, path, "Outputs: all", 3, 2, (), "**What is\nthere?** All of it.", ())


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    path = tmp_path_factory.mktemp("lesson") / "01_outputs.py"
    path.write_text(OUTPUTS)
    page = Page(made_lesson(path))
    page.text = page.markdown(execute.run(path).cells)
    return page


def test_code_and_what_it_printed_stand_below_each_other(page):
    assert '```python\n6 * 7\n```\n\n<div class="output" markdown="1">\n\n```text\n42\n```\n\n</div>' in page.text


def test_colours_of_a_terminal_and_stderr_are_left_out_and_progress_is_not_the_readers(page):
    assert "```text\nred True\n```" in page.text and "\x1b" not in page.text and "\nhidden" not in page.text


def test_lines_of_cells_are_not_called_by_a_file_of_this_machine(page):
    assert "at cell:3: torch.ones(2) @ torch.ones(3)\n" in page.text
    assert re.search(r"result = x \* x +cell:6\n", page.text) and "ipykernel" not in page.text


def test_a_drawing_is_a_viewer_and_without_scripts_an_svg_within_the_page(page):
    without = re.findall(r"<noscript>(.*?)</noscript>", page.text, re.DOTALL)
    assert len(without) == page.text.count("<iframe") == page.text.count("<svg") == 2
    assert all('aria-label="Graph of exp, forward pass: exp; ' in picture for picture in without)
    assert 'id="picture-1-op-0"' in without[0] and 'id="picture-2-op-0"' in without[1]
    assert page.text.count("play.html#r=") == 2


def test_a_png_is_a_file_with_words(page):
    assert "![A line \\[that rises\\]](01_outputs-3.png)" in page.text
    assert page.files["01_outputs-3.png"].startswith(b"\x89PNG")


def test_html_and_tabs_are_passed_on(page):
    assert "<b>bold</b>\n<i>italic</i>" in page.text and '=== "Python"\n\n    tab' in page.text


def test_a_long_film_in_html_takes_no_long_time(tmp_path):
    film = SimpleNamespace(output_type="display_data", data={"text/html": f'<img src="data:{"Ab1/" * 300_000}">'})
    start = time.process_time()
    assert film.data["text/html"] in Page(made_lesson(tmp_path / "01_outputs.py")).cell(cell(film))
    assert time.process_time() - start < 2


def test_the_title_may_have_a_colon(page):
    assert page.text.startswith('---\ntitle: "1. Outputs: all"\n---\n\n# Outputs\n')


def test_the_computed_minutes_are_on_the_page_and_in_the_notebook(page):
    assert "\n*3 minutes, and 2 minutes at home. Needs no other lesson.*\n" in page.text
    one = lessons()[0]
    assert f"*{one.minutes} minutes, and {one.home} minutes at home. Needs no other lesson.*" in notebook(one)


def cell(output, alt=""):
    return SimpleNamespace(cell_type="code", source="picture", outputs=[output], metadata={"alt": alt})


@pytest.mark.parametrize("data", [{"image/png": "iVBORw0KGgo="}, {"image/svg+xml": "<svg></svg>"}])
def test_a_picture_without_words_stops_the_build(tmp_path, data):
    output = SimpleNamespace(output_type="display_data", data=data)
    page = Page(made_lesson(tmp_path / "01_outputs.py"))
    with pytest.raises(LessonError, match="lesson 01_outputs: picture 1, an? (PNG|SVG), has no words"):
        page.cell(cell(output))
    assert "falls" in page.cell(cell(output, "It falls"))


def test_an_exercise_has_hints_and_solution_below_it():
    lesson = next(one for one in lessons() if one.exercises)
    text = Page(lesson).markdown(jupytext.read(lesson.path).cells)
    assert text.count('??? success "Solution"\n\n    ```python\n') == len(lesson.exercises)
    assert text.count('??? question "Hint 1"\n\n    ') == len(lesson.exercises)
    below = text.split(f'lessons.check("{lesson.exercises[0]}"')[1]
    assert below.index('??? question "Hint 1"') < below.index('??? success "Solution"') < below.index("### 2.")


def test_the_list_of_a_track_has_its_aim_and_lessons_with_minutes_and_summary(tmp_path):
    lasting = "3 minutes, and 2 minutes at home"
    assert listed([Track("See all", "see all", (made_lesson(tmp_path / "01_outputs.py"),))]) == (
        "| track | afterwards you can | time |\n| --- | --- | --- |\n"
        f"| [See all](#see-all) | see all | {lasting} |\n\n"
        f"## See all {{ #see-all }}\n\nAfterwards you can see all. {lasting}.\n\n"
        f"**[1. Outputs: all](01_outputs.md)** · {lasting}\n\n"
        '??? abstract "What is there?"\n\n    All of it.\n'
    )


def test_a_lesson_of_two_tracks_has_its_summary_once_and_names_what_it_needs():
    two = lesson(2)
    text = listed([Track("A", "a", (lesson(1), two)), Track("B", "b", (two,))])
    assert text.count(f"]({two.name}.md)**") == 2
    assert text.count('??? abstract "How do I give an operation my own derivative?"') == 1
    assert text.rstrip().endswith(f"minutes at home · needs [1]({lesson(1).name}.md)")


def test_the_list_of_lessons_has_a_line_for_each_thing_that_is_learned():
    text = listed([Track("A", "a", lessons()[:1])])
    assert len(re.findall("^    - ", text, re.MULTILINE)) == 3 and "    After this lesson you can:\n\n    - " in text


def test_a_page_offers_its_notebook_and_with_a_repository_two_places_to_run_it(tmp_path):
    one = lessons()[0]
    assert doors(one, "").count("](") == 1 and f"]({one.name}.ipynb)" in doors(one, "")
    there = doors(one, "ada/engine")
    assert f"(https://mybinder.org/v2/gh/ada/engine/HEAD?urlpath=lab/tree/minigrad-lessons/{one.name}.ipynb)" in there
    assert f"(https://colab.research.google.com/github/ada/engine/blob/notebooks/{one.name}.ipynb)" in there
    (tmp_path / "index.md").write_text("<!-- lessons -->\n")
    pages_of_lessons.write({one: jupytext.read(one.path)}, tmp_path)
    assert (tmp_path / f"{one.name}.ipynb").read_text(encoding="utf-8") == notebook(one, installs=True)
    assert "{ .door }" in (tmp_path / f"{one.name}.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("1 / 0", r"lesson 02_wrong: cell 2 \(`1 / 0`\) fails: ZeroDivisionError: division by zero"),
        (
            "class Picture:\n    def _repr_mimebundle_(self, **_):\n        [][3]\nPicture()",
            r"lesson 02_wrong: cell 2 \(`class Picture:`\) fails: IndexError: list index out of range",
        ),
        ("import os\nos._exit(3)", r"lesson 02_wrong: cell 2 \(`import os`\) ends the kernel"),
    ],
)
def test_a_cell_that_fails_stops_the_build(tmp_path, code, said):
    right, wrong = tmp_path / "01_right.py", tmp_path / "02_wrong.py"
    right.write_text("# %%\nprint(1)\n")
    wrong.write_text(f"# %% [markdown]\n# # Wrong\n\n# %%\n{code}\n\n# %%\nprint('never')\n")
    with pytest.raises(LessonError, match=said):
        execute.notebooks([right, wrong], cache=tmp_path / "cache")


@pytest.fixture
def project(tmp_path, monkeypatch):
    """Return a small project: a lesson, and packages that it depends on."""
    for package in execute.PACKAGES:
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").write_text("")
    (tmp_path / "lessons" / "solutions").mkdir()
    path = tmp_path / "lessons" / "01_time.py"
    path.write_text("# %%\nimport time\ntime.time_ns()\n")
    monkeypatch.setattr(execute, "ROOT", tmp_path)
    return path


def shown(path):
    (made,) = execute.notebooks([path], cache=path.parent.parent / "cache")
    return made.cells[0].outputs[0].data["text/plain"]


def test_a_lesson_runs_again_only_when_something_it_depends_on_has_changed(project):
    first = shown(project)
    assert shown(project) == first
    (project.parent / "02_other.py").write_text("# %%\n2\n")
    (project.parent / "solutions" / "02_other.py").write_text("# %%\n2\n")
    assert shown(project) == first, "another lesson's files are none of its own"
    (project.parent / "solutions" / project.name).write_text("# %%\n1\n")
    second = shown(project)
    assert second != first
    (project.parent.parent / "minigrad" / "__init__.py").write_text("x = 1\n")
    third = shown(project)
    assert third != second
    project.write_text(project.read_text() + "\n# %%\n1\n")
    assert shown(project) != third
    assert len(list((project.parent.parent / "cache").iterdir())) == 1, "what is out of date is not kept"


def test_of_lessons_not_chosen_the_code_stands_there_alone(project):
    (made,) = execute.notebooks([project], only=[], cache=project.parent.parent / "cache")
    assert made.cells[0].source == "import time\ntime.time_ns()" and not made.cells[0].outputs


def test_the_command_fails_with_a_lesson(tmp_path):
    for name in ("docs", "lessons"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("gen", "__pycache__", "[0-9]*"))
    for name in ("minigrad", "viz", "tests", "CHANGELOG.md"):
        (tmp_path / name).symlink_to(ROOT / name)
    lesson = '# %% [markdown]\n# # Wrong\n#\n# *Needs no other lesson.*\n#\n# A lesson.\n\n# %%\nassert "a" == "b"\n'
    (tmp_path / "lessons" / "01_wrong.py").write_text(lesson)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    build = [sys.executable, "-m", "docs.build"]
    done = subprocess.run(build, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.strip().endswith('docs: lesson 01_wrong: cell 2 (`assert "a" == "b"`) fails: AssertionError:')
