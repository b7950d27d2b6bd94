"""The forms of parameters and settings that every optimizer takes, and the methods of a subclass that it calls."""

import collections
import copy
import importlib
import itertools

import numpy as np
import pytest
import torch

import minigrad

pytestmark = pytest.mark.filterwarnings("ignore")
EVERY = "SGD ASGD Adam AdamW Adamax NAdam RAdam RMSprop Adagrad Adadelta Rprop".split()


def outcome(program, *given):
    try:
        return program(*given)
    except Exception as e:
        return next(kind for kind in type(e).__mro__ if kind.__module__ == "builtins")


def both(program, **tolerance):
    ours, theirs = outcome(program, minigrad), outcome(program, torch)
    if isinstance(theirs, float | np.ndarray):
        np.testing.assert_allclose(ours, theirs, **{"rtol": 1e-4, "atol": 1e-6, **tolerance})
    else:
        assert ours == theirs
    return ours


class Walked:
    def __init__(self, values):
        self.values = values

    def __iter__(self):
        return iter(self.values)


class Indexed:
    def __init__(self, values):
        self.values = values

    def __getitem__(self, i):
        return self.values[i]


FORMS = {  # of a library's nn and two parameters
    "list": lambda nn, a, b: [a, b],
    "tuple": lambda nn, a, b: (a, b),
    "set": lambda nn, a, b: {a, b},
    "frozenset": lambda nn, a, b: frozenset([a, b]),
    "generator": lambda nn, a, b: (p for p in (a, b)),
    "values": lambda nn, a, b: {"a": a, "b": b}.values(),
    "items": lambda nn, a, b: {"a": a, "b": b}.items(),
    "dict": lambda nn, a, b: {"a": a, "b": b},
    "map": lambda nn, a, b: map(lambda p: p, [a, b]),
    "filter": lambda nn, a, b: filter(lambda p: p.requires_grad, [a, b]),
    "chain": lambda nn, a, b: itertools.chain([a], [b]),
    "deque": lambda nn, a, b: collections.deque([a, b]),
    "walked": lambda nn, a, b: Walked([a, b]),
    "indexed": lambda nn, a, b: Indexed([a, b]),
    "ParameterList": lambda nn, a, b: nn.ParameterList([a, b]),
    "ParameterDict": lambda nn, a, b: nn.ParameterDict({"a": a, "b": b}),
    "ParameterDict.values": lambda nn, a, b: nn.ParameterDict({"a": a, "b": b}).values(),
    "ParameterDict.items": lambda nn, a, b: nn.ParameterDict({"a": a, "b": b}).items(),
    "ModuleList": lambda nn, a, b: nn.ModuleList([nn.Linear(2, 2)]),
    "Linear": lambda nn, a, b: nn.Linear(2, 2),
    "method": lambda nn, a, b: nn.Linear(2, 2).parameters,
    "named": lambda nn, a, b: nn.Linear(2, 2).named_parameters(),
    "pairs": lambda nn, a, b: [("a", a), ("b", b)],
    "lists as pairs": lambda nn, a, b: [["a", a]],
    "some names": lambda nn, a, b: [("a", a), b],
    "tensor": lambda nn, a, b: a,
    "number": lambda nn, a, b: 3,
    "None": lambda nn, a, b: None,
    "text": lambda nn, a, b: "ab",
    "nothing": lambda nn, a, b: nn.ParameterList(),
    "non-leaf": lambda nn, a, b: [a * 2],
    "twice": lambda nn, a, b: [a, a],
}


@pytest.mark.parametrize("form", FORMS)
def test_parameters_in_every_form_alone_and_in_groups(form):
    def listed(optimizer):
        return [(len(g["params"]), g["lr"], g.get("param_names")) for g in optimizer.param_groups]

    def program(library):
        a, b = (library.nn.Parameter(library.ones(2)) for _ in range(2))
        made = lambda: FORMS[form](library.nn, a, b)
        c = library.nn.Parameter(library.ones(1))
        other = {"params": [("c", c)] if form in ("named", "pairs", "items", "ParameterDict.items") else c, "lr": 3.0}
        grouped = lambda groups: outcome(lambda: listed(library.optim.SGD(groups, 0.1)))
        return [
            grouped(made()),
            grouped([{"params": made()}]),
            grouped(g for g in ({"params": made()}, other)),
            outcome(lambda: listed(joined(library.optim.SGD([other], 0.1), {"params": made()}))),
        ]

    def joined(optimizer, group):
        optimizer.add_param_group(group)
        return optimizer

    both(program)


