"""A recording costs little while the program runs, and notes values as they are at that time."""

import gc
import threading
import weakref

import numpy as np
import pytest

import minigrad
from benchmarks.counts import calls_of
from minigrad.autograd import Function
from minigrad.nn import functional as F
from tests.functions import custom

from .recorded import Square, forward

PASSES = ("forward", "backward")


def leaf(*values):
    return minigrad.tensor(values, requires_grad=True)


def recorded(program):
    """Return the document of a program that runs in a block."""
    with minigrad.record(passes=PASSES) as rec:
        kept = program()
    document = rec.to_dict()
    del kept
    return document


def held(document, value):
    return document["values"][value]["summary"]["values"]


# ---------------------------------------------------------------------- the price
COUNTED = pytest.mark.cpu("a recording keeps values, for which a device's allocator calls more to get memory")


def more_calls(run):
    """Calls without a recording, and how many more there are under one."""
    for _ in range(3):
        run()
    before = calls_of(run)
    with minigrad.record(passes=PASSES):
        run()
        during = calls_of(run)
    assert calls_of(run) == before  # nothing is left behind
    return before, during - before


@COUNTED
def test_recording_an_operation_costs_four_more_calls():
    x, y = leaf(1.0, 2.0), leaf(3.0, 4.0)
    _, more = more_calls(lambda: x * y + y)
    assert more <= 2 * 4  # the note, two looks at where we are, the entry of the log


@COUNTED
def test_recording_a_function_of_the_table_costs_few_more_calls():
    x = leaf(1.0, 2.0)
    assert more_calls(lambda: minigrad.sin(x))[1] <= 6
    assert more_calls(lambda: x.sum())[1] <= 30


@COUNTED
def test_recording_a_backward_node_costs_three_more_calls():
    def chain(n):
        y = x
        for _ in range(n):
            y = y * f
        return y

    def backward(n):
        before, more = more_calls(lambda: chain(n).backward())
        return more

    x, f = leaf(1.0), minigrad.tensor([1.5])
    assert backward(30) - backward(10) <= 20 * (4 + 3)  # of the forward and of the backward


@COUNTED
@pytest.mark.parametrize("program, most", [("custom", 2.0), ("network", 2.0), ("update", 2.7)])
def test_recording_a_program_makes_about_twice_the_calls(program, most):
    x, labels = leaf(1.0, 2.0), minigrad.tensor([0, 1])
    net = minigrad.nn.Sequential(minigrad.nn.Linear(3, 4), minigrad.nn.ReLU(), minigrad.nn.Linear(4, 2))
    optimizer = minigrad.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    images = minigrad.ones(2, 3)

    def custom():
        Square.apply(x).sum().backward()

    def network():
        optimizer.zero_grad()
        F.cross_entropy(net(images), labels).backward()

    def update():
        network()
        optimizer.step()

    before, more = more_calls({"custom": custom, "network": network, "update": update}[program])
    assert before + more <= most * before


def test_a_record_is_freed_without_the_collector():
    x = leaf(1.0, 2.0)
    gc.disable()
    try:
        with minigrad.record(passes=PASSES) as rec:
            (x * x).sum().backward()
        rec.to_dict()
        alive = weakref.ref(rec)
        del rec
        assert alive() is None
    finally:
        gc.enable()


def test_the_log_is_processed_once():
    x = leaf(1.0, 2.0)
    with minigrad.record(passes=PASSES) as rec:
        y = x * x
        first = rec.to_dict()
        y.sum().backward()
        second = rec.to_dict()
    assert [len(d["ops"]) for d in (first, second, rec.to_dict())] == [1, 4, 4]
    assert not rec.log


# ---------------------------------------------------------------------- noted late, as it was then
def test_data_may_be_replaced_before_the_document_is_made():
    x = leaf(1.0, 2.0)
    with minigrad.record(passes=PASSES) as rec:
        _ = x * 3
    x.data = minigrad.tensor([7.0, 7.0])
    assert held(rec.to_dict(), 0) == [1.0, 2.0]


@pytest.mark.parametrize("use", [lambda x: x * 3, lambda x: x > 1], ids=["a product", "a comparison"])
def test_requires_grad_that_changes_before_the_document_is_made(use):
    x = leaf(1.0, 2.0)
    with minigrad.record(passes=PASSES) as rec, minigrad.no_grad():
        _ = use(x)
    x.requires_grad_(False)
    assert rec.to_dict()["values"][0]["kind"] == "parameter"


