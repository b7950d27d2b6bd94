"""The cache of compiled kernels: shared by processes, and no fault of a disk or of a file may reach the user."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from minigrad.kernels import cache
from tests.forked import python

SOURCE = """
from numba import njit


@njit(nogil=True, error_model="numpy")
def double(x_, out_):
    for i in range(out_.size):
        out_[i] = 2 * x_[i]
"""
PROGRAM = f"""
import numpy as np
from minigrad.kernels import cache

f = cache.load("double", {SOURCE!r}).double
x = np.arange(8.0)
out = np.empty(8)
f(x, out)
assert (out == 2 * x).all()
print("kept" if f.stats.cache_hits else "compiled", f.__code__.co_filename)
"""


def start(folder):
    """A process that compiles and runs a kernel."""
    command, environment = [sys.executable, "-c", PROGRAM], {**os.environ, "MINIGRAD_CACHE": str(folder)}
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish(process):
    """What it said: whether the kernel was "kept" or had to be "compiled"."""
    out, error = process.communicate(timeout=60)
    assert process.returncode == 0, error
    return out.split(maxsplit=1)[0]


def ended(folder, before="", **variables):
    """Such a process, after it has done something else before, when it has ended."""
    return python("-c", before + PROGRAM, cwd=folder.anchor, MINIGRAD_CACHE=str(folder), **variables)


def run(folder, before="", **variables):
    done = ended(folder, before, **variables)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode().split(maxsplit=1)[0]


def names(folder, ending):
    return sorted(p.name for p in folder.glob("*" + ending))


@pytest.fixture
def filled(tmp_path):
    """A cache that one process has filled."""
    assert run(tmp_path) == "compiled"
    return tmp_path


def test_second_process_finds_the_machine_code_and_people_find_the_text(filled):
    assert run(filled) == "kept"
    (text,) = filled.glob("*.py")
    assert text.read_text() == SOURCE
    assert len(names(filled, ".bin")) == 1 and not names(filled, ".part")


STEP = """
import numpy as np
from minigrad.kernels import cache

f = cache.load("step", '''
import math
import numpy as np
from numba import njit
from minigrad.kernels.vecmath import sin

@njit(nogil=True, error_model="numpy")
def step(w, x, y, stop):
    h = np.dot(x, w)
    if stop:
        raise ValueError("stopped")
    return sin(h[0, 0]) + math.lgamma(2.0) + np.fmod(h, 2.0), (h.sum(), y), np.sort(h[0])
''').step
x = np.eye(2)
out, (total, y), order = f(x, 3 * x, "text", False)
assert total == 6 and y == "text" and (order == [0, 3]).all() and abs(out[0, 0] - np.sin(3.0) - 1) < 1e-15
try:
    f(x, x, "text", True)
except ValueError as e:
    assert str(e) == "stopped"
assert f(x.astype("f4"), x.astype("f4"), 1, False)[2].dtype == "f4"  # compiles, after one was loaded
print("kept" if f.stats.cache_hits else "compiled")
"""


@pytest.mark.slow
def test_kept_code_may_use_all_that_numba_has(tmp_path):
    def process():
        environment = {**os.environ, "MINIGRAD_CACHE": str(tmp_path)}
        found = subprocess.run(
            [sys.executable, "-c", STEP], env=environment, check=True, capture_output=True, text=True
        )
        return found.stdout.strip()

    assert process() == "compiled"
    assert process() == "kept"


def damage_by_half(data):
    return data[: len(data) // 2]


def damage_one_byte(data):
    return data[:-100] + bytes([data[-100] ^ 1]) + data[-99:]


DAMAGES = [damage_by_half, damage_one_byte]


def test_damaged_files_are_compiled_anew_and_replaced(filled):
    (binary,), (text,) = filled.glob("*.bin"), filled.glob("*.py")
    for damage in DAMAGES:
        binary.write_bytes(damage(binary.read_bytes()))
        text.write_bytes(damage(text.read_bytes()))
        assert run(filled) == "compiled"
        assert text.read_text() == SOURCE
    assert run(filled) == "kept"


def test_several_processes_may_fill_it_at_once(tmp_path):
    found = [finish(p) for p in [start(tmp_path) for _ in range(3)]]
    assert set(found) <= {"compiled", "kept"}
    assert len(names(tmp_path, ".bin")) == 1 and len(names(tmp_path, ".py")) == 1 and not names(tmp_path, ".part")
    assert run(tmp_path) == "kept"


def test_writer_killed_half_way_leaves_nothing_that_is_read(tmp_path):
    killed = "import os, signal; os.replace = lambda *a: os.kill(os.getpid(), signal.SIGKILL)\n"
    assert ended(tmp_path, killed).returncode == -signal.SIGKILL
    (part,) = tmp_path.glob("*.part")
    assert run(tmp_path) == "compiled"
    assert part.exists()  # it might belong to a process that is still writing
    os.utime(part, (0, time.time() - 2 * cache.STALE))
    (binary,) = tmp_path.glob("*.bin")
    binary.unlink()
    assert run(tmp_path) == "compiled" and not part.exists()


@pytest.mark.parametrize("place", ["/proc/none", "file/below"])
def test_folder_that_cannot_be_made(tmp_path, place):
    (tmp_path / "file").write_text("in the way")
    assert run(tmp_path / place) == "compiled"


def test_full_disk(tmp_path):
    pytest.importorskip("resource")
    full = "import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
    full += "resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n"
    assert run(tmp_path, full) == "compiled"
    assert list(tmp_path.iterdir()) == []


def test_no_home(monkeypatch):
    monkeypatch.delenv("MINIGRAD_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)

    def home():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(cache.pathlib.Path, "home", home)
    assert cache.folder() is None
    f = cache.load("homeless", SOURCE).double
    x, out = np.arange(5.0), np.empty(5)
    f(x, out)
    assert (out == 2 * x).all() and f.__code__.co_filename.startswith("<")


def test_where_it_lies(monkeypatch, tmp_path):
    monkeypatch.delenv("MINIGRAD_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache.folder() == tmp_path / "minigrad"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")  # which the standard says to ignore
    assert cache.folder() == cache.pathlib.Path.home() / ".cache" / "minigrad"
    monkeypatch.setenv("MINIGRAD_CACHE", str(tmp_path / "own"))
    assert cache.folder() == tmp_path / "own"


def test_another_processor_gets_code_of_its_own(filled):
    assert run(filled, NUMBA_CPU_NAME="generic", NUMBA_CPU_FEATURES="") == "compiled"
    assert len(names(filled, ".bin")) == 2
    assert run(filled) == "kept"


def test_other_versions_and_other_functions_get_code_of_their_own(filled):
    other = "from minigrad.kernels import cache; before = cache.stamp(); cache.stamp = lambda: before + ' other'\n"
    assert run(filled, other) == "compiled"
    assert len(names(filled, ".bin")) == 2 and len(names(filled, ".py")) == 2


def test_stamp_changes_with_the_text_of_vecmath(monkeypatch, tmp_path):
    before = cache.stamp()
    (tmp_path / "vecmath").mkdir()
    (tmp_path / "vecmath" / "exponential.py").write_text("EXP = 3")
    (tmp_path / "cpu").mkdir()
    for name in ("gemm.py", "conv_tiles.py"):
        (tmp_path / "cpu" / name).touch()
    monkeypatch.setattr(cache, "__file__", str(tmp_path / "cache.py"))
    assert cache.stamp.__wrapped__() != before
