"""Bytecode, positions, frames and counts of references: minigrad reads them from Python alike on each version."""

import ast
import math
import sys
import warnings

import pytest

import minigrad as torch
from minigrad.kernels import formula
from minigrad.places import callee, running, steps
from tools import interpreters, versions


def messages(program):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        program()
    return [str(w.message) for w in caught]


def leaf():
    return torch.tensor([1.0, 2.0], requires_grad=True)


# ---------------------------------------------------------------------- bytecode
def test_each_variable_of_a_method_is_read_or_written_alone():
    def two_at_once(ctx, g, x):
        a, b = g, x
        c = a
        d = c * b
        return d * g

    names = [name for step, name, _ in steps(two_at_once) if "_FAST" in step]
    assert set(names) == {"g", "x", "a", "b", "c", "d"} and all(isinstance(name, str) for name in names)


class Products(torch.autograd.Function):
    """A correct Function whose methods load two variables at once."""

    @staticmethod
    def forward(x, y):
        return x * y

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return g * y, x * g

    @staticmethod
    def jvp(ctx, x_t, y_t):
        x, y = ctx.saved_tensors
        return x_t * y + y_t * x


class StoredAndLoaded(Products):
    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        h = g
        k, h = h, 2
        return k * y, k * x

    @staticmethod
    def jvp(ctx, x_t, y_t):
        x, y = ctx.saved_tensors
        u, v = x_t, y_t
        return u * y + v * x


class InClosures(Products):
    @staticmethod
    def backward(ctx, g):
        return tuple([(lambda t: t * g)(t) for t in ctx.saved_tensors[::-1]])

    @staticmethod
    def jvp(ctx, x_t, y_t):
        return sum(a * b for a, b in zip((x_t, y_t), ctx.saved_tensors[::-1]))


@pytest.mark.parametrize("cls", [Products, StoredAndLoaded, InClosures])
def test_a_method_that_reads_its_gradients_gets_no_warning(cls):
    x, y = leaf(), leaf()
    three = torch.tensor([3.0, 5.0])
    assert messages(lambda: (cls.apply(x, y) * three).sum().backward()) == []
    assert messages(lambda: torch.func.jvp(lambda x: cls.apply(x, y), (x,), (three,))) == []


class Ignores(Products):
    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return y * y, x * y

    @staticmethod
    def jvp(ctx, x_t, y_t):
        x, y = ctx.saved_tensors
        return x * y


def test_a_method_that_reads_none_gets_one():
    x, y = leaf(), leaf()
    three = torch.tensor([3.0, 5.0])
    (said,) = messages(lambda: (Ignores.apply(x, y) * three).sum().backward())
    assert "gradient 0 does not depend on g" in said
    (said,) = messages(lambda: torch.func.jvp(lambda x: Ignores.apply(x, y), (x,), (three,)))
    assert "tangent 0 does not depend on x_t, y_t" in said


def test_a_switch_that_is_dropped_is_noticed():
    def dropped():
        torch.no_grad()

    def kept():
        mode = torch.no_grad()
        mode = [mode]
        del mode

    assert "never entered" in messages(dropped)[0] and messages(kept) == []


# ---------------------------------------------------------------------- positions
class Spy:
    """Notes the expression that its caller is running."""

    def __init__(self):
        self.seen = []

    def look(self, *kinds):
        node = running(sys._getframe(2), *kinds)
        self.seen.append(node and ast.unparse(node))
        return self

    def call(self, *args, **kwargs):
        return self.look(ast.Call)

    def __matmul__(self, other):
        return self.look(ast.BinOp, ast.Call)


def test_the_running_expression_is_found_by_its_end():
    spy, other = Spy(), Spy()
    chained = (
        spy
        .call(1)
        .call(other.call(2), *[3])
    )  # fmt: skip
    _ = chained.call(**{"a": [other.call(4) for _ in (1,)]}), other @ spy
    _ = (
        other
        @ spy
        .call(5)
    )  # fmt: skip
    second, third = "spy.call(1).call(other.call(2), *[3])", "chained.call(**{'a': [other.call(4) for _ in (1,)]})"
    assert spy.seen == ["spy.call(1)", second, third, "spy.call(5)"]
    assert other.seen == ["other.call(2)", "other.call(4)", "other @ spy", "other @ spy.call(5)"]


