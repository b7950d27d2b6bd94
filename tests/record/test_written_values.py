"""A value is shown as it was when it was made, whatever writes to its memory later: a hook, a method, NumPy, another thread."""

import threading

import numpy as np
import pytest

import minigrad
from minigrad.autograd import Function
from tests.functions import custom

HOOKS = {
    "of a tensor": lambda h, write: h.register_hook(lambda g: [write(), None][1]),
    "of a node": lambda h, write: h.grad_fn.register_hook(lambda inputs, outputs: [write(), None][1]),
}
WRITES = {
    "add_": lambda t: t.add_(1),
    "fill_": lambda t: t.fill_(3),
    "copy_": lambda t: t.copy_(minigrad.ones(2)),
    "an element": lambda t: t.__setitem__(0, 5.0),
    "a view": lambda t: t.view(2, 1)[:1].mul_(0),
    "data": lambda t: t.data.sub_(1),
    "out": lambda t: minigrad.add(t, 1, out=t),
    "NumPy": lambda t: t.detach().numpy().__setitem__(0, 5.0),
    "a function of NumPy": lambda t: np.add(t.detach().numpy(), 1, out=t.detach().numpy()),
}


def values_of(record, kind):
    return [value["summary"]["values"] for value in record["values"] if value["kind"] == kind]


def writing(run, where):
    """Return a custom Function, x * 2, one of whose methods also calls `run`."""

    class Writes(Function):
        @staticmethod
        def forward(x):
            run() if where == "forward" else None
            return x * 2

        @staticmethod
        def setup_context(ctx, inputs, output):
            run() if where == "setup_context" else None

        @staticmethod
        def backward(ctx, g):
            run() if where == "backward" else None
            return g * 2

        @staticmethod
        def jvp(ctx, t):
            run() if where == "jvp" else None
            return t * 2

    return Writes


@pytest.fixture
def total():
    return minigrad.tensor([2.0, 4.0])


@pytest.fixture
def x():
    return minigrad.tensor([1.0, 3.0], requires_grad=True)


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_a_write_in_backward_leaves_the_value_of_forward(write, inside, x, total):
    count = writing(lambda: write(total), "backward")
    with minigrad.Record(inside=inside) as rec:
        (count.apply(x) + total).sum().backward()
    assert values_of(rec.to_dict(), "input") == [[2.0, 4.0]]
    assert total.tolist() != [2.0, 4.0]


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("where", ["forward", "setup_context", "jvp"])
def test_a_write_in_any_method_leaves_the_value_before_it(where, inside, x, total):
    count = writing(lambda: total.add_(1), where)
    with minigrad.Record(jvp=True, inside=inside) as rec:
        before = x + total
        (count.apply(x) + before).sum()
        x + total
    assert values_of(rec.to_dict(), "input") == [[2.0, 4.0], [3.0, 5.0]]


@pytest.mark.parametrize("hook", HOOKS.values(), ids=HOOKS)
@pytest.mark.parametrize("write", [WRITES["add_"], WRITES["NumPy"]], ids=["add_", "NumPy"])
def test_a_write_in_a_hook_leaves_the_value_of_forward(hook, write, x, total):
    with minigrad.record() as rec:
        h = x * 2
        hook(h, lambda: write(total))
        (h + total).sum().backward()
    assert values_of(rec.to_dict(), "input") == [[2.0, 4.0]]


def test_an_optimizer_in_a_hook_leaves_the_parameter_of_forward(x):
    optimizer = minigrad.optim.SGD([x], lr=1.0)
    x.register_post_accumulate_grad_hook(lambda p: optimizer.step())
    with minigrad.record() as rec:
        (x * x).sum().backward()
    assert values_of(rec.to_dict(), "parameter") == [[1.0, 3.0]] and x.tolist() == [-1.0, -3.0]


def test_a_computed_value_stays_as_it_was_when_backward_writes_to_it(x):
    with minigrad.record() as rec:
        h = x.detach() * 2
        (writing(lambda: h.zero_(), "backward").apply(x) + h).sum().backward()
    assert [2.0, 6.0] in values_of(rec.to_dict(), "computed") and h.tolist() == [0.0, 0.0]


def test_numpy_writes_between_operations_are_values_of_their_own(x, total):
    with minigrad.record() as rec:
        array = total.numpy()
        for number in (5.0, 6.0):
            x + total
            array[0] = number
        x + total
        total.add_(1)
        x + total
        array[1] = -1.0
    record = rec.to_dict()
    assert values_of(record, "input") == [[2.0, 4.0], [5.0, 4.0], [6.0, 4.0]]
    assert [7.0, 5.0] in values_of(record, "computed")


def test_a_write_to_the_array_behind_a_tensor_leaves_its_value(x):
    with minigrad.record() as rec:
        array = np.array([2.0, 4.0], np.float32)
        x + minigrad.from_numpy(array)
        array[:] = 0
    assert values_of(rec.to_dict(), "input") == [[2.0, 4.0]]


