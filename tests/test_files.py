"""Files are written whole or not at all, with the rights of what they replace, through links, and into devices and pipes."""

import json
import os
import sys
import threading

import pytest

import minigrad
import viz
from minigrad.files import written
from tests.forked import python
from tests.viz.command import PROGRAM
from tests.viz.command import minigrad as command


def saved(path):
    minigrad.save([1, 2], path)


def drawn(path):
    viz.draw(lambda x: x * 2.0, minigrad.ones(2)).save(path)


def recorded(path):
    minigrad.record(lambda x: x * 2.0, minigrad.ones(2)).save(path)


def rendered(path):
    (path.parent / "net.py").write_text(PROGRAM)
    done = command(path.parent, "render", "net.py:loss", "-o", str(path), "-f", "svg")
    assert done.returncode == 0, done.stderr.decode()


def explained(path):
    (path.parent / "net.py").write_text(PROGRAM)
    done = command(path.parent, "explain", "net.py:loss", "-o", str(path))
    assert done.returncode == 0, done.stderr.decode()


WRITERS = [saved, drawn, recorded, rendered, explained]


@pytest.fixture(params=WRITERS)
def writer(request):
    return request.param


def test_a_link_stays_a_link_and_its_file_is_written(tmp_path, writer):
    file, link = tmp_path / "file.svg", tmp_path / "link.svg"
    file.write_text("before")
    link.symlink_to(file)
    writer(link)
    assert link.is_symlink() and file.stat().st_size > 6


def test_a_link_to_no_file_makes_it(tmp_path, writer):
    link = tmp_path / "link.svg"
    link.symlink_to("file.svg")
    writer(link)
    assert link.is_symlink() and (tmp_path / "file.svg").stat().st_size > 6


def test_the_rights_of_a_file_stay(tmp_path, writer):
    file = tmp_path / "file.svg"
    file.write_text("before")
    file.chmod(0o640)
    writer(file)
    assert file.stat().st_mode & 0o7777 == 0o640 and file.stat().st_size > 6


def test_a_new_file_has_the_rights_of_new_files(tmp_path, writer):
    (tmp_path / "other").write_text("")
    writer(tmp_path / "file.svg")
    assert (tmp_path / "file.svg").stat().st_mode == (tmp_path / "other").stat().st_mode


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names")
def test_a_pipe_is_written_into(tmp_path, writer):
    pipe, came = tmp_path / "pipe.svg", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: came.append(pipe.read_bytes()))
    reader.start()
    writer(pipe)
    reader.join(60)
    assert pipe.is_fifo() and len(came[0]) > 6


def test_a_device_is_written_into(tmp_path):
    before = os.stat(os.devnull)
    minigrad.save([1, 2], os.devnull)
    (tmp_path / "net.py").write_text(PROGRAM)
    assert command(tmp_path, "render", "net.py:loss", "-o", os.devnull, "-f", "svg").returncode == 0
    assert os.stat(os.devnull).st_ino == before.st_ino


@pytest.mark.skipif(not os.path.exists("/proc/self/fd"), reason="there are no such names of open files")
@pytest.mark.parametrize("name", ["/dev/stdout", "/proc/self/fd/1", "-"])
def test_the_standard_output_has_nothing_but_the_picture(tmp_path, name):
    (tmp_path / "net.py").write_text(PROGRAM + "print('aside')\n")
    done = command(tmp_path, "render", "net.py:loss", "-f", "json", "-o", name)
    assert json.loads(done.stdout)["schema"] == "minigrad.record/1", done.stderr.decode()


@pytest.mark.skipif(not os.path.exists("/proc/self/fd"), reason="there are no such names of open files")
def test_an_open_file_of_the_process_is_written_into(tmp_path):
    with open(tmp_path / "file", "w+b") as file:
        minigrad.save([1, 2], f"/proc/self/fd/{file.fileno()}")
        assert minigrad.load(file) == [1, 2]


def test_a_failure_leaves_what_was_there(tmp_path):
    file = tmp_path / "file"
    file.write_text("before")
    with pytest.raises(KeyError), written(file) as f:
        f.write(b"half")
        raise KeyError
    assert file.read_text() == "before" and list(tmp_path.iterdir()) == [file]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems have no files without a name")
def test_a_process_that_is_killed_while_it_writes_leaves_nothing(tmp_path):
    (tmp_path / "x").write_text("before")
    program = (
        "import os\nfrom minigrad.files import written\nwith written('x') as f:\n    f.write(b'half')\n    f.flush()\n"
    )
    assert python("-c", program + "    os.kill(os.getpid(), 9)", cwd=tmp_path).returncode == -9
    assert [file.name for file in tmp_path.iterdir()] == ["x"] and (tmp_path / "x").read_text() == "before"


def test_a_disk_without_nameless_files_does(tmp_path, monkeypatch):
    monkeypatch.setattr("minigrad.files.without_name", lambda folder: None)
    test_a_failure_leaves_what_was_there(tmp_path)
    saved(tmp_path / "file")
    assert minigrad.load(tmp_path / "file") == [1, 2] and len(list(tmp_path.iterdir())) == 1


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere")
def test_a_file_that_may_not_be_written_to_is_not_replaced(tmp_path):
    (tmp_path / "net.py").write_text(PROGRAM)
    (tmp_path / "x.svg").write_text("before")
    (tmp_path / "x.svg").chmod(0o400)
    done = command(tmp_path, "render", "net.py:loss", "-o", "x.svg")
    assert done.returncode == 2 and b"cannot write x.svg: Permission denied" in done.stderr
    with pytest.raises(PermissionError):
        minigrad.save([1], tmp_path / "x.svg")
    assert (tmp_path / "x.svg").read_text() == "before"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written_to_is_named(tmp_path):
    (tmp_path / "net.py").write_text(PROGRAM)
    (tmp_path / "shut").mkdir(mode=0o500)
    done = command(tmp_path, "render", "net.py:loss", "-o", "shut/x.svg")
    assert done.returncode == 2 and b"cannot write shut/x.svg: Permission denied" in done.stderr


def test_grades_are_written_like_all_files(tmp_path):
    (tmp_path / "ann.ipynb").write_text(json.dumps({"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    table, link = tmp_path / "grades.csv", tmp_path / "link.csv"
    table.write_text("before")
    table.chmod(0o600)
    link.symlink_to(table)
    done = command(tmp_path, "lessons", "grade", ".", "-o", "link.csv")
    assert done.returncode == 0, done.stderr.decode()
    assert (
        link.is_symlink()
        and table.read_text().startswith("student,file,lesson")
        and table.stat().st_mode & 0o777 == 0o600
    )
