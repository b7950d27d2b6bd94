"""Programs for the classes of torch.optim, utils.data, distributions and amp; overrides.py has those for modules."""

import copy

from tests.parity.overrides import backward


def of_optimizer(steps, cls, settings):
    lib = steps.lib
    w, b, more = (lib.ones(2, requires_grad=True) for _ in range(3))

    def closure():
        optimizer.zero_grad()
        loss = ((w - 3) ** 2).sum() + (b**2).sum()
        loss.backward()
        return loss

    optimizer = steps("construct", lambda: cls([{"params": [w]}, {"params": [b]}][: 1 + (settings is not LBFGS)]))
    steps("step with a closure", lambda: optimizer.step(closure))
    if settings is not LBFGS:
        steps("step", lambda: optimizer.step())
    steps("zero_grad", lambda: optimizer.zero_grad())
    steps("zero_grad to zeros", lambda: optimizer.zero_grad(set_to_none=False))
    state = steps("state_dict", lambda: optimizer.state_dict())
    steps("load_state_dict", lambda: optimizer.load_state_dict(state))
    steps("add_param_group", lambda: optimizer.add_param_group({"params": [more]}))
    steps("repr", lambda: repr(optimizer))
    steps("copy", lambda: copy.deepcopy(optimizer))
    for kind in HOOKS_OF_OPTIMIZERS:
        steps(f"{kind} hook", lambda kind=kind: getattr(optimizer, f"register_{kind}_hook")(lambda *given: None))


LBFGS = "one group, and a closure"
HOOKS_OF_OPTIMIZERS = """step_pre step_post state_dict_pre state_dict_post load_state_dict_pre
load_state_dict_post""".split()


def of_schedule(steps, cls, make):
    lib = steps.lib
    optimizer = lib.optim.SGD([lib.ones(1, requires_grad=True)], lr=0.1, momentum=0.9)
    schedule = steps("construct", lambda: make(cls, optimizer, lib.optim.lr_scheduler))
    metric = (1.0,) if cls.__name__ == "ReduceLROnPlateau" else ()
    for i in range(4):
        optimizer.step()
        steps(f"step {i}", lambda: schedule.step(*metric))
    steps("get_last_lr", lambda: schedule.get_last_lr())
    if cls.__name__ not in ("ReduceLROnPlateau", "SequentialLR", "ChainedScheduler"):
        steps("step to an epoch", lambda: schedule.step(2))
    state = steps("state_dict", lambda: schedule.state_dict())
    steps("load_state_dict", lambda: schedule.load_state_dict(state))


def of_dataset(steps, cls, make):
    """Read a dataset by itself and in a DataLoader, and join it with another one."""
    lib, data = steps.lib, steps.lib.utils.data
    d = steps("construct", lambda: make(cls, lib))
    steps("length", lambda: len(d))
    steps("an item", lambda: d[1])
    steps("several items", lambda: d.__getitems__([0, 1]))
    steps("iterate", lambda: [x for x, _ in zip(d, range(2))])
    steps("loader", lambda: list(data.DataLoader(d, 2)))
    if hasattr(d, "__len__"):
        steps("shuffled loader", lambda: list(data.DataLoader(d, 2, shuffle=True)))
        steps("without batches", lambda: list(data.DataLoader(d, None)))
        steps("split", lambda: [len(part) for part in data.random_split(d, [1, len(d) - 1])])
        steps("joined", lambda: list(data.ConcatDataset([d, d])))
        steps("subset", lambda: list(data.Subset(d, [0])))
    steps("sum", lambda: d + d)


def of_sampler(steps, cls, make):
    """Iterate over a sampler, and use it in a DataLoader."""
    data = steps.lib.utils.data
    s = steps("construct", lambda: make(cls, steps.lib))
    steps("length", lambda: len(s))
    steps("iterate", lambda: list(s))
    if cls.__name__ == "BatchSampler":
        steps("loader", lambda: list(data.DataLoader(range(6), batch_sampler=s)))
        steps("length of the loader", lambda: len(data.DataLoader(range(6), batch_sampler=s)))
        return
    steps("loader", lambda: list(data.DataLoader(range(6), 2, sampler=s)))
    steps("length of the loader", lambda: len(data.DataLoader(range(6), 2, sampler=s)))
    steps("in batches", lambda: list(data.BatchSampler(s, 2, False)))
    steps("set_epoch", lambda: s.set_epoch(1))


def of_loader(steps, cls, settings):
    loader = steps("construct", lambda: cls(range(6), **settings))
    steps("length", lambda: len(loader))
    steps("iterate", lambda: list(loader))
    steps("again", lambda: list(loader))
    steps("set batch_size", lambda: setattr(loader, "batch_size", 3))


