"""Learning rate schedules, under torch.optim.lr_scheduler's names."""

from ...diagnose.missing_names import explained as _explained
from .composed import ChainedScheduler, ReduceLROnPlateau, SequentialLR
from .cycles import CosineAnnealingLR, CosineAnnealingWarmRestarts, CyclicLR, OneCycleLR
from .rates import ConstantLR, ExponentialLR, LambdaLR, LinearLR, MultiplicativeLR, MultiStepLR, PolynomialLR, StepLR
from .scheduler import LRScheduler

__getattr__ = _explained(__name__)
