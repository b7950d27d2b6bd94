"""The classes whose overrides are compared, how each is made, and the program that uses it."""

import re

from tests.parity import checks_of_modules, overrides
from tests.parity import override_programs as programs
from tests.parity.count import DATABASES

MODULES = """
AdaptiveLogSoftmaxWithLoss(4, 8, [3]) | ones(2, 4), ones(2).long()
AlphaDropout() | ones(2, 3)
ChannelShuffle(3) | ones(2, 6, 4)
CosineSimilarity() | ones(2, 3), ones(2, 3)
DataParallel(Linear(3, 2)) | ones(2, 3)
Dropout() | ones(2, 3)
Dropout1d() | ones(2, 3, 2)
Dropout2d() | ones(2, 3, 2, 2)
Dropout3d() | ones(2, 3, 2, 2, 2)
EmbeddingBag(5, 3, padding_idx=1) | ones(2, 3).long()
FeatureAlphaDropout() | ones(2, 3)
Flatten() | ones(2, 3, 2)
Fold((3, 3), 2) | ones(1, 8, 4)
Hardsigmoid() | ones(2, 3)
Identity() | ones(2, 3)
InstanceNorm1d(3, affine=True, track_running_stats=True) | ones(3, 4)
LazyBatchNorm1d() | ones(2, 3)
LazyBatchNorm2d() | ones(2, 3, 4, 4)
LazyConv1d(2, 2) | ones(2, 3, 4)
LazyConv2d(2, 2) | ones(2, 3, 4, 4)
LazyLinear(2) | ones(2, 3)
MaxUnpool1d(2) | ones(1, 1, 2), arange(2).reshape(1, 1, 2)
MaxUnpool2d(2) | ones(1, 1, 1, 2), arange(2).reshape(1, 1, 1, 2)
MaxUnpool3d(2) | ones(1, 1, 1, 1, 2), arange(2).reshape(1, 1, 1, 1, 2)
Module() |
MultiheadAttention(4, 2, kdim=3, vdim=3, add_bias_kv=True) | ones(3, 2, 4), ones(5, 2, 3), ones(5, 2, 3)
PairwiseDistance() | ones(2, 3), ones(2, 3)
PixelShuffle(2) | ones(1, 8, 3, 3)
PixelUnshuffle(2) | ones(1, 2, 4, 4)
RNNCellBase(2, 3, True, 1) |
RReLU() | ones(2, 3)
Sequential(Linear(3, 3), ReLU()) | ones(2, 3)
TransformerDecoder(TransformerDecoderLayer(4, 2, 8), 2, LayerNorm(4)) | ones(3, 2, 4), ones(5, 2, 4)
TransformerDecoderLayer(4, 2, 8, norm_first=True) | ones(3, 2, 4), ones(5, 2, 4)
TransformerEncoderLayer(4, 2, 8, norm_first=True, batch_first=True) | ones(3, 2, 4)
TripletMarginLoss() | ones(2, 3), ones(2, 3), ones(2, 3)
Unflatten(1, [2, 2]) | ones(3, 4)
Unfold(2) | ones(1, 2, 3, 3)
Upsample(scale_factor=2) | ones(1, 2, 3, 3)
LSTM(3, 4, proj_size=2, bidirectional=True) | utils.rnn.pack_sequence([ones(3, 3), ones(2, 3)]), (ones(2, 2, 2), ones(2, 2, 4))
GRU(3, 4, 2) | utils.rnn.pack_sequence([ones(2, 3), ones(3, 3)], enforce_sorted=False)
RNN(3, 4, batch_first=True, bias=False) | ones(2, 5, 3), ones(1, 2, 4)
ConvTranspose2d(2, 3, 2, stride=2) | ones(1, 2, 3, 3), [7, 6]
"""

