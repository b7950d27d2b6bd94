"""Learning rate schedules, under torch.optim.lr_scheduler's names."""

# `make contents` writes this file from the declarations in ops/.
from .composed import ReduceLROnPlateau, SequentialLR
from .cycles import CosineAnnealingLR, CosineAnnealingWarmRestarts, CyclicLR, OneCycleLR
from .rates import ExponentialLR, LambdaLR, LinearLR, LRScheduler, MultiStepLR, StepLR

__all__ = [
    "CosineAnnealingLR",
    "CosineAnnealingWarmRestarts",
    "CyclicLR",
    "ExponentialLR",
    "LRScheduler",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "OneCycleLR",
    "ReduceLROnPlateau",
    "SequentialLR",
    "StepLR",
]
