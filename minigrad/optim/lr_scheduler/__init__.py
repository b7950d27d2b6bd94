"""Learning rate schedules, under torch.optim.lr_scheduler's names."""

from ...diagnose.missing_names import explained as _explained
from .composed import ReduceLROnPlateau, SequentialLR
from .cycles import CosineAnnealingLR, CosineAnnealingWarmRestarts, CyclicLR, OneCycleLR
from .rates import ExponentialLR, LambdaLR, LinearLR, LRScheduler, MultiStepLR, StepLR

__getattr__ = _explained(__name__)
