"""The stubs match the declarations, and tell pyright and Jedi the truth about the operations."""

import inspect
import json
import re
import subprocess
import sys
import typing
from pathlib import Path

import jedi
import pytest

import minigrad
from minigrad import Tensor, nn
from minigrad.ops.base.registry import TABLE
from tests.table import NAMES, run
from tools import stubs

ROOT = Path(__file__).parent.parent.parent
USER_CODE = Path(__file__).parent / "user_code.py"
SAMPLES = """\
import minigrad as torch
import minigrad.compat.special
from minigrad import Tensor
def T(*shape: int) -> Tensor: ...
P = I = B = S = T
"""
RESULTS = {"Tensor": Tensor, "bool": bool, "Any": object}


def pyright(folder, path):
    """Return pyright's messages for a file, by line: the rule and the message's first line."""
    settings = {
        "typeCheckingMode": "standard",
        "pythonVersion": "3.11",
        "extraPaths": [str(ROOT)],
        "include": ["checked"],
    }
    (folder / "checked").mkdir()
    (folder / "checked" / "program.py").write_text(path.read_text(encoding="utf-8"), encoding="utf-8")
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    command = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable, "-p", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder)
    found = {}
    for d in json.loads(done.stdout)["generalDiagnostics"]:
        message = f"{d.get('rule')}: {d['message'].splitlines()[0]}"
        found.setdefault(d["range"]["start"]["line"] + 1, []).append(message)
    return found


def test_stubs_match_the_declarations():
    # in a new Python: in this one, generated code may have replaced operators
    program = "import json; from tools import stubs; print(json.dumps({str(p): t for p, t in stubs.stubs().items()}))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, check=True)
    for path, text in json.loads(done.stdout).items():
        assert Path(path).read_text(encoding="utf-8") == text, f"{path} is out of date: run make contents"


def test_every_method_of_a_tensor_is_in_a_stub_or_in_the_source_of_its_class():
    declared = {n.name for n in jedi.Script(path=stubs.path_of(stubs.METHODS)).get_names(all_scopes=True)}
    attached = dict(stubs.attached())
    assert {"sum", "t", "add_", "T", "__add__", "float"} <= attached.keys() <= declared


def test_pyright_finds_the_mistakes_in_a_users_program_and_nothing_else(tmp_path):
    lines = USER_CODE.read_text(encoding="utf-8").splitlines()
    expected = {i: [m.strip() for m in line.split("#!")[1:]] for i, line in enumerate(lines, 1) if "#!" in line[1:]}
    del expected[1]  # the docstring
    assert pyright(tmp_path, USER_CODE) == expected


@pytest.mark.slow
def test_pyright_accepts_all_samples_of_the_table(tmp_path):
    calls = []
    for name, entry in sorted(TABLE.items()):
        for sample in entry.samples:
            calls.append(f"torch.{entry.torch or name}({sample})")
            if entry.method is True and "." not in name and sample[0] in "TPIBS":
                calls.append(f"torch.Tensor.{name}({sample})")
    path = tmp_path / "samples.py"
    path.write_text(SAMPLES + "\n".join(calls))
    wrong = {line: message for line, message in pyright(tmp_path, path).items() if line > SAMPLES.count("\n")}
    assert not {calls[line - SAMPLES.count("\n") - 1]: message for line, message in wrong.items()}


def test_results_have_the_types_that_the_stubs_give():
    wrong = []
    for name in NAMES:
        kinds = [result for _, result in stubs.forms_of(name, TABLE[name].function)]
        for sample in TABLE[name].samples:
            if not any(is_a(run(name, sample)[0], kind) for kind in kinds):
                wrong.append((name, sample, kinds))
    assert not wrong


def is_a(value, kind):
    """Return True if a value has the type of an annotation."""
    if found := re.fullmatch(r"tuple\[(.*)\]", kind):
        kinds = found[1].split(", ")
        length = kinds[-1] == "..." or len(value) == len(kinds)
        return isinstance(value, tuple) and length and all(isinstance(v, Tensor) for v in value)
    kind = RESULTS.get(kind) or getattr(minigrad.return_types, kind, None) or getattr(minigrad, kind, None)
    return isinstance(value, kind)


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("torch.ex", "exp"),
        ("torch.nn.functional.sof", "softmax"),
        ("x.su", "sum"),
        ("torch.exp(x).su", "sum"),
        ("torch.hypot(x, x).requires_g", "requires_grad_"),
        ("x.sum(0).me", "mean"),
        ("torch.sort(x).ind", "indices"),
        ("x.add_(1).su", "sum"),
    ],
)
def test_notebooks_complete(code, name):
    names = {"torch": minigrad, "nn": nn, "x": minigrad.ones(2, 3)}
    assert name in [c.name for c in jedi.Interpreter(code, [names]).complete()]


@pytest.mark.parametrize(
    ("function", "first"),
    [
        (minigrad.exp, "class Exp(Elementary):"),
        (minigrad.Tensor.exp_, "class Exp(Elementary):"),
        (minigrad.Tensor.hypot, "class Hypot(Pointwise):"),
        (minigrad.sum, "@op("),
        (minigrad.Tensor.squeeze_, "@op("),
        (minigrad.add, "@choice("),
        (minigrad.Tensor.add_, "@choice("),
        (nn.functional.leaky_relu, "class LeakyRelu(Activation):"),
    ],
)
def test_source_of_a_generated_function_is_its_declaration(function, first):
    assert inspect.getsource(function).startswith(first)


@pytest.mark.parametrize(
    ("function", "signature"),
    [
        (minigrad.exp, "(input, *, out=None)"),
        (minigrad.Tensor.exp_, "(self)"),
        (minigrad.add, "(input, other, *, alpha=1, out=None)"),
        (minigrad.Tensor.add_, "(self, other, *, alpha=1)"),
        (minigrad.sum, "(input, dim=None, keepdim=False, *, dtype=None, out=None)"),
        (minigrad.Tensor.squeeze_, "(self, dim=None)"),
        (nn.functional.leaky_relu, "(input, negative_slope=0.01, inplace=False)"),
    ],
)
def test_signature_of_a_generated_function_has_its_parameters(function, signature):
    found = inspect.signature(function)
    shown = found.replace(
        parameters=[p.replace(annotation=p.empty) for p in found.parameters.values()], return_annotation=found.empty
    )
    assert str(shown) == signature


def test_type_hints_of_a_generated_function_have_its_result():
    assert typing.get_type_hints(minigrad.exp) == {"return": Tensor}