def test_numpy_that_writes_the_same_bits_changes_nothing(x):
    held = minigrad.tensor([float("nan"), 1.0])
    with minigrad.record() as rec:
        x + held
        held.numpy()[0] = held.numpy()[0]
        x + held
    assert values_of(rec.to_dict(), "input") == [["nan", 1.0]]


def test_a_write_by_another_thread_leaves_the_value(x, total):
    with minigrad.record() as rec:
        x + total
        thread = threading.Thread(target=lambda: total.add_(1))
        thread.start()
        thread.join()
    assert values_of(rec.to_dict(), "input") == [[2.0, 4.0]]


@pytest.mark.parametrize("size", [2, 20_000], ids=["small", "large enough for an optimizer's kernel"])
def test_writes_after_the_recording_do_not_change_it(size):
    w = minigrad.ones(size, requires_grad=True)
    optimizer = minigrad.optim.SGD([w], lr=0.5)
    with minigrad.record() as rec:
        (w * w).sum().backward()
    optimizer.step()
    (value,) = [value for value in rec.to_dict()["values"] if value["kind"] == "parameter"]
    assert value["summary"].get("values", [1.0, 1.0]) == [1.0, 1.0] and value["summary"].get("min", 1.0) == 1.0
    assert w[0].item() == 0.0


def test_the_values_inside_of_a_method_stay_as_they_were_too(x, total):
    Scaled = custom("Scaled", forward=lambda ctx, x: x * total, backward=lambda ctx, g: g * total)
    with minigrad.Record(inside=True) as rec:
        y = Scaled.apply(x).sum()
        total.add_(1)
        y.backward()
    total.zero_()
    (op,) = [op for op in rec.to_dict()["ops"] if op["phase"] == "forward" and op["inside"]]
    read = {
        ran["method"]: [value["summary"]["values"] for value in ran["values"] if value["id"] in ran["ops"][0]["inputs"]]
        for ran in op["inside"]
    }
    assert [2.0, 4.0] in read["forward"] and [3.0, 5.0] in read["backward"]


def test_buffers_of_a_module_are_shown_before_and_after_its_call():
    norm = minigrad.nn.BatchNorm1d(1)
    with minigrad.record() as rec:
        norm(minigrad.tensor([[1.0], [3.0]])).sum().backward()
    shown = {value["shown"]: value["summary"]["values"] for value in rec.to_dict()["values"]}
    assert [0.0] in shown.values() and norm.running_mean.tolist() == [pytest.approx(0.2)]


def memory():
    """Return a tensor and a view of it."""
    base = minigrad.ones(3)
    return base, base[:1]


def unseen(view):
    """Write to a tensor in a hook, which a recording does not show as an operation."""
    h = minigrad.ones(1, requires_grad=True) * 4
    h.register_hook(lambda g: [view.mul_(5), None][1])
    h.sum().backward()


@pytest.mark.parametrize(
    "write",
    [
        lambda base, view: [base.mul_(2), base.mul_(3)],
        lambda base, view: [base.mul_(2), unseen(view), base.mul_(3)],
        lambda base, view: [unseen(view), base.mul_(3)],
    ],
    ids=["an operation", "an operation and a hook", "a hook"],
)
def test_a_view_read_after_several_writes_is_a_result_of_the_last_one(write):
    base, view = memory()
    with minigrad.record() as rec:
        view + base
        write(base, view)
        view + 7
    ops = [op for op in rec.to_dict()["ops"] if op["phase"] == "forward"]
    (maker,) = [op for op in ops if ops[-1]["inputs"][0] in op["outputs"]]
    assert maker is [op for op in ops if op["inplace"]][-1]


def test_a_view_read_after_a_hook_wrote_is_no_result_of_the_operation_before():
    base, view = memory()
    with minigrad.record() as rec:
        view + base
        base.mul_(2)
        unseen(view)
        view + 7
    made = rec.to_dict()
    read = [op for op in made["ops"] if op["phase"] == "forward"][-1]["inputs"][0]
    assert made["values"][read]["summary"]["values"] == [10.0]
    assert all(read not in op["outputs"] for op in made["ops"])


def test_a_view_that_is_taken_again_comes_after_the_write_and_has_the_line_that_reads_it():
    w = minigrad.ones(1, requires_grad=True)
    with minigrad.record() as rec:
        base = w.expand(3) * 1
        view = base[:1]
        base.mul_(3)
        view * 7
    ops = [op for op in rec.to_dict()["ops"] if op["phase"] == "forward"]
    assert [op["name"] for op in ops[-3:]] == ["mul", "index", "mul"]
    written, taken, read = ops[-3:]
    assert taken["inputs"][0] in written["outputs"] and read["inputs"][0] in taken["outputs"]
    assert taken["where"]["line"] == read["where"]["line"] == written["where"]["line"] + 1
