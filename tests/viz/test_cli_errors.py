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


def test_an_error_of_the_program_ends_with_1_and_only_its_own_lines(net):
    (net / "net.py").write_text(PROGRAM + "def broken(a, b):\n    return a / 0 / undefined\n")
    done = minigrad(net, "render", "net.py:broken")
    message = done.stderr.decode()
    assert done.returncode == 1 and written(net) == {"broken.svg"}  # the division, and the error
    assert "NameError" in message and "return a / 0 / undefined" in message
    assert message.count('File "') == 1


def test_an_error_while_the_program_runs_shows_its_line(net):
    (net / "net.py").write_text(PROGRAM + "1 / 0\n")
    done = minigrad(net, "render", "net.py:loss")
    assert done.returncode == 1 and b"ZeroDivisionError" in done.stderr and b"1 / 0" in done.stderr
    assert done.stderr.count(b'File "') == 1 and written(net) == {"loss.svg"}


def test_a_syntax_error_is_the_programs(net):
    (net / "net.py").write_text("def f(:\n")
    done = minigrad(net, "render", "net.py:f")
    assert done.returncode == 1 and b"SyntaxError" in done.stderr and b"def f(:" in done.stderr


def test_a_program_that_exits_with_an_error_is_not_drawn(net):
    (net / "net.py").write_text(PROGRAM + "raise SystemExit(3)\n")
    done = minigrad(net, "render", "net.py:loss")
    assert done.returncode == 1 and b"3" in done.stderr and not written(net)


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


def test_a_pass_without_anything_that_requires_grad_is_refused(net):
    (net / "net.py").write_text(PROGRAM + "still = plain * x\n")
    assert "still in net.py" in refused(net, "render", "net.py:still", "--pass", "backward")


def test_an_unknown_suffix_is_refused_before_the_program_runs(net):
    (net / "net.py").write_text("1 / 0\n")
    message = refused(net, "render", "net.py:loss", "-o", "x.bmp")
    assert "'.bmp'" in message and ".svg .png" in message


AGAIN = {
    "a second run gives another value": "v = w * 1\nv.add_(1)\nloss = v * v\n",
    "item()": "loss = w * w if w > 0 else w\n",
}


@pytest.mark.parametrize("why", AGAIN)
def test_lines_that_do_not_make_their_tensor_alone_have_no_source(net, why):
    (net / "net.py").write_text("from minigrad import tensor\nw = tensor(0.5, requires_grad=True)\n" + AGAIN[why])
    message = refused(net, "source", "net.py:loss")
    assert "lines of net.py that compute loss do not run on their own: " in message and why in message


def test_with_json_an_error_is_json_on_stdout(net):
    done = minigrad(net, "render", "net.py:loss", "--json", "-o", "-")
    assert done.returncode == 2 and json.loads(done.stdout)["code"] == 2
    assert "--json needs a file" in json.loads(done.stdout)["error"]


def test_a_missing_folder_is_refused_before_the_program_runs(net):
    (net / "net.py").write_text("1 / 0\n")
    assert "the folder none does not exist" in refused(net, "render", "net.py:loss", "-o", "none/x.svg")


def test_a_function_without_arguments_says_where_to_give_them(net):
    (net / "net.py").write_text(PROGRAM.replace("example_inputs", "others"))
    message = refused(net, "render", "net.py:f")
    assert "--args" in message and "example_inputs" in message


def test_a_place_that_cannot_be_written_is_refused(net):
    (net / "x.svg").mkdir()
    done = minigrad(net, "render", "net.py:loss", "-o", "x.svg")
    assert done.returncode == 2 and b"cannot write x.svg" in done.stderr


@pytest.mark.parametrize("target, code", [("net.py:los", 2), ("net.py:broken", 1)])
def test_with_json_an_error_is_json_too(net, target, code):
    (net / "net.py").write_text(PROGRAM + "def broken(a, b):\n    print('aside')\n    return a / undefined\n")
    done = minigrad(net, "render", target, "--json")
    assert done.returncode == code
    said = json.loads(done.stdout)
    assert said["code"] == code and said["error"] == done.stderr.decode().removeprefix("aside\n").rstrip("\n")


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


@pytest.mark.parametrize("command", ["render", "explain"])
def test_an_output_without_a_name_or_with_one_too_long_is_refused(net, command):
    of = ["--of", "w"] * (command == "explain")
    assert "Name a file" in refused(net, command, "net.py:loss", *of, "-o", "")
    assert "File name too long" in refused(net, command, "net.py:loss", *of, "-o", "x" * 300 + ".svg")


def test_the_longest_name_that_the_system_takes_is_written(net):
    assert minigrad(net, "render", "net.py:loss", "-o", "x" * 251 + ".svg").returncode == 0


def test_a_program_with_a_name_that_is_too_long_is_refused(net):
    for command in (["render", "x" * 300 + ".py:loss"], ["diff", "x" * 300 + ".json", "net.py:loss"]):
        assert "cannot read" in refused(net, *command)


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