def test_a_group_stays_the_dictionary_that_was_given():
    def program(library):
        a, b = (library.nn.Parameter(library.ones(2)) for _ in range(2))
        first, second = {"params": (p for p in [a]), "lr": 0.5}, {"params": b}
        optimizer = library.optim.SGD([first])
        optimizer.add_param_group(second)
        first["lr"] = second["lr"] = 7.0
        other = library.optim.Adam(optimizer.param_groups)
        return [g["lr"] for g in optimizer.param_groups], sorted(first), other.param_groups[0] is first

    assert both(program)[0] == [7.0, 7.0]


def test_a_result_that_retains_its_gradient_can_be_optimized():
    def program(library):
        x = library.ones(2, requires_grad=True) * 2
        x.retain_grad()
        (x * x).sum().backward()
        library.optim.SGD([x], 0.25).step()
        return float(x.sum())

    both(program)


def test_a_required_setting_has_to_be_given():
    def program(library):
        def made(group):
            required = importlib.import_module(f"{library.__name__}.optim.optimizer").required
            return library.optim.Optimizer([group], {"lr": required, "rho": 0.5}).param_groups[0]["lr"]

        a = library.nn.Parameter(library.ones(2))
        return made({"params": [a], "lr": 0.5}), outcome(made, {"params": [a]})

    assert both(program) == (0.5, ValueError)


# ---------------------------------------------------------------------- settings
def tensors(library, value):
    return tuple(library.tensor(v) for v in value)


SETTINGS = {  # of a library; the names of the optimizers, or None for all
    "lr: int": (None, lambda lib: {"lr": 1}),
    "lr: tensor": (None, lambda lib: {"lr": lib.tensor(0.1)}),
    "lr: tensor of one element": (None, lambda lib: {"lr": lib.tensor([0.1])}),
    "lr: tensor of two": (None, lambda lib: {"lr": lib.tensor([0.1, 0.2])}),
    "lr: NumPy": (None, lambda lib: {"lr": np.float64(0.1)}),
    "lr: NumPy, single": (None, lambda lib: {"lr": np.float32(0.1)}),
    "lr: list": (None, lambda lib: {"lr": [0.1]}),
    "lr: text": (None, lambda lib: {"lr": "0.1"}),
    "lr: None": (None, lambda lib: {"lr": None}),
    "betas: list": ("betas", lambda lib: {"betas": [0.5, 0.9]}),
    "betas: array": ("betas", lambda lib: {"betas": np.array([0.5, 0.9])}),
    "betas: tensors": ("betas", lambda lib: {"betas": tensors(lib, (0.5, 0.9))}),
    "betas: number": ("betas", lambda lib: {"betas": 0.9}),
    "betas: texts": ("betas", lambda lib: {"betas": ("a", "b")}),
    "eps: int": ("eps", lambda lib: {"eps": 1}),
    "weight_decay: int": ("weight_decay", lambda lib: {"weight_decay": 1}),
    "etas: list": ("etas", lambda lib: {"etas": [0.5, 1.2], "step_sizes": [1e-6, 0.05]}),
    "etas: array": ("etas", lambda lib: {"etas": np.array([0.5, 1.2])}),
    "momentum: int": ("momentum", lambda lib: {"momentum": 1}),
}


def kinds(setting):
    made = {k: getattr(torch.optim, k)([torch.ones(1)]).defaults for k in EVERY}
    return [k for k in EVERY if setting is None or setting in made[k]]


CASES = [(name, kind) for name, (setting, _) in SETTINGS.items() for kind in kinds(setting)]


