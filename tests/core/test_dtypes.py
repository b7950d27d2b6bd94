"""Dtypes: what finfo and iinfo say of them, and which they refuse."""

import pytest

import minigrad


def test_limits_print_as_in_pytorch():
    assert repr(minigrad.finfo(minigrad.float32)) == (
        "finfo(resolution=1e-06, min=-3.40282e+38, max=3.40282e+38, eps=1.19209e-07, smallest_normal=1.17549e-38, "
        "tiny=1.17549e-38, dtype=float32)"
    )
    assert repr(minigrad.iinfo(minigrad.int8)) == "iinfo(min=-128, max=127, dtype=int8)"


def test_finfo_refuses_integers_and_iinfo_floats():
    with pytest.raises(TypeError, match="iinfo"):
        minigrad.finfo(minigrad.int32)
    with pytest.raises(TypeError, match="finfo"):
        minigrad.iinfo(minigrad.float32)


def test_promotion_by_keyword():
    assert minigrad.promote_types(type1=minigrad.uint8, type2=minigrad.int8) == minigrad.int16
