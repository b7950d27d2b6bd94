"""GradScaler beside PyTorch's on a CPU: iterations in any order of calls, numbers of the scale, states, overrides."""

import copy
import pickle

import numpy as np
import pytest
import torch

import minigrad
from tests.parity.in_both import same_in_both
from tests.parity.test_optim_arguments import outcome

pytestmark = pytest.mark.filterwarnings("ignore")


class Run:
    """A scaler, two optimizers and what their calls gave."""

    def __init__(self, library, **settings):
        self.library, self.told = library, []
        self.scaler = library.amp.GradScaler("cpu", **{"init_scale": 8.0, "growth_interval": 2, **settings})
        self.w, self.v = (library.nn.Parameter(library.ones(2)) for _ in range(2))
        self.optimizers = {
            "a": library.optim.SGD([self.w], lr=0.1),
            "b": library.optim.Adam([self.v], lr=0.1),
            "none": library.optim.SGD([library.nn.Parameter(library.ones(1))], lr=0.1),
            "half": library.optim.SGD([self.half()], lr=0.1),
        }

    def half(self):
        p = self.library.nn.Parameter(self.library.ones(1, dtype=self.library.float16))
        p.grad = self.library.ones(1, dtype=self.library.float16)
        return p

    def call(self, text):
        word, *given = text.split()
        result = outcome(lambda: getattr(self, word)(*given))
        s = self.scaler
        state = [s.get_scale(), s._get_growth_tracker(), list(s.state_dict().values())]
        grads = [None if p.grad is None else p.grad.tolist() for p in (self.w, self.v)]
        values = [[round(x, 5) for x in p.tolist()] for p in (self.w, self.v)]
        self.told.append([text, result, state, values, grads])

    def backward(self, factor="1"):
        loss = (self.w * float(factor)).sum() + (self.v * self.v).sum() * float(factor)
        self.scaler.scale(loss).backward()

    def zero(self):
        for optimizer in self.optimizers.values():
            optimizer.zero_grad()

    def unscale(self, name="a"):
        return self.scaler.unscale_(self.optimizers[name])

    def step(self, name="a", *more):
        options = {"closure": lambda: 1.0} if more else {}
        return self.scaler.step(self.optimizers[name], **options)

    def update(self, *given):
        return self.scaler.update(*map(float, given))

    def update_by(self, what):
        one = self.library.tensor([3.0, 3.0] if what == "two" else 3.0)
        return self.scaler.update(one.requires_grad_(what == "tracked"))

    def set(self, name, value):
        value = int(value) if name == "growth_interval" else float(value)
        return getattr(self.scaler, f"set_{name}")(value), getattr(self.scaler, f"get_{name}")()

    def reload(self):
        other = self.library.amp.GradScaler("cpu")
        other.load_state_dict(self.scaler.state_dict())
        self.scaler = other

    def load_nothing(self):
        self.scaler.load_state_dict({})

    def copied(self):
        self.scaler = copy.deepcopy(self.scaler)

    def pickled(self):
        self.scaler = pickle.loads(pickle.dumps(self.scaler))

    def listed(self):
        x, s = self.library.ones(1), self.scaler
        deep = s.scale([x, (x, [x * 2])])
        return [
            deep[0].item(),
            deep[1][1][0].item(),
            [t.item() for t in s.scale(t for t in (x, x))],
            outcome(s.scale, 3),
        ]

    def checked(self, name="a"):
        return [x.item() for x in self.scaler._check_inf_per_device(self.optimizers[name]).values()]


