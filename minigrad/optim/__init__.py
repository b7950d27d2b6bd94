"""Optimizers and learning rate schedules, under torch.optim's names."""

from ..diagnose.missing_names import explained as _explained
from . import lr_scheduler, swa_utils
from .adam import Adam, Adamax, AdamW, NAdam, RAdam
from .by_coordinate import Adadelta, Adagrad, RMSprop, Rprop
from .lbfgs import LBFGS
from .optimizer import Optimizer
from .sgd import ASGD, SGD

__getattr__ = _explained(__name__)