@pytest.mark.parametrize("size", [2, 40], ids=["small", "by kernels"])
@pytest.mark.parametrize("name, kind", CASES)
def test_settings_in_every_form(name, kind, size):
    def program(library):
        p = library.nn.Parameter(
            library.ones(size, size) * library.tensor(np.linspace(0.5, 2, size), dtype=library.float32)
        )
        optimizer = getattr(library.optim, kind)([p], **SETTINGS[name][1](library))
        for _ in range(4):
            optimizer.zero_grad()
            (p * p).sum().backward()
            optimizer.step()
        return p.detach().numpy()

    both(program)


@pytest.mark.parametrize("size", [2, 40], ids=["small", "by kernels"])
@pytest.mark.parametrize("kind", EVERY)
def test_a_rate_that_changes_in_its_tensor_counts_at_once(kind, size):
    def program(library):
        p, rate = library.nn.Parameter(library.ones(size, size)), library.tensor(0.1)
        optimizer = getattr(library.optim, kind)([{"params": [p], "note": ["a"]}], rate)
        schedule = library.optim.lr_scheduler.ExponentialLR(optimizer, 0.7)
        found = []
        for _ in range(6):
            optimizer.zero_grad()
            (p * p).sum().backward()
            optimizer.step()
            schedule.step()
            found.append(p.detach().numpy().copy())
        return np.stack(found)

    both(program)


# ---------------------------------------------------------------------- overrides
def train(library, optimizer, p, steps=3):
    for _ in range(steps):
        optimizer.zero_grad()
        (p * p).sum().backward()
        optimizer.step()
    return p.detach().numpy().copy()


@pytest.mark.parametrize("size", [2, 40], ids=["small", "by kernels"])
@pytest.mark.parametrize("kind", EVERY)
def test_init_group_of_a_subclass_chooses_gradients_and_state(kind, size):
    """It gets PyTorch's lists: parameters, gradients, and each tensor of the state."""

    def program(library):
        lengths = []

        class Own(getattr(library.optim, kind)):
            def _init_group(self, group, params, grads, *states):
                result = super()._init_group(group, params, grads, *states)
                lengths.append((len(params), len(grads), [len(s) for s in states]))
                del params[1:], grads[1:]
                for s in states:
                    del s[1:]
                grads[0] = grads[0] * 0.5
                return result

        p, q = (library.nn.Parameter(library.full((size, size), 0.5)) for _ in range(2))
        optimizer = Own([p, q], lr=0.1, **({"momentum": 0.9} if kind in ("SGD", "RMSprop") else {}))
        for _ in range(3):
            optimizer.zero_grad()
            (p * p + q).sum().backward()
            optimizer.step()
        program.lengths[library] = lengths
        return np.stack([p.detach().numpy(), q.detach().numpy()])

    program.lengths = {}
    both(program)
    ours, theirs = program.lengths.values()
    assert ours == theirs


def overrides(library):
    base = library.optim.Adam

    class Logged(base):
        def __init__(self, *args, **kwargs):
            self.calls = []
            super().__init__(*args, **kwargs)

        def note(self, name):
            self.__dict__.setdefault("calls", []).append(name)

    def noted(name):
        def method(self, *args, **kwargs):
            self.note(name)
            return getattr(base, name)(self, *args, **kwargs)

        return method

    names = "step zero_grad add_param_group state_dict load_state_dict __setstate__ _init_group __repr__".split()
    return type("Own", (Logged,), {name: noted(name) for name in names})


def test_overridden_methods_are_called_when_pytorch_calls_them():
    def program(library):
        p = library.nn.Parameter(library.ones(2))
        optimizer = overrides(library)([p], lr=0.1)
        train(library, optimizer, p, 1)
        optimizer.load_state_dict(optimizer.state_dict())
        repr(optimizer)
        return optimizer.calls

    assert len(both(program)) == 8


def test_the_overridden_methods_of_lbfgs_are_called():
    def program(library):
        base, calls = library.optim.LBFGS, set()

        def noted(name):
            def method(self, *args):
                calls.add(name)
                return getattr(base, name)(self, *args)

            return method

        names = "_gather_flat_grad _add_grad _clone_param _set_param _directional_evaluate".split()
        p = library.nn.Parameter(library.ones(3))
        optimizer = type("Own", (base,), {n: noted(n) for n in names})([p], line_search_fn="strong_wolfe")

        def closure():
            optimizer.zero_grad()
            (loss := (p**4).sum()).backward()
            return loss

        optimizer.step(closure)
        return sorted(calls)

    assert len(both(program)) == 5


