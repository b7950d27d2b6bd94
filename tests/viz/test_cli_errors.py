"""The command reports an error, ends with its exit code and writes nothing."""

import json
import os
import re
import shlex
import subprocess
import sys

import pytest

from .command import PROGRAM, minigrad, refused, written


def test_an_error_in_a_program_from_the_standard_input_shows_its_line(net):
    done = minigrad(net, "render", "-:loss", given=b"x = 1\nx / 0\n")
    assert done.returncode == 1 and b"x / 0" in done.stderr and b'File "<stdin>", line 2' in done.stderr


STILL = PROGRAM + "still = plain * x\n"
BROKEN = PROGRAM + "def broken(a, b):\n    print('aside')\n    return a / 0 / undefined\n"
FAILS = {  # the program, the command, words of its message, and what it writes
    "in a function": (BROKEN, "render net.py:broken", ["NameError", "return a / 0 / undefined"], {"broken.svg"}),
    "step": (BROKEN, "step net.py:broken", ["NameError"], set()),
    "source": (BROKEN, "source net.py:broken", ["NameError"], set()),
    "while it runs": (PROGRAM + "1 / 0\n", "render net.py:loss", ["ZeroDivisionError", "1 / 0"], {"loss.svg"}),
    "in an import": ("import nothing_of_that_name\n", "render net.py:loss", ["ModuleNotFoundError"], set()),
    "in its syntax": ("def f(:\n", "render net.py:f", ["SyntaxError", "def f(:"], set()),
    "an exit": (PROGRAM + "raise SystemExit(3)\n", "render net.py:loss", ["3"], set()),
}


@pytest.mark.parametrize("where", FAILS)
def test_an_error_of_the_program_ends_with_1_and_only_its_own_lines(net, where):
    text, words, found, files = FAILS[where]
    (net / "net.py").write_text(text)
    done = minigrad(net, *words.split())
    message = done.stderr.decode()
    assert done.returncode == 1 and all(word in message for word in found) and written(net) == files
    assert message.count('File "') == (where != "an exit")


NO_PROGRAMS = {
    "a.png": (b"\x89PNG\r\n\x1a\n\x00\xff", "a.png is not a Python program: it contains null bytes"),
    "wide.py": ("x = 1\n".encode("utf-16"), "wide.py is not a Python program: it contains null bytes"),
    "latin.py": (b'x = "\xe9"\n', "latin.py is not a Python program: "),
    "unknown.py": (b"# coding: klingon\n", "unknown.py is not a Python program: unknown encoding: klingon"),
}


@pytest.mark.parametrize("file", NO_PROGRAMS)
def test_what_is_no_program_is_named(tmp_path, file):
    text, message = NO_PROGRAMS[file]
    (tmp_path / file).write_bytes(text)
    for command in (["render", f"{file}:x"], ["source", f"{file}:x"], ["check", file]):
        done = minigrad(tmp_path, *command)
        assert done.returncode == 2 and message in done.stderr.decode() and written(tmp_path) <= {file}


def test_a_program_in_another_encoding_that_it_names_is_read(net):
    (net / "net.py").write_bytes(b"# coding: latin-1\n# \xe9\n" + PROGRAM.encode())
    assert minigrad(net, "render", "net.py:loss").returncode == 0 and written(net)


def test_a_standard_input_that_is_no_program_is_named(tmp_path):
    done = minigrad(tmp_path, "render", "-:x", given=b"\x00")
    assert done.returncode == 2 and b"the standard input is not a Python program: it contains null bytes" in done.stderr


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names")
def test_a_pipe_in_place_of_a_program_is_named(tmp_path):
    os.mkfifo(tmp_path / "net.py")
    assert "net.py is not a file. Name a file, or - for the standard input." in refused(tmp_path, "render", "net.py:x")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read anything")
def test_a_program_that_may_not_be_read_is_named(net):
    (net / "net.py").chmod(0)
    assert "cannot read net.py: Permission denied" in refused(net, "render", "net.py:loss")


