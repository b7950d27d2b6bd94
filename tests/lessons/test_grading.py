"""A folder of notebooks as a class hands them in: right, wrong, broken, endless and greedy ones."""

import contextlib
import csv
import io
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from lessons import grading, lesson, supervise
from lessons.as_notebook import notebook, sources
from lessons.class_command import line
from lessons.grading import Limits, grade, grade_folder
from lessons.limit import TooLong, within
from lessons.run import source
from lessons.table import write_csv

pytest.importorskip("IPython")
pytest.importorskip("jupytext")
ONE = lesson(1)
REFUSED = "cell 2: BlockingIOError: [Errno 11] Resource temporarily unavailable"


def handed_in(path, *cells, metadata=True):
    """Return a notebook of the first lesson with these code cells."""
    empty = {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": []}
    whole = [{**empty, "id": f"c{i}", "source": text} for i, text in enumerate(cells)]
    about = {"minigrad": {"lesson": ONE.name}} if metadata else {}
    path.write_text(json.dumps({"cells": whole, "metadata": about, "nbformat": 4, "nbformat_minor": 5}))
    return path


def test_answers_count_whatever_else_the_notebook_does(tmp_path):
    path = handed_in(
        tmp_path / "ann.ipynb",
        "import minigrad as torch\nthree_uses = 12",
        "1 / 0",
        "%matplotlib inline\nwalking_order = ['no']",
        "class lessons:\n    check = staticmethod(lambda *a: True)",
        "gradient_by_hand = ...",
    )
    graded = grade(path)
    assert graded.statuses == dict.fromkeys(ONE.exercises, "missing") | {
        "three_uses": "right", "walking_order": "wrong", "gradient_by_hand": "open"
    }  # fmt: skip
    assert graded.points == 1 and graded.notes == ["cell 2: ZeroDivisionError: division by zero"]
    assert "each of them once" in graded.messages["walking_order"]


@pytest.mark.slow
def test_the_last_answer_counts(tmp_path):
    path = handed_in(tmp_path / "ann.ipynb", "three_uses = 4", "three_uses = 12")
    assert grade(path).statuses["three_uses"] == "right"


@pytest.mark.slow
def test_a_cell_without_end_is_stopped_and_the_others_count(tmp_path):
    path = handed_in(tmp_path / "ben.ipynb", "while True:\n    pass", "three_uses = 12")
    graded = grade(path, Limits(cell=1.0))
    assert graded.points == 1 and graded.notes == ["cell 1: TooLong: stopped after 1 s"]


@pytest.mark.slow
def test_an_answer_without_end_is_stopped(tmp_path):
    endless = "def gradient_by_hand(a):\n    while True:\n        pass"
    graded = grade(handed_in(tmp_path / "ben.ipynb", endless, "three_uses = 12"), Limits(cell=1.0))
    assert graded.statuses["gradient_by_hand"] == "wrong" and graded.points == 1
    assert "stopped after 1 s" in graded.messages["gradient_by_hand"]


@pytest.mark.slow
def test_a_notebook_that_cannot_be_stopped_is_ended_and_what_was_checked_counts(tmp_path):
    stubborn = "while True:\n    try:\n        while True:\n            pass\n    except BaseException:\n        pass"
    graded = grade(handed_in(tmp_path / "cat.ipynb", "three_uses = 12", stubborn), Limits(cell=1.0, total=6.0))
    assert graded.points == 1 and graded.notes == ["cell 2: ended after 6 s"]


def test_memory_has_a_limit(tmp_path):
    path = handed_in(tmp_path / "dan.ipynb", "x = bytearray(3 << 30)", "three_uses = 12")
    graded = grade(path, Limits(memory=1 << 30))
    assert graded.points == 1 and graded.notes == ["cell 1: MemoryError: "]


@pytest.mark.slow
@pytest.mark.parametrize("cell", ["import os; os._exit(0)", "import os; os.execv('/bin/true', ['true'])"])
def test_a_process_that_ends_itself_without_an_error_is_reported(tmp_path, cell):
    graded = grade(handed_in(tmp_path / "eve.ipynb", "three_uses = 12", cell))
    assert graded.points == 1
    assert graded.notes == ["cell 2: its process ended with exit code 0 without an error: did it call os._exit?"]
    assert graded.messages["count_paths"] == "The notebook ended before this exercise."


@pytest.mark.slow
def test_a_process_that_ends_itself_is_reported(tmp_path):
    path = handed_in(tmp_path / "eve.ipynb", "three_uses = 12", "import os; os._exit(3)")
    graded = grade(path)
    assert graded.points == 1 and graded.notes == [
        "cell 2: its process ended with exit code 3 without an error: did it call os._exit?"
    ]


@pytest.mark.slow
def test_a_notebook_writes_into_a_separate_empty_folder(tmp_path):
    folder = tmp_path / "class"
    folder.mkdir()
    path = handed_in(folder / "ann.ipynb", "import os\nthree_uses = 12 if not os.listdir() else 0\nopen('mine', 'w')")
    assert grade(path).points == 1
    assert [p.name for p in folder.iterdir()] == ["ann.ipynb"]


def test_a_file_that_is_no_notebook_or_of_no_lesson_gets_a_note(tmp_path):
    (tmp_path / "broken.ipynb").write_text("{")
    assert "is not a notebook" in grade(tmp_path / "broken.ipynb").notes[0]
    handed_in(tmp_path / "other.ipynb", "x = 1", metadata=False)
    assert "belongs to no lesson" in grade(tmp_path / "other.ipynb").notes[0]
    path = handed_in(tmp_path / f"{ONE.name}_ann.ipynb", "three_uses = 12", metadata=False)
    assert sources(path)[0] is ONE


def test_a_folder_becomes_a_table(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / ".ipynb_checkpoints").mkdir()
    handed_in(tmp_path / "a" / "ann.ipynb", "three_uses = 12")
    handed_in(tmp_path / "ben.ipynb", "three_uses = 4")
    handed_in(tmp_path / ".ipynb_checkpoints" / "ben-checkpoint.ipynb", "three_uses = 12")
    file = io.StringIO()
    write_csv(grade_folder(tmp_path, Limits(), jobs=2), file)
    rows = list(csv.DictReader(io.StringIO(file.getvalue())))
    assert [(r["file"], r["points"], r["of"], r["three_uses"]) for r in rows] == [
        ("a/ann.ipynb", "1", "5", "right"), ("ben.ipynb", "0", "5", "wrong")
    ]  # fmt: skip


def test_the_notebook_of_a_lesson_names_it_and_has_gaps(tmp_path):
    path = tmp_path / "renamed.ipynb"
    path.write_text(notebook(ONE))
    one, texts = sources(path)
    assert one is ONE and any("three_uses = ..." in text for text in texts)
    assert set(grade(path).statuses.values()) == {"open"}


def test_a_wrong_program_is_kept_as_the_answer(tmp_path):
    function = "def gradient_by_hand(a):\n    return 0.0 * a"
    graded = grade(handed_in(tmp_path / "ann.ipynb", f"import minigrad as torch\n{function}", "three_uses = 4"))
    assert graded.given["gradient_by_hand"].startswith(("def gradient_by_hand", "return 0.0 * a"))
    assert graded.given["three_uses"] == "4" and graded.mistakes["three_uses"]


def test_the_program_of_an_answer():
    class Kernel:
        @staticmethod
        def forward(ctx, x):
            return x

    def decorated(x):
        return x

    assert source(Kernel).startswith("class Kernel:") and source(decorated).endswith("return x")
    assert source(3) == source(print) == source(type("Made", (), {})) == source(eval("lambda x: x")) == ""


def test_within_gives_the_result_and_stops_what_takes_too_long():
    assert within(5.0, lambda: 3) == 3
    with pytest.raises(TooLong, match=r"stopped after 0\.1 s"):
        within(0.1, lambda: time.sleep(5))


# ---------------------------------------------------------------------- whatever is handed in, the others are graded
def fifo(path):
    os.mkfifo(path)


def nested(path):
    place = path.with_suffix("")
    place.mkdir()
    for _ in range(1500):
        place /= "d"
        place.mkdir()
    handed_in(place / "nested.ipynb", "three_uses = 12")


def texts(**parts):
    """Return the text of a notebook with one cell, some of whose parts are others."""
    cell = {"cell_type": "code", "metadata": {}, "source": "three_uses = 12", **parts.pop("cell", {})}
    return json.dumps({"cells": [cell], "metadata": {"minigrad": {"lesson": ONE.name}}, "nbformat": 4, **parts})


ODD = {
    "pipe": (fifo, "it is not a regular file"),
    "folder": (lambda path: path.mkdir(), "it is not a notebook: IsADirectoryError"),
    "device": (lambda path: path.symlink_to("/dev/zero"), "it is not a regular file"),
    "nowhere": (lambda path: path.symlink_to("nowhere"), "it is not a notebook: FileNotFoundError"),
    "latin": (lambda path: path.write_bytes('{"cells": "é"}'.encode("latin-1")), "UnicodeDecodeError"),
    "text": (
        lambda path: path.write_text("three_uses = 12"),
        "it is not a notebook: its JSON ends early, or has a mistake in line 1, column 1",
    ),
    "list": (lambda path: path.write_text("[]"), "it has no list of cells"),
    "words": (lambda path: path.write_text('{"cells": ["a"]}'), "it has no list of cells"),
    "deep": (lambda path: path.write_text("[" * 100_000), "it is not a notebook: RecursionError"),
    "number": (lambda path: path.write_text(texts(cell={"source": 5})), "the source of cell 1 is not text"),
    "none": (lambda path: path.write_text(texts(cell={"source": [None]})), "the source of cell 1 is not text"),
    "no metadata": (lambda path: path.write_text(texts(metadata=None)), "belongs to no lesson"),
    "odd metadata": (lambda path: path.write_text(texts(metadata={"minigrad": [1]})), "belongs to no lesson"),
    "odd lesson": (lambda path: path.write_text(texts(metadata={"minigrad": {"lesson": {}}})), "belongs to no lesson"),
    "surrogate": (lambda path: path.write_text(texts(cell={"source": "x = '\ud800'"})), "cell 1: UnicodeEncodeError"),
    "nested": (nested, None),
}


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="pipes and devices")
def test_no_file_ends_the_grading_of_the_others(tmp_path):
    handed_in(tmp_path / "a good one.ipynb", "three_uses = 12")
    for name, (make, _) in ODD.items():
        make(tmp_path / f"{name}.ipynb")
    handed_in(tmp_path / "z good one.ipynb", "three_uses = 12")
    file = io.StringIO()
    try:
        write_csv(grade_folder(tmp_path, Limits(), jobs=2), file)
    finally:
        subprocess.run(["rm", "-rf", tmp_path / "nested"], check=True)  # pytest's own way is not deep enough
    rows = {
        row["file"].rpartition("/")[2].removesuffix(".ipynb"): row
        for row in csv.DictReader(io.StringIO(file.getvalue()))
    }
    assert rows["a good one"]["points"] == rows["z good one"]["points"] == "1"
    for name, (_, note) in ODD.items():
        assert note is None or note in rows[name]["notes"], name
    assert len(rows) == len(ODD) + 2 and sum(row["points"] == "1" for row in rows.values()) == 3