def test_a_step_of_a_subclass_has_hooks_and_no_false_warning_of_a_schedule():
    def program(library):
        class Own(
            library.optim.Optimizer
        ):  # PyTorch runs hooks twice where a step's super has once been a step of its own
            def __init__(self, params):
                super().__init__(params, {"lr": 0.5})

            @library.no_grad()
            def step(self, closure=None, times=1):
                for group in self.param_groups:
                    for q in group["params"]:
                        q.sub_(q.grad, alpha=group["lr"] * times)

        class Further(Own):
            def step(self, closure=None, times=1):
                super().step(times=times)

        seen = []
        for kind in (Further, Own):
            p = library.nn.Parameter(library.ones(2))
            optimizer = kind([p])
            optimizer.register_step_pre_hook(lambda o, args, kwargs: seen.append((len(args), kwargs)))
            optimizer.register_step_pre_hook(lambda o, args, kwargs: (args, {"times": 3}) if kwargs else None)
            optimizer.register_step_post_hook(lambda o, args, kwargs: seen.append(kwargs))
            schedule = library.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
            p.grad = library.ones(2)
            optimizer.step()
            optimizer.step(times=2)
            schedule.step()
            seen.append(p.tolist())
        return seen

    both(program)


def test_a_pre_hook_that_returns_anything_else_is_refused():
    def program(library):
        optimizer = library.optim.SGD([library.ones(1)])
        optimizer.register_step_pre_hook(lambda o, args, kwargs: 3)
        optimizer.step()

    assert both(program) is RuntimeError


def test_an_optimizer_around_another_needs_no_init_of_its_base():
    class Lookahead:
        """Mixed into each library's Optimizer."""

        def __init__(self, optimizer):
            self.optimizer, self.param_groups, self.defaults = optimizer, optimizer.param_groups, optimizer.defaults
            self.state = collections.defaultdict(dict)

        def step(self, closure=None):
            self.count = getattr(self, "count", 0) + 1
            return self.optimizer.step(closure)

    def program(library):
        p = library.nn.Parameter(library.ones(2))
        optimizer = type("Own", (Lookahead, library.optim.Optimizer), {})(library.optim.SGD([p], lr=0.1))
        schedule = library.optim.lr_scheduler.StepLR(optimizer, 1)
        for _ in range(2):
            for q in [p]:
                q.grad = library.ones(2)
            optimizer.step()
            schedule.step()
        return [round(x, 6) for x in p.tolist()], optimizer.count, round(optimizer.param_groups[0]["lr"], 6)

    both(program)


# ---------------------------------------------------------------------- states
def test_a_state_with_other_keys_and_older_settings():
    def program(library):
        p = library.nn.Parameter(library.ones(2))
        optimizer = library.optim.SGD([p], lr=0.1, momentum=0.9)
        train(library, optimizer, p)
        optimizer.state["seen"] = [1, 2]
        saved = copy.deepcopy(optimizer.state_dict())
        for name in ("maximize", "foreach"):
            del saved["param_groups"][0][name]
        saved["param_groups"][0]["note"] = "mine"
        other = library.optim.SGD([library.nn.Parameter(library.ones(2))], lr=0.5)
        library.optim.lr_scheduler.StepLR(other, 2)
        other.load_state_dict(saved)
        group = {k: v for k, v in other.param_groups[0].items() if k != "params"}
        return group, other.state["seen"], sorted(map(str, other.state_dict()["state"]))

    both(program)


def test_parameters_are_numbered_as_pytorchs():
    def program(library):
        a, b = (library.nn.Parameter(library.ones(2)) for _ in range(2))
        optimizer = library.optim.SGD([{"params": [a, b, a]}, {"params": library.nn.Parameter(library.ones(1))}])
        return [g["params"] for g in optimizer.state_dict()["param_groups"]]

    both(program)
