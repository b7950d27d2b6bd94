"""Every optimizer beside PyTorch's, over the settings and errors of PyTorch's own database, and over random settings."""

import inspect

import numpy as np
import pytest
import torch

import minigrad
from tests.parity.in_both import same_in_both
from tests.parity.torch_databases import common

DATABASE = {info.optim_cls.__name__: info for info in common("optimizers").optim_db}
MISSING = {
    "Adafactor": "keeps means of rows and columns, for models too large for memory",
    "Muon": "orthogonalizes in bfloat16",
    "SparseAdam": "there are no sparse tensors",
}
HERE = {name: info for name, info in DATABASE.items() if name not in MISSING}
NOT_REFUSED = {  # what an error of the database is about -> why there is none here
    "lr as Tensor doesn't work with foreach & not capturable": "foreach and capturable have no effect here",
    r"betas\[0\] as a Tensor is not supported for capturable=False and foreach=True": "as above",
    "betas must be either both floats or both Tensors": "they are numbers either way",
}


def test_the_table_of_missing_optimizers_is_true():
    assert {name for name in DATABASE if not hasattr(minigrad.optim, name)} == MISSING.keys()


def given(library, value):
    """Return a setting of the database, with tensors of this library."""
    if isinstance(value, torch.Tensor):
        return library.tensor(value.tolist())
    if isinstance(value, dict):
        return {k: given(library, v) for k, v in value.items()}
    return type(value)(given(library, v) for v in value) if isinstance(value, (tuple, list)) else value


def numbers(value):
    """Return a structure with tensors as arrays, for a comparison."""
    if isinstance(value, (torch.Tensor, minigrad.Tensor)):
        return value.detach().numpy().copy()
    if isinstance(value, dict):
        return {k: numbers(v) for k, v in value.items()}
    return [numbers(v) for v in value] if isinstance(value, (list, tuple)) else value


def same(ours, theirs, **tolerance):
    if isinstance(theirs, dict):
        assert ours.keys() == theirs.keys()
        for k in theirs:
            same(ours[k], theirs[k], **tolerance)
    elif isinstance(theirs, list):
        assert len(ours) == len(theirs)
        for a, b in zip(ours, theirs):
            same(a, b, **tolerance)
    elif isinstance(theirs, np.ndarray):
        assert ours.dtype == theirs.dtype and ours.shape == theirs.shape
        np.testing.assert_allclose(ours, theirs, **tolerance)
    else:
        assert ours == theirs


SHAPES = (4, 3), (3,)
ROUNDING = {"float32": {"rtol": 2e-4, "atol": 2e-5}, "float64": {"rtol": 1e-9, "atol": 1e-12}}


NADAM = {"rtol": 1e-5, "atol": 1e-7}  # whose product of momenta PyTorch rounds to float32 before it divides by it


def start(library, dtype):
    random = np.random.default_rng(0)
    return [library.tensor(random.standard_normal(s).astype(dtype)).requires_grad_() for s in SHAPES]


def loss_of(library, params, k=0):
    """Return the value of a smooth valley, a little different with each k."""
    w, b = params
    x = library.tensor(np.random.default_rng(k % 3).standard_normal((6, 4)))
    return ((library.tanh(x.to(w.dtype) @ w + b) - 0.3) ** 2).mean() + 0.01 * (w * w * w * w).sum()


def run(library, name, settings, dtype, steps, state=None, params=None, first=0):
    params = params or start(library, dtype)
    optimizer = getattr(library.optim, name)(params, **given(library, settings))
    if state is not None:
        optimizer.load_state_dict(state)
    for k in range(first, first + steps):

        def closure():
            optimizer.zero_grad()
            loss = loss_of(library, params, 0 if name == "LBFGS" else k)
            loss.backward()
            return loss

        optimizer.step(closure)
    return params, optimizer


CASES = [
    pytest.param(name, made.kwargs, id=f"{name}: {made.desc}")
    for name, info in HERE.items()
    for made in info.optim_inputs_func(device="cpu")
]


@pytest.mark.parametrize("dtype", ROUNDING)
@pytest.mark.parametrize("name, settings", CASES)
def test_twenty_steps_with_the_settings_of_the_database(name, settings, dtype):
    steps, tolerance = 20, ROUNDING[dtype]
    if name == "LBFGS":  # 20 steps in each; a short step, without a line search, makes a rounding error larger
        steps, tolerance = (1, {"atol": 2e-3}) if dtype == "float32" else (2, {"rtol": 1e-8, "atol": 1e-8})
    theirs, ours = (run(lib, name, settings, dtype, steps) for lib in (torch, minigrad))
    if name == "NAdam":
        tolerance = ROUNDING["float32"]
    same(numbers(ours[0]), numbers(theirs[0]), **tolerance)


