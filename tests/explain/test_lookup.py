"""Where a derivative is looked up: recordings in memory, graphs that were kept; and what is said where neither is there."""

import gc
import threading

import pytest

import minigrad as torch

from .checked import adds_up


def test_a_recording_knows_a_gradient_while_it_is_alive():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with torch.record(passes=("forward", "backward")) as rec:
        (x * x).sum().backward()
        inside = torch.explain(x.grad)
    assert inside.numbers == torch.explain(x.grad).numbers == [2.0, 4.0]
    del rec
    gc.collect()
    with pytest.raises(ValueError, match="x.grad is known, but its derivation is not"):
        torch.explain(x.grad)


def test_results_of_grad_are_found_in_a_recording():
    for value in ([1.0, 2.0], 3.0):
        x = torch.tensor(value, requires_grad=True)
        with torch.record(passes=("forward", "backward")) as rec:
            h = x * x
            by_x, by_h = torch.autograd.grad(h.sin().sum(), (x, h))
        for g, name in ((by_x, "x"), (by_h, "h")):
            e = torch.explain(g)
            assert rec and e.label == "" and e.names[e.of] == name
            assert e.numbers == pytest.approx([float(n) for n in g.reshape(-1)])


def test_a_retained_graph_is_found():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    loss = (x * x).sum()
    loss.backward(retain_graph=True)
    e = torch.explain(x.grad)
    assert e.numbers == [2.0, 4.0] and str(e).startswith("x.grad = [2, 4]: 2 paths") and "∂loss/∂x" in str(e)


def test_the_graph_with_the_numbers_is_chosen_among_several():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    other = (x * 5).sum()
    loss = (x * x * x).sum()
    loss.backward(create_graph=True)
    later = (x * 7).sum()
    assert torch.explain(x.grad).numbers == [3.0, 12.0] and other is not later


@pytest.mark.parametrize("keep", [True, False])
def test_a_freed_graph_is_an_error_with_the_code_to_type(keep):
    x = torch.tensor(1.0, requires_grad=True)
    loss = x * torch.tensor(2.0)
    loss.backward()
    if not keep:
        del loss
    with pytest.raises(ValueError) as caught:
        torch.explain(x.grad)
    text = str(caught.value)
    assert "explain: x.grad is known, but its derivation is not" in text
    assert ("was freed by the backward at" in text) == keep and ("the graph is gone" in text) == (not keep)
    assert "with torch.record(" in text and "torch.explain(loss, x)" in text and "retain_graph=True" in text
    assert "test_lookup.py" in text


def test_explaining_a_tensor_that_is_no_derivative_is_an_error():
    with pytest.raises(ValueError, match="not the .grad of any tensor[^$]*with torch.record"):
        torch.explain(torch.ones(2))


def test_tensors_without_a_path_between_them_are_an_error():
    x, y = torch.ones(2, requires_grad=True), torch.ones(3, requires_grad=True)
    with pytest.raises(ValueError, match=r"shape \(\) does not depend on the one of shape \(3,\)"):
        torch.explain(x.sum(), y)
    with pytest.raises(ValueError, match="has no graph[^$]*requires_grad=True"):
        torch.explain(torch.ones(2), x)


def test_a_derivative_by_an_intermediate_is_found():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    h = x.exp()
    loss = (h * h).sum()
    e = torch.explain(loss, h)
    assert e.numbers == pytest.approx([2 * n for n in h.tolist()]) and x.grad is None
    adds_up(e)


def test_an_earlier_part_of_a_grad_is_noted():
    w = torch.tensor(2.0, requires_grad=True)
    (w * 100).backward()
    with torch.record(passes=("forward", "backward")) as rec:
        (w * w).backward()
    e = torch.explain(w.grad)
    assert rec and e.numbers == [4.0] and "the tensor now holds 104" in e.notes[0]


def test_several_backward_calls_in_a_recording_add_up():
    w = torch.tensor(2.0, requires_grad=True)
    with torch.record(passes=("forward", "backward")) as rec:
        (w * w).backward()
        (w * 3).backward()
    e = torch.explain(w.grad)
    assert rec and e.numbers == [7.0] and not e.notes and len(e.seeds) == 2
    adds_up(e)


def test_in_a_training_loop_the_last_step_is_explained():
    torch.manual_seed(0)
    net = torch.nn.Linear(3, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    x = torch.randn(5, 3)
    with torch.record(passes=("forward", "backward")) as rec:
        for _ in range(3):
            optimizer.zero_grad()
            net(x).square().sum().backward()
            optimizer.step()
    e = torch.explain(net.weight.grad)
    assert rec and e.label == "net.weight.grad" and not [n for n in e.notes if "holds" in n]
    assert e.numbers == pytest.approx(net.weight.grad.reshape(-1).tolist(), rel=1e-5)
    adds_up(e)


def test_recordings_of_other_threads_are_not_used():
    x = torch.tensor(1.0, requires_grad=True)
    kept = []

    def program():
        with torch.record(passes=("forward", "backward")) as rec:
            (x * torch.tensor(2.0)).backward()
        kept.append(rec)

    thread = threading.Thread(target=program)
    thread.start()
    thread.join()
    with pytest.raises(ValueError, match="x.grad is known"):
        torch.explain(x.grad)


def test_a_record_is_explained_by_name():
    rec = torch.record(lambda a, b: (a * b).sum(), torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0]))
    assert torch.explain(rec, of="b").numbers == [1.0, 2.0]


def test_debug_mode_keeps_the_last_backward_with_its_lines():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with torch.debug():
        h = x.exp()
        loss = (h * x).sum()
        loss.backward(torch.tensor(3.0))
    e = torch.explain(x.grad)
    text = str(e)
    assert e.numbers == pytest.approx(x.grad.tolist()) and not e.notes and "∂loss/∂loss = 3" in text
    assert "h = exp(x)" in text and "test_lookup.py:" in text
    adds_up(e)
    y = torch.tensor(2.0, requires_grad=True)
    with torch.debug():
        (g,) = torch.autograd.grad(y * y, y)
    assert torch.explain(g).numbers == [4.0]
    with pytest.raises(ValueError, match="under torch.debug"):
        torch.explain(x.grad)