CONTAINERS = {
    "Sequential": (
        "nn.Linear(2, 2), nn.ReLU(), nn.Tanh()",
        """c[0]; c[1:]; c[0] = nn.ReLU(); del c[0]; del c[:1]; c.append(nn.SELU()); c.extend([nn.ReLU(), nn.GELU()])
        c.insert(1, nn.ReLU()); c.pop(0); len(c); c + c; c += nn.Sequential(nn.ReLU()); c * 2; c *= 2; 2 * c; list(c)""",
    ),
    "ModuleList": (
        "[nn.Linear(2, 2), nn.ReLU()]",
        """c[0]; c[1:]; c[0] = nn.ReLU(); c.append(nn.SELU()); c.extend([nn.ReLU(), nn.GELU()]); del c[0]; del c[:1]
        c.insert(1, nn.ReLU()); c.pop(0); len(c); c + [nn.ReLU()]; c += [nn.ReLU()]; list(c); nn.ReLU() in c""",
    ),
    "ModuleDict": (
        "{'a': nn.Linear(2, 2), 'b': nn.ReLU()}",
        """c['a']; c['c'] = nn.ReLU(); del c['c']; len(c); list(c); 'a' in c; list(c.keys()); list(c.items()); list(c.values())
        c.pop('a'); c.update({'d': nn.ReLU()}); c.update([('e', nn.ReLU())]); c.clear()""",
    ),
    "ParameterList": (
        "[ones(2), nn.Parameter(ones(3))]",
        """c[0]; c[1:]; c[-1] = ones(2); c.append(ones(1)); c.extend([ones(2), ones(2)]); c += [ones(4)]; len(c); list(c)
        dir(c)""",
    ),
    "ParameterDict": (
        "{'b': ones(2), 'a': nn.Parameter(ones(3))}",
        """c['a']; c['c'] = ones(2); del c['c']; len(c); list(c); 'a' in c; list(c.keys()); list(c.items()); list(c.values())
        c.get('a'); c.get('z'); c.setdefault('a'); c.setdefault('y', ones(1)); c.pop('y'); c.popitem(); c.copy(); c | c; c |= c
        c.update({'d': ones(1)}); c.update([('e', ones(1))]); c.fromkeys(['q']); list(reversed(c)); c.clear()""",
    ),
}

SCHEDULES = {
    "StepLR": "o, 2",
    "MultiStepLR": "o, [1, 3]",
    "ExponentialLR": "o, 0.9",
    "CosineAnnealingLR": "o, 3",
    "CosineAnnealingWarmRestarts": "o, 2",
    "LambdaLR": "o, lambda k: 0.9**k",
    "MultiplicativeLR": "o, lambda k: 0.9",
    "LinearLR": "o",
    "ConstantLR": "o",
    "PolynomialLR": "o",
    "CyclicLR": "o, 0.1, 0.3",
    "OneCycleLR": "o, 0.3, 9",
    "ReduceLROnPlateau": "o, patience=0",
    "SequentialLR": "o, [L.StepLR(o, 1), L.StepLR(o, 2)], [2]",
    "ChainedScheduler": "[L.StepLR(o, 1), L.StepLR(o, 2)]",
}


def items(cls):
    """Return a dataset class with three samples."""
    return type(cls.__name__, (cls,), {"__len__": lambda d: 3, "__getitem__": lambda d, i: [1, 2, 3][i]})


DATASETS = {
    "Dataset": lambda cls, m: items(cls)(),
    "IterableDataset": lambda cls, m: type(cls.__name__, (cls,), {"__iter__": lambda d: iter(range(3))})(),
    "TensorDataset": lambda cls, m: cls(m.arange(4)),
    "ConcatDataset": lambda cls, m: cls([range(3), range(2)]),
    "Subset": lambda cls, m: cls([5, 6, 7], [2, 0]),
}
SAMPLERS = {
    "SequentialSampler": lambda cls, m: cls(range(5)),
    "RandomSampler": lambda cls, m: cls(range(5)),
    "SubsetRandomSampler": lambda cls, m: cls([1, 3]),
    "WeightedRandomSampler": lambda cls, m: cls([1.0, 2.0], 3),
    "DistributedSampler": lambda cls, m: cls(range(5), 2, 0),
    "BatchSampler": lambda cls, m: cls(range(5), 2, False),
}
LOADERS = {
    "in order": {"batch_size": 2},
    "shuffled": {"batch_size": 2, "shuffle": True},
    "single samples": {"batch_size": None},
    "workers": {"batch_size": 2, "num_workers": 1, "persistent_workers": True},
}
DISTRIBUTIONS = {
    **dict.fromkeys(
        ["Normal", "Laplace", "Gumbel", "Uniform", "Beta", "Gamma"], lambda D, t: (t(0.5, 1.0), t(1.5, 2.0))
    ),
    **dict.fromkeys(["Bernoulli", "ContinuousBernoulli"], lambda D, t: (t(0.1, 0.2),)),
    **dict.fromkeys(
        ["Categorical", "OneHotCategorical", "OneHotCategoricalStraightThrough"], lambda D, t: (t(0.1, 0.9),)
    ),
    **dict.fromkeys(["Exponential", "Dirichlet"], lambda D, t: (t(1.0, 2.0),)),
    "Multinomial": lambda D, t: (3, t(0.1, 0.9)),
    "MultivariateNormal": lambda D, t: (t(0.0, 1.0), t([1.0, 0.0], [0.0, 1.0])),
    "Independent": lambda D, t: (D.Normal(t(0.5, 1.0), t(1.5, 2.0)), 1),
    "TransformedDistribution": lambda D, t: (D.Normal(t(0.5, 1.0), t(1.5, 2.0)), [D.ExpTransform()]),
    "MixtureSameFamily": lambda D, t: (D.Categorical(t(0.5, 0.5)), D.Normal(t(0.5, 1.0), t(1.5, 2.0))),
}
TRANSFORMS = {"AffineTransform": (1.0, 2.0), "ExpTransform": (), "SigmoidTransform": (), "TanhTransform": ()}