RANGES = {
    "lr": (1e-3, 0.1), "betas": ((0.5, 0.95), (0.9, 0.999)), "eps": (1e-9, 1e-3), "weight_decay": (0.0, 0.3),
    "momentum_decay": (0.0, 0.01), "rho": (0.5, 0.99), "alpha": (0.5, 0.99), "momentum": (0.1, 0.9), "lr_decay": (0.0, 0.1),
    "initial_accumulator_value": (0.0, 0.5), "lambd": (0.0, 0.1), "t0": (0.0, 10.0), "etas": ((0.4, 0.6), (1.1, 1.4)),
    "dampening": (0.0, 0.5), "step_sizes": ((1e-7, 1e-4), (1.0, 50.0)), "tolerance_grad": (0.0, 1e-4),
    "tolerance_change": (0.0, 1e-6),
}  # fmt: skip
CHOICES = {
    "amsgrad": [False, True],
    "maximize": [False, True],
    "decoupled_weight_decay": [False, True],
    "centered": [False, True],
    "max_iter": [1, 4, 20],
    "max_eval": [None, 3, 40],
    "history_size": [1, 3, 100],
    "line_search_fn": [None, "strong_wolfe"],
}


def random_settings(name, seed):
    random, settings = np.random.default_rng(seed), {}
    for p in inspect.signature(getattr(torch.optim, name)).parameters.values():
        if p.name in CHOICES and random.random() < 0.7:
            settings[p.name] = random.choice(np.array(CHOICES[p.name], dtype=object))
        elif p.name in RANGES and random.random() < 0.7:
            (low, high), pair = RANGES[p.name], isinstance(RANGES[p.name][0], tuple)
            settings[p.name] = tuple(random.uniform(*r) for r in RANGES[p.name]) if pair else random.uniform(low, high)
    return settings


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("name", HERE)
def test_twenty_steps_with_random_settings(name, seed):
    settings = random_settings(name, seed)
    steps = 3 if name == "LBFGS" else 20
    theirs, ours = (run(lib, name, settings, "float64", steps) for lib in (torch, minigrad))
    same(numbers(ours[0]), numbers(theirs[0]), **(NADAM if name == "NAdam" else {"rtol": 1e-7, "atol": 1e-9}))


@pytest.mark.parametrize("name, settings", CASES)
def test_a_state_goes_on_in_the_other_library(name, settings):
    for a, b in ((torch, minigrad), (minigrad, torch)):
        params, optimizer = run(a, name, settings, "float64", 3)
        state = optimizer.state_dict()
        moved = move(b, state)
        going_on, other = run(b, name, {}, "float64", 3, moved, [move(b, p).requires_grad_() for p in params], 3)
        alone = run(a, name, settings, "float64", 6)
        same(numbers(going_on), numbers(alone[0]), **(NADAM if name == "NAdam" else {"rtol": 1e-6, "atol": 1e-9}))
        mine, its = other.state_dict(), alone[1].state_dict()
        assert numbers(mine["param_groups"]) == numbers(its["param_groups"])
        if name != "LBFGS":  # whose state is a mixture of numbers and tensors, in PyTorch by the branch taken
            dtypes = [
                {k: v.dtype for k, v in numbers(s["state"][0]).items()} if s["state"] else {} for s in (mine, its)
            ]
            loaded_as = {k: d for k, d in dtypes[0].items() if k not in ("eta", "mu", "mu_product")}
            assert loaded_as == {k: dtypes[1][k] for k in loaded_as} and dtypes[0].keys() == dtypes[1].keys()


def move(library, value):
    """Return a state with tensors of the other library."""
    if isinstance(value, (torch.Tensor, minigrad.Tensor)):
        return library.tensor(value.detach().numpy())
    if isinstance(value, dict):
        return {k: move(library, v) for k, v in value.items()}
    return [move(library, v) for v in value] if isinstance(value, list) else value


ERRORS = [
    pytest.param(name, made.params, made.kwargs, case.error_type, id=f"{name}: {made.desc}")
    for name, info in HERE.items()
    for case in info.optim_error_inputs_func(device="cpu", dtype=torch.float32)
    if (made := case.optimizer_error_input).desc not in NOT_REFUSED and case.error_type is not UserWarning
]


