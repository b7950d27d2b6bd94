"""The cache of compiled kernels: shared by processes, and no fault of a disk or of a file may reach the user."""

import hashlib
import hmac
import os
import pickle
import shutil
import signal
import socket
import subprocess
import sys
import time

import numpy as np
import pytest

from minigrad.kernels import cache, seal
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
    """Return a process that compiles and runs a kernel."""
    command, environment = [sys.executable, "-c", PROGRAM], {**os.environ, "MINIGRAD_CACHE": str(folder)}
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish(process):
    """Return "kept" or "compiled": how the process got its kernel."""
    out, error = process.communicate(timeout=60)
    assert process.returncode == 0, error
    return out.split(maxsplit=1)[0]


def ended(folder, before="", **variables):
    """Run `before` and then such a process; return the process after its end."""
    return python("-c", before + PROGRAM, cwd=folder.anchor, MINIGRAD_CACHE=str(folder), **variables)


def run(folder, before="", **variables):
    done = ended(folder, before, **variables)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode().split(maxsplit=1)[0]


def names(folder, ending):
    return sorted(p.name for p in folder.glob("*" + ending))


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    folder = tmp_path_factory.mktemp("compiled")
    assert run(folder) == "compiled"
    return folder


@pytest.fixture
def filled(compiled, tmp_path):
    """Return a cache that one process has filled."""
    shutil.copytree(compiled, tmp_path, dirs_exist_ok=True)
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


@pytest.mark.slow
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
    for name in ("gemm.py", "new_arrays.py", "conv_tiles.py"):
        (tmp_path / "cpu" / name).touch()
    monkeypatch.setattr(cache, "__file__", str(tmp_path / "cache.py"))
    assert cache.stamp.__wrapped__() != before


# ---------------------------------------------------------------------- a folder that others can write to
@pytest.mark.skipif(os.name != "posix", reason="folders in a profile on Windows are its user's")
def test_a_new_folder_is_the_users_own(tmp_path):
    assert run(tmp_path / "kernels") == "compiled"
    assert (tmp_path / "kernels").stat().st_mode & 0o777 == 0o700


def owned(uid, mode):
    return os.stat_result((mode, 1, 1, 1, uid, 1, 1, 0, 0, 0))