def test_a_folder_that_cannot_be_listed_is_a_row(tmp_path, monkeypatch):
    (tmp_path / "locked").mkdir()
    listed = os.scandir

    def refused(place):
        if place.name == "locked":
            raise PermissionError(13, "Permission denied")
        return listed(place)

    monkeypatch.setattr(os, "scandir", refused)  # root may read everything
    (row,) = grade_folder(tmp_path, Limits(), jobs=1)
    assert row.file == "locked" and row.notes == ["this folder cannot be read: Permission denied"]


FORGED = """
import json, sys
path = sys.argv[2]
with open(path, "a") as file:
    for line in (
        {"exercise": "no_such", "status": "right", "message": ""},
        {"exercise": "count_paths", "status": "perfect", "message": ""},
        {"exercise": ["count_paths"], "status": "right", "message": ""},
        {"cell": "=1+1", "failed": 3}, {"cell": 1}, {}, [], 5, None,
    ):
        print(json.dumps(line), file=file)
    print("[" * 100_000, file=file)
    file.flush()
    file.buffer.write(bytes([255, 254, 10]))
three_uses = 12
"""


@pytest.mark.slow
def test_lines_that_no_check_wrote_do_no_harm(tmp_path):
    graded = grade(handed_in(tmp_path / "ann.ipynb", FORGED))
    assert graded.points == 1 and graded.statuses["count_paths"] == "missing"
    assert graded.notes == ["its results contain lines that the checks did not write"]