@pytest.mark.parametrize("name, params, settings, kind", ERRORS)
def test_settings_that_pytorch_refuses_are_refused(name, params, settings, kind):
    leaves = {}

    def ours(value):
        if isinstance(value, torch.Tensor) and value.requires_grad:
            return leaves.setdefault(id(value), minigrad.tensor(value.tolist()).requires_grad_())
        if isinstance(value, torch.Tensor):
            return given(minigrad, value)
        if isinstance(value, dict):
            return {k: ours(v) for k, v in value.items()}
        return type(value)(ours(v) for v in value) if isinstance(value, (list, tuple)) else value

    if params is None:
        params = [torch.nn.Parameter(torch.ones(2))]
    with pytest.raises(kind):
        getattr(minigrad.optim, name)(ours(params), **ours(settings))
    with pytest.raises(kind):  # last, because it takes the names out of the groups that it is given
        getattr(torch.optim, name)(params, **settings)


@pytest.mark.parametrize("name", HERE)
def test_signatures_defaults_and_text_are_pytorchs(name):
    theirs, ours = (getattr(lib.optim, name) for lib in (torch, minigrad))
    told = [[(p.name, p.kind, p.default) for p in inspect.signature(k).parameters.values()] for k in (theirs, ours)]
    assert told[0] == told[1]
    a, b = theirs([torch.ones(2)]), ours([minigrad.ones(2)])
    assert a.defaults == b.defaults and repr(a) == repr(b)


@pytest.mark.parametrize("name", [n for n, info in HERE.items() if "differentiable" in info.supported_impls])
def test_a_differentiable_step_has_pytorchs_gradient(name):
    told = []
    for lib in (torch, minigrad):
        weight = lib.tensor([0.5, -1.5, 2.0], dtype=lib.float64).requires_grad_()
        p = weight * weight
        p.grad = (weight * 3).sin()
        optimizer = getattr(lib.optim, name)([p], lr=0.1, differentiable=True)
        optimizer.step()
        told.append(lib.autograd.grad((p * p).sum(), weight)[0].numpy())
    np.testing.assert_allclose(told[1], told[0], rtol=1e-5)  # PyTorch computes 1 - beta**t in float32 here


@pytest.mark.parametrize(
    "settings", [{}, {"use_buffers": True}, {"multi_avg_fn": 0.9}, {"avg_fn": 0.9, "use_buffers": True}]
)
def test_averaged_models_and_their_batch_norms_are_pytorchs(settings):
    told = []
    for lib in (torch, minigrad):
        nn, swa = lib.nn, lib.optim.swa_utils
        make = {
            "avg_fn": lambda rate: lambda mean, x, n: rate * mean + (1 - rate) * x,
            "multi_avg_fn": swa.get_ema_multi_avg_fn,
        }
        given = {k: make[k](v) if k in make else v for k, v in settings.items()}
        random = np.random.default_rng(0)
        batches = [lib.tensor(random.standard_normal((5, 3)).astype("float32")) for _ in range(3)]
        model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Tanh(), nn.Linear(4, 1))
        model.load_state_dict(
            {k: lib.tensor(np.ones(v.shape) * 0.3).to(v.dtype) for k, v in model.state_dict().items()}
        )
        averaged, optimizer = swa.AveragedModel(model, **given), lib.optim.SGD(model.parameters(), lr=0.5)
        for batch in batches:
            optimizer.zero_grad()
            (model(batch) - batch).pow(2).mean().backward()
            optimizer.step()
            averaged.update_parameters(model)
        swa.update_bn(batches, averaged)
        told.append(numbers(dict(averaged.state_dict())))
    same(told[1], told[0], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("prepend", [False, True])
@same_in_both
def test_hooks_of_states_are_called_as_pytorchs(lib, prepend):
    seen, optimizer = [], lib.optim.SGD([lib.ones(2, requires_grad=True)], lr=0.1)

    def note(what, result=None):
        return lambda opt, *state: seen.append((what, type(opt).__name__, *map(sorted, state))) or result

    for i in (0, 1):
        optimizer.register_state_dict_pre_hook(note(f"pre {i}"), prepend)
        optimizer.register_load_state_dict_post_hook(note(f"loaded {i}"), prepend)
    handle = optimizer.register_state_dict_post_hook(lambda opt, state: {**state, "more": 1}, prepend)
    optimizer.register_state_dict_post_hook(note("made"), prepend)
    state = optimizer.state_dict()
    changed = {**state, "param_groups": [{**state["param_groups"][0], "lr": 7.0}]}
    optimizer.register_load_state_dict_pre_hook(note("loading", changed), prepend)
    optimizer.load_state_dict(state)
    handle.remove()
    return (seen, sorted(state), sorted(optimizer.state_dict()), optimizer.param_groups[0]["lr"])
