"""Suggestions for a missing name are names that exist, in PyTorch as well, and that differ by a slip of the keyboard."""

import importlib

import pytest

import minigrad
from minigrad.diagnose.missing_names import MODULES, OWN, is_public, names_in, replacement, row_of


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("torch.Tensor.squeze", "use x.squeeze"),
        ("torch.nn.Linera", "use torch.nn.Linear"),
        ("torch.optim.sgd_", "use torch.optim.SGD"),
        ("torch.autogard", "use torch.autograd"),
        ("torch.binary_cross_entropy", "use torch.nn.functional.binary_cross_entropy"),
        ("torch.Tensor.binary_cross_entropy", "use torch.nn.functional.binary_cross_entropy"),
        ("minigrad.explane", "use minigrad.explain"),
    ],
)
def test_a_misspelt_name_leads_to_the_right_one(name, says):
    assert replacement(name)[1] == says


@pytest.mark.parametrize("name", "Tensor.is_set_to Tensor.imul_ cuda.DoubleStorage int4 explane silent kernel layer "
                                 "autograd.graph.contextlib fork FatalError backends.cpu".split())  # fmt: skip
def test_a_name_that_resembles_none_of_pytorchs_gets_no_other_name(name):
    assert (
        not replacement(f"torch.{name}")[1].startswith("use x.") and "use torch." not in replacement(f"torch.{name}")[1]
    )


@pytest.mark.parametrize("name", "cuda autograd.function autograd.graph utils.checkpoint distributions.kl nn.init "
                                 "optim.optimizer nn.utils.rnn".split())  # fmt: skip
def test_an_import_of_a_module_is_none_of_its_names(name):
    with minigrad.as_torch():
        module = importlib.import_module(f"torch.{name}")
        for own in ("Tensor", "Any", "np", "error", "annotations", "functools", "contextmanager"):
            assert own not in dir(module) and own not in module.__all__
            with pytest.raises(AttributeError, match="minigrad has no"):
                getattr(module, own)
    assert "Tensor" not in names_in(name)


def test_types_of_storages_on_a_gpu_say_how_to_make_one():
    with minigrad.as_torch() as torch, pytest.raises(AttributeError, match="dtype=torch.float32, device='cuda'"):
        torch.cuda.FloatStorage  # noqa: B018


def test_the_parts_of_minigrad_are_not_modules_of_pytorch():
    assert not is_public(minigrad, "kernels")
    assert is_public(minigrad, "autograd")
    assert {"kernels", "record", "silence"} & set(names_in("", "torch")) == set()
    assert "silence" in OWN and "autograd.graph" in MODULES


def test_no_name_of_the_table_is_there():
    for name in ("cuda.FloatStorage", "Tensor.is_set_to", "linalg.ldl_factor"):
        assert row_of(name) is not None and name.rpartition(".")[2] not in names_in(name.rpartition(".")[0])


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("distributions.LogNormal", "ExpTransform()) is log-normal"),
        ("distributions.cauchy.Cauchy", "transform one that is there"),
        ("distributions.Poisson", "draw with torch.poisson"),
        ("distributions.RelaxedBernoulli", "use nn.functional.gumbel_softmax"),
        ("distributions.transforms.SoftplusTransform", "a subclass of distributions.Transform"),
        ("distributions.biject_to", "x.exp() for positive numbers"),
        ("distributions.constraints.symmetric", "write constraints.Constraint(name, text, check)"),
        ("distributions.kl.register_kl", "estimate it from draws x of p"),
        ("distributions.utils.broadcast_all", "use torch.broadcast_tensors"),
        ("distributions.Distribution.set_default_validate_args", "pass validate_args=False"),
        ("nn.utils.parametrizations.orthogonal", "torch.matrix_exp(X.triu(1) - X.triu(1).mT)"),
        ("nn.utils.remove_weight_norm", "remove_parametrizations(module, 'weight')"),
        ("nn.utils.fusion.fuse_conv_bn_eval", "call model.eval()"),
        ("utils.benchmark.CallgrindStats", "Timer(...).blocked_autorange()"),
        ("nn.utils.skip_init", "to_empty(device='cpu')"),
        ("optim.swa_utils.get_ema_avg_fn", "pass avg_fn="),
    ],
)
def test_a_missing_name_says_what_to_write_instead(name, says):
    assert says in replacement(f"torch.{name}")[1]


@pytest.mark.parametrize(
    "module", "distributions optim optim.lr_scheduler optim.swa_utils nn.utils nn.utils.parametrizations utils".split()
)
def test_a_missing_name_of_a_module_is_explained(module):
    found = importlib.import_module(f"minigrad.{module}")
    with pytest.raises(AttributeError, match=f"minigrad has no {module}.nothing") as e:
        found.nothing  # noqa: B018
    assert e.value.remedy
    with pytest.raises(AttributeError, match="has no attribute '__nothing__'"):
        found.__nothing__  # noqa: B018