@pytest.mark.slow
def test_text_commands_neither_a_terminal_nor_a_spreadsheet(tmp_path):
    path = handed_in(tmp_path / "=1+1\x1b[2J.ipynb", "raise ValueError('\\x1b[2J\\u202e =cmd')", "three_uses = 12")
    graded = grade(path, name=path.name)
    file = io.StringIO()
    write_csv([graded], file)
    (row,) = csv.DictReader(io.StringIO(file.getvalue()))
    assert row["file"].startswith("'=1+1") and row["notes"].startswith("cell 1: ValueError: ")
    for text in (file.getvalue(), line(graded)):
        assert "\x1b" not in text and "\u202e" not in text


# ---------------------------------------------------------------------- what a notebook starts
STAYS = """
import os, sys, time
if not os.fork():
    os.setsid()
    if os.fork():
        os._exit(0)
    for _ in range(600):
        open("/proc/self/comm", "w").write("stays-{name}")
        time.sleep(1)
"""
LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="processes are found in /proc")


@pytest.fixture(params=[pytest.param("confined", marks=pytest.mark.slow), "not confined"])
def both_ways(request, monkeypatch):
    """Grade within bubblewrap, and as on a machine without it."""
    if request.param == "not confined":
        monkeypatch.setattr(grading, "confinement", lambda: False)
    elif not grading.confinement():
        pytest.skip("there is no bubblewrap")


