"""PyTorch programs that run several backward passes: a loss is shown and explained by the pass that began there."""

import pytest
import torch

import viz
from tests.viz.test_backward_passes import (
    BOTH,
    HEAD,
    LEAVES,
    LOOP,
    PROGRAMS,
    TWICE,
    TWO,
    check,
    expected,
    leaf_of,
    numbers,
)
from viz import text
from viz.commands.explain_command import explanation
from viz.errors import Usage
from viz.programs.run_program import Program
from viz.viewer.content import content

LOST = {"a penalty on the gradient"}  # drawn as one story of both derivatives


def program(source, **more):
    return Program("prog.py", source.replace("import minigrad as torch", "import torch").encode(), **more)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_loss_is_shown_with_the_gradients_of_its_own_pass(name):
    for loss, wanted in expected(torch, name).items():
        record, _ = program(HEAD + PROGRAMS[name]).record(loss, BOTH)
        drawing = viz.Drawing(record, BOTH)
        graph, page = drawing.whole, content(drawing.whole)
        pairs, values = dict(page["gradients"]), list(page["values"])
        for leaf, grad in zip(LEAVES, wanted):
            there = [i for i in leaf_of(record, leaf) if i in graph.shown]
            if not there:
                assert grad is None or not grad.any()
                continue
            check(numbers(graph.gradient(there[-1])), grad, (loss, leaf))
            place = next(i for i, v in enumerate(record["values"]) if v["id"] == there[-1])
            check(values[pairs[place]]["all"] if place in pairs else None, grad, (loss, leaf, "page"))
            if grad is not None:
                assert text.nested(grad.tolist()) in drawing.text()


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name not in LOST])
def test_a_derivation_of_a_loss_is_that_of_its_own_pass(name):
    for loss, wanted in expected(torch, name).items():
        for leaf, grad in zip(LEAVES, wanted):
            if grad is None:
                with pytest.raises(Usage, match="has no gradient here"):
                    explanation(program(HEAD + PROGRAMS[name]), loss, leaf, None, None)
            else:
                found = explanation(program(HEAD + PROGRAMS[name]), loss, leaf, None, None)
                check(found.numbers, grad, (loss, leaf))


def drawn(source, name="loss", **more):
    return viz.Drawing(program(source, **more).record(name, BOTH)[0], BOTH).text()


def test_passes_iterations_and_several_losses_are_chosen_as_in_minigrad():
    assert "backward 2 of 2, prog.py:5" in drawn(TWICE) and "grad += [40], now [52]: 12 from prog.py:4" in drawn(TWICE)
    assert "backward 1 of 2, prog.py:4" in drawn(TWICE, backward=1) and "grad = [12]" in drawn(TWICE, backward=1)
    assert "iteration 3 of 50" in drawn(LOOP.replace("N", "50"), iteration=3)
    words = drawn(TWO, "a,b")
    assert "grad from a = [3]" in words and "grad from b = [36]" in words


@pytest.mark.parametrize(
    "lines",
    [
        "h.register_hook(lambda g: g * 5)\na = h.exp().sum()\na.backward()",
        "a = h.exp().sum()\ntorch.autograd.backward([a, h], [torch.tensor(1.0), torch.tensor([10.0, 20.0])])",
    ],
)
def test_gradients_that_no_operation_sends_are_marked_as_in_minigrad(lines):
    source = HEAD + "h = w * v\n" + lines
    both = [Program("prog.py", source.encode()), program(source)]
    ours, theirs = [str(explanation(one, "a", "w", None, None)) for one in both]
    assert theirs == ours and "a hook set it, or a backward started here" in theirs