def test_the_gradient_of_a_freed_leaf_is_recorded():
    def program():
        x = leaf(1.0, 2.0)
        (x.detach() * x).sum().backward()

    document = recorded(program)
    assert held(document, document["gradients"]["0"]) == [1.0, 2.0]


def test_views_of_a_parameter_keep_what_they_held_before_the_update():
    w = minigrad.tensor(np.asfortranarray([[1.0, 2.0], [3.0, 4.0]]))
    row, column = w[0], w[:, 1]

    def program():
        before = row * 1, column * 1
        with minigrad.no_grad():
            w.add_(10)
        return before, row * 1, column * 1

    document = recorded(program)
    first, second, *_, third, fourth = forward(document)
    assert [held(document, op["inputs"][0]) for op in (first, second)] == [[1.0, 2.0], [2.0, 4.0]]
    assert [held(document, op["inputs"][0]) for op in (third, fourth)] == [[11.0, 12.0], [12.0, 14.0]]


def test_tensors_on_foreign_memory_are_recorded():
    memory = np.ones(4, np.float32)
    a, b = (minigrad.from_numpy(np.frombuffer(memory.data, np.float32, 2, at)) for at in (0, 4))

    def program():
        c = b * 1
        with minigrad.no_grad():
            a.add_(1)
        return c, b * 1

    document = recorded(program)
    first, _, second = forward(document)
    assert [held(document, op["inputs"][0]) for op in (first, second)] == [[1.0, 1.0], [2.0, 1.0]]


def test_recorded_gradients_do_not_change_when_more_are_added():
    x = leaf(1.0, 2.0)

    def program():
        (x * 3).sum().backward()
        (x * 4).sum().backward()

    document = recorded(program)
    gives = [held(document, e["gives"]) for op in forward(document) for e in op["edges"] if op["name"] == "mul"]
    assert gives == [[3.0, 3.0], [4.0, 4.0]]
    assert x.grad.tolist() == [7.0, 7.0]