def of_distribution(steps, cls, make):
    lib = steps.lib
    d = steps("construct", lambda: cls(*make(lib.distributions, lambda *v: lib.tensor(v))))
    x = steps("sample", lambda: d.sample())
    for step, run in {
        "samples": lambda: d.sample((3,)),
        "rsample": lambda: d.rsample((3,)),
        "log_prob": lambda: d.log_prob(x),
        "cdf": lambda: d.cdf(x),
        "icdf": lambda: d.icdf(x * 0 + 0.5),
        "entropy": lambda: d.entropy(),
        "perplexity": lambda: d.perplexity(),
        "enumerate_support": lambda: d.enumerate_support(),
        "repr": lambda: repr(d),
        "expand": lambda: d.expand((2, *d._batch_shape)),
        "divergence": lambda: lib.distributions.kl_divergence(d, d),
        "as one event": lambda: lib.distributions.Independent(d, len(d._batch_shape)).log_prob(x),
        **{name: lambda name=name: getattr(d, name) for name in PROPERTIES if hasattr(type(d), name)},
    }.items():
        steps(step, run)


PROPERTIES = """mean mode variance stddev support batch_shape event_shape probs logits param_shape covariance_matrix
precision_matrix scale_tril has_rsample""".split()


def of_transform(steps, cls, args):
    """Use a transform, its inverse, and a distribution that it transforms, with and without a cache."""
    lib, x = steps.lib, steps.lib.tensor([0.1, 0.2])
    D = lib.distributions
    for size in (0, 1):
        t = steps(f"construct {size}", lambda: cls(*args, cache_size=size))
        y, inverse = steps(f"call {size}", lambda: t(x)), steps(f"inv {size}", lambda: t.inv)
        d = steps(f"distribution {size}", lambda: D.TransformedDistribution(D.Normal(x, x), t))
        for step, run in {
            "inverse": lambda: inverse(y),
            "another inverse": lambda: t.inv(y * 0.9),
            "log_abs_det_jacobian": lambda: t.log_abs_det_jacobian(x, y),
            "inverse log_abs_det_jacobian": lambda: inverse.log_abs_det_jacobian(y, x),
            "forward_shape": lambda: t.forward_shape((2,)),
            "inverse_shape": lambda: t.inverse_shape((2,)),
            "inverse forward_shape": lambda: inverse.forward_shape((2,)),
            "with_cache": lambda: t.with_cache(1 - size),
            "repr": lambda: repr(t),
            "equal": lambda: t == t,
            "sample": lambda: d.sample(),
            "rsample": lambda: d.rsample((2,)),
            "log_prob": lambda: d.log_prob(y),
            "cdf": lambda: d.cdf(y),
            "icdf": lambda: d.icdf(x),
            "support": lambda: d.support,
            "expand": lambda: d.expand((3, 2)),
            **{n: lambda n=n: getattr(t, n) for n in ("sign", "event_dim", "domain", "codomain", "bijective")},
            **{f"inverse {n}": lambda n=n: getattr(inverse, n) for n in ("sign", "domain", "codomain", "bijective")},
        }.items():
            steps(f"{step} {size}", run)


def of_scaler(steps, cls, settings):
    lib = steps.lib
    w = lib.ones(2, requires_grad=True)
    optimizer = lib.optim.SGD([w], lr=0.1)
    scaler = steps("construct", lambda: cls("cpu", **settings))
    for i in range(2):
        optimizer.zero_grad()
        steps(f"scale {i}", lambda: backward(scaler.scale((w * w).sum())))
        if i:
            steps("unscale_", lambda: scaler.unscale_(optimizer))
        steps(f"step {i}", lambda: scaler.step(optimizer))
        steps(f"update {i}", lambda: scaler.update())
    state = steps("state_dict", lambda: scaler.state_dict())
    steps("load_state_dict", lambda: scaler.load_state_dict(state))
    steps("get_scale", lambda: scaler.get_scale())


def of_autocast(steps, cls, settings):
    lib = steps.lib
    cast = steps("construct", lambda: cls("cpu", dtype=lib.bfloat16))

    def run():
        with cast:
            return lib.ones(2, 2) @ lib.ones(2, 2)

    steps("with", run)
    steps("decorated", lambda: cast(lambda: lib.ones(2, 2) @ lib.ones(2, 2))())


def of_average(steps, cls, settings):
    lib = steps.lib
    model = lib.nn.Sequential(lib.nn.Linear(2, 2), lib.nn.BatchNorm1d(2))
    average = steps("construct", lambda: cls(model, **settings))
    steps("update_parameters", lambda: average.update_parameters(model))
    steps("update_parameters again", lambda: average.update_parameters(model))
    steps("update_bn", lambda: lib.optim.swa_utils.update_bn([lib.ones(3, 2)], average))
    steps("call", lambda: average(lib.ones(3, 2)))
    steps("train", lambda: average.train())