def running(name):
    found = []
    for place in Path("/proc").glob("[0-9]*/comm"):
        with contextlib.suppress(OSError):  # it has just ended
            found += [place] * (place.read_text().strip() == name)
    return found


@pytest.mark.slow
@LINUX
def test_a_process_that_stays_is_ended_with_its_notebook(tmp_path, both_ways):
    name = f"stays-{os.getpid()}"[:15]
    stays = STAYS.replace("stays-{name}", name)
    graded = grade(handed_in(tmp_path / "ann.ipynb", stays, "import time; time.sleep(1)", "three_uses = 12"))
    assert graded.points == 1 and graded.notes == [] and not running(name)


@pytest.mark.slow
@LINUX
def test_a_notebook_that_ends_its_supervisor_ends_with_it(tmp_path, monkeypatch):
    monkeypatch.setattr(grading, "confinement", lambda: False)  # where it would not see it
    name = f"kills-{os.getpid()}"[:15]
    kills = f"open('/proc/self/comm', 'w').write({name!r})\nimport os, time\nos.kill(os.getppid(), 9)\ntime.sleep(600)"
    graded = grade(handed_in(tmp_path / "ann.ipynb", "three_uses = 12", kills))
    assert graded.points == 1 and graded.notes == [
        "cell 2: its supervisor was killed (SIGKILL): a cell kills other processes"
    ]
    wait_until(lambda: not running(name))


@pytest.mark.slow
@LINUX
def test_memory_is_counted_over_all_processes(tmp_path, both_ways):
    greedy = (
        "import os, time\nfor _ in range(4):\n    if not os.fork():\n        x = b'1' * (700 << 20); time.sleep(60)"
    )
    graded = grade(
        handed_in(tmp_path / "ann.ipynb", "three_uses = 12", greedy, "time.sleep(60)"), Limits(memory=1 << 30)
    )
    assert graded.points == 1 and "ended with more than 1 GiB in " in graded.notes[0]


@pytest.mark.slow
@LINUX
def test_processes_have_a_limit(tmp_path, both_ways):
    many = "import os, time\nfor _ in range(2500):\n    if not os.fork():\n        time.sleep(60); os._exit(0)\ntime.sleep(60)"
    graded = grade(handed_in(tmp_path / "ann.ipynb", "three_uses = 12", many))
    assert graded.points == 1
    assert graded.notes[0] in ("cell 2: ended with more than 200 processes", REFUSED)


@pytest.mark.slow
@LINUX
def test_a_notebook_that_forks_without_end_is_ended_and_its_checks_count(tmp_path, both_ways):
    bomb = "import os\nwhile True:\n    try:\n        os.fork()\n    except OSError:\n        pass"
    graded = grade(handed_in(tmp_path / "ann.ipynb", "three_uses = 12", bomb), Limits(total=20.0))
    assert graded.points == 1
    tried = f"cell 2: ended since it tried to have more than {supervise.TASKS} processes and threads"
    assert graded.notes in ([tried], ["cell 2: ended after 20 s"])