@pytest.mark.skipif(os.name != "posix", reason="os.geteuid")
def test_a_file_is_read_that_belongs_to_the_user_and_nobody_else_writes_to(monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert cache.distrust(owned(1000, 0o100600)) == cache.distrust(owned(1000, 0o100644)) == ""
    assert cache.distrust(owned(0, 0o100644)) == "it belongs to user 0"  # who may have unpacked it
    assert cache.distrust(owned(1001, 0o100600)) == "it belongs to user 1001"
    assert cache.distrust(owned(1000, 0o100620)) == "other users can write to it (its mode is 620)"
    assert cache.distrust(owned(1000, 0o100602)) == "other users can write to it (its mode is 602)"
    assert cache.distrust(owned(1000, 0o010600)) == "it is not a regular file"


def unread(folder, reason):
    """Run a process that compiles anew, since it does not read the file there, and says why, once."""
    done = ended(folder)
    assert done.returncode == 0 and done.stdout.startswith(b"compiled"), done.stderr
    said = done.stderr.decode()
    assert reason in said and said.count("[untrusted-kernels]; ") == 1 and "MINIGRAD_CACHE" in said


@pytest.mark.skipif(os.name != "posix" or os.geteuid(), reason="only root can give files away")
def test_what_another_user_has_put_there_does_not_run(filled):
    for file in filled.glob("*.bin"):
        os.chown(file, 65534, 65534)
    unread(filled, "belongs to user 65534")
    assert run(filled) == "kept"  # the process has replaced it by its own file


@pytest.mark.skipif(os.name != "posix", reason="modes of files")
def test_what_others_may_write_to_does_not_run(filled):
    for file in filled.iterdir():
        file.chmod(0o666)
    unread(filled, "other users can write to it (its mode is 666)")


@pytest.mark.skipif(os.name != "posix", reason="links and pipes")
def test_a_link_and_a_pipe_and_a_socket_are_not_read(filled, tmp_path_factory, monkeypatch):
    monkeypatch.chdir(filled)
    (binary,) = filled.glob("*.bin")
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "kernel"
    elsewhere.write_bytes(binary.read_bytes())
    puts = (
        (lambda: binary.symlink_to(elsewhere), "it is a link"),
        (lambda: os.mkfifo(binary), "it is not a regular file"),
        (lambda: bound(binary), "it is a socket"),
    )
    for put, reason in puts:
        binary.unlink()
        put()
        unread(filled, reason)
        assert binary.is_file() and not binary.is_symlink() and run(filled) == "kept"


def bound(path):
    """Put a socket there; in the folder, since a socket's path may not be as long."""
    with socket.socket(socket.AF_UNIX) as one:
        one.bind("short")
    os.rename("short", path)


def test_a_folder_in_the_place_of_a_kernel_is_told(filled):
    """It cannot be replaced, and without a word each process would compile anew."""
    (binary,) = filled.glob("*.bin")
    binary.unlink()
    binary.mkdir()
    unread(filled, "it is a folder")


def test_a_whole_file_under_another_name_counts_as_missing(filled):
    """It may be a link to an older kernel of the same user's, with the rights of one."""
    (binary,) = filled.glob("*.bin")
    run(filled, SOURCE_OF_ANOTHER)
    (other,) = [f for f in filled.glob("*.bin") if f != binary]
    binary.write_bytes(other.read_bytes())
    assert run(filled) == "compiled" and run(filled) == "kept"


SOURCE_OF_ANOTHER = f"""
import numpy as np
from minigrad.kernels import cache

cache.load("triple", {SOURCE!r}.replace("2 *", "3 *")).double(np.arange(8.0), np.empty(8))
"""


def test_kept_code_that_numba_cannot_use_counts_as_missing(filled):
    (binary,) = filled.glob("*.bin")
    data = b"not a pickle"
    binary.write_bytes(seal.seal(binary.name, data) + data)
    assert run(filled) == "compiled" and run(filled) == "kept"


# ---------------------------------------------------------------------- the key
class Visit:
    def __init__(self, place):
        self.place = place

    def __reduce__(self):
        return os.mkdir, (str(self.place),)


def test_what_the_user_has_not_made_does_not_run_though_it_belongs_to_them(filled, tmp_path):
    """A file from an archive, to which another user lets the path of the cache lead: with each seal that others can make."""
    data = pickle.dumps(Visit(tmp_path / "visited"))
    (binary,) = filled.glob("*.bin")
    named = f"{binary.name}\0".encode() + data
    for forged in (hashlib.sha256(named).digest(), hmac.digest(b"another key", named, "sha256"), bytes(32), b""):
        binary.write_bytes(forged + data)
        assert run(filled) == "compiled" and not (tmp_path / "visited").exists()
    assert run(filled) == "kept"


def state(folder, **variables):
    """Run a process whose key lies, or would lie, in a folder; return what it did and what it complained of."""
    done = ended(folder / "kernels", XDG_STATE_HOME=str(folder / "state"), **variables)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode().split(maxsplit=1)[0], done.stderr.decode()


def test_the_key_is_the_users_alone_and_lies_apart_from_the_kernels(tmp_path):
    assert state(tmp_path) == ("compiled", "") and state(tmp_path) == ("kept", "")
    key = tmp_path / "state" / "minigrad" / "kernel_key"
    assert [f.name for f in key.parent.iterdir()] == ["kernel_key"] and len(key.read_bytes()) == seal.LENGTH
    if os.name == "posix":
        assert key.stat().st_mode & 0o777 == 0o600 and key.parent.stat().st_mode & 0o777 == 0o700
    key.unlink()
    assert state(tmp_path) == ("compiled", "") and state(tmp_path) == ("kept", "")


def folder_there(key):
    key.unlink()
    key.mkdir()


def link_there(key):
    key.rename(key.with_name("other"))
    key.symlink_to("other")


def no_folder_there(key):
    key.unlink()
    key.parent.rmdir()
    key.parent.write_text("in the way")


UNUSABLE = {
    "short": (lambda key: key.write_bytes(b""), "is not a key"),
    "folder": (folder_there, "Is a directory"),
    "link": (link_there, "symbolic links"),
    "known to others": (lambda key: key.chmod(0o644), "is not private"),
    "nowhere": (no_folder_there, "File exists"),
}


@pytest.mark.skipif(os.name != "posix", reason="modes and links")
@pytest.mark.parametrize("way", ["short", *(pytest.param(way, marks=pytest.mark.slow) for way in list(UNUSABLE)[1:])])
def test_without_a_key_every_kernel_counts_as_missing_and_a_warning_says_so(way, tmp_path):
    state(tmp_path)
    spoil, reason = UNUSABLE[way]
    spoil(tmp_path / "state" / "minigrad" / "kernel_key")
    for _ in range(2):
        found, said = state(tmp_path)
        assert found == "compiled" and reason in said and said.count("[no-kernel-key]; ") == 1
        assert "XDG_STATE_HOME" in said


def test_without_a_home_there_is_no_key(monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", "relative")  # which the standard says to ignore
    assert seal.file() == seal.pathlib.Path.home() / ".local" / "state" / "minigrad" / "kernel_key"

    def home():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(seal.pathlib.Path, "home", home)
    assert seal.file() is None
    with pytest.warns(match="no home"):
        assert seal.key.__wrapped__(None) is None


@pytest.mark.skipif(not hasattr(os, "fork"), reason="os.fork")
def test_processes_that_start_at_once_read_one_key(tmp_path):
    place, found = tmp_path / "minigrad" / "kernel_key", tmp_path / "found"
    found.mkdir()
    children = []
    for i in range(50):
        children.append(os.fork())
        if not children[-1]:
            (found / str(i)).write_bytes(seal.key.__wrapped__(place) or b"")
            os._exit(0)
    assert not any(os.waitpid(child, 0)[1] for child in children)
    assert {file.read_bytes() for file in found.iterdir()} == {place.read_bytes()}
    assert [file.name for file in place.parent.iterdir()] == ["kernel_key"]


def test_what_others_leave_unfinished_in_the_folder_is_theirs(filled):
    (theirs := filled / "film.mkv.part").write_bytes(b"half of it")
    (ours := filled / "minigrad_killed.part").touch()
    for file in (theirs, ours):
        os.utime(file, (0, 0))
    next(filled.glob("*.bin")).unlink()
    assert run(filled) == "compiled" and theirs.exists() and not ours.exists()


CUBIN = """
from minigrad.kernels.cuda import kernel_modules

text = '''
from numba import cuda


@cuda.jit
def double(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = 2 * x[i]
'''
kernel = kernel_modules.load("double", text).double
compile = kernel_modules.machine_code
compiled = []
kernel_modules.machine_code = lambda *args: compiled.append(args) or compile(*args)
entry, cubin = kernel.machine_code(("float32[::1]", "float32[::1]"), "sm_90")
assert "double" in entry and cubin[:4] == b"\\x7fELF"
print("compiled" if compiled else "kept")
"""


@pytest.mark.slow
def test_the_machine_code_of_gpus_is_kept_and_looked_at_in_the_same_way(tmp_path):
    pytest.importorskip("cuda.core")

    def process():
        done = python("-c", CUBIN, cwd=tmp_path, new=True, MINIGRAD_CACHE=str(tmp_path), NUMBA_ENABLE_CUDASIM="0")
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout.decode().strip(), done.stderr.decode()

    assert process()[0] == "compiled" and process()[0] == "kept"
    (cubin,) = tmp_path.glob("*.cubin")
    cubin.write_bytes(damage_one_byte(cubin.read_bytes()))
    assert process()[0] == "compiled" and process()[0] == "kept"
    cubin.chmod(0o666)
    found, said = process()
    assert found == "compiled" and "other users can write to it" in said


MAKES = """
import numpy as np
import minigrad as torch

y = torch.compile(lambda x: (x * 2).sin())(torch.ones(3))
print(y._a.dtype is np.dtype("float32"))
"""


def test_a_function_from_the_cache_makes_arrays_of_numpys_own_dtype(tmp_path):
    """Others are equal and not the same object, and what asks for the same takes the long way from then on."""
    for _ in range(2):
        done = python("-c", MAKES, cwd=tmp_path.anchor, new=True, MINIGRAD_CACHE=str(tmp_path))
        assert done.stdout.decode().strip() == "True", done.stderr.decode()
