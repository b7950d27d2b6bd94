"""A wrong command is answered by one line that names the mistake and what to do, and ends with 2.

The commands run in this process, one after the other: each is answered before, or just after, its program runs.
"""

import shlex
import sys

import pytest

from viz.cli import main

from .command import PROGRAM

MORE = """
from minigrad import nn
layer = nn.Linear(3, 2)
names = ["a"]

def nothing():
    return w * x
"""
SQUARE = """
import minigrad as torch

class Square(torch.autograd.Function):
    forward = staticmethod(lambda ctx, x: x * x)
    backward = staticmethod(lambda ctx, g: g)

y = Square.apply(torch.ones(1, requires_grad=True))
"""
FILES = {
    "net.py": PROGRAM + MORE,
    "square.py": SQUARE,
    "empty.py": "",
    "record.json": "{}",
    "list.json": "[1]",
    "words.json": "hello",
    "broken.json": "{",
    "book.ipynb": "{}",
    "names.txt": "",
}
NEITHER = "neither a tensor nor a function. Choose from: "
TAKES = "f in net.py takes (a, b), not the given arguments: "
# command: part of the answer
WRONG = {
    # no target, no file, no name
    "render": "requires an argument",
    "step": "requires an argument",
    "explain": "requires an argument",
    "diff net.py:loss": "requires an argument",
    "check": "requires an argument",
    "source": "requires an argument",
    "run": "requires an argument",
    "port": "requires an argument",
    "completion": "requires an argument",
    "lessons open": "requires an argument",
    "render ''": "Write PROG.py:NAME",
    "render :loss": "':loss' has no file. Write PROG.py:NAME",
    "render net.py": "net.py runs no backward. Name what to draw, such as net.py:",
    "render empty.py": "empty.py runs no backward. It also defines no tensor with a graph",
    "render net.py --args 1": "--args needs a name to draw. Write net.py:NAME",
    "render net.py --ranks": "--ranks needs a name to draw. Write net.py:NAME",
    "render nett.py --list": "the file nett.py does not exist. Did you mean net.py?",
    "render net.py: --list": "'net.py:' has no name to draw",
    "step net.py:": "'net.py:' has no name to draw",
    "explain net.py:2x": "'net.py:2x' has no name to draw",
    "source net.py": "'net.py' has no name to draw",
    "diff net.py net.py:loss": "'net.py' has no name to draw",
    "render nett.py:loss": "the file nett.py does not exist. Did you mean net.py?",
    "check nett.py": "the file nett.py does not exist. Did you mean net.py?",
    "run net.py:loss": "the file net.py:loss does not exist. Did you mean net.py?",
    "port nothing.py": "the file nothing.py does not exist.",
    "render folder:loss": "folder is a folder. Name a file",
    "check folder": "folder is a folder. Name a file",
    "run folder": "folder is a folder. Name a file",
    "run book.ipynb": "book.ipynb is not a notebook in Jupyter's format 4. Open it in Jupyter and save it again.",
    "render record.json:loss": "record.json is not a Python program, but JSON, such as a record. Name a .py file or",
    "port book.ipynb": "book.ipynb is not a notebook",
    # names and kinds
    "render net.py:los": "net.py has no los. Did you mean loss?",
    "render net.py:zebra": "h, loss, main_value, layer, f, g",
    "render net.py:rate": "rate in net.py is of type float, " + NEITHER,
    "render net.py:plain": "plain in net.py has no graph",
    "explain empty.py:x": "empty.py has no x. It defines: nothing that can be drawn.",
    "step net.py:names": NEITHER,
    "source net.py:rate": NEITHER,
    "explain net.py:rate": NEITHER,
    "explain net.py:plain": "no tensor here has a gradient",
    "check empty.py": "empty.py defines no subclass of autograd.Function",
    "check net.py:loss": "net.py has no autograd.Function named loss",
    "check square.py:Squar": "square.py has no autograd.Function named Squar. Did you mean Square?",
    "check square.py:torch": "It defines: Square.",
    "explain net.py:loss --of rate": "'rate' has no gradient here; available: w. Pass one of these names with --of",
    "explain net.py:loss --index 9": "there is no element (9,)",
    "explain net.py:loss --index one": "--index 'one' is not a list of integers",
    # arguments of functions
    "render net.py:f --args 'tensor(1.)'": TAKES + "missing a required argument: 'b'. Pass others with --args.",
    "step net.py:f --args ''": TAKES + "missing a required argument: 'a'",
    "explain net.py:f --args '1, 2, 3'": TAKES + "too many positional arguments",
    "diff net.py:f net.py:f --args 1": TAKES,
    "source net.py:f --args 1": TAKES,
    "render net.py:nothing --args 1": "nothing in net.py takes (), not the given arguments",
    "source net.py:layer --args '1, 2'": "layer in net.py takes (input)",
    "render net.py:f --args '1 +'": "--args '1 +' cannot be evaluated: SyntaxError",
    "render net.py:f --args 'a=3'": "--args 'a=3' cannot be evaluated: SyntaxError",
    "explain net.py:f --args nowhere": "cannot be evaluated: NameError: name 'nowhere' is not defined",
    "step net.py:loss --args 1": "--args is for functions, and loss is a tensor",
    "source net.py:loss --args 1": "--args is for functions, and loss is a tensor",
    "check square.py:Square --args 'tensor('": "cannot be evaluated",
    # options
    "render net.py:loss --nothing": "Unknown option: --nothing",
    "render net.py:loss --outptu x.svg": "Did you mean --output?",
    "render net.py:loss --pass sideways": "sideways",
    "render net.py:loss --pass backwrd": 'Did you mean "backward"?',
    "render net.py:loss --show values,gradss": "Did you mean grads?",
    "render net.py:loss --rankdir UP": 'Choose from: "TB"',
    "render net.py:loss --view -o -": "--view needs a file",
    "check square.py --skip gradient": "there is no row 'gradient'",
    "step net.py:loss -o x.svg": "Unknown option: -o",
    "explain net.py:loss --depth 1": "Unknown option: --depth",
    "check net.py --theme dark": "Unknown option: --theme",
    "diff record.json net.py:loss -o x.svg": "Unknown option: -o",
    "render net.py:loss -f svg -f png": "specified multiple times",
    "render net.py:loss --tex -f svg": "--tex and -f svg contradict each other",
    "render net.py:loss -f gif": "Choose from:",
    "render net.py:loss -o x.gif": "unknown suffix '.gif'",
    "render net.py:loss -o x.svgg": "Did you mean .svg?",
    "render net.py:loss -o folder": "it is a folder",
    "explain net.py:loss -o x.gif": "x.gif has an unknown suffix '.gif'. Use one of .html",
    "check net.py -o x.gif": "unknown suffix '.gif'",
    "render net.py:loss -o nowhere/x.svg": "the folder nowhere does not exist",
    "explain net.py:loss -o folder": "it is a folder",
    "render net.py:loss --depth -1": "--depth -1 is less than 0",
    "step net.py:loss --depth -1": "--depth -1 is less than 0",
    "step net.py:loss --max-nodes -5": "--max-nodes -5 is less than 0",
    "step net.py:loss --depth deep": "unable to convert",
    "step square.py:y --open Squar": "--open names 'Squar', which is no custom Function here",
    "render net.py:loss -n 2": "Add --ranks",
    "render net.py:loss --timeline": "Add --ranks",
    "render net.py:loss --ranks --rankdir LR": "Leave out --rankdir LR",
    "render net.py:loss --ranks --size slide": "Leave out --size slide",
    "render net.py:loss --ranks --args 1": "takes no --args",
    "render net.py:loss --ranks --timeline -o a.tex": "--timeline cannot write tex",
    "render net.py:loss --ranks -n 0": "is less than 1",
    "diff net.py:loss net.py:h --tolerance -1": "--tolerance -1.0 is not a number from 0 on",
    "diff net.py:loss net.py:h --tolerance nan": "--tolerance nan is not a number from 0 on",
    "render net.py:loss --epochs 3": "Unknown option: --epochs",
    "run --epochs 3": "run has no option --epochs. The program's own options come after it",
    # words too many
    "render net.py:loss net.py:h": "'net.py:h' is one word too many. The program's own words come after --: -- net.py:h",
    "step net.py:loss 3": "'3' is one word too many",
    "explain net.py:loss w -- 3": "'w' is one word too many",
    "check net.py Square": "'Square' is one word too many",
    "source net.py:loss w": "'w' is one word too many",
    "diff net.py:loss net.py:h net.py:w": "too many words: net.py:w.",
    "port net.py other.py": "too many words: other.py.",
    "doctor twice": "too many words: twice.",
    "lessons nothing": "too many words: nothing.",
    # records
    "diff nothing.json net.py:loss": "cannot read nothing.json: No such file or directory",
    "diff record.json net.py:loss": "record.json is not a record. Write a record with: minigrad render",
    "diff list.json net.py:loss": "list.json is not a record",
    "diff words.json net.py:loss": "words.json is not JSON",
    "diff broken.json net.py:loss": "broken.json is not JSON",
    # commands
    "rendr net.py:loss": 'Did you mean "render"?',
    "net.py:loss": 'Unknown command "net.py:loss". Available commands: render',
    "--nothing": "Unknown command",
    "completion tcsh": 'Choose from: "bash"',
    # lessons
    "lessons open 99": "there is no lesson 99",
    "lessons check book": "there is no lesson book",
    "lessons check nothing.ipynb": "there is no nothing.ipynb. Name a notebook.",
    "lessons check 1": "minigrad lessons open 1 writes it.",
    "lessons grade nowhere": "there is no folder nowhere",
    "lessons sheet memory": "a sheet needs a student",
    "lessons sheet memory --class folder": "folder cannot be read: Is a directory.",
    "lessons bank nothing": "there is no topic or exercise nothing",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("wrong")
    for name, text in FILES.items():
        (place / name).write_text(text)
    (place / "folder").mkdir()
    return place


@pytest.fixture
def here(folder, monkeypatch):
    """Run in the folder, and restore what a program that runs in this process replaces."""
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "argv", sys.argv.copy())
    monkeypatch.setattr(sys, "path", sys.path.copy())
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])


@pytest.mark.parametrize("command", WRONG)
def test_a_wrong_command_is_answered_by_one_line(folder, here, capfd, command):
    before = {path.name for path in folder.iterdir()}
    with pytest.raises(SystemExit) as ended:
        main(shlex.split(command))
    said = capfd.readouterr()
    assert ended.value.code == 2 and not said.out
    assert said.err.startswith("minigrad: ") and said.err.count("\n") == 1, said.err
    assert WRONG[command] in said.err
    assert {path.name for path in folder.iterdir()} - {"__pycache__"} == before - {"__pycache__"}


@pytest.mark.parametrize("command", ["render base.py:x", "run base.py", "check syntax.py"])
def test_a_program_that_fails_in_any_way_ends_with_1_and_its_own_lines(folder, here, capfd, command):
    (folder / "base.py").write_text("class Stop(BaseException):\n    pass\n\nraise Stop('now')\n")
    (folder / "syntax.py").write_text("def f(:\n")
    with pytest.raises(SystemExit) as ended:
        main(command.split())
    text = capfd.readouterr().err
    assert ended.value.code == 1 and text.count('File "') == 1 and ("Stop: now" in text or "SyntaxError" in text), text
