"""Ctrl-C while gradients are switched, a transform runs or backward is running leaves everything as it was before.

Python looks for signals where a function begins, after a call of one written in C, and at the end of a loop's round.  The tests
raise KeyboardInterrupt at each of these places in turn.  One is left out, since no class written in Python can protect it: the
beginning of the `__exit__` that a `with` calls.
"""

import contextvars
import dis
import linecache
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import pytest

import minigrad
from minigrad.autograd import forward_ad, graph
from minigrad.config import GENERIC
from minigrad.core.frames import OFF, use
from minigrad.events import events, lock
from tests.functions import custom

FOLDER = os.path.dirname(minigrad.__file__)


class Interrupt:
    """Raises KeyboardInterrupt at the place with a number, of those in minigrad where Python looks for signals."""

    def __init__(self, number):
        self.number, self.passed, self.before, self.place = number, 0, {}, ""

    def trace(self, frame, event, _):
        if not frame.f_code.co_filename.startswith((FOLDER, "<dispatch")):
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            before = self.before.get(id(frame), "")
            self.before[id(frame)] = name_at(frame.f_code, frame.f_lasti)
            starts = before == "RESUME" and frame.f_code.co_name != "__exit__"
            if starts or before.startswith(("CALL", "JUMP_BACKWARD")):
                self.passed += 1
                if self.passed == self.number:
                    self.place = f"{frame.f_code.co_filename}:{frame.f_lineno}"
                    raise KeyboardInterrupt
        elif event == "call":
            self.before.pop(id(frame), None)
        elif event == "return" and frame.f_code.co_name not in ("__new__", "__init__"):  # it was a function in Python
            self.before.pop(id(frame.f_back), None)
        return self.trace


@cache
def names(code):
    return {step.offset: step.opname for step in dis.get_instructions(code)}


def name_at(code, place):
    return names(code).get(place, "")


def interrupted(program, number):
    """Run a program until a place; return where that is, or "" if the program came to its end."""
    one, before = Interrupt(number), sys.gettrace()
    sys._getframe().f_trace_opcodes = True  # Python 3.12 traces them only if a frame has asked before settrace
    sys.settrace(one.trace)
    try:
        program()
    except KeyboardInterrupt:
        return one.place
    finally:
        sys.settrace(before)
    return ""


Twice = custom("Twice", forward=lambda ctx, x: x + x, backward=lambda ctx, g: g + g)


X = minigrad.tensor([1.0, 2.0], requires_grad=True)


def switched_off():
    with minigrad.no_grad():
        pass


def switched_off_twice():
    with minigrad.no_grad(), minigrad.enable_grad():
        pass


@minigrad.no_grad()
def decorated():
    return X * 2.0


def inference():
    with minigrad.inference_mode():
        pass


def hooks():
    with graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        pass


def level():
    with forward_ad.dual_level():
        pass


def unhooked():
    with graph.disable_saved_tensors_hooks("none here"):
        pass


def at_a_frame():
    with use(OFF):
        pass


def backward():
    (X * X).sum().backward()


def custom():
    Twice.apply(X).sum().backward()


def transformed():
    return minigrad.vmap(minigrad.func.grad(lambda x: x * x))(minigrad.ones(2))


PROGRAMS = [
    switched_off,
    switched_off_twice,
    decorated,
    inference,
    hooks,
    level,
    unhooked,
    at_a_frame,
    backward,
    custom,
    transformed,
]


def changed(context):
    """Return the variables of a context whose values differ from those at the beginning."""
    began = contextvars.Context()
    return [var.name for var in context if var.name.startswith("minigrad.") and context[var] != began.run(var.get)]


@pytest.mark.cpu("is about modes, which a device does not know, and stops at thousands of places")
@pytest.mark.parametrize("program", PROGRAMS)
def test_an_interrupt_leaves_no_mode_active(program):
    program()
    number, left = 1, []
    while place := (context := contextvars.copy_context()).run(interrupted, program, number):
        left += [(place, name) for name in changed(context)]
        number += 1
    assert number > 3 and not left


@pytest.mark.cpu("memory of a device has a `__del__` that gives it back")
@pytest.mark.parametrize("program", [switched_off, inference, decorated])
def test_leaving_a_mode_runs_no_python(program):
    """Python drops a Ctrl-C that comes in a `__del__`."""
    called = []
    sys.setprofile(lambda frame, event, _: called.append(frame.f_code.co_name) if event == "call" else None)
    try:
        program()
    finally:
        sys.setprofile(None)
    assert "change" in called and not {"__del__", "not_entered"} & set(called)


