"""Parameters that are spread over the ranks, under torch.distributed.fsdp's names.

flat_shard.py holds a module's parameters as one flat tensor and gathers it, fully_sharded.py is the module that does so while
it runs, and wrap.py chooses modules inside of a model.
"""

from . import wrap
from .fully_sharded import FullyShardedDataParallel, ShardingStrategy, StateDictType

__all__ = ["FullyShardedDataParallel", "ShardingStrategy", "StateDictType", "wrap"]