def test_the_called_function_is_found_among_variables_and_attributes():
    found = []

    class Number:
        def __float__(self):
            found.append(callee(sys._getframe(1)))
            return 1.0

    def twice(a, f):
        return [a, f.exp(Number())]

    n, exp = Number(), math.exp
    math.exp(n)
    max(1.0, exp(n))
    twice(1, math)
    (lambda: [f(n) for f in (math.sqrt,)])()
    assert found == [math.exp, math.exp, math.exp, math.sqrt]


def test_both_operands_of_a_product_are_quoted_over_several_lines():
    rows, number = torch.ones(2, 3), torch.tensor(2.0)

    def chained():
        return (rows
                .t()
                .matmul(number))  # fmt: skip

    def nested():
        return rows @ rows.t().matmul(number)

    def divided():
        return (rows.t() @
                number)  # fmt: skip

    def refused(f):
        with pytest.raises(RuntimeError) as e:
            f()
        return str(e.value)

    assert "multiply by a 0-d tensor with *: rows.t() * number" in refused(divided)
    assert "rows.t() * number" in refused(nested) and "rows.t() * number" in refused(chained)


def test_the_text_of_a_formula_is_known_also_if_it_is_a_constant():
    several = [lambda: 1, lambda x: -1, lambda x, out: 0.0, lambda: None, lambda x: x, lambda x, out: out * (1 - out)]
    assert [formula.text(f) for f in several] == ["1", "-1", "0.0", "None", "x", "out * (1 - out)"]


# ---------------------------------------------------------------------- counts of references
def test_a_leaf_takes_a_gradient_that_no_other_code_holds_and_copies_another():
    x, y = leaf(), leaf()
    (x + y).backward(torch.ones(2))
    x.grad.add_(1)
    assert x.grad.tolist() == [2.0, 2.0] and y.grad.tolist() == [1.0, 1.0]

    seed = torch.ones(2)
    x, y = leaf(), leaf()
    (x.view(2) * 1 + y).backward(seed)
    x.grad.zero_()
    y.grad.zero_()
    assert seed.tolist() == [1.0, 1.0]

    kept = []
    x = leaf()
    h = x * 1
    h.register_hook(kept.append)
    h.retain_grad()
    (h * 2).sum().backward()
    x.grad.zero_()
    assert kept[0].tolist() == h.grad.tolist() == [2.0, 2.0]


def test_a_tensor_that_alone_holds_its_memory_may_enlarge_it():
    x = torch.ones(2, 3)
    x.add_(1)
    x.t_()
    view = x[0]
    with pytest.raises(RuntimeError, match="shared with other tensors"):
        x.resize_(9)
    del view
    assert x.resize_(9).shape == (9,)


# ---------------------------------------------------------------------- the tools
def test_interpreters_are_asked_for_their_version(tmp_path, monkeypatch):
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    broken = tmp_path / "broken" / "python3.11"
    broken.parent.mkdir()
    broken.write_text("#!/bin/sh\nexit 127\n")
    broken.chmod(0o755)
    home = tmp_path / "pyenv" / "versions" / f"{version}.0" / "bin"
    home.mkdir(parents=True)
    (home / "python").symlink_to(sys.executable)
    monkeypatch.setenv("PATH", str(broken.parent))
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path / "pyenv"))
    assert interpreters.runs_as(str(broken)) == "" and interpreters.runs_as(sys.executable) == version
    assert interpreters.interpreters() == {version: str(home / "python")}


def test_a_missing_interpreter_is_named(capsys, monkeypatch):
    monkeypatch.setattr(interpreters, "interpreters", lambda: {"3.11": "/a/python"})
    interpreters.main()
    said = capsys.readouterr()
    assert said.out == "3.11 /a/python\n"
    assert [line.split()[2:4] for line in said.err.splitlines()] == [["Python", v] for v in interpreters.VERSIONS[1:]]


def test_oldest_versions_are_those_of_the_project():
    assert versions.oldest(["numba>=0.65", "ml_dtypes>=0.5", "rich>=13"]) == ["numba==0.65.*", "ml_dtypes==0.5.*"]