KILLS = {
    "os.kill(os.getpid(), 9)": "its process was killed (SIGKILL), by its code or by the system",
    "os.kill(os.getpid(), 15)": "its process was killed (SIGTERM), by its code or by the system",
    "os.abort()": "its process was aborted (SIGABRT), by its code or by the system",
    "import ctypes; ctypes.string_at(0)": "its process was ended by a memory fault (SIGSEGV), by its code or by the system",
    "import sys; os._exit(200)": "its process ended with exit code 200 without an error: did it call os._exit?",
}


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize("cell", KILLS)
def test_a_process_that_is_killed_is_reported_in_words(tmp_path, cell):
    graded = grade(handed_in(tmp_path / "eve.ipynb", "three_uses = 12", f"import os\n{cell}", "three_uses = 4"))
    assert graded.points == 1 and graded.notes == [f"cell 2: {KILLS[cell]}"]


def ended(code=0, **found):
    """Return what the supervisor prints."""
    return json.dumps({"code": code, "ended": "", "refused": False, "starved": False, **found}).encode()


def test_the_end_of_a_process_in_words():
    how = grading.how_it_ended
    assert how(ended(), 0, "", True, False) == ""
    assert "since the memory of the machine ran out" in how(ended(-9, starved=True), 0, "", False, False)
    assert how(ended(137), 0, "", False, True) == how(ended(-9), 0, "", False, False), "bubblewrap adds 128"
    assert "exit code 200" in how(ended(200), 0, "", False, True)
    assert how(ended(-70), 0, "", False, False).startswith("its process was killed (signal 70)")
    assert (
        how(ended(1), 0, "x\nOSError: disk full", False, False)
        == "its process ended with exit code 1: OSError: disk full"
    )
    assert (
        how(ended(refused=True), 0, "", True, False)
        == f"the system refused it more than {supervise.TASKS} processes and threads"
    )
    assert how(b"", 1, "", False, False) == "its supervisor ended with exit code 1"


@pytest.mark.slow
def test_of_a_cell_that_forks_one_goes_on(tmp_path):
    graded = grade(handed_in(tmp_path / "ann.ipynb", "import os\nos.fork()", "1 / 0", "three_uses = 12"))
    assert graded.points == 1 and graded.notes == ["cell 2: ZeroDivisionError: division by zero"]


@pytest.mark.slow
def test_a_folder_as_deep_as_can_be_is_removed(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    deep = "import os\nfor _ in range(3000):\n    os.mkdir('d'); os.chdir('d')\nthree_uses = 12"
    graded = grade(handed_in(tmp_path / "ann.ipynb", deep))
    assert graded.points == 1 and graded.notes == [] and not list((tmp_path / "temporary").iterdir())


@pytest.mark.skipif(not grading.confinement(), reason="there is no bubblewrap")
def test_a_confined_notebook_writes_only_its_folder_and_has_no_network(tmp_path):
    cells = (
        f"open({str(tmp_path / 'mine')!r}, 'w')",
        "import socket; socket.create_connection(('127.0.0.1', PORT), 2)",
        "import os; three_uses = 12 if open('mine', 'w') and len([p for p in os.listdir('/proc') if p.isdigit()]) < 9 else 0",
    )
    with socket.create_server(("127.0.0.1", 0)) as server:
        cells = [cell.replace("PORT", str(server.getsockname()[1])) for cell in cells]
        graded = grade(handed_in(tmp_path / "ann.ipynb", *cells))
    assert graded.points == 1 and [p.name for p in tmp_path.iterdir()] == ["ann.ipynb"]
    assert "FileNotFoundError" in graded.notes[0] and "ConnectionRefusedError" in graded.notes[1]


@pytest.mark.slow
@LINUX
def test_all_processes_end_when_the_command_that_started_them_is_gone(tmp_path):
    name = f"gone-{os.getpid()}"[:15]
    stays = f"open('/proc/self/comm', 'w').write({name!r})\nimport time\ntime.sleep(600)"
    path = handed_in(tmp_path / "ann.ipynb", stays)
    started = subprocess.Popen(
        [
            sys.executable,
            "-c",
            f"from pathlib import Path; from lessons.grading import grade; grade(Path({str(path)!r}))",
        ]
    )
    wait_until(lambda: running(name))
    started.kill()
    started.wait()
    wait_until(lambda: not running(name))


def wait_until(condition):
    for _ in range(600):
        if condition():
            return
        time.sleep(0.1)
    raise AssertionError(condition)
