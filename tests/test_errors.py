"""How errors and warnings are built, printed and silenced."""

import os
import pickle
import subprocess
import sys
import warnings

import pytest

import minigrad as torch
from minigrad import errors
from minigrad.places import user_place


def refused(f, *args):
    with pytest.raises(torch.MinigradError) as raised:
        f(*args)
    return raised.value


def test_an_error_is_of_pytorchs_type_and_goes_by_its_name():
    e = refused(lambda: torch.ones(2) @ torch.ones(3))
    assert isinstance(e, RuntimeError) and type(e).__name__ == "RuntimeError" and type(e) is errors.FAMILY[RuntimeError]
    for kind, cls in errors.FAMILY.items():
        assert issubclass(cls, kind) and issubclass(cls, torch.MinigradError) and getattr(errors, kind.__name__) is cls
    with pytest.raises(AttributeError, match="SyntaxError"):
        errors.SyntaxError  # noqa: B018


def test_its_parts_stand_apart():
    e = refused(lambda: torch.ones(2) @ torch.ones(3))
    assert e.operation == "matmul" and "(2,)" in e.problem and e.remedy and e.place.file == __file__
    lines = str(e).splitlines()
    assert lines[0] == f"matmul: {e.problem}" and lines[-1] == f"  To fix: {e.remedy}"
    assert f"{__file__}:{e.place.line}: e = refused(lambda: torch.ones(2) @ torch.ones(3))" in str(e)


def test_it_survives_pickling():
    e = refused(lambda: torch.ones(2) @ torch.ones(3))
    again = pickle.loads(pickle.dumps(e))
    assert type(again) is type(e) and str(again) == str(e) and again.place == e.place


def test_a_key_error_is_printed_without_quotes():
    e = errors.error(KeyError, "state", "'a' is not there", "use 'b'")
    assert isinstance(e, KeyError) and str(e).startswith("state: 'a' is not there\n")


def test_what_is_a_minigrad_error_already_keeps_its_class():
    class Special(errors.MinigradRuntimeError):
        pass

    assert type(errors.error(Special, "f", "wrong")) is Special


def test_shapes_that_cannot_be_broadcast_are_drawn():
    e = refused(torch.add, torch.ones(5, 3, 4), torch.ones(4, 3))
    drawn = [line[-5:].strip() for line in str(e).splitlines()[1:4]]
    assert drawn == ["5 3 4", "4 3", "^ ^"], str(e)


def test_the_transforms_around_are_named_outermost_first():
    def f(x):
        return torch.func.grad(lambda y: (y + torch.ones(3)).sum())(x)

    e = refused(torch.vmap(f), torch.ones(2, 4))
    assert e.transforms == ("vmap (a batch of 2)", "grad") and "  inside vmap (a batch of 2) > grad\n" in str(e)
    assert refused(lambda: torch.ones(2) + torch.ones(3)).transforms == ()  # they are left again


# ---------------------------------------------------------------------- warnings
def mse():
    return torch.nn.functional.mse_loss(torch.ones(3, 1), torch.ones(3))


def test_code_that_is_made_and_dropped_has_its_own_lines():
    for n in range(5000):  # more than are remembered
        scope = {"user_place": user_place}
        exec(compile("\n" * (n % 40) + "place = user_place()", "made.py", "exec"), scope)
        assert scope["place"] == ("made.py", n % 40 + 1)


def test_a_warning_has_a_name_a_place_and_a_remedy():
    with pytest.warns(torch.MinigradWarning) as told:
        mse()
    (w,) = told
    assert w.message.name == "broadcast-loss" and w.filename == __file__
    text = str(w.message)
    assert text.startswith("mse_loss: ") and "(3, 1)" in text and "9 differences" in text
    assert "To fix: " in text and "torch.silence('broadcast-loss')" in text and f"{__file__}:{w.lineno}" in text