CALLS = [
    "backward; step; update; zero; backward; step; update; zero; backward; step; update",
    "backward; step; step; update; step; step",
    "backward; unscale; step; update",
    "backward; unscale; unscale; step; unscale; update; unscale",
    "step; unscale; update; backward; update; update 3; step",
    "backward; step none; step none; update; step; update",
    "backward; step half; unscale half; step; update",
    "backward; step a closure; step; update",
    "backward inf; step; update; zero; backward nan; step; step b; update; zero; backward; step; step b; update",
    "backward; step a; step b; update; zero; backward 1e30; step b; step a; update",
    "backward; unscale a; step b; step a; update 0.1; zero; backward; step; update",
    "backward; step; update_by one; backward; step; update_by two; update_by tracked; update",
    "set growth_factor 4; set backoff_factor 0.25; backward; step; update; zero; backward inf; step; update",
    "set growth_interval 1; backward; step; update; zero; backward; step; update; zero; backward; step; update",
    "reload; backward; step; update; reload; zero; backward; step; update; reload; backward; step; update",
    "load_nothing; backward; load_nothing; step; update",
    "copied; backward; copied; step; pickled; update; copied; zero; backward; step; update",
    "pickled; backward; step; update; pickled; zero; backward; step; update",
    "listed; backward; listed; checked; step; update; zero; backward inf; checked; checked b; step; update; checked",
]


@pytest.mark.parametrize(
    "settings", [{}, {"init_scale": 0.1, "growth_factor": 3.3, "backoff_factor": 0.7}, {"enabled": False}]
)
@pytest.mark.parametrize("calls", CALLS)
def test_calls_in_any_order(calls, settings):
    runs = [Run(library, **settings) for library in (minigrad, torch)]
    for run in runs:
        for call in calls.split("; "):
            if call.startswith(("set", "checked")) and settings.get("enabled") is False:
                continue  # which PyTorch has no attributes for
            run.call(call)
    for ours, theirs in zip(*[run.told for run in runs]):
        assert repr(ours) == repr(theirs)


def test_a_scale_does_not_grow_to_infinity():
    scales = []
    for library in (minigrad, torch):
        run = Run(library, init_scale=2.0**126, growth_interval=1)
        for _ in range(4):
            run.call("zero")
            run.call("backward 1e-30")
            run.call("step")
            run.call("update")
        scales.append([told[2] for told in run.told])
    assert scales[0] == scales[1] and scales[0][-1][0] == 2.0**127


@pytest.mark.parametrize("settings", [{"growth_factor": 1.0}, {"backoff_factor": 1.0}])
def test_factors_that_do_not_grow_or_shrink_are_refused(settings):
    for library in (minigrad, torch):
        with pytest.raises(AssertionError):
            library.amp.GradScaler("cpu", **settings)
        library.amp.GradScaler("cpu", enabled=False, **settings)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64", "float32"])
def test_scaled_losses_and_gradients_have_pytorchs_numbers(dtype):
    told = []
    for library in (minigrad, torch):
        scaler = library.amp.GradScaler("cpu", init_scale=7.3)
        w = library.tensor([0.1, 3.0], dtype=getattr(library, dtype)).requires_grad_()
        loss = scaler.scale((w * w).sum())
        loss.backward()
        before = w.grad.double().numpy().copy()
        optimizer = library.optim.SGD([w], lr=0.1)
        kind = outcome(scaler.unscale_, optimizer)
        told.append([loss.item(), str(loss.dtype)[-8:], before, w.grad.double().numpy(), kind])
    for ours, theirs in zip(*told):
        np.testing.assert_equal(ours, theirs)


@same_in_both
def test_overridden_methods_are_called(library):
    base, calls = library.amp.GradScaler, []

    def noted(name, base=base):
        def method(self, *args, **kwargs):
            calls.append(name)
            return getattr(base, name)(self, *args, **kwargs)

        return method

    names = "unscale_ step update _unscale_grads_ _maybe_opt_step _check_scale_growth_tracker get_scale scale".split()
    run = Run(library)
    run.scaler = type("Own", (base,), {name: noted(name) for name in names})("cpu", init_scale=4.0)
    run.backward()
    run.step()
    run.update()
    run.scaler.state_dict()
    return calls


def test_the_older_name_is_a_class():
    from minigrad.compat import placeholders

    older = placeholders.module("cuda_amp").GradScaler
    assert issubclass(older, minigrad.amp.GradScaler)
    assert older(enabled=False).scale(3) == torch.cuda.amp.GradScaler(enabled=False).scale(3)
