"""A notebook that is graded can neither attack the grader and the teacher nor read their files."""

import csv
import io
import json
import os
import signal
import socket
import subprocess
import sys
import time

import pytest

from lessons import as_notebook, confinement, grading
from lessons.grading import Graded, Limits, grade, grade_folder
from lessons.table import cell, write_csv

from .test_grading import LINUX, handed_in

pytest.importorskip("IPython")
HELD = pytest.mark.skipif(not confinement.confinement(), reason="there is no bubblewrap")


def said(tmp_path, *cells):
    """Return the notes on cells that raise them, in a notebook whose answer is right."""
    graded = grade(handed_in(tmp_path / "ann.ipynb", "three_uses = 12", *cells))
    assert graded.points == 1, graded
    return graded.notes


# ---------------------------------------------------------------------- within bubblewrap
LOOK = """
import os
own = os.path.dirname(os.getcwd())
shown = [place for place in {places!r} if os.path.exists(place)]
entries = [os.path.join(folder, name) for folder, folders, files in os.walk("/") for name in folders + files
           if not folder.startswith(("/proc", "/tmp", "/dev", own))]
writable = [e for e in entries if not os.path.islink(e) and os.access(e, os.W_OK) and e not in ("/tmp", own)]
settings = [os.path.join(folder, name) for folder, _, files in os.walk("/proc/sys") for name in files
            if os.access(os.path.join(folder, name), os.W_OK)]
rights = [line.split()[1] for line in open("/proc/self/status") if line.startswith("Cap")]
raise ValueError([shown, writable, settings, {{int(r, 16) for r in rights}}])
"""


@HELD
def test_a_confined_notebook_has_no_rights_and_sees_nothing_of_the_teachers(tmp_path):
    """Root's settings of the system, private files and sockets in /tmp, /run and the home folder."""
    (tmp_path / "private").write_text("secret")
    hidden = [os.path.expanduser(f"~/{name}") for name in (".ssh", ".cache", ".local")]
    places = [str(tmp_path), *hidden, "/run", "/var", "/home", "/sys", "/etc/shadow"]
    assert said(tmp_path, LOOK.format(places=places)) == ["cell 2: ValueError: [[], [], [], {0}]"]


@HELD
@pytest.mark.parametrize("place", ["/", "/usr"])
def test_a_confined_notebook_cannot_make_the_system_writable(tmp_path, place):
    """The system stays read-only in a separate namespace, in which the notebook may have all rights."""
    mount = "import ctypes, os\nlibc = ctypes.CDLL(None, use_errno=True)\nlibc.unshare(0x10020000)\n" * 2
    mount += f"failed = libc.mount(None, b'{place}', None, 0x1020, None)\nos.mkdir('{place}/escaped')"
    (note,) = said(tmp_path, mount)
    assert "OSError: [Errno 30] Read-only file system" in note


@HELD
def test_a_confined_notebook_reaches_no_socket(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # a socket's path may not be long
    with socket.socket(socket.AF_UNIX) as one:
        one.bind("s")
        one.listen()
        (note,) = said(tmp_path, f"import socket; socket.socket(socket.AF_UNIX).connect({str(tmp_path / 's')!r})")
    assert "FileNotFoundError" in note


@HELD
def test_what_a_confined_notebook_writes_is_gone_and_never_in_memory_alone(tmp_path):
    write = (
        "import os\n{d} = [os.statvfs(p) for p in ('/tmp', '/dev/shm')]\nopen('/dev/shm/x', 'w'), open('/tmp/x', 'w')\n"
    )
    write = write.replace("{d}", "found") + "assert [s.f_fsid for s in found] == [os.statvfs('.').f_fsid] * 2"
    assert said(tmp_path, write, "open('/x', 'w')", "open('/dev/x', 'w')") == [
        "cell 3: OSError: [Errno 30] Read-only file system: '/x'",
        "cell 4: OSError: [Errno 30] Read-only file system: '/dev/x'",
    ]


@HELD
def test_an_environment_below_the_home_folder_is_shown_and_the_home_folder_is_not(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "project" / "venv"))
    monkeypatch.setattr(sys, "path", ["", str(tmp_path), str(tmp_path / "lib" / "site-packages"), *sys.path])
    shown = [place for place in confinement.places() if place.startswith(str(tmp_path))]
    assert shown == [str(tmp_path / "lib" / "site-packages"), str(tmp_path / "project" / "venv")]
    monkeypatch.setattr(sys, "prefix", str(tmp_path))  # then it cannot be confined, and that is said
    assert str(tmp_path) not in confinement.places()


