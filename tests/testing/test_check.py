"""`check` on Functions that are right, those of the documents first, and on broken ones with their repairs."""

import gc
import linecache
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import minigrad as torch
from minigrad.testing import check
from tests.floats import some
from tests.functions import custom
from tests.layers import functions
from tests.spec import test_extending_torch_func as spec
from tests.spec import test_extending_torch_func_vmap as spec_vmap
from tests.spec import test_function_cpp as cpp
from tests.spec import test_function_forward as forward
from tests.spec import test_function_ts_port as ts
from tests.spec import test_nested_io_function as nested

from ..marks import corrected, run_text
from . import broken
from .right import RIGHT

BROKEN = broken.FUNCTIONS
LINES = Path(broken.__file__).read_text(encoding="utf-8").splitlines()
REPAIRED = run_text("\n".join(corrected(LINES)), "repaired.py", {"__name__": "repaired"})["FUNCTIONS"]

x = torch.tensor([1.0, 2.0, -3.0])
matrix = torch.tensor([[3.0, 1.0, 2.0], [0.5, 0.1, 0.7]])
order, back = torch.tensor([[1, 2, 0], [1, 0, 2]]), torch.tensor([[2, 0, 1], [1, 0, 2]])


@pytest.fixture(scope="module", autouse=True)
def frozen():
    """`check` collects garbage again and again: not among all that earlier tests have made."""
    gc.collect()
    gc.freeze()


class Unmaterialized(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(x)
        return x.clone(), x.clone()

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, g1, g2):
        (x,) = ctx.saved_tensors
        grad_input = torch.zeros_like(x)
        if g1 is not None:  # We must check for None now
            grad_input += g1
        if g2 is not None:
            grad_input += g2
        return grad_input


DOCUMENTS = {
    "NumpySort": (spec.NumpySort, matrix, -1),
    "NumpyTake": (spec.NumpyTake, matrix, order, back, 1),
    "MyCube": (spec.MyCube, x),
    "MyCube with a generated rule": (spec_vmap.GeneratedCube, x),
    "NumpySort with vmap": (spec_vmap.BatchedNumpySort, matrix, -1),
    "NumpyTake with vmap": (spec_vmap.BatchedNumpyTake, matrix, order, back, 1),
    "MyFunction": (cpp.MyFunction, 2, x),
    "combined": (forward.Combined, x, 2),
    "separate": (forward.Separate, x, 2),
    "Exp": (ts.Exp, x),
    "separate Exp": (ts.SeparateExp, x),
    "Func": (nested.Func, x, x + 1, 4),
    "SimpleFunc": (nested.SimpleFunc, x),
    "Unmaterialized": (Unmaterialized, x),
}
OTHERS = {
    "Cube": (functions.Cube, x),
    "ManualCube": (functions.ManualCube, x),
    "NumpySort with all": (functions.NumpySort, matrix, -1),
    "NumpyTake with all": (functions.NumpyTake, matrix, order, back, 1),
}


@pytest.mark.parametrize("name", [*DOCUMENTS, *OTHERS])
def test_functions_of_the_documents_pass(name):
    function, *args = (DOCUMENTS | OTHERS)[name]
    check(function, *args).assert_ok()


@pytest.mark.parametrize("name", RIGHT)
def test_right_functions_of_other_kinds_pass(name):
    function, args, skip = RIGHT[name]
    check(function, *args, skip=skip).assert_ok()


def test_a_function_with_all_methods_has_each_row_that_can_apply():
    result = check(functions.Cube, x)
    assert {one.name for one in result.outcomes if one.status != "holds"} == {"randomness"}
    over = "alone, over grad, vjp, jvp, vmap, jacrev, jacfwd"
    assert [one.message for one in result.outcomes if one.name.startswith("func.")] == [over] * 6


# minigrad itself detects a write to memory that is shared through NumPy; PyTorch does not (tests/parity/test_check.py)
@pytest.mark.parametrize("name", [name for name in BROKEN if name != "SharedMemory"])
def test_a_broken_function_fails_in_its_row_alone(name):
    function, row, remedy, line, args = BROKEN[name]
    result = check(function, *args)
    assert [one.name for one in result.failures] == [row], result
    (found,) = result.failures
    assert found.message and remedy in found.remedy, found
    file, number, _ = found.line.split(":", 2)
    assert file.endswith("broken.py") and line in linecache.getline(file, int(number)), found.line
    assert found.input.endswith(")") and f"{name}.apply(" in found.input


def test_a_write_to_memory_shared_through_numpy_is_detected():
    function, row, *_, args = BROKEN["SharedMemory"]
    found = check(function, *args)[row]
    assert found.status == "holds" and "a write to it is detected or raises" in found.message


@pytest.mark.parametrize("name", some(REPAIRED))
def test_the_repaired_function_passes(name):
    function, *_, args = REPAIRED[name]
    check(function, *args).assert_ok()


@pytest.mark.parametrize("name", ["HalfOfIt", "WrongShape", "SumOfRows", "Unmarked"])
def test_the_smallest_input_is_code_that_fails_alike(name):
    function, row, *_ = BROKEN[name]
    found = check(function, *BROKEN[name][-1])[row]
    *lines, _ = found.input.splitlines()
    names = {"minigrad": torch}
    exec("\n".join(lines), names)
    again = check(function, *[names[line.split(" ")[0]] for line in lines])[row]
    assert (again.status, again.message, again.input) == ("fails", found.message, found.input)


