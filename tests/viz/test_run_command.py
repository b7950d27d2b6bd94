"""`minigrad run`, `minigrad port` and --as-torch: programs for PyTorch as they stand, where PyTorch is not."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.distributed.ranks import ROOT, needs_mpi
from tests.forked import python
from tests.viz.command import minigrad

PROGRAM = """
import sys
import torch
import torch.nn as nn
from parts import double

layer = nn.Linear(2, 1)
x = torch.ones(3, 2)
loss = double(layer(x)).sum()

class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 3 * x * x * g

if __name__ == "__main__":
    print(torch.__version__, loss.dtype, sys.argv[1:])
    sys.exit(len(sys.argv))
"""
PARTS = "import torch\n\ndef double(x):\n    return torch.add(x, x)\n"
LOADS = """
import sys
import torch
from torch.utils.data import DataLoader, Dataset

class Versions(Dataset):
    def __len__(self):
        return 2

    def __getitem__(self, i):
        return torch.__version__, torch.tensor(i)

if __name__ == "__main__":
    for versions, i in DataLoader(Versions(), 2, num_workers=1, multiprocessing_context=sys.argv[1]):
        print(versions, i)
"""
# two ranks, of which the second may be killed
RANKS = """
import os, signal, sys, time
import torch
import torch.distributed as dist

dist.init_process_group("mpi")
dist.barrier()
sys.stdout.write(f"rank {dist.get_rank()} {sys.argv[1:]}\\n")  # at once: the ranks share a terminal without a buffer
if "waits" in sys.argv:
    open(f"begun-{dist.get_rank()}", "w").close()
    time.sleep(100)
if "killed" in sys.argv and dist.get_rank() == 1:
    os.kill(os.getpid(), signal.SIGKILL)
dist.all_reduce(torch.ones(2))
"""
LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "train.py").write_text(PROGRAM)
    (tmp_path / "net.py").write_text(PROGRAM.partition("if __name__")[0])
    (tmp_path / "parts.py").write_text(PARTS)
    return tmp_path


@pytest.mark.parametrize("words", [("-m", "viz.cli", "run", "train.py"), ("-m", "minigrad", "train.py")])
def test_a_program_runs_with_its_own_options_and_ends_as_it_ends(folder, words):
    done = python(*words, "--help", "-o", "3", cwd=folder)
    assert done.stdout.decode() == "2.13.0+minigrad torch.float32 ['--help', '-o', '3']\n"
    assert done.returncode == 4


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_processes_that_it_starts_anew_compute_with_minigrad_as_well(folder, method):
    (folder / "loads.py").write_text(LOADS)
    done = minigrad(folder, "run", "loads.py", method)
    assert done.stdout.decode() == "('2.13.0+minigrad', '2.13.0+minigrad') tensor([0, 1])\n", done.stderr.decode()


def test_a_program_is_read_from_the_standard_input(folder):
    done = minigrad(folder, "run", "-", given=b"import torch; print(torch.ones(1))")
    assert done.stdout.decode() == "tensor([1.])\n"


CELLS = """\
%matplotlib inline
import torch
if True:
    !pip install nothing
    from parts import double
torch.ones?
---
%%bash
echo "{"
---
%%time
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = (double(x)
     % 3)
---
def total(v):
    return v.sum()

