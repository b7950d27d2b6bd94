"""Programs that import torch are drawn with minigrad where PyTorch is not installed, and the command mentions it."""

import json

import pytest

from tests.forked import python
from viz.programs.libraries import needs, sources

from .command import PROGRAM

HIDING = """
import sys

class Hidden:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] == "torch":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Hidden)
from viz.cli import main
main()
"""
SQUARE = """
class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 2 * x * g
"""
NOTE = "minigrad: PyTorch is not installed, so net.py computes with minigrad, as with --as-torch"


@pytest.fixture
def net(tmp_path):
    program = PROGRAM.replace("from minigrad import tensor", "import torch\nfrom torch import tensor")
    (tmp_path / "net.py").write_text(program + SQUARE)
    return tmp_path


def command(folder, *words, **options):
    return python("-c", HIDING, *words, cwd=folder, **options)


COMMANDS = {
    "render net.py --list": "net.py:main_value  float32 ()  line 20",
    "render net.py:loss -f txt -o -": "loss = 0.3808",
    "step net.py:loss": "step 1 of 9",
    "explain net.py:loss --of w": "∂loss/∂w = 1.182",
    "check net.py:Square": "Square (minigrad): ",
    "diff net.py:h net.py:loss": "1 added",
    "source net.py:f": "def f(",
}


@pytest.mark.parametrize("words", COMMANDS)
def test_every_command_computes_with_minigrad_and_mentions_it(net, words):
    done = command(net, *words.split())
    assert NOTE in done.stderr.decode().splitlines() and COMMANDS[words] in done.stdout.decode(), done.stderr.decode()


def test_with_as_torch_there_is_nothing_to_mention(net):
    for words in COMMANDS:
        done = command(net, *words.split(), "--as-torch")
        assert NOTE not in done.stderr.decode() and COMMANDS[words] in done.stdout.decode(), done.stderr.decode()


def test_a_module_of_the_program_may_import_it(net):
    (net / "parts.py").write_text("import torch\n")
    (net / "net.py").write_text("import parts\nloss = parts.torch.ones(1, requires_grad=True) * 2\n")
    assert NOTE in command(net, "render", "net.py:loss").stderr.decode()


def test_a_program_from_the_standard_input_is_read_once(net):
    done = command(net, "render", "-:loss", "-f", "txt", "-o", "-", given=(net / "net.py").read_bytes())
    assert "loss = 0.3808" in done.stdout.decode() and "so <stdin> computes with minigrad" in done.stderr.decode()


def test_the_summary_for_machines_stays_alone_on_the_standard_output(net):
    done = command(net, "render", "net.py:loss", "--json")
    assert json.loads(done.stdout)["format"] == "svg" and NOTE in done.stderr.decode()


def test_a_program_that_does_without_it_is_left_alone(net):
    text = "import minigrad\ntry:\n    import torch\nexcept ImportError:\n    loss = minigrad.ones(1, requires_grad=True) * 2\n"
    (net / "net.py").write_text(text)
    done = command(net, "render", "net.py:loss")
    assert done.returncode == 0 and not done.stderr, done.stderr.decode()


def test_a_program_with_its_own_module_of_that_name_does_not_need_pytorch(tmp_path):
    text = b"from torch import nn"
    assert needs(sources(text, tmp_path), "torch")
    (tmp_path / "torch.py").touch()
    assert not needs(sources(text, tmp_path), "torch")


def test_an_import_that_only_running_shows_names_the_option(net):
    (net / "net.py").write_text("import importlib\ntorch = importlib.import_module('torch')\nloss = torch.ones(1)\n")
    done = command(net, "render", "net.py:loss")
    assert done.returncode == 1 and done.stderr.decode().rstrip().endswith(
        "To fix: add --as-torch to compute with minigrad"
    )