def test_it_is_given_once_for_each_line_whatever_its_numbers():
    names = {"__name__": "somewhere", "torch": torch}
    program = """
for n in (3, 4, 5):
    torch.nn.functional.mse_loss(torch.ones(n, 1), torch.ones(n))
torch.nn.functional.mse_loss(torch.ones(3, 1), torch.ones(3))
"""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("default")
        exec(compile(program, "program.py", "exec"), names)
    assert [w.lineno for w in told] == [3, 4]


def test_it_can_be_silenced_by_its_name_alone():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        torch.silence("grad-of-non-leaf")
        with pytest.raises(torch.MinigradWarning):
            mse()
        torch.silence("broadcast-loss")
        mse()


def test_one_name_is_not_the_beginning_of_another():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        torch.silence("broadcast", "loss", "broadcast.loss")
        with pytest.raises(torch.MinigradWarning):
            mse()


# ---------------------------------------------------------------------- the name under which minigrad is imported
def fix_in(head):
    """Return the fix of an error, and the text of a warning, in a file that begins with these imports."""
    names = {"__name__": "users_file"}
    program = f"{head}\nfrom minigrad.errors import error, warn\n"
    program += "e = error(ValueError, 'f', 'minigrad.int64', 'pass minigrad.ones(2)')\n"
    program += "warn('w', 'f', 'odd', 'pad')"
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        exec(compile(program, "users_file.py", "exec"), names)
    assert names["e"].problem == "minigrad.int64"
    return names["e"].remedy, str(told[0].message).splitlines()[-1]


@pytest.mark.parametrize(
    "head, name",
    [
        ("import minigrad as torch", "torch"),
        ("import minigrad as mg", "mg"),
        ("import minigrad", "minigrad"),
        ("import minigrad as torch, minigrad", "minigrad"),
        ("from minigrad import ones", "minigrad"),
        ("from minigrad import nn as minigrad_nn", "minigrad"),
    ],
)
def test_a_fix_has_the_name_under_which_the_file_imports_minigrad(head, name):
    fix, ending = fix_in(head)
    assert fix == f"pass {name}.ones(2)" and ending.endswith(f"[w]; {name}.silence('w') turns it off.")


def test_each_file_gets_its_own_name():
    assert [fix_in(f"import minigrad as {name}")[0] for name in ("a", "b")] == ["pass a.ones(2)", "pass b.ones(2)"]


def test_an_import_inside_a_function_counts():
    names = {"errors": errors}
    exec(
        "def f():\n    import minigrad as local\n    return errors.error(ValueError, 'f', 'x', 'minigrad.ones')", names
    )
    assert names["f"]().remedy == "local.ones"


def test_under_as_torch_a_fix_says_torch():
    program = "import minigrad\nminigrad.as_torch()\ndel minigrad\nimport torch\nfrom minigrad.errors import error\n"
    program += "print(error(ValueError, 'f', 'wrong', 'pass minigrad.ones(2)').remedy)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "pass torch.ones(2)\n"


@pytest.mark.parametrize(
    "text", ["run `minigrad check`", "an xminigrad.a", "my.minigrad.a", "minigrad.record/1", "minigrad. A"]
)
def test_other_words_stay(text):
    assert errors.as_imported(text) == text
    assert errors.as_imported(f"{text} minigrad.ones") == f"{text} torch.ones"


def test_the_line_of_a_cause_stands_below_its_description():
    w = torch.ones(2, requires_grad=True)
    cut = w.detach()
    lines = str(refused(cut.sum().backward)).splitlines()
    assert lines[1].startswith("  at ") and lines[1].endswith("cut = w.detach()")
    assert lines[2].startswith("  backward was called at ") and lines[3].startswith("  To fix: ")


# ---------------------------------------------------------------------- tracebacks
PROGRAM = """
import minigrad as torch
def f(x):
    return x @ torch.ones(3)
f(torch.ones(2))
"""


