"""Calls in the order of PyTorch before 1.5 give PyTorch's numbers."""

import pytest
import torch

import minigrad

pytestmark = pytest.mark.filterwarnings("ignore")
CALLS = """x.add(2, y)|x.add_(2, y)|x.sub(2, y)|x.sub_(2, y)|x.addcmul_(2, y, z)|x.addcmul(2, y, z)|x.addcdiv_(-0.5, y, z)
m.addcdiv(x, 2, y, z)|m.addcmul(x, 2, y, z)|m.add(x, 2, y)|m.sub(x, 2, y)|A.addmm_(2, 3, B, C)|A.addmm_(2, B, C)
A.addmm(2, B, C)|m.addmm(2, A, 3, B, C)|m.addmm(2, A, B, C)|x.addmv(2, 3, A, y)|x.addmv_(2, A, y)|m.addmv(2, x, A, y)
A.addr_(2, x, y)|A.addr(2, 3, x, y)|m.addr(2, A, x, y)|D.baddbmm(2, 3, D, D)|A.addbmm(2, 3, D, D)|m.baddbmm(2, D, D, D)"""


@pytest.mark.parametrize("call", CALLS.replace("\n", "|").split("|"))
def test_numbers_in_front_of_tensors_are_keywords(call):
    found = []
    for m in (minigrad, torch):
        x, y, z = (m.tensor(values, dtype=m.float64) for values in ([1.0, -2.0], [3.0, 0.5], [-1.0, 4.0]))
        A, B, C = x.outer(y), y.outer(z), z.outer(x)
        D = m.stack([A, B, C])
        found.append(eval(call, dict(m=m, x=x, y=y, z=z, A=A, B=B, C=C, D=D)).tolist())
    assert found[0] == pytest.approx(found[1]) if isinstance(found[0][0], float) else found[0] == found[1]


@pytest.mark.parametrize("call", ["x.add(2, y, alpha=3)", "x.add_('2', y)", "x.addcmul(2, 3, y, y)", "x.mul(2, y)"])
def test_other_calls_are_refused_as_ever(call):
    for m in (minigrad, torch):
        with pytest.raises(TypeError):
            eval(call, dict(m=m, x=m.ones(2), y=m.ones(2)))