loss = total(y * x)
"""


@pytest.fixture
def book(folder):
    cells = [{"cell_type": "markdown", "source": ["% not code"]}]
    cells += [{"cell_type": "code", "source": text.splitlines(keepends=True)} for text in CELLS.split("---\n")]
    (folder / "a book.ipynb").write_text(json.dumps({"cells": cells, "nbformat": 4}))
    return folder


def test_a_notebook_is_a_program_without_its_lines_for_ipython(book):
    assert minigrad(book, "run", "a book.ipynb").stderr.decode() == ""
    done = minigrad(book, "render", "a book.ipynb:loss", "--as-torch", "-f", "txt", "-o", "-")
    text = done.stdout.decode()
    assert "y = double(x)" not in text and "remainder" in text and "In[4]:2" in text, done.stderr.decode()


def test_errors_name_the_cells_of_a_notebook(book):
    path = book / "a book.ipynb"
    made = json.loads(path.read_text())
    made["cells"].append({"cell_type": "code", "source": "loss.backward()\nloss.backward()"})
    path.write_text(json.dumps(made))
    done = minigrad(book, "run", path.name)
    text = done.stderr.decode()
    assert done.returncode == 1
    assert "freed by the first backward at In[5]:1: loss.backward()" in text and "at In[5]:2: loss.backward()" in text


@pytest.mark.parametrize(
    "source, said",
    [
        (None, "the source of code cell 1 in a.ipynb is null, neither text nor a list of lines. Write the cell anew"),
        (["x = 1", 2], 'code cell 1 in a.ipynb is ["x = 1", 2], neither'),
        ("x = '\ud800'", r"code cell 1 in a.ipynb contains half of a character, '\ud800'. Write the cell anew"),
        ([[]] * 9, "code cell 1 in a.ipynb is [[], [], [], [], [], [], [], [], []], neither"),
    ],
)
@pytest.mark.parametrize("command", ["run a.ipynb", "port a.ipynb", "render a.ipynb:loss", "check a.ipynb"])
def test_a_cell_that_is_no_text_is_named(folder, source, said, command):
    (folder / "a.ipynb").write_text(json.dumps({"cells": [{"cell_type": "code", "source": source}], "nbformat": 4}))
    done = minigrad(folder, *command.split())
    assert done.returncode == 2 and said in done.stderr.decode()


def test_a_notebook_that_is_nested_without_end_is_none(folder):
    (folder / "a.ipynb").write_text('{"cells": ' + "[" * 200_000)
    assert "a.ipynb is not a notebook in Jupyter's format 4" in minigrad(folder, "run", "a.ipynb").stderr.decode()


LIVELY = """import asyncio, torch
from contextvars import ContextVar
display(torch.ones(2))
get_ipython().run_line_magic("matplotlib", "inline")
if "google.colab" in str(get_ipython()): 1 / 0
---
%%time
seen = ContextVar("seen", default=0)
queue = asyncio.Queue()
async def put(x):
    await queue.put(x * 2)