def test_the_smallest_input_of_a_wrong_factor_is_a_single_one():
    found = check(BROKEN["HalfOfIt"][0], torch.rand(4, 5) + 1)["gradients"]
    assert found.input.startswith("x = minigrad.tensor(1.0, ")
    assert found.disagreement == {
        "argument": "x", "position": 0, "index": [], "output": 0, "analytical": 1.0, "numerical": pytest.approx(2.0),
        "cause": "off by a factor of 2",
    }  # fmt: skip


# ---------------------------------------------------------------------- the result
def test_the_result_is_true_and_asserts():
    good, bad = check(REPAIRED["HalfOfIt"][0], x), check(BROKEN["HalfOfIt"][0], x)
    assert good and good.ok and not bad
    good.assert_ok()
    with pytest.raises(AssertionError, match=r"(?s)HalfOfIt.*gradients: backward gives.*broken.py.*Smallest input"):
        bad.assert_ok()


def test_the_result_as_text_html_and_data():
    result = check(BROKEN["HalfOfIt"][0], x)
    assert str(result) == repr(result)
    assert "✗ gradients" in str(result) and "· jvp" in str(result) and "add:" in str(result)
    assert "<table>" in result._repr_html_() and "&lt;" not in result._repr_html_().split("<pre>")[0]
    data = result.to_dict()
    assert data["ok"] is False and data["outcomes"][0]["name"] == "methods"
    with pytest.raises(KeyError, match="gradients"):
        result["grads"]


def test_what_is_not_defined_says_what_to_add():
    result = check(spec.MyCube, x)
    assert result["jvp"].status == "not defined" and "def jvp(ctx, *tangents)" in result["jvp"].remedy
    assert "generate_vmap_rule = True" in result["vmap"].remedy
    assert "def setup_context(ctx, inputs, output)" in check(ts.Exp, x)["func.grad"].remedy


def test_rows_can_be_skipped_for_a_backward_that_is_no_derivative_on_purpose():
    result = check(BROKEN["HalfOfIt"][0], x, skip=["gradients"])
    assert result["gradients"].status == "left out" and result.ok


def test_a_backward_that_refuses_to_be_differentiated_is_no_failure():
    Sine = custom(
        "Sine",
        forward=lambda x: torch.tensor(np.sin(x.numpy())),
        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs),
        # numpy() raises where g or x requires grad
        backward=lambda ctx, g: torch.tensor(g.numpy() * np.cos(ctx.saved_tensors[0].numpy())),
    )
    result = check(Sine, x)
    result.assert_ok()
    assert result["second derivatives"].status == "not defined"
    assert "numpy()" in result["second derivatives"].message
    assert "@once_differentiable" in result["second derivatives"].remedy
    assert "not over grad, vjp, jacrev (backward cannot be differentiated)" in result["func.grad"].message


def test_the_battery_is_imported_only_when_it_is_used():
    code = "import sys, minigrad; sys.exit('minigrad.testing.function_checks' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


# ---------------------------------------------------------------------- arguments
def test_arguments_are_found_by_trying():
    result = check(ts.Exp)
    assert result.ok and result.guessed and "Exp.apply(x)" in result.input

    class Linear(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, w, scale: float):
            ctx.save_for_backward(x, w)
            ctx.scale = scale
            return x @ w.T * scale

        @staticmethod
        def backward(ctx, g):
            x, w = ctx.saved_tensors
            return g @ w * ctx.scale, g.T @ x * ctx.scale, None

    result = check(Linear)
    assert result["gradients"].status == "holds" and "0.5)" in result.input


def test_where_some_inputs_require_grad_the_others_are_constants():
    function = BROKEN["NothingForY"][0]
    assert check(function, x.clone().requires_grad_(), x).ok
    assert not check(function, x, x)


def test_corners_are_no_failures():
    Relu = custom(
        "Relu",
        forward=lambda ctx, x: ctx.save_for_backward(x) or x.clamp(min=0),
        backward=lambda ctx, g: g * (ctx.saved_tensors[0] > 0),
    )
    check(Relu, torch.tensor([0.0, 1.0, -1.0])).assert_ok()

    class Abs(Relu):
        generate_vmap_rule = True

        @staticmethod
        def forward(x):
            return x.abs()

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)
            ctx.save_for_forward(*inputs)

        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensors[0].sign()

        @staticmethod
        def jvp(ctx, t):
            return t * ctx.saved_tensors[0].sign()

    check(Abs, torch.zeros(3)).assert_ok()


def test_a_check_leaves_random_numbers_gradients_and_arguments_alone():
    given = torch.tensor([1.0, 2.0], requires_grad=True)
    torch.manual_seed(3)
    expected = torch.rand(2).tolist()
    torch.manual_seed(3)
    check(cpp.MyFunction, 2, given)
    assert torch.rand(2).tolist() == expected
    assert given.grad is None and given.tolist() == [1.0, 2.0]


def test_bad_use_is_an_error_with_the_remedy():
    with pytest.raises(TypeError, match=r"(?s)check: expected a subclass of autograd.Function.*check\(MyFunction, x\)"):
        check(lambda x: x)  # pyright: ignore[reportArgumentType]
    with pytest.raises(TypeError, match=r"(?s)Nested is a NestedIOFunction.*make it a Function"):
        check(type("Nested", (torch.autograd.function.NestedIOFunction,), {}), x)
    with pytest.raises(ValueError, match=r"(?s)there is no row 'gradient'.*skip some of: methods"):
        check(ts.Exp, x, skip=["gradient"])

    class Impossible(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            raise ValueError("never")

    with pytest.raises(ValueError, match=r"(?s)found no arguments.*check\(Impossible, x, \.\.\.\)"):
        check(Impossible)
