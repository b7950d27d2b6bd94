"""Records of programs in forward mode: tangents are those that the program has given."""

import warnings

import pytest

import minigrad
import minigrad.autograd.forward_ad as fwAD

from .recorded import assert_sound, forward, number

PASSES = ("forward", "backward", "jvp")


def squared(a, t):
    with fwAD.dual_level():
        d = fwAD.make_dual(a, t)
        return fwAD.unpack_dual(d * d).tangent


def recorded(f, *args):
    return minigrad.record(f, *args, passes=PASSES).to_dict()


@pytest.mark.parametrize("dtype", [minigrad.float32, minigrad.float64])
def test_make_dual_is_an_operation_with_one_tangent(dtype):
    a = minigrad.tensor([1.0, 2.0], requires_grad=True)
    document = recorded(squared, a, minigrad.tensor([3.0, 4.0], dtype=dtype))
    dual, mul = forward(document)[:2]
    assert (dual["name"], dual["call"]) == ("make_dual", "make_dual(a, t)")
    given = {v["id"]: v["label"] for v in document["values"] if v["kind"] == "tangent"}
    (value,) = {*dual["tangents"]}
    tangent = dual["tangents"][value]
    assert int(value) == dual["outputs"][0] and number(document, tangent).tolist() == [3.0, 4.0]
    (push,) = dual["pushes"]
    assert (push["output"], push["formula"], push["names"]) == (int(value), given[tangent], None)
    assert [e["formula"] for e in dual["edges"]] == ["g"]
    assert mul["tangents"][value] == tangent
    assert number(document, mul["tangents"][str(mul["outputs"][0])]).tolist() == [6.0, 16.0]
    assert_sound(document)


def test_the_value_of_a_dual_tensor_is_an_operation_without_a_tangent():
    def program(a, t):
        with fwAD.dual_level():
            value, tangent = fwAD.unpack_dual(fwAD.make_dual(a, t) * 3)
            return value * tangent

    document = recorded(program, *[minigrad.tensor(x, requires_grad=True) for x in (2.0, 5.0)])
    (unpack,) = [op for op in forward(document) if op["name"] == "unpack_dual"]
    assert unpack["call"].startswith("unpack_dual(") and unpack["pushes"] == []
    assert not {str(v) for v in unpack["outputs"]} & {*unpack["tangents"]}


def test_a_recording_adds_no_tangents_to_leaves_in_the_programs_dual_level():
    a = minigrad.tensor([1.0, 2.0], requires_grad=True)

    def program():
        with fwAD.dual_level():
            y = fwAD.make_dual(a.detach(), minigrad.ones(2)) * a
            return y, fwAD.unpack_dual(a).tangent

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        document = recorded(lambda: program()[0])
    (leaf,) = [str(v["id"]) for v in document["values"] if v["kind"] == "parameter"]
    assert not any(leaf in op["tangents"] for op in document["ops"])