await put(torch.ones(2, requires_grad=True))
seen.set(1)
torch.set_grad_enabled(False)
---
assert seen.get() == 1 and not torch.is_grad_enabled()
torch.set_grad_enabled(True)
y = await queue.get()
get_ipython().run_cell_magic("time", "", "loss = (y * y).sum()")
get_ipython().run_cell_magic("bash", "", "rm -r everything")
print([await put(1) for _ in range(2)], get_ipython().user_ns["loss"])
"""


def test_cells_may_wait_and_use_what_ipython_gives_them(folder):
    cells = [{"cell_type": "code", "source": text} for text in LIVELY.split("---\n")]
    (folder / "a.ipynb").write_text(json.dumps({"cells": cells, "nbformat": 4}))
    done = minigrad(folder, "run", "a.ipynb")
    assert done.stdout.decode() == "tensor([1., 1.])\n[None, None] tensor(8., grad_fn=<SumBackward0>)\n", done.stderr
    done = minigrad(folder, "render", "a.ipynb:loss", "--as-torch", "-f", "txt", "-o", "-")
    assert "grad = [8, 8]" in done.stdout.decode(), done.stderr.decode()


@pytest.mark.parametrize("command", ["port", "check"])
def test_further_commands_read_notebooks(book, command):
    done = minigrad(book, command, "a book.ipynb", *["--as-torch"] * (command == "check"))
    found = done.stdout.decode() + done.stderr.decode()
    assert ("minigrad has everything" if command == "port" else "a book.ipynb defines no subclass") in found


def test_of_an_error_the_programs_own_lines_are_shown(folder):
    (folder / "wrong.py").write_text("import torch\nfrom torch import fft\nfft.rfft(torch.ones(4))\n")
    done = minigrad(folder, "run", "wrong.py")
    text = done.stderr.decode()
    assert done.returncode == 1 and "wrong.py:3: fft.rfft" in text and "as_torch.py" not in text


def test_help_says_what_run_does(folder):
    assert "on minigrad instead" in minigrad(folder, "run", "--help").stdout.decode()
    assert "on minigrad instead" in python("-m", "minigrad", cwd=folder).stdout.decode()


def test_what_a_program_needs_is_listed_with_its_modules_and_lines(folder):
    (folder / "parts.py").write_text("import torch\n\ndef double(x):\n    return torch.view_as_complex(x)\n")
    done = minigrad(folder, "port", "train.py")
    assert done.returncode == 1
    assert done.stdout.decode().startswith("parts.py:4: torch.view_as_complex\n    minigrad has no complex numbers")
    (need,) = json.loads(minigrad(folder, "port", "train.py", "--json").stdout)
    assert (need["file"], need["line"], need["name"]) == ("parts.py", 4, "torch.view_as_complex")


def test_each_sentence_stands_once_with_all_names_that_it_is_about(folder):
    (folder / "parts.py").write_text("import torch\n\ndef double(x):\n    return torch.real(x)\n")
    (folder / "train.py").write_text("import torch, parts\ntorch.fft.fft(x)\ntorch.Future(1, 2)\ntorch.fft.fft(y)\n")
    lines = minigrad(folder, "port", "train.py").stdout.decode().splitlines()
    assert lines[0] == "train.py:2: torch.fft.fft (and line 4)" and lines[1] == "parts.py:4: torch.real"
    assert lines[2].strip() == "minigrad has no complex numbers and Fourier transforms" and lines[3].startswith(
        "    Instead: "
    )
    assert lines[4] == "train.py:3: torch.Future" and len(lines) == 7


def test_the_modules_of_a_programs_own_package_are_read_also_by_relative_imports(folder):
    package(folder, "net", __init__="from .parts import half\n", parts="from . import deep\nimport torch\n",
            deep="import torch\ntorch.Future(1, 2)\n")  # fmt: skip
    (folder / "site" / "train.py").write_text("from net import half\n")
    text = minigrad(folder / "site", "port", "train.py").stdout.decode()
    assert text.startswith(f"{Path('net', 'deep.py')}:2: torch.Future\n")


def package(folder, name, **files):
    place = folder / "site" / name
    place.mkdir(parents=True)
    for file, text in files.items():
        (place / f"{file}.py").write_text(text)


def test_of_an_installed_package_only_what_runs_on_import_is_listed(folder):
    package(folder, "spikes", __init__="from .core import fire\n", core="import torch\nS = torch.Future(1, 2)\n"
            "def fire(x):\n    return torch.fft.fft(x)\nif __name__ == '__main__':\n    torch.Future(2, 3)\n")  # fmt: skip
    package(folder, "plain", __init__="import math\n")
    (folder / "train.py").write_text("import torch, plain, spikes\n")
    done = minigrad(folder, "port", "train.py", PYTHONPATH=f"{folder / 'site'}{os.pathsep}{ROOT}")
    text = done.stdout.decode()
    assert done.returncode == 1 and text.startswith(f"{folder / 'site' / 'spikes' / 'core.py'}:2: torch.Future\n")
    assert "fft" not in text and "line 6" not in text
    assert text.endswith("Of these packages, only what runs on import was read: spikes\n")


def test_a_package_that_needs_nothing_on_import_is_named_all_the_same(folder):
    package(folder, "spikes", __init__="import torch\n\ndef fire(x):\n    return torch.fft.fft(x)\n")
    (folder / "train.py").write_text("import torch\nfrom spikes import fire\n")
    done = minigrad(folder, "port", "train.py", PYTHONPATH=f"{folder / 'site'}{os.pathsep}{ROOT}")
    text = done.stdout.decode()
    assert (
        done.returncode == 0 and "minigrad run train.py" in text and "only what runs on import was read: spikes" in text
    )


def test_a_program_that_needs_nothing_may_run(folder):
    done = minigrad(folder, "port", "train.py")
    assert done.returncode == 0 and "minigrad run train.py" in done.stdout.decode()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("render", "net.py:loss", "-f", "txt", "-o", "-"), "linear("),
        (("step", "net.py:loss"), "linear("),
        (("explain", "net.py:loss", "--of", "layer.weight"), "∂loss/∂layer.weight"),
        (("check", "net.py:Cube"), "Cube (minigrad)"),
    ],
)
def test_commands_take_programs_for_pytorch_with_as_torch(folder, words, says):
    done = minigrad(folder, *words, "--as-torch")
    assert done.returncode == 0, done.stderr.decode()
    assert says in done.stdout.decode()


# ---------------------------------------------------------------------- on several processes
def there(folder):
    """Return the processes that have begun in a folder."""
    found = []
    for place in Path("/proc").glob("[0-9]*/cwd"):
        with contextlib.suppress(OSError):
            if place.resolve() == folder:
                found.append(place.parent.name)
    return found


def none_is_left(folder):
    end = time.monotonic() + 5
    while there(folder) and time.monotonic() < end:
        time.sleep(0.05)
    return not there(folder)


@needs_mpi
def test_n_processes_run_a_program_with_its_own_options(folder):
    (folder / "ranks.py").write_text(RANKS)
    done = minigrad(folder, "run", "-n", 2, "ranks.py", "-n", "3")
    assert done.returncode == 0, done.stderr.decode()
    assert sorted(done.stdout.decode().splitlines()) == ["rank 0 ['-n', '3']", "rank 1 ['-n', '3']"]
    assert "Name a file" in minigrad(folder, "run", "-n", "2", "-").stderr.decode()


@needs_mpi
@LINUX
def test_when_a_rank_is_killed_the_others_say_where_they_wait(folder):
    (folder / "ranks.py").write_text(RANKS)
    done = minigrad(folder, "run", "-n", 2, "ranks.py", "killed")
    said = done.stderr.decode()
    assert done.returncode != 0
    assert "rank 1 has died, so all_reduce(float32 (2,), ReduceOp.SUM) can never finish" in said
    assert "ranks.py:14: dist.all_reduce(torch.ones(2))" in said
    assert none_is_left(folder)


@needs_mpi
@LINUX
@pytest.mark.parametrize(
    "how", ["Ctrl-C", *(pytest.param(how, marks=pytest.mark.slow) for how in ("interrupted", "killed"))]
)
def test_no_process_outlives_the_command(folder, how):
    (folder / "ranks.py").write_text(RANKS)
    begin = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); from viz.cli import main; main()"
    command = [sys.executable, "-c", begin, "run", "-n", "2", "ranks.py", "waits"]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, cwd=folder, env=env, stderr=subprocess.PIPE, start_new_session=True) as begun:
        end = time.monotonic() + 60
        while len(list(folder.glob("begun-*"))) < 2 and time.monotonic() < end and begun.poll() is None:
            time.sleep(0.05)
        assert len(there(folder)) >= 6, "the command, mpiexec, and two ranks with their parents"
        if how == "Ctrl-C":
            os.killpg(begun.pid, signal.SIGINT)
        else:
            begun.send_signal(signal.SIGINT if how == "interrupted" else signal.SIGKILL)
        _, said = begun.communicate(timeout=20)
        assert begun.returncode == (-signal.SIGKILL if how == "killed" else 130), said.decode()
    assert none_is_left(folder)