# ---------------------------------------------------------------------- every line
RESTORING = {*"tracing restore listen undoing add remove __enter__ stop leave begin end run".split()}
FACTOR = minigrad.ones(2, requires_grad=True)
KEPT = []


class AtLine:
    """Raises KeyboardInterrupt before the line with a number, of those in functions that set something or restore it."""

    def __init__(self, number):
        self.number, self.places = number, []

    def trace(self, frame, event, _):
        code = frame.f_code
        if not code.co_filename.startswith(FOLDER) or code.co_name not in RESTORING:
            return None
        # at the end of `with lock:` Python asks for signals only after the lock is released
        if event == "line" and not linecache.getline(code.co_filename, frame.f_lineno).strip().startswith("with lock"):
            self.places.append((os.path.basename(code.co_filename), frame.f_lineno))
            if len(self.places) == self.number:
                raise KeyboardInterrupt
        return self.trace


def at_line(program, number):
    """Run a program until a line; return the lines up to there."""
    one, before = AtLine(number), sys.gettrace()
    sys.settrace(one.trace)
    try:
        program()
    except KeyboardInterrupt:
        pass
    finally:
        sys.settrace(before)
    return one.places


def keeps(x):
    KEPT.append(x)
    return x * KEPT[0]


def differentiates(x):
    (x * FACTOR).sum().backward()
    return print()


def refused():
    minigrad.compile(keeps)(X * 1)


def refused_with_gradients():
    minigrad.compile(differentiates)(X)
    FACTOR.grad = None


def recorded():
    minigrad.record(lambda x: (x * x).sum(), X)


def profiled():
    with minigrad.autograd.profiler.profile():
        pass


@pytest.mark.cpu("is about modes, which a device does not know, and stops at hundreds of places")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("program", [*([] if GENERIC else [refused]), refused_with_gradients, recorded, profiled])
def test_an_interrupt_at_any_line_that_restores_leaves_nothing_behind(program):
    program()
    lines, left = at_line(program, 0), []
    state = lambda: (FACTOR._edge, X._edge, [o for o in events.observers if type(o).__name__ == "Captures"])
    before = state()
    ends = {line: number for number, line in enumerate(lines, 1)}
    starts = {line: number for number, line in reversed([*enumerate(lines, 1)])}
    for number in sorted({*starts.values(), *ends.values()}):
        FACTOR.grad = None
        place = (context := contextvars.copy_context()).run(at_line, program, number)[-1]
        left += [(place, name) for name in changed(context)]
        assert context.run(lambda: (X * 2.0).sum().item()) == 6.0, place
        assert state() == before, place
    assert len(starts) > 5 and not left
    with ThreadPoolExecutor(1) as other:  # the lock is free
        assert other.submit(lock.acquire, timeout=5).result() and other.submit(lock.release).result() is None


IMPORT = """
import sys

def interrupt(frame, event, _):
    if not frame.f_code.co_filename.endswith(sys.argv[1]) or frame.f_code.co_name != "<module>":
        return None
    if event == "line" and frame.f_lineno >= int(sys.argv[2]):
        sys.settrace(None)
        raise KeyboardInterrupt
    return interrupt

sys.settrace(interrupt)
try:
    import minigrad
except KeyboardInterrupt:
    import minigrad
    x = minigrad.tensor([1.0, 2.0], requires_grad=True)
    minigrad.nn.functional.relu(x * x.exp()).var().backward()
    print(x.grad is not None)
"""


@pytest.mark.cpu("is about imports")
@pytest.mark.parametrize("file", ["ops/pointwise.py", "core/tensor.py", "nn/module.py", "minigrad/__init__.py"])
def test_an_import_that_was_interrupted_works_the_second_time(file):
    path = os.path.join(FOLDER, file.removeprefix("minigrad/"))
    with open(path, encoding="utf-8") as source:
        line = len(source.readlines()) * 3 // 4
    given = [sys.executable, "-c", IMPORT, os.path.normpath(file), str(line)]
    done = subprocess.run(given, capture_output=True, text=True, cwd=os.path.dirname(FOLDER), check=False)
    assert (done.stdout, done.stderr) == ("True\n", "")
