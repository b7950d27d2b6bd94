"""torch.distributed.optim: optimizers of many processes."""

from .zero import ZeroRedundancyOptimizer

__all__ = ["ZeroRedundancyOptimizer"]