@pytest.mark.cpu("arrays of NumPy lie in the computer's memory")
def test_a_function_that_writes_by_numpy():
    class Tripled(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            x.detach().numpy()[...] *= 3
            return x

        @staticmethod
        def backward(ctx, g):
            return g * 3

    document = recorded(lambda: Tripled.apply(leaf(1.0, 2.0) * 1))
    mul, tripled = forward(document)
    assert tripled["inplace"]
    assert held(document, mul["outputs"][0]) == [1.0, 2.0]
    assert held(document, tripled["outputs"][0]) == [3.0, 6.0]


@pytest.mark.parametrize("several", [tuple, list])
def test_a_function_that_returns_a_tuple_of_one_is_recorded(several):
    Doubled = custom("Doubled", forward=lambda ctx, x: several([x * 2]), backward=lambda ctx, g: g * 2)
    document = recorded(lambda: Doubled.apply(leaf(1.0, 2.0))[0].sum())
    doubled, total = forward(document)
    assert held(document, doubled["outputs"][0]) == [2.0, 4.0]
    assert total["inputs"][0] == doubled["outputs"][0]


def test_two_views_of_one_memory_written_by_one_function():
    Both = custom(
        "Both",
        forward=lambda ctx, x, y: ctx.mark_dirty(x, y) or (x.mul_(3), y.add_(1)),
        backward=lambda ctx, g, h: (g * 3, h),
    )

    def program():
        base = leaf(1.0, 2.0, 3.0, 4.0) * 1
        Both.apply(base[:1], base[2:])
        return base * 1

    document = recorded(program)
    first, last = forward(document)[0], forward(document)[-1]
    assert held(document, first["outputs"][0]) == [1.0, 2.0, 3.0, 4.0]
    assert held(document, last["inputs"][0]) == [3.0, 2.0, 4.0, 5.0]


# ---------------------------------------------------------------------- the backward on arrays
def upstreams_follow(document):
    """Return True if the gradient from an edge of the only consumer arrives at the producer under the same id."""
    ops = forward(document)
    for producer, consumer in zip(ops, ops[1:]):
        (given,) = [e["gives"] for e in consumer["edges"] if e["input"] == producer["outputs"][0]]
        if {e["upstream"] for e in producer["edges"]} != {given}:
            return False
    return True


@pytest.mark.parametrize("hook", [None, lambda g: None])
def test_single_numbers_are_followed_along_the_edges(hook):
    def program():
        x = leaf(2.0)[0]
        y = x * 3
        if hook is not None:
            y.register_hook(hook)
        Square.apply(y.exp()).sin().backward()

    assert upstreams_follow(recorded(program))


def test_node_hooks_are_recorded_between_edges():
    x = leaf(1.0, 2.0)

    def program():
        y = x * 2
        y.grad_fn.register_prehook(lambda gs: (gs[0] * 10,))
        y.grad_fn.register_hook(lambda inputs, outputs: (inputs[0] * 100, None))
        (y * 1).sum().backward()

    document = recorded(program)
    (edge,) = forward(document)[0]["edges"]
    assert held(document, edge["upstream"]) == [10.0, 10.0]
    assert held(document, edge["gives"]) == [20.0, 20.0]
    assert x.grad.tolist() == [2000.0, 2000.0]


def test_a_forward_run_again_inside_backward_is_noted_there():
    class Checkpointed(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x.sin() * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            x = x.detach().requires_grad_()
            with minigrad.enable_grad():
                y = x.sin() * x
            y.backward(g)
            return x.grad

    def program():
        Checkpointed.apply(leaf(1.0, 2.0)).sum().backward()

    document = recorded(program)
    again = [op for op in document["ops"] if op["phase"] == "backward" and op["name"] == "Checkpointed"]
    assert any(op["saved"] for op in again)
    assert forward(document)[0]["edges"][0]["partial"] == "Checkpointed.backward"


def test_a_function_that_has_no_gradient_for_its_first_input():
    Second = custom("Second", forward=lambda ctx, x, y: x + y, backward=lambda ctx, g: (None, g * 5))
    document = recorded(lambda: Second.apply(leaf(1.0), leaf(2.0)).backward(minigrad.ones(1)))
    (op,) = forward(document)
    (edge,) = op["edges"]
    assert edge["input"] == op["inputs"][1]
    assert held(document, edge["gives"]) == [5.0]


def test_backward_with_inputs_that_are_no_leaves_is_recorded():
    def program():
        x = leaf(1.0, 2.0)
        y = x * 2
        z = (y * y).sum()
        return minigrad.autograd.grad(z, y)

    document = recorded(program)
    y = forward(document)[0]["outputs"][0]
    assert held(document, document["gradients"][str(y)]) == [4.0, 8.0]


def test_other_threads_are_not_recorded():
    x = leaf(1.0, 2.0)

    def program():
        thread = threading.Thread(target=lambda: (x * x).sum().backward())
        thread.start()
        thread.join()
        return x * 3

    assert [op["name"] for op in recorded(program)["ops"]] == ["mul"]


def test_recordings_may_be_nested():
    x = leaf(1.0, 2.0)
    with minigrad.record(passes=PASSES) as outer, minigrad.record(passes=PASSES) as inner:
        (x * 3).sum().backward()
    for rec in (outer, inner):
        assert [op["name"] for op in forward(rec.to_dict())][:2] == ["mul", "sum"]


def test_an_operation_with_out_is_one_entry():
    x, target = minigrad.ones(2), minigrad.zeros(2)
    document = recorded(lambda: minigrad.sin(x, out=target))
    (op,) = document["ops"]
    assert op["name"] == "sin" and op["formula"].startswith("sin(input")


def test_the_garbage_collector_runs_rarely_during_a_recording():
    before = gc.get_threshold()
    with minigrad.record(), minigrad.record():
        assert gc.get_threshold()[0] > before[0]
    assert gc.get_threshold() == before


def test_a_program_that_sets_the_collectors_thresholds_while_it_is_recorded_keeps_them():
    before = gc.get_threshold()
    try:
        with minigrad.record():
            gc.set_threshold(123, 4, 5)
        assert gc.get_threshold() == (123, 4, 5)
    finally:
        gc.set_threshold(*before)


def test_the_operations_of_a_hessian_have_the_line_that_asks_for_it():
    x = minigrad.tensor([1.0, 2.0])

    def program():
        return minigrad.func.hessian(lambda x: (x**3).sum())(x)

    ops = [op for op in minigrad.record(program, passes=()).to_dict()["ops"] if op["phase"] == "forward"]
    assert {op["where"]["file"] for op in ops} == {__file__}
    assert [op["name"] for op in ops if not op["layer"]] == ["movedim"]
