"""The beginning of programs that test FullyShardedDataParallel: imports, a network, its data, and whole gradients."""

from tests.distributed.ranks import SHARDED

COMMON = (
    SHARDED
    + """
import weakref
from functools import partial
from minigrad.core.saved import bottom
from minigrad.distributed.calls import listening
from minigrad.distributed.fsdp import FullyShardedDataParallel as FSDP
from minigrad.distributed.fsdp import ShardingStrategy, StateDictType
from minigrad.distributed.fsdp.wrap import ModuleWrapPolicy, size_based_auto_wrap_policy, transformer_auto_wrap_policy
from minigrad.utils.checkpoint import checkpoint


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.norm, self.rest = nn.Linear(5, 7), nn.LayerNorm(7), nn.Sequential(nn.Linear(7, 3), nn.Tanh())
        self.scale = nn.Parameter(torch.tensor(1.5))
        self.last = nn.Linear(3, 2)
        self.register_buffer("seen", torch.zeros(1))

    def forward(self, x):
        return self.last(self.rest(self.norm(self.first(x)).tanh()) * self.scale)


def net(seed=0):
    torch.manual_seed(seed)
    return Net()


def units(model):
    return [u for u in FSDP.fsdp_modules(model) if u._shard is not None]


def memory(t):
    a = bottom(t)._a
    while a.base is not None:
        a = a.base
    return a


torch.manual_seed(9)
x = torch.randn(6 * size, 5)
mine = x[6 * rank : 6 * rank + 6]
"""
)
