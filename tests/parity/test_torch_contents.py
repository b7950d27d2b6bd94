"""viz.from_torch: the elements from which a program is computed again, and where it reads elements."""

import base64

import numpy as np
import pytest
import torch

import viz
from minigrad.record.validate import validate

F = torch.nn.functional


def recorded(f, *args):
    document = viz.from_torch(f, *args).to_dict()
    validate(document)
    return document


def labels(document):
    return {document["values"][int(value)]["label"] for value in document["contents"]}


def test_leaves_and_tangents_have_their_elements():
    w = torch.randn(4, 5, dtype=torch.float64, requires_grad=True)
    document = recorded(lambda w: (w.exp() * w).sum(), w)
    assert labels(document) == {"w", "w_t"}
    found = np.frombuffer(base64.b64decode(document["contents"]["0"]), "<f8")
    assert found.tolist() == w.detach().reshape(-1).tolist()


def test_bfloat16_has_two_bytes():
    x = torch.ones(4, 5, dtype=torch.bfloat16)
    assert base64.b64decode(recorded(lambda x: x * 2.0, x)["contents"]["0"]) == b"\x80\x3f" * 20


def test_results_of_operations_that_draw_random_numbers_have_their_elements():
    document = recorded(lambda x: F.dropout(x, 0.5) * 2, torch.ones(4, 5))
    (op,) = [op for op in document["ops"] if op["name"] == "dropout" and op["phase"] == "forward"]
    assert set(map(str, op["outputs"])) <= document["contents"].keys()


def test_reads_have_the_function_the_value_and_the_line():
    def f(x):
        loss = (x * x).sum()
        if loss > 1:
            loss = loss / loss.item()
        f"{loss}", repr(loss)
        return loss + x[x > 0].sum() + len(x.nonzero())

    document = recorded(f, torch.tensor([1.0, -2.0]))
    found = [(read["how"], document["values"][read["value"]]["shown"]) for read in document["reads"]]
    assert [how for how, _ in found] == ["bool", "item", "getitem", "nonzero"]
    assert found[-1][1] == "x"
    assert document["reads"][0]["where"]["code"] == "if loss > 1:"


@pytest.mark.parametrize("word", ["__ge__", "__init__", "__class__", "overloads", "exp", "no_such_operation"])
def test_a_word_that_is_no_operation_of_pytorch_draws_nothing(word):
    from viz.pytorch.torch_contents import draws

    assert not draws(word) and draws("normal_")


def test_a_program_that_makes_a_distribution_can_be_drawn():
    def f(x):
        torch.distributions.Normal(torch.zeros(3), torch.ones(3))
        return (x * 2).sum()

    assert recorded(f, torch.ones(4, 5))["ops"]