@pytest.mark.parametrize("held", [False, True])
def test_only_known_variables_are_handed_on(tmp_path, monkeypatch, held):
    for name in ("API_TOKEN", "SSH_AUTH_SOCK", "AWS_SECRET_ACCESS_KEY", "LC_ALL", "OMP_NUM_THREADS", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, "C")
    found = confinement.environment(tmp_path, held)
    assert not {"API_TOKEN", "SSH_AUTH_SOCK", "AWS_SECRET_ACCESS_KEY"} & set(found)
    assert {"PATH", "LC_ALL", "OMP_NUM_THREADS"} < set(found) and found["TMPDIR"] == str(tmp_path)
    assert (found.get("HOME") == str(tmp_path)) == held and ("XDG_CACHE_HOME" in found) != held


def test_a_token_in_the_environment_does_not_reach_a_notebook(tmp_path, monkeypatch):
    monkeypatch.setenv("API_TOKEN", "secret")
    assert said(tmp_path, "import os; raise ValueError(os.environ.get('API_TOKEN'))") == ["cell 2: ValueError: None"]


# ---------------------------------------------------------------------- what it leaves to be read
def read(place):
    graded = Graded("ann.ipynb", statuses={"three_uses": "missing"})
    grading.read(place, graded)
    return graded


def verdict(status="right"):
    return json.dumps({"exercise": "three_uses", "status": status, "message": ""}) + "\n"


RESULTS = {
    "none": (lambda place: None, "its results cannot be read: No such file"),
    "folder": (lambda place: place.mkdir(), "its results cannot be read: Is a directory"),
    "pipe": (lambda place: os.mkfifo(place), "its results contain lines that the checks did not write"),
    "loop": (lambda place: place.symlink_to(place.name), "its results cannot be read: Too many levels"),
    "endless": (lambda place: place.symlink_to("/dev/zero"), "its results cannot be read: Too many levels"),
    "system's": (lambda place: place.symlink_to("/proc/kmsg"), "its results cannot be read: Too many levels"),
    "infinite": (lambda place: place.write_text('{"cell": 1e999, "failed": ""}\n'), "its results contain lines that"),
    "text": (lambda place: place.write_text('"exercise"\n'), "its results contain lines that the checks did not write"),
}


@pytest.mark.skipif(os.name != "posix", reason="links and pipes")
@pytest.mark.parametrize("kind", RESULTS)
def test_results_that_are_none_are_a_note(tmp_path, kind):
    make, note = RESULTS[kind]
    make(tmp_path / "results")
    (found,) = read(tmp_path / "results").notes
    assert found.startswith(note)


def test_results_count_up_to_the_first_odd_line_and_a_line_that_was_cut_off_is_not_odd(tmp_path):
    (tmp_path / "results").write_text(verdict() + "\n" + verdict("wrong"))
    graded = read(tmp_path / "results")
    assert graded.points == 1 and graded.notes == ["its results contain lines that the checks did not write"]
    (tmp_path / "results").write_text(verdict() + verdict("wrong")[:-20])
    graded = read(tmp_path / "results")
    assert graded.points == 1 and graded.notes == []


@pytest.mark.parametrize("text", ['{"cell": 1, "failed": "a"}\n' * 20_000 + "\n" * 2_000_000, "\n" * 9_999_999])
def test_many_lines_are_read_in_a_moment_and_few_are_kept(tmp_path, text):
    (tmp_path / "results").write_text(text)
    begun = time.process_time()
    graded = read(tmp_path / "results")
    assert time.process_time() - begun < 3 and len(graded.notes) <= grading.NOTES
    assert graded.notes[-1] == "its results contain lines that the checks did not write"


SPOILS = {
    "errors cut off": "import os; os.write(2, b'x' * 10_000); os.ftruncate(2, 0)",
    "errors left far behind": "import os; os.write(2, b'x'); os.lseek(2, 2**40, 0)",
    "rights taken away": "import os\nos.makedirs('a/b/c')\nos.chmod('a/b', 0)\nos.chmod('..', 0)",
}


@pytest.mark.skipif(os.name != "posix", reason="modes of folders")
@pytest.mark.parametrize("way", SPOILS)
def test_what_was_checked_counts_whatever_is_done_to_the_folder(tmp_path, way, monkeypatch):
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(grading.tempfile, "tempdir", str(tmp_path / "temporary"))
    assert said(tmp_path, SPOILS[way]) == [] and not list((tmp_path / "temporary").iterdir())


def test_a_folder_without_rights_is_removed(tmp_path, monkeypatch):
    """As for a user, who unlike root cannot look into it."""
    monkeypatch.setattr(grading.shutil, "rmtree", lambda folder: os.scandir("/nowhere"))
    graded = Graded("ann.ipynb")
    with grading.folder_for(graded) as folder:
        (folder / "a" / "b").mkdir(parents=True)
        (folder / "a").chmod(0)
    assert not folder.exists() and graded.notes == []