def traceback_of(tmp_path, **environment):
    (tmp_path / "program.py").write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, str(tmp_path / "program.py")],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
    )
    assert done.returncode == 1
    return done.stderr


def test_an_uncaught_error_ends_at_the_users_line(tmp_path):
    text = traceback_of(tmp_path)
    assert "line 5, in <module>" in text and "line 4, in f" in text and "matmul.py" not in text
    assert "During handling" not in text and text.rstrip().splitlines()[-1].startswith("  To fix: ")


def test_the_whole_traceback_is_shown_when_asked_for(tmp_path):
    assert "matmul.py" in traceback_of(tmp_path, MINIGRAD_FULL_TRACEBACK="1")


def test_errors_of_the_users_own_keep_their_traceback(tmp_path):
    (tmp_path / "program.py").write_text("import minigrad\nraise RuntimeError('mine')\n")
    done = subprocess.run([sys.executable, str(tmp_path / "program.py")], capture_output=True, text=True)
    assert done.stderr.endswith("RuntimeError: mine\n")


@pytest.fixture
def shell():
    pytest.importorskip("IPython")
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell.instance()
    shell.run_line_magic("colors", "nocolor")
    yield shell
    InteractiveShell.clear_instance()


def test_a_notebooks_traceback_ends_at_the_users_line(shell, capsys, monkeypatch):
    shell.run_cell(PROGRAM)
    short = capsys.readouterr()
    short = short.out + short.err
    assert "matmul.py" not in short and "f(torch.ones(2))" in short and "To fix: " in short
    monkeypatch.setenv("MINIGRAD_FULL_TRACEBACK", "1")
    shell.run_cell(PROGRAM)
    full = capsys.readouterr()
    assert "matmul.py" in full.out + full.err


def test_a_line_of_a_notebook_goes_by_the_number_of_its_cell(shell, capsys):
    shell.run_cell("import minigrad as torch\nx = torch.ones(2)", store_history=True)
    shell.run_cell("try:\n    x @ torch.ones(3)\nexcept RuntimeError as e:\n    print(e)", store_history=True)
    assert "\n  at In[2]:2: x @ torch.ones(3)\n" in capsys.readouterr().out


def test_a_cell_that_no_shell_knows_is_still_called_one():
    assert errors.Place("/any/ipykernel_77/12345.py", 3).short == "cell:3"
    assert errors.Place("<ipython-input-3-0f1e2d>", 3).short == "In[3]:3"
    assert errors.Place("/home/ada/net.py", 3).short == "net.py:3"


class Theirs(Exception):
    """The exception that the user's own code raises."""


class Refusing:
    """An object that raises whatever it is asked."""

    def __init__(self, e):
        self.e = e

    def __index__(self):
        raise self.e

    __len__ = __iter__ = __float__ = __bool__ = __index__


@pytest.mark.parametrize(
    "e",
    [Theirs(), OSError(2, "no such file"), UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"), KeyError("own")],
    ids=repr,
)
@pytest.mark.parametrize(
    "call",
    [
        lambda a: torch.zeros(a),
        lambda a: torch.ones(2, 3).reshape(a, 2),
        lambda a: torch.ones(2, 3).sum(a),
        lambda a: torch.ones(3).reshape((3, a)),
        lambda a: torch.vmap(lambda x: x.sum(a))(torch.ones(2, 3)),
    ],
)
def test_what_the_users_own_objects_raise_comes_through_as_it_is(call, e):
    e.__cause__ = cause = ValueError("why")
    with pytest.raises(type(e)) as caught:
        call(Refusing(e))
    assert caught.value is e and e.__cause__ is cause


def test_a_program_too_deep_and_an_interrupt_come_through(monkeypatch):
    for e in (RecursionError(), KeyboardInterrupt()):

        def raising(*_, e=e):
            raise e

        monkeypatch.setattr(torch.ops.sort, "interval", raising)
        with pytest.raises(type(e)) as caught:
            torch.histc(torch.ones(3), 5)
        assert caught.value is e
