"""The table of durations has every test once, with the time of the programs that it starts."""

import doctest

import pytest

from tests.forked import ROOT, python
from tools import durations

TESTS = """
import pytest, subprocess, sys, time

BUSY = "import time\\nend = time.process_time() + 0.3\\nwhile time.process_time() < end: pass"

def test_own():
    exec(BUSY)

def test_program():
    subprocess.run([sys.executable, "-c", BUSY], check=True)

@pytest.mark.parametrize("text", ["a\\tb"])
def test_wait(text):
    time.sleep(0.3)
"""


@pytest.fixture(scope="module", params=[[], ["-n", "2"]], ids=["one process", "two workers"])
def lines(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("durations")
    (folder / "test_some.py").write_text(TESTS)
    (folder / "pytest.ini").write_text("[pytest]\n")
    start = f"""
import pathlib, sys, pytest
sys.path.insert(0, {str(ROOT)!r})
from tools import durations
durations.FILE = pathlib.Path("build", "durations.tsv").absolute()
sys.exit(pytest.main(["-q", "-p", "tools.durations", *{request.param!r}]))
"""
    ran = python("-c", start, cwd=folder, new=True, PYTHONPATH=str(ROOT))
    assert ran.returncode == 0, ran.stdout.decode()
    found = durations.read(folder / "build" / "durations.tsv")
    return {test.partition("::")[2]: (processor, clock) for test, processor, clock in found}, len(found)


def test_each_test_has_one_line(lines):
    by_name, n = lines
    assert n == len(by_name) == 3
    assert sum(name.startswith("test_wait") for name in by_name) == 1


def test_processor_time_counts_programs_and_no_waiting(lines):
    by_name, _ = lines
    (waiting,) = [times for name, times in by_name.items() if name.startswith("test_wait")]
    assert by_name["test_own"][0] > 0.1 and by_name["test_program"][0] > 0.25
    assert waiting[0] < 0.25 < waiting[1]


def test_forked_programs_count(tmp_path):
    before = durations.processor_seconds()
    python("-c", "import time\nwhile time.process_time() < 1: pass", cwd=tmp_path)
    assert durations.processor_seconds() - before > 0.5


def test_examples():
    assert doctest.testmod(durations).failed == 0


def test_the_program_prints_folders_files_and_tests(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(durations, "FILE", tmp_path / "some.tsv")
    durations.FILE.write_text("tests/viz/test_a.py::b\t1.000\t2.000\ntests/test_c.py::d[\t]\t0.500\t0.500\n")
    durations.main()
    said = capsys.readouterr().out
    assert [line.split() for line in said.split("\n\n")[0].splitlines()[2:]] == [
        ["1.0", "2.0", "1", "tests/viz"],
        ["0.5", "0.5", "1", "tests"],
    ]
    assert "tests/test_c.py\n" in said and "tests/viz/test_a.py::b\n" in said


def test_those_over_a_limit_join_the_list_of_slow_tests(tmp_path, monkeypatch):
    (tmp_path / "build").mkdir()
    (tmp_path / "tests").mkdir()
    (file := tmp_path / "build" / "durations.tsv").write_text(
        "tests/a.py::test_b\t2.0\t2.5\ntests/a.py::test_c\t0.5\t9.0\n"
    )
    (slow := tmp_path / "tests" / "slow.txt").write_text("# one\n# two\ntests/z.py::test_y\n")
    monkeypatch.setattr(durations, "FILE", file)
    monkeypatch.setattr(durations.sys, "argv", ["durations", "--slow", "1"])
    durations.main()
    assert slow.read_text() == "# one\n# two\ntests/a.py::test_b\ntests/z.py::test_y\n"
