"""Optimizers and learning rate schedules, under torch.optim's names."""

from . import lr_scheduler
from .adam import Adagrad, Adam, AdamW, RMSprop
from .optimizer import Optimizer
from .sgd import SGD