W = "from minigrad import tensor\nw = tensor(0.5, requires_grad=True)\n"
ALONE = "lines of net.py that compute loss do not run on their own: "
REFUSED = {  # the command: the program, and words of the message
    "render net.py:still --pass backward": (STILL, ["still in net.py"]),
    "render net.py:still -p jvp": (STILL, ["still in net.py has no jvp pass: nothing in it requires grad"]),
    "step net.py:still -p jvp": (STILL, ["still in net.py has no jvp pass: nothing in it requires grad"]),
    "render net.py:f": (PROGRAM.replace("example_inputs", "others"), ["--args", "example_inputs"]),
    # before the program runs
    "render net.py:loss -o x.bmp": ("1 / 0\n", ["'.bmp'", ".svg .png"]),
    "render net.py:loss -o none/x.svg": ("1 / 0\n", ["the folder none does not exist"]),
    # lines that do not make their tensor alone
    "source net.py:loss": (W + "v = w * 1\nv.add_(1)\nloss = v * v\n", [ALONE, "a second run gives another value"]),
    "source net.py:loss -- 1": (W + "loss = w * w if w > 0 else w\n", [ALONE, "item()"]),
    # names of files
    "render net.py:loss -o ''": (PROGRAM, ["Name a file"]),
    "explain net.py:loss --of w -o ''": (PROGRAM, ["Name a file"]),
    f"render net.py:loss -o {'x' * 300}.svg": (PROGRAM, ["File name too long"]),
    f"explain net.py:loss --of w -o {'x' * 300}.svg": (PROGRAM, ["File name too long"]),
    f"render {'x' * 300}.py:loss": (PROGRAM, ["cannot read"]),
    f"diff {'x' * 300}.json net.py:loss": (PROGRAM, ["cannot read"]),
}


@pytest.mark.parametrize("command", REFUSED)
def test_what_cannot_be_drawn_or_written_is_refused(net, command):
    text, words = REFUSED[command]
    (net / "net.py").write_text(text)
    message = refused(net, *shlex.split(command))
    assert all(word in message for word in words), message


def test_a_place_that_cannot_be_written_is_refused(net):
    (net / "x.svg").mkdir()
    done = minigrad(net, "render", "net.py:loss", "-o", "x.svg")
    assert done.returncode == 2 and b"cannot write x.svg" in done.stderr


@pytest.mark.parametrize(
    "words, code, said",
    [
        ("net.py:los", 2, "Did you mean loss?"),
        ("net.py:broken", 1, "NameError"),
        ("net.py:loss -o -", 2, "needs a file"),
    ],
)
def test_with_json_an_error_is_json_on_stdout_too(net, words, code, said):
    (net / "net.py").write_text(BROKEN.replace(" / 0", ""))  # it computes nothing, and has no picture
    done = minigrad(net, "render", "--json", *words.split())
    assert done.returncode == code
    made = json.loads(done.stdout)
    assert made["code"] == code and made["error"] == done.stderr.decode().removeprefix("aside\n").rstrip("\n")
    assert said in made["error"]


def test_the_programs_own_json_option_is_not_the_commands(net):
    done = minigrad(net, "render", "net.py:los", "--", "--json")
    assert done.returncode == 2 and not done.stdout


HALF = """
import minigrad as torch

class Half(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x / 2

    @staticmethod
    def backward(ctx, g):
        {backward}
        return g / 2

    @staticmethod
    def jvp(ctx, t):
        {jvp}
        return t / 2

def hooked(g):
    {hook}

x = torch.ones(2, requires_grad=True) * 1
x.register_hook(hooked)
loss = Half.apply(x).sum()
"""
ERRORS = {
    "a division": ("1 / 0", "ZeroDivisionError"),
    "an operation": ("torch.ones(2) @ torch.ones(3)", "torch.ones(2) @ torch.ones(3)"),
    "Python's library": ("__import__('json').loads('{')", "JSONDecodeError"),
}


