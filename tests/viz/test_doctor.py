"""`minigrad doctor` and `minigrad warmup`, run as a user runs them, with an empty home."""

import importlib.util
import json
import os
import pickle
import subprocess
import sys

import pytest

from minigrad import warmup
from minigrad.kernels import seal

from .command import minigrad as command


def minigrad(home, *words, **variables):
    usual = {"HOME": home, "COLUMNS": 200, **dict.fromkeys(["MINIGRAD_CACHE", "XDG_CACHE_HOME", "XDG_STATE_HOME"], "")}
    environment = {k: str(v) for k, v in {**usual, **variables}.items()}
    done = command(home, *words, **environment)
    assert done.returncode == 0, done.stderr.decode()
    return subprocess.CompletedProcess(words, 0, done.stdout.decode(), done.stderr.decode())


def findings(home, **variables):
    return {f["name"]: f for f in json.loads(minigrad(home, "doctor", "--json", **variables).stdout)}


def test_doctor_of_a_machine_that_is_well(tmp_path):
    found = findings(tmp_path)
    assert not [f for f in found.values() if f["advice"] and f["name"] != "matrix products"]
    assert found["kernel cache"]["found"] == str(tmp_path / ".cache" / "minigrad")
    for name in ("Python", "numpy", "numba", "llvmlite", "processor", "vector instructions", "matrix products", "threads",
                 "buffer pool", "CUDA", "layout engine", "font DejaVu Sans"):  # fmt: skip
        assert found[name]["found"]
    assert "minigrad warmup" in found["kernels"]["found"]
    assert not (tmp_path / ".cache" / "minigrad").exists()  # it only looks


def test_doctor_sees_a_compiler_for_gpus_that_cannot_be_imported(tmp_path):
    if importlib.util.find_spec("numba_cuda") is None:
        (tmp_path / "numba_cuda.py").touch()
    (tmp_path / "sitecustomize.py").write_text(
        "import sys\n"
        "class Old:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'numba.cuda.np':\n"
        "            raise AttributeError(\"module 'numpy' has no attribute 'row_stack'\")\n"
        "sys.meta_path.insert(0, Old())\n"
    )
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    found = findings(tmp_path, PYTHONPATH=path)["numba-cuda"]
    assert "row_stack" in found["found"] and "numpy<2.5" in found["advice"]


@pytest.mark.slow
def test_doctor_speaks_to_people(tmp_path):
    done = minigrad(tmp_path, "doctor")
    assert "Nothing is wrong." in done.stdout or "What to do:\n  matrix products: " in done.stdout
    assert "Fontconfig" not in done.stderr
    done = minigrad(tmp_path, "doctor", MINIGRAD_GENERIC=1)
    assert "What to do:\n  MINIGRAD_GENERIC: unset it" in done.stdout


def test_doctor_sees_a_folder_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("in the way")
    found = findings(tmp_path, MINIGRAD_CACHE=tmp_path / "file" / "below")
    assert "each process compiles again (Not a directory)" in found["kernel cache"]["advice"]


def test_doctor_finds_damage_and_what_is_left_over(tmp_path):
    folder = tmp_path / "kernels"
    folder.mkdir()
    for name in ("a.bin", "minigrad_kernel_old_0123456789abcdef.py", "minigrad_killed.part", "theirs.part"):
        (folder / name).write_bytes(b"x" * 40)
        os.utime(folder / name, (0, 0))
    found = findings(tmp_path, MINIGRAD_CACHE=folder)
    assert found["kernels"]["found"].startswith("1 compiled functions of 1 modules")
    assert found["damaged kernels"]["found"] == ["a.bin"]
    assert found["unfinished files"]["found"] == ["minigrad_killed.part"]
    assert found["kernels of other versions"]["found"] == 1
    assert len(list(folder.iterdir())) == 4 and not (tmp_path / ".local").exists()


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="modes of files")
def test_doctor_looks_at_the_key(tmp_path):
    key = tmp_path / ".local" / "state" / "minigrad" / "kernel_key"
    assert findings(tmp_path)["kernel key"] == {"name": "kernel key", "found": str(key), "advice": ""}
    (tmp_path / "file").touch()
    assert (
        "each process compiles again (Not a directory)"
        in findings(tmp_path, XDG_STATE_HOME=tmp_path / "file")["kernel key"]["advice"]
    )
    key.parent.mkdir(parents=True)
    key.write_bytes(bytes(32))
    key.chmod(0o644)
    assert "is not private" in findings(tmp_path)["kernel key"]["advice"]


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="names of files")
def test_names_of_files_do_not_command_the_terminal(tmp_path):
    for name in (b"\x1b]0;title\x07\x1b[31m.bin", b"line\nline.py", "\u202enib.x.bin".encode(), b"\xff\xfe.bin"):
        with open(os.path.join(os.fsencode(tmp_path), name), "w") as file:
            os.chmod(file.fileno(), 0o666)
    os.mkfifo(tmp_path / "minigrad_kernel_x.bin")
    for word in ("doctor", "--fix"):
        done = minigrad(tmp_path, "doctor", *[word] * (word == "--fix"), MINIGRAD_CACHE=tmp_path)
        assert "]0;title" in done.stdout and "line line.py" in done.stdout
        assert not set(done.stdout) & set("\x1b\x07\u202e\udcff")


