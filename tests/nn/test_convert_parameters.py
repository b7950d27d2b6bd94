"""Parameters to one vector and back."""

import pytest

import minigrad as torch
from minigrad.nn.utils import parameters_to_vector, vector_to_parameters


def test_a_vector_has_all_elements_in_order_and_their_history():
    a, b = torch.tensor([[1.0, 2.0]], requires_grad=True), torch.tensor(3.0, requires_grad=True)
    vector = parameters_to_vector(p for p in (a, b))
    assert vector.tolist() == [1, 2, 3]
    (vector * torch.tensor([1.0, 10.0, 100.0])).sum().backward()
    assert a.grad.tolist() == [[1, 10]] and b.grad.item() == 100


def test_parameters_share_the_vector_that_sets_them():
    layer, vector = torch.nn.Linear(2, 1), torch.arange(3.0)
    ids = list(map(id, layer.parameters()))
    vector_to_parameters(vector, layer.parameters())
    vector.add_(1)
    assert layer.weight.tolist() == [[1, 2]] and layer.bias.tolist() == [3]
    assert list(map(id, layer.parameters())) == ids and layer.weight.requires_grad and layer.weight.is_leaf


@pytest.mark.parametrize(
    "call, kind, words",
    [
        (lambda: vector_to_parameters([1.0], [torch.ones(1)]), TypeError, "but got list"),
        (
            lambda: vector_to_parameters(torch.ones(2), [torch.ones(3)]),
            RuntimeError,
            "2 elements, but the parameters have 3",
        ),
        (
            lambda: parameters_to_vector([torch.ones(1), torch.ones(1, device="meta")]),
            TypeError,
            "different devices: cpu and meta",
        ),
    ],
)
def test_it_refuses_what_has_no_meaning(call, kind, words):
    with pytest.raises(kind, match=words):
        call()
