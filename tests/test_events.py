"""The interface for what observes the engine: each event reaches the observers that have a method for it."""

import ast
import re
import sys
import threading
from pathlib import Path

import pytest

import minigrad as torch
from minigrad.core.frames import current, enter
from minigrad.events import Events, Interceptor, Observer, Services, events, services, unheard
from tests.functions import custom

PACKAGE = Path(torch.__file__).parent
EVENTS, QUESTIONS = ([name for name in vars(kind) if not name.startswith("_")] for kind in (Observer, Interceptor))
ON_FRAMES = [*EVENTS[: EVENTS.index("dual_made")], "pack"]
IMPORT = re.compile(r"^from \.+events import .*", re.MULTILINE)
IMPORTED = lambda name, text: re.search(rf"import .*\b{name}\b", text)
TEXTS = [text for path in PACKAGE.rglob("*.py") if IMPORT.search(text := path.read_text(encoding="utf-8"))]


@pytest.fixture
def observed():
    """Add an observer for one test."""
    added = []

    def add(observer):
        added.append(observer)
        events.add(observer)

    yield add
    for observer in added:
        events.remove(observer)


def test_every_event_is_told_somewhere_and_nothing_else_is():
    def uses(name):
        nodes = [node for text in TEXTS if IMPORTED(name, text) for node in ast.walk(ast.parse(text))]
        return {n.attr for n in nodes if isinstance(n, ast.Attribute) and ast.unparse(n.value) == name}

    told = uses("events") - {"add", "remove"} - set(dir(dict))  # events.py itself tells not_finite
    assert told - {"node_made"} == set(EVENTS) - set(ON_FRAMES) - {"not_finite"} and "node_made" in told
    assert uses("intercept") == set(QUESTIONS) - set(ON_FRAMES)
    assert all(any(re.search(rf"\b(?:o|observer)\.{name}\(", t) for t in TEXTS) for name in ON_FRAMES)


def test_an_event_without_observers_calls_the_empty_function():
    own = Events()
    assert all(getattr(own, name) is unheard for name in EVENTS) and own.drawn(None) is None
    assert all(getattr(own.intercept, name) is unheard for name in QUESTIONS) and own.intercept.item(None) is None


def test_only_overridden_methods_are_called_and_the_first_answer_counts():
    class Silent(Observer):
        def read(self, t, how):
            heard.append(how)

    class Answering(Interceptor, Silent):
        def __init__(self, answer):
            self.answer = answer

        def item(self, t):
            return self.answer

    heard, own = [], Events()
    own.add(Observer())
    assert own.read is unheard
    own.add(one := Silent())
    own.add(one)
    own.read(None, "item")
    assert heard == ["item"] and own.intercept.item is unheard
    for answer in (None, 0, 5):
        own.add(Answering(answer))
    own.read(None, "numpy")
    assert own.intercept.item(None) == 0 and heard == ["item"] + ["numpy"] * 4
    own.remove(one)
    assert one not in own.observers and own.drawn is unheard


def test_no_observer_is_lost_when_threads_add_and_remove_theirs():
    own, interval = Events(), sys.getswitchinterval()
    lasting = [Observer() for _ in range(4)]

    def work(observer):
        for _ in range(200):
            own.add(passing := Observer())
            own.remove(passing)
        own.add(observer)

    threads = [threading.Thread(target=work, args=(o,)) for o in lasting]
    try:
        sys.setswitchinterval(1e-6)
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    finally:
        sys.setswitchinterval(interval)
    assert set(own.observers) == set(lasting)


def test_observers_of_the_process_hear_what_happens_in_it(observed):
    class Log(Observer):
        def drawn(self, t):
            log.append(("drawn", tuple(t.shape)))

        def module_begins(self, module):
            log.append(("begins", type(module).__name__))

        def module_ends(self, module):
            log.append(("ends", type(module).__name__))

        def defined(self, cls):
            log.append(("defined", cls.__name__))

        def attached(self, name, args, outs):
            log.append((name, len(args), len(outs)))

        def backward_ends(self, run, found):
            log.append(("backward", len(found)))

    log = []
    observed(Log())
    x = torch.randn(2, requires_grad=True)

    Double = custom("Double", forward=lambda ctx, x: x * 2, backward=lambda ctx, g: g * 2)

    y = torch.nn.Identity()(Double.apply(x)).sum()
    torch.autograd.grad(y, x)
    assert log == [
        ("drawn", (2,)),
        ("defined", "Double"),
        ("Double", 1, 1),
        ("begins", "Identity"),
        ("ends", "Identity"),
        ("backward", 1),
    ]


def test_observers_of_a_frame_hear_what_runs_there():
    class Log(Observer):
        def op_done(self, frame, cls, args, outs, node):
            log.append(cls.function_name())

    log, before, x = [], current(), torch.ones(2)
    try:
        enter(before.observed(Log()))
        x * 3
    finally:
        enter(before)
    x + 3
    assert log == ["mul"]


def test_services_are_provided_by_name():
    own = Services()
    assert str(own.problem("a rule", n=3)) == "a rule: n=3" and own.accelerate(None) is False
    own.provide(notice=lambda code, **facts: code)
    assert own.notice("seen") == "seen" and services.notice is not own.notice
    with pytest.raises(AssertionError):
        own.provide(unknown=print)
