"""While programs import minigrad as `torch`, public classes name PyTorch's modules: `type(x)` is `<class 'torch.Tensor'>`.

Programs print types, and tell layers from their own modules by `type(layer).__module__.startswith("torch.nn")`. So
`name_classes` sets `__module__`, and `restore_classes` undoes it. minigrad itself asks `places.home` for the defining module.
Python's `inspect` finds a class's source by its module, so `inspect.getfile` asks for the defining one, too.
"""

import inspect
import re
import sys
from collections.abc import Iterator
from typing import Any

from ..places import HOMES

# PyTorch's modules of layers, each with the names of its classes; the first row that fits a name counts
LAYERS = {
    "adaptive": "AdaptiveLog.*",
    "batchnorm": ".*BatchNorm.*",
    "channelshuffle": "ChannelShuffle",
    "container": "Sequential|.*List|.*Dict",
    "conv": ".*Conv.*",
    "distance": ".*Similarity|.*Distance",
    "dropout": ".*Dropout.*",
    "flatten": ".*latten",
    "fold": "Fold|Unfold",
    "instancenorm": ".*InstanceNorm.*",
    "linear": ".*[Ll]inear|Identity",
    "loss": ".*Loss",
    "module": "Module",
    "normalization": ".*Norm",
    "padding": ".*Pad.d",
    "pixelshuffle": "Pixel.*",
    "pooling": ".*(Pool|Unpool).d",
    "rnn": ".*RNN.*|LSTM.*|GRU.*",
    "sparse": "Embedding.*",
    "transformer": "Transformer.*",
    "upsampling": "Upsampl.*",
    "activation": ".*",
}
# modules of minigrad that have the same classes in PyTorch
SAME = """nn.parameter nn.utils.rnn nn.utils.parametrize optim.swa_utils distributions.constraints distributions.transforms
autograd.forward_ad autograd.grad_mode autograd.graph utils.data.dataloader utils.data.dataset utils.data.distributed
utils.data.sampler""".split()
# parts with public classes, and the module of PyTorch that defines a class, given its name; without one the class stays
RULES = {
    **dict.fromkeys([*SAME[1:7], "utils.data"], lambda name: None),
    "nn.parallel": lambda name: "torch.nn.parallel.data_parallel",
    "nn": lambda name: f"torch.nn.modules.{next(row for row, names in LAYERS.items() if re.fullmatch(names, name))}",
    "optim": lambda name: f"torch.optim.{name.lower()}",
    "optim.lr_scheduler": lambda name: "torch.optim.lr_scheduler",
    "distributions": lambda name: (
        "torch.distributions." + re.sub("(?<=[a-z])(?=[A-Z])", "_", name.removesuffix("StraightThrough")).lower()
    ),
    "autograd": {"Function": "torch.autograd.function"}.get,
    "return_types": lambda name: "torch.return_types" if name.islower() else None,
    "": dict.fromkeys("Size Tensor device dtype finfo iinfo layout memory_format".split(), "torch").get,
}


GETFILE = inspect.getfile


def file_of(object: Any) -> str:
    """Return the file that defines an object, as inspect.getfile does."""
    return GETFILE(sys.modules[HOMES[object]] if isinstance(object, type) and object in HOMES else object)


def name_classes() -> None:
    """Let the public classes of all loaded modules name PyTorch's modules."""
    inspect.getfile = file_of
    for part, rule in RULES.items():
        for cls in classes(part):
            own = cls.__module__
            module = f"torch.{own.partition('.')[2]}" if own.partition(".")[2] in SAME else rule(cls.__name__)
            if module is not None:
                HOMES[cls], cls.__module__ = own, module


def classes(part: str) -> Iterator[type]:
    """Yield the public classes of a part of minigrad that name their own modules; none if it is not loaded."""
    names = vars(sys.modules.get(f"minigrad.{part}".removesuffix("."), object))
    for name, cls in [(name, names.get(name)) for name in names.get("__all__", names)]:
        if isinstance(cls, type) and cls.__name__ == name and name[0] != "_" and cls.__module__.startswith("minigrad."):
            yield cls


def restore_classes() -> None:
    """Let all classes name the modules that define them."""
    inspect.getfile = GETFILE
    for cls, module in HOMES.items():
        cls.__module__ = module
    HOMES.clear()