@pytest.mark.skipif(os.name != "posix", reason="modes of files")
def test_doctor_finds_kernels_that_others_may_have_written(tmp_path):
    (tmp_path / "a.bin").touch(0o666)
    (tmp_path / "a.bin").chmod(0o666)
    (tmp_path / "b.bin").symlink_to("nowhere")
    found = findings(tmp_path, MINIGRAD_CACHE=tmp_path)["kernels of other users"]
    assert found["found"] == ["a.bin", "b.bin"] and f"chmod 700 {tmp_path}" in found["advice"]


@pytest.mark.slow
def test_doctor_mends_the_cache(tmp_path):
    folder = tmp_path / "kernels"
    folder.mkdir()
    names = "theirs.bin", "theirs.part", "minigrad_kernel_a.b.bin", "minigrad_killed.part"
    *theirs, damaged, unfinished = [folder / name for name in names]
    for file in (*theirs, damaged, unfinished):
        file.write_bytes(b"x" * 40)
        os.utime(file, (0, 0))
    done = minigrad(tmp_path, "doctor", "--fix", "--json", MINIGRAD_CACHE=folder)
    found = {f["name"]: f for f in json.loads(done.stdout)}
    assert found["removed"]["found"] == [damaged.name, unfinished.name]
    assert found["kernels compile"] == {"name": "kernels compile", "found": "yes", "advice": ""}
    assert all(file.exists() for file in theirs) and not damaged.exists() and not unfinished.exists()
    assert "removed, as kernels fail" not in found


@pytest.mark.slow
def test_doctor_removes_all_kernels_where_they_fail_and_says_what_then_fails(tmp_path):
    folder, broken = tmp_path / "kernels", tmp_path / "broken"
    folder.mkdir()
    broken.mkdir()
    name = "minigrad_kernel_a.b.bin"
    (folder / name).write_bytes(seal.seal(name, b"whole") + b"whole")
    (broken / "numba.py").write_text("raise ImportError('half of Numba is missing')")
    variables = {"MINIGRAD_CACHE": folder, "PYTHONPATH": broken, "XDG_STATE_HOME": seal.file().parent.parent}
    done = minigrad(tmp_path, "doctor", "--fix", "--json", **variables)
    found = {f["name"]: f for f in json.loads(done.stdout)}
    assert found["removed"]["found"] == [] and found["removed, as kernels fail"]["found"] == [name]
    assert "half of Numba is missing" in found["kernels compile"]["found"]
    assert "reinstall numba" in found["kernels compile"]["advice"] and not list(folder.iterdir())


PROGRAM = """
import warnings
import numpy as np
import minigrad
with warnings.catch_warnings(record=True) as given:
    warnings.simplefilter("always")
    x = minigrad.full((1 << 17,), 0.5)
    assert np.allclose(x.exp().numpy(), np.exp(0.5)) and np.allclose(x.sin().numpy(), np.sin(0.5))
print(*[w.message.name for w in given])
"""


@pytest.mark.slow
def test_kernels_that_look_whole_and_are_none_are_compiled_anew(tmp_path):
    folder = tmp_path / "kernels"
    run = lambda: subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, "MINIGRAD_CACHE": str(folder)},
        capture_output=True,
        text=True,
    )
    assert run().stdout == "\n"
    for kept in folder.glob("*.bin"):
        data = pickle.dumps("no kernel")
        kept.write_bytes(seal.seal(kept.name, data) + data)
    assert run().stdout == "\n"
    variables = {"MINIGRAD_CACHE": folder, "XDG_STATE_HOME": seal.file().parent.parent}
    done = minigrad(tmp_path, "doctor", "--fix", "--json", **variables)
    found = {f["name"]: f for f in json.loads(done.stdout)}
    assert found["kernels compile"]["found"] == "yes" and "damaged kernels" not in found


@pytest.mark.slow
@pytest.mark.nightly
def test_warmup_fills_the_cache_once(tmp_path):
    done = minigrad(tmp_path, "warmup")
    made = int(done.stdout.splitlines()[-1].split()[0])
    assert made > 50 and "kernels compiled, 0 found, in" in done.stdout
    found = findings(tmp_path)
    assert found["kernels"]["found"].startswith(f"{made} compiled functions of")
    assert not [f for f in found.values() if f["advice"] and f["name"] != "matrix products"]
    assert minigrad(tmp_path, "warmup").stdout.splitlines()[-1].startswith("0 kernels compiled, ")


def test_warmup_knows_all_operations_and_the_common_ones():
    common, everything = dict(warmup.jobs()), dict(warmup.jobs(True))
    assert common.keys() < everything.keys()
    assert {"tanh float32", "tanh float64", "softmax float32", "layer_norm float64"} <= common.keys()
    assert "mish float64" in everything
