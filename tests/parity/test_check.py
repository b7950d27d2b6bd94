"""`check` on Functions of PyTorch: the same battery finds the same mistakes, and is quiet about what is right."""

import json
import linecache
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from minigrad.testing import check
from tests.floats import some
from tests.marks import corrected, run_text

TESTS = Path(__file__).parent.parent


def in_pytorch(path, prefix="pytorch", change=list, **inherited):
    """Return the names of a test file whose minigrad is PyTorch, and whose lines are changed, beside those `inherited`."""
    text = (TESTS / path).read_text().replace("import minigrad as torch", "import torch")
    text = re.sub(r"^from \..*", "", text, flags=re.MULTILINE)
    file = f"{prefix}_{Path(path).name}"
    return run_text("\n".join(change(text.splitlines())), file, {**inherited, "__name__": file.removesuffix(".py")})


BROKEN = in_pytorch("testing/broken.py")["FUNCTIONS"]
REPAIRED = in_pytorch("testing/broken.py", "repaired", corrected)["FUNCTIONS"]
FUNCTIONS = in_pytorch("layers/functions.py")
SPEC = in_pytorch("spec/test_extending_torch_func.py")
SPEC_VMAP = in_pytorch("spec/test_extending_torch_func_vmap.py", **SPEC)


# of each kind some: all of them take minutes
SOME = """HalfOfIt Swapped SumWithoutUpstream SecondOutputForgotten WrongJvp NumpyInBackward SavedInBetween OneOfTwo WrongShape
NoZeros Captures OutputOnCtx KeepsAll DrawsAgain Unmarked ChangesWhatIsSaved SharedMemory OnTheClass ReadsTheMemory SumOfRows
NumpyForward IgnoresTheOption""".split()


@pytest.mark.parametrize("name", some(SOME, 3, pytest.mark.nightly))
def test_a_broken_function_of_pytorch_fails_in_its_row(name):
    function, row, _, line, args = BROKEN[name]
    result = check(function, *args)
    assert result.library == "torch"
    assert [one.name for one in result.failures] == [row], result
    _, number, _ = result.failures[0].line.split(":", 2)
    assert line in linecache.getline("pytorch_broken.py", int(number)), result.failures[0].line


@pytest.mark.parametrize("name", some(SOME, 3, pytest.mark.nightly))
def test_the_repaired_function_passes_in_pytorch(name):
    function, *_, args = REPAIRED[name]
    check(function, *args).assert_ok()


@pytest.mark.parametrize("name", ["NumpySort", "NumpyTake", "MyCube", "BatchedNumpySort", "BatchedNumpyTake", "Cube"])
def test_functions_of_the_documents_pass_in_pytorch(name):
    matrix = torch.tensor([[3.0, 1.0, 2.0], [0.5, 0.1, 0.7]])
    order, back = torch.tensor([[1, 2, 0], [1, 0, 2]]), torch.tensor([[2, 0, 1], [1, 0, 2]])
    args = {"Sort": (matrix, -1), "Take": (matrix, order, back, 1)}.get(name[-4:], (torch.tensor([1.0, 2.0, -3.0]),))
    check({**FUNCTIONS, **SPEC_VMAP, **SPEC}[name], *args).assert_ok()


@pytest.mark.parametrize("name", ["Linear", "Softmax", "Clipped", "TwoInTwoOut", "Inverse", "WithConstant", "Dropout"])
def test_right_functions_of_other_kinds_pass_in_pytorch(name):
    function, args, skip = in_pytorch("testing/right.py")["RIGHT"][name]
    check(function, *args, skip=skip).assert_ok()


def test_what_pytorch_cannot_do_for_any_function_is_no_failure_of_this_one():
    """A jvp over a jvp of a Function is 0 there, whatever the Function."""
    x, one = torch.tensor(3.0), torch.tensor(1.0)
    first = lambda t: torch.func.jvp(lambda s: FUNCTIONS["Cube"].apply(s)[0], (t,), (one,))[1]
    assert torch.func.jvp(first, (x,), (one,))[1] == 0.0  # where 6 x = 18 is right
    assert "PyTorch returns 0" in check(FUNCTIONS["Cube"], x)["func.jvp"].message


def test_the_command_with_torch(tmp_path):
    (tmp_path / "f.py").write_text(
        "import torch\n\n"
        "class Cube(torch.autograd.Function):\n"
        "    @staticmethod\n"
        "    def forward(ctx, x):\n"
        "        ctx.save_for_backward(x)\n"
        "        return x**3\n\n"
        "    @staticmethod\n"
        "    def backward(ctx, g):\n"
        "        return g * 2 * ctx.saved_tensors[0] ** 2\n"
    )

    def command(*words):
        run = [sys.executable, "-m", "viz.cli", "check", *words]
        return subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, timeout=120)

    done = command("f.py", "--args", "tensor([2.0, 3.0])")
    assert done.returncode == 1, done.stderr
    assert "off by a factor of 1.5" in done.stdout and "f.py:11: return g * 2" in done.stdout
    assert "✗ 2, but finite differences give 3" in done.stdout
    data = json.loads(command("f.py:Cube", "--json").stdout)
    assert (data[0]["library"], data[0]["ok"]) == ("torch", False)
