"""Parameters that distributions compute from others, and keep, serve whatever mode reads them first."""

import pytest

import minigrad as torch
from minigrad.autograd import forward_ad
from minigrad.func import grad, jvp, vmap

ONE = torch.ones(())


def in_mode(mode):
    def look(d, name):
        with mode():
            getattr(d, name)

    return look


LOOKS = {
    "no_grad": in_mode(torch.no_grad),
    "inference_mode": in_mode(torch.inference_mode),
    "grad": lambda d, name: grad(lambda z: (z * getattr(d, name)).sum())(ONE),
    "jvp": lambda d, name: jvp(lambda z: (z * getattr(d, name)).sum(), (ONE,), (ONE,)),
    "vmap": lambda d, name: vmap(lambda z: z * getattr(d, name))(torch.ones(3)),
}
MADE = {
    "logits": lambda p: torch.distributions.Categorical(probs=p),
    "probs": lambda p: torch.distributions.Bernoulli(logits=p),
    "scale_tril": lambda p: torch.distributions.MultivariateNormal(torch.zeros(2), p.diag_embed()),
    "covariance_matrix": lambda p: torch.distributions.MultivariateNormal(torch.zeros(2), scale_tril=p.diag_embed()),
    "precision_matrix": lambda p: torch.distributions.MultivariateNormal(torch.zeros(2), scale_tril=p.diag_embed()),
}


def gradient(make, name, look):
    p = torch.tensor([0.25, 0.75], requires_grad=True)
    d = make(p)
    look(d, name)
    return torch.autograd.grad(getattr(d, name).cumsum(-1).square().sum(), p)[0].tolist()


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("name", MADE)
def test_the_first_reader_changes_no_gradient(name, look):
    assert gradient(MADE[name], name, LOOKS[look]) == gradient(MADE[name], name, lambda d, name: None)


def test_a_parameter_is_computed_once():
    d = torch.distributions.Categorical(probs=torch.tensor([0.25, 0.75], requires_grad=True))
    with torch.no_grad():
        first = d.logits
    assert d.logits is first


def test_a_parameter_of_a_transform_is_computed_once_inside():
    def inside(p):
        d = torch.distributions.Categorical(probs=p)
        assert d.logits is d.logits
        return d.log_prob(torch.tensor(1))

    assert grad(inside)(torch.tensor([0.5, 0.5])).shape == (2,)


def test_the_first_reader_changes_no_tangent():
    with forward_ad.dual_level():
        p = forward_ad.make_dual(torch.tensor([0.25, 0.75]), torch.tensor([1.0, 0.0]))
        d = torch.distributions.Categorical(probs=p)
        with torch.inference_mode():
            d.logits
        tangent = forward_ad.unpack_dual(d.logits).tangent
    assert torch.allclose(tangent, torch.tensor([3.0, -1.0]))
