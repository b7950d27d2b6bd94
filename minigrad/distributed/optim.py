"""torch.distributed.optim: optimizers for several processes."""

from .zero import ZeroRedundancyOptimizer

__all__ = ["ZeroRedundancyOptimizer"]
