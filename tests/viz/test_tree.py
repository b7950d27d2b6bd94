"""The display of models and state dicts: a tree of their tensors with maps, gradients, shared tensors and paths."""

import base64
import io
import re

import numpy as np
import pytest

import minigrad as torch
from minigrad import nn
from viz.notebook.facets import COLOURS, GROUND, INFINITE, NAN, colours, facets, tiles
from viz.notebook.tree import tree, tree_of


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(6, 4)
        self.layers = nn.Sequential(nn.Linear(4, 3), nn.Tanh())
        self.head = nn.Linear(4, 6, bias=False)
        self.head.weight = self.embed.weight
        self.register_buffer("mask", torch.ones(3))


@pytest.fixture
def model():
    torch.manual_seed(0)
    return Tied()


def pixels(html):
    """Return the palette indices of the first image."""
    from PIL import Image

    data = re.search(r"base64,([^\"]+)", html)[1]
    return np.array(Image.open(io.BytesIO(base64.b64decode(data))))


def test_a_cell_that_ends_in_a_model_shows_its_tree(model):
    shown = model._repr_mimebundle_()
    assert shown["text/plain"] == repr(model)
    html = shown["text/html"]
    assert "Tied()" in html and "5 tensors, 42 elements" in html
    for path in ("embed.weight", "layers[0].weight", "layers[0].bias", "head.weight", "mask"):
        assert f">model.{path}</code>" in html
    assert "layers[1]" in html and "viz.draw(model, x, passes=&quot;all&quot;)" in html


def test_shared_tensors_have_one_colour_and_count_once(model):
    html = tree(model, "net")
    assert "shared with net.head.weight" in html and "shared with net.embed.weight" in html
    assert len(set(re.findall(r"color: (#\w+)", html))) == 1
    assert f"{6 * 4 + 4 * 3 + 3 + 3} elements" in html
    state = tree(model.state_dict(), "state")
    assert "shared with state[&#x27;head.weight&#x27;]" in state and "viz.draw" not in state


def test_gradients_stand_beside_values(model):
    before = tree(model)
    assert ">grad" not in before
    (model.layers(model.embed(torch.tensor([1, 2]))) ** 2).sum().backward()
    after = tree(model)
    assert after.count(">grad: ") == 4 and after.count("<img") == before.count("<img") + 4


def test_a_display_changes_nothing(model):
    versions = [p._version for p in model.parameters()]
    flags = [p.requires_grad for p in model.parameters()]
    rng = torch.get_rng_state().tolist()
    tree(model)
    assert [p._version for p in model.parameters()] == versions and torch.get_rng_state().tolist() == rng
    assert [p.requires_grad for p in model.parameters()] == flags


def test_text_of_a_program_is_no_markup():
    class Odd(nn.Module):
        def extra_repr(self):
            return "<script>alert(1)</script>"

    odd = nn.ModuleDict({"<b>": Odd()})
    odd["<b>"].weight = nn.Parameter(torch.ones(2))
    assert "<script>" not in tree(odd) and "<b><b>" not in tree(odd)


def test_a_part_that_raises_leaves_the_text():
    class Broken(nn.Linear):
        def extra_repr(self):
            if self.in_features == 3:
                raise ZeroDivisionError
            return "fine"

    made = Broken(2, 2)
    made.in_features = 3
    with pytest.raises(ZeroDivisionError):
        tree(made)
    assert tree_of(made) is None


@pytest.mark.parametrize(
    "module",
    [
        nn.LazyLinear(3),
        nn.Linear(2, 3, device="meta"),
        nn.Sequential(),
        nn.Embedding(2_000, 2_500),
        nn.ModuleList([nn.Linear(1, 1)]),
    ],
    ids=lambda module: type(module).__name__,
)
def test_any_module_has_a_tree(module):
    assert "minigrad-tree" in module._repr_mimebundle_()["text/html"]


def test_only_dicts_of_tensors_have_a_tree():
    state = {"model": nn.Linear(2, 1).state_dict(), "step": torch.tensor(3)}
    assert ">state[&#x27;model&#x27;][&#x27;weight&#x27;]</code>" in tree_of(state)
    assert (
        tree_of({})
        is tree_of({"a": 1})
        is tree_of({"a": torch.ones(1), "b": "text"})
        is tree_of([torch.ones(2)])
        is None
    )


def test_each_dimension_repeats_the_map():
    a = np.arange(2 * 3 * 4 * 5, dtype=float).reshape(2, 3, 4, 5)
    cells = tiles(a, 20)
    assert cells.shape == (2 * 4 + 2, 3 * 5 + 2)
    for i in range(2):
        for j in range(3):
            assert (cells[i * 6 : i * 6 + 4, j * 6 : j * 6 + 5] == a[i, j]).all()
    assert cells.mask.sum() == 10 * 17 - a.size
    assert (pixels(facets(a)) == colours(cells)).all()
    assert tiles(np.zeros((2, 2, 2, 2, 2)), 20).shape == (6, 14) and tiles(np.zeros((2,) * 6), 20).ndim == 2


def test_colours_are_those_of_other_maps_and_special_numbers_have_their_own():
    cells = np.ma.array([[-4.0, 4.0, 0.0, np.nan, np.inf, 1.0]], mask=[[0, 0, 0, 0, 0, 1]])
    assert colours(cells).tolist() == [[COLOURS.index("heat-n7"), COLOURS.index("heat-p7"), 7, NAN, INFINITE, GROUND]]


def test_a_large_array_keeps_its_spike_and_names_what_is_left_out():
    a = np.zeros((12, 300, 300))
    a[2, 150, 150] = -1.0
    html = facets(a)
    assert "the first 8 of 12 along dimension 0" in html
    assert (pixels(html) == COLOURS.index("heat-n7")).sum() == 1 and len(html) < 2_000
    assert "<img" in facets(np.zeros((0, 3))) and "<img" in facets(np.float64(2.0))


def test_a_tensor_of_more_maps_than_a_row_shows_all_as_facets():
    html = torch.randn(2, 3, 4, 5)._repr_mimebundle_()["text/html"]
    assert pixels(html).shape == (10, 17) and "(2, 3, 4, 5): min" in html
