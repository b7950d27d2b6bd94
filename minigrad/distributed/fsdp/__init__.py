"""Parameters that are sharded over the ranks, under the names of torch.distributed.fsdp.

flat_shard.py keeps a module's parameters as one flat parameter and gathers it, fully_sharded.py is the module that does this
around its forward, and wrap.py chooses which modules inside a model become units.
"""

from . import wrap
from .fully_sharded import FullyShardedDataParallel, ShardingStrategy, StateDictType

__all__ = ["FullyShardedDataParallel", "ShardingStrategy", "StateDictType", "wrap"]