@pytest.mark.parametrize("where", ["backward", "jvp", "hook"])
@pytest.mark.parametrize("kind", ERRORS)
def test_an_error_in_a_method_or_a_hook_shows_only_the_programs_own_lines(net, where, kind):
    line, says = ERRORS[kind]
    bodies = {"backward": "pass", "jvp": "pass", "hook": "pass"} | {where: line}
    (net / "half.py").write_text(HALF.format(**bodies))
    done = minigrad(net, "render", "half.py:loss", "-o", "-", "-f", "txt")
    message = done.stderr.decode()
    assert done.returncode == 1 and says in message
    assert bool(done.stdout) == (where == "jvp")  # which runs beside the program; the others run after it
    files = re.findall(r'File "(.*)"', message)
    assert files and all(file.endswith("half.py") or json.__file__.rpartition("/")[0] in file for file in files), (
        message
    )


def test_the_longest_name_that_the_system_takes_is_written(net):
    assert minigrad(net, "render", "net.py:loss", "-o", "x" * 251 + ".svg").returncode == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = " + "+".join("1" * 50_000), "too long or too deep"),
        ("import torch\nx = torch" + ".a" * 20_000, "too long or too deep"),
        ("# coding: rot13\nvzcbeg gbepu\n", "Save it as UTF-8"),
        ("# coding: undefined\n", "Save it as UTF-8"),
        ("x = (\n", "Correct it first"),
    ],
    ids=["sum", "attributes", "rot13", "undefined", "syntax"],
)
def test_a_program_that_cannot_be_read_is_not_called_complete(tmp_path, text, message):
    (tmp_path / "net.py").write_text(text)
    assert message in refused(tmp_path, "port", "net.py")


RAISES = """
import minigrad as torch

class Half(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x / 2

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0].no_such

def f(x):
    return Half.apply(x).sum()

x = torch.ones(2, requires_grad=True)
loss, example_inputs = f(x), (x,)
"""


@pytest.mark.parametrize("words", ["render half.py:loss -o -", "render half.py:f -o -", "step half.py:loss",
                                   "explain half.py:loss --of x", "diff half.py:loss half.py:f", "source half.py:f",
                                   "check half.py"])  # fmt: skip
def test_an_error_in_a_backward_shows_lines_of_the_program_alone(tmp_path, words):
    (tmp_path / "half.py").write_text(RAISES)
    done = minigrad(tmp_path, *words.split())
    text = (done.stdout + done.stderr).decode()
    assert done.returncode and "no_such" in text, text
    assert "cyclopts" not in text and "viz" + os.sep not in text and "internal" not in text, text


def test_port_tries_no_layer_that_would_not_end(tmp_path):
    calls = "nn.LSTM(2, 3, num_layers=1000000000)\nnn.GroupNorm(0, 3)\nnn.Linear([], {})\n"
    (tmp_path / "net.py").write_text(f"from torch import nn\n{calls}")
    done = minigrad(tmp_path, "port", "net.py")
    assert done.returncode == 1 and b"GroupNorm" in done.stdout and b"Traceback" not in done.stderr


def shell(folder, redirection, *words):
    command = " ".join([shlex.quote(sys.executable), "-m", "viz.cli", *words, redirection])
    return subprocess.run(["sh", "-c", command], cwd=folder, capture_output=True, text=True)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no full device")
@pytest.mark.parametrize(
    ("redirection", "words", "code"),
    [
        ("<&- 2>&-", ["render", "net.py:loss"], 0),
        (">/dev/full", ["render", "net.py:loss", "-o", "-"], 1),
        pytest.param("2>&-", ["render", "net.py:loss"], 0, marks=pytest.mark.slow),
        pytest.param(">&-", ["render", "net.py:loss"], 0, marks=pytest.mark.slow),
        pytest.param(">&-", ["render", "net.py:loss", "-o", "-"], 2, marks=pytest.mark.slow),
        pytest.param(">/dev/full", ["explain", "net.py:loss", "--of", "w"], 1, marks=pytest.mark.slow),
        pytest.param("2>/dev/full", ["render", "net.py:nothing"], 2, marks=pytest.mark.slow),
    ],
)
def test_a_closed_or_full_standard_file_is_no_traceback(net, redirection, words, code):
    done = shell(net, redirection, *words)
    assert done.returncode == code and "Traceback" not in done.stderr and done.stderr.count("\n") <= 1
    assert ("loss.svg" in written(net)) == (code == 0)
