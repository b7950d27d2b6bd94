"""The cuts of tests/record/test_cuts.py in PyTorch programs, and the gradients and tangents of both libraries."""

import pytest
import torch

import minigrad
from tests.record.test_cuts import (  # noqa: F401  collected here, with the library below
    CUTS,
    explained,
    frozen,
    kinds,
    leaves,
    numbers,
    one_of_two_marked,
    recorded,
    same,
    test_a_cut_is_in_the_record_with_its_reason,
    test_each_format_says_that_no_gradient_passes,
    test_no_tangent_is_behind_a_cut_that_stops_tangents,
)
from viz.pytorch.torch_recording import recording_of


@pytest.fixture
def lib():
    return torch


@kinds
@pytest.mark.parametrize("of", [minigrad, torch], ids=lambda lib: lib.__name__)
def test_the_gradients_of_the_record_are_those_of_autograd(of, program):
    record = recorded(of, program)
    x, w = leaves(torch)
    expected = torch.autograd.grad(program(torch, x, w), (x, w), allow_unused=True)
    names = {value["shown"]: value["id"] for value in record["values"]}
    for name, gradient in zip("xw", expected):
        found = record["gradients"].get(str(names[name]))
        assert same(numbers(record, found), None if gradient is None else gradient.numpy()), name


@pytest.mark.parametrize("program", [p for p in CUTS if p not in (frozen, one_of_two_marked)], ids=lambda f: f.__name__)
def test_the_tangent_of_the_result_is_the_one_of_forward_mode(program):
    record = recorded(minigrad, program)
    of = {value: tangent for op in record["ops"] for value, tangent in op["tangents"].items()}
    forward_ad = torch.autograd.forward_ad
    with forward_ad.dual_level():
        x, w = [forward_ad.make_dual(t, torch.ones(2)) for t in leaves(torch)]
        expected = forward_ad.unpack_dual(program(torch, x, w)).tangent
    assert same(numbers(record, of.get(str(record["outputs"][0]))), None if expected is None else expected.detach())


def test_detach_in_place_drops_the_tangent_as_in_pytorch():
    for lib, forward_ad in ((minigrad, minigrad.autograd.forward_ad), (torch, torch.autograd.forward_ad)):
        with forward_ad.dual_level():
            z = forward_ad.make_dual(lib.tensor([1.0]), lib.ones(1)) * 3
            assert forward_ad.unpack_dual(z.detach_()).tangent is None


@explained
def test_an_explanation_of_a_pytorch_program_names_the_cut(program):
    record = recording_of(lambda x, w: program(torch, x, w), leaves(torch), ("backward",)).as_minigrad()
    assert "no gradient beyond here" in str(minigrad.explain(record, of="x"))