# ---------------------------------------------------------------------- programs
def evaluated(text, m):
    """Return a call's positional and named arguments, written with this library's names."""
    scope = {**vars(m.nn), "ones": m.ones, "arange": m.arange}
    return eval(f"(lambda *a, **k: (a, k))({text})", scope)


def module_case(line):
    """Return (class, program) of a row of MODULES."""
    text, _, inputs = (part.strip() for part in line.partition("|"))
    name, given = re.fullmatch(r"(\w+)\((.*)\)", text).groups()

    def run(steps, cls):
        call = doubled(evaluated(inputs, steps.lib), steps.lib) if inputs else None
        overrides.of_module(steps, cls, evaluated(given, steps.lib), call)

    return f"nn.{name}", run


def doubled(value, m):
    """Return arguments with the floating-point tensors in float64, as the module is."""
    if isinstance(value, m.nn.utils.rnn.PackedSequence) or isinstance(value, m.Tensor) and value.is_floating_point():
        return value.to(m.float64)
    return tuple(doubled(v, m) for v in value) if type(value) is tuple else value


def database_case(entry, sample):
    def run(steps, cls):
        make = checks_of_modules.arguments(steps.lib, sample.constructor_input)
        overrides.of_module(steps, cls, make, checks_of_modules.arguments(steps.lib, sample.forward_input))

    return entry.name, run


def container_case(name, given, uses):
    def run(steps, cls):
        scope = {"nn": steps.lib.nn, "ones": steps.lib.ones}
        make = lambda: eval(f"cls({given})", {**scope, "cls": cls})
        c = steps("construct", make)
        for i, use in enumerate(u.strip() for line in uses.splitlines() for u in line.split(";")):
            steps(f"{i}: {use}", lambda use=use: exec(use, {**scope, "c": c}))
        for who, module in (("", make()), ("parent.", steps.lib.nn.ModuleList([make()]))):
            for way, use in overrides.ways(steps.lib, module).items():
                steps(who + way, use)

    return f"nn.{name}", run


def schedule_case(name, given):
    make = lambda cls, o, L: eval(f"cls({given})", {"cls": cls, "o": o, "L": L})
    return f"optim.lr_scheduler.{name}", lambda steps, cls: programs.of_schedule(steps, cls, make)


def cases():
    """Yield (id, dotted name of the class, program)."""
    for line in MODULES.strip().splitlines():
        yield line, *module_case(line)
    for entry in DATABASES["modules"][0]:
        for i, sample in enumerate(checks_of_modules.inputs(entry, True)[:3]):
            yield f"{entry.name} {i}", *database_case(entry, sample)
    for name, (given, uses) in CONTAINERS.items():
        yield name, *container_case(name, given, uses)
    for name in "ASGD Adadelta Adagrad Adam AdamW Adamax LBFGS NAdam RAdam RMSprop Rprop SGD".split():
        kind = programs.LBFGS if name == "LBFGS" else {}
        yield name, f"optim.{name}", lambda steps, cls, kind=kind: programs.of_optimizer(steps, cls, kind)
    for name, given in SCHEDULES.items():
        yield name, *schedule_case(name, given)
    for table, place, run in (
        (DATASETS, "utils.data", programs.of_dataset),
        (SAMPLERS, "utils.data", programs.of_sampler),
        (DISTRIBUTIONS, "distributions", programs.of_distribution),
        (TRANSFORMS, "distributions", programs.of_transform),
    ):
        for name, make in table.items():
            yield name, f"{place}.{name}", lambda steps, cls, run=run, make=make: run(steps, cls, make)
    for name, settings in LOADERS.items():
        yield (
            f"DataLoader, {name}",
            "utils.data.DataLoader",
            lambda steps, cls, s=settings: programs.of_loader(steps, cls, s),
        )
    yield "GradScaler", "amp.GradScaler", lambda steps, cls: programs.of_scaler(steps, cls, {})
    yield "GradScaler, off", "amp.GradScaler", lambda steps, cls: programs.of_scaler(steps, cls, {"enabled": False})
    yield "autocast", "amp.autocast", lambda steps, cls: programs.of_autocast(steps, cls, {})
    yield "AveragedModel", "optim.swa_utils.AveragedModel", lambda steps, cls: programs.of_average(steps, cls, {})
