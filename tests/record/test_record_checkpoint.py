"""A record of a program with checkpoints: what is kept, and what is computed again in backward."""

import pytest

import minigrad as torch
import viz
from minigrad.record.validate import validate
from minigrad.utils.checkpoint import checkpoint


def block(x, w):
    h = (x * w).sin()
    return (h * h).exp() + 1


def recorded(inner=block, passes=("forward", "backward"), **options):
    x, w = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor([3.0, 4.0], requires_grad=True)
    with torch.record(passes=passes) as rec:
        y = checkpoint(inner, x, w, use_reentrant=False, **options)
        y.sum().backward()
    return rec.to_dict()


def entries(document, again):
    return [op for op in document["ops"] if op["phase"] == "backward" and op["again"] == again]


def named(document, phase):
    return [op["name"] for op in document["ops"] if op["phase"] == phase]


@pytest.mark.parametrize("passes", [("forward", "backward"), ("forward", "backward", "jvp")])
def test_a_recomputed_operation_is_an_entry_of_backward_that_names_the_original(passes):
    document = recorded(passes=passes)
    validate(document)
    forward = {op["id"]: op for op in document["ops"] if op["phase"] == "forward"}
    again = entries(document, True)
    assert [op["name"] for op in again] == ["mul", "sin", "mul", "exp"]  # the sum saves nothing, so it stops before
    assert [forward[op["of"]]["where"] for op in again] == [op["where"] for op in again]
    assert [op["of"] for op in again] == [0, 1, 2, 3]
    assert [op["name"] for op in entries(document, False)] == ["sum", "add", "exp", "mul", "sin", "mul"]
    assert named(document, "jvp") == ([] if len(passes) == 2 else named(document, "forward"))


def test_the_inputs_of_a_checkpoint_are_its_saved_tensors():
    document = recorded()
    forward = [op for op in document["ops"] if op["phase"] == "forward"]
    kept = {op["name"]: [s["value"] for s in op["saved"]] for op in forward if op["saved"]}
    assert kept == {"mul": forward[0]["inputs"]}
    (last,) = [op["id"] for op in entries(document, False) if op["of"] == 0]
    assert {s["freed_by"] for s in forward[0]["saved"]} == {last}
    assert not any(op["saved"] for op in entries(document, True))


def test_recording_changes_no_number():
    x, y = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    with torch.record():
        a = checkpoint(block, x, torch.ones(2), use_reentrant=False)
    a.sum().backward()  # computed again outside of the recording
    block(y, torch.ones(2)).sum().backward()
    assert torch.equal(x.grad, y.grad)


def test_a_checkpoint_inside_another_names_the_operations_of_forward():
    document = recorded(lambda x, w: checkpoint(torch.exp, x * w, use_reentrant=False).sin())
    again = entries(document, True)
    assert [op["name"] for op in again] == ["mul", "exp", "sin", "exp"]  # the outer one, and then the inner one
    assert [op["of"] for op in again] == [0, 1, 2, 1]
    assert len({op["where"]["line"] for op in again}) == 1


def test_pictures_mark_recomputed_operations():
    document = recorded()
    picture = viz.draw(document)
    assert picture.svg().count("computed again in backward") == 4
    assert picture.text().count("computed again in backward") == 4
    assert "saved for backward: " in picture.svg()