def test_a_notebook_may_have_so_many_bytes(tmp_path, monkeypatch):
    path = handed_in(tmp_path / "ann.ipynb", "three_uses = 12")
    monkeypatch.setattr(as_notebook, "LARGEST", path.stat().st_size)
    assert as_notebook.sources(path)[1] == ["three_uses = 12"]
    monkeypatch.setattr(as_notebook, "LARGEST", path.stat().st_size - 1)
    assert "bytes: clear the outputs of its cells" in grade(path).notes[0]


@LINUX
def test_a_file_of_the_systems_that_says_it_is_empty_is_read_to_the_limit(tmp_path):
    (tmp_path / "ann.ipynb").symlink_to("/proc/self/pagemap")
    assert "bytes: clear the outputs of its cells" in grade(tmp_path / "ann.ipynb").notes[0]


def test_each_file_has_a_row_also_in_capitals_and_in_a_folder_that_is_called_like_one(tmp_path):
    (tmp_path / "d.ipynb").mkdir()
    for name in ("X.IPYNB", "d.ipynb/inner.ipynb"):
        handed_in(tmp_path / name, "three_uses = 12")
    rows = {graded.file: graded.points for graded in grade_folder(tmp_path, Limits(), jobs=2)}
    assert rows == {"X.IPYNB": 1, "d.ipynb": 0, "d.ipynb/inner.ipynb": 1}


# ---------------------------------------------------------------------- the table
SIGNS = "=+-@＝＋－＠"
BEFORE = "", "a;", "a; ", 'a;"', 'a;" ', "a|", "a;\t", "\u3000", ";;", "a\n;\n"


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_no_cell_is_a_formula_however_the_table_is_cut(separator):
    names = [f'{before}{sign}cmd|"x"!A1;{sign}2' for before in BEFORE for sign in SIGNS]
    file = io.StringIO()
    write_csv([Graded(name, notes=[name, name]) for name in names], file)
    for row in csv.reader(io.StringIO(file.getvalue()), delimiter=separator):
        assert not [c for c in row if c.strip(' "\t\u3000').startswith(tuple(SIGNS))], row


def test_a_cell_has_no_more_characters_than_spreadsheets_take():
    assert len(cell("a" * 40_000)) == len(cell(";=" * 20_000)) == 32_767
    assert cell("a" * 32_767) == "a" * 32_767


def test_a_note_on_a_cell_is_short(tmp_path):
    (note,) = said(tmp_path, "raise ValueError('A' * 3_000_000)")
    assert len(note) < 600


# ---------------------------------------------------------------------- the end of the supervisor
@LINUX
@pytest.mark.parametrize("way", ["stopped", "held"])
def test_a_supervisor_that_is_stopped_or_whose_output_is_held_open_delays_nobody(tmp_path, monkeypatch, way):
    monkeypatch.setattr(grading, "confinement", lambda: False)  # where a notebook does not see it
    monkeypatch.setattr(grading, "PATIENCE", 1.0)
    stop = f"import os\nos.kill(os.getppid(), {int(signal.SIGSTOP)})\nimport time; time.sleep(60)"
    held = tmp_path / "held"
    hold = f"""
import os, time
supervisor = os.getppid()
try:
    out = os.open(f"/proc/{{supervisor}}/fd/1", os.O_WRONLY)
except PermissionError:  # in a user namespace
    pass
if not os.fork():
    os.setsid()
    time.sleep(0.5)
    os.kill(supervisor, 9)
    time.sleep(60)
    open({str(held)!r}, "w")
    os._exit(0)
time.sleep(60)
"""
    path = handed_in(tmp_path / "ann.ipynb", "three_uses = 12", stop if way == "stopped" else hold)
    graded = grade(path, Limits(total=5.0))
    assert graded.points == 1 and not held.exists(), "the result waited for the process that holds the output"
    assert graded.notes == (
        ["cell 2: ended after 5 s"]
        if way == "stopped"
        else ["cell 2: its supervisor was killed (SIGKILL): a cell kills other processes"]
    )


def test_a_process_is_started_when_others_have_ended(monkeypatch):
    refused = [BlockingIOError(11, "Resource temporarily unavailable")] * 2
    start = subprocess.Popen

    def popen(*args, **options):
        if refused:
            raise refused.pop()
        return start(*args, **options)

    monkeypatch.setattr(grading.subprocess, "Popen", popen)
    monkeypatch.setattr(grading.time, "sleep", lambda seconds: None)
    with grading.started([sys.executable, "-c", ""]) as process:
        assert process.wait() == 0 and not refused
    monkeypatch.setattr(grading, "PATIENCE", -1.0)
    refused.append(BlockingIOError(11, "Resource temporarily unavailable"))
    with pytest.raises(BlockingIOError):
        grading.started([sys.executable, "-c", ""])
