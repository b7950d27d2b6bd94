"""ZeroRedundancyOptimizer: each rank updates its share of the parameters, and keeps the optimizer state of that share only."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from ..core.tensor import Tensor
from ..errors import error
from ..func.tree import tree_map
from ..ops.create import empty
from ..optim.optimizer import Optimizer
from .groups import member
from .objects import gather_object
from .point_to_point import recv, send
from .replicas import begin_broadcast
from .uneven_inputs import Join, Joinable, JoinHook

WHO = "ZeroRedundancyOptimizer"


class ZeroRedundancyOptimizer(Optimizer, Joinable):
    """An optimizer of class `optimizer_class` for parameters that are equal on all ranks; its state is divided among the ranks.

    A step updates on each rank the parameters of its share, which are whole parameters, and broadcasts them to the others.
    The gradients must be averaged over the ranks, as after backward of a DistributedDataParallel.  `defaults` are the
    settings of the optimizer_class.  Pass this optimizer to a learning rate scheduler, and change its `param_groups`.

    Before rank `to` calls `state_dict()`, all ranks call `consolidate_state_dict(to)`.  The result is the state of one
    optimizer for all parameters, which `load_state_dict` loads on any number of ranks.

    `parameters_as_bucket_view` has no effect.  Raises NotImplementedError for `overlap_with_ddp=True`, and the errors of the
    optimizer_class.

    >>> import minigrad
    >>> minigrad.distributed.init_process_group("mpi")
    >>> layer = minigrad.nn.Linear(2, 1)
    >>> optimizer = minigrad.distributed.optim.ZeroRedundancyOptimizer(layer.parameters(), minigrad.optim.Adam, lr=0.01)
    >>> layer(minigrad.ones(3, 2)).sum().backward()
    >>> optimizer.step()
    >>> optimizer.consolidate_state_dict()
    >>> sorted(optimizer.state_dict()["state"][0])
    ['exp_avg', 'exp_avg_sq', 'step']
    >>> minigrad.distributed.destroy_process_group()
    """

    def __init__(
        self,
        params: Iterable,
        optimizer_class: Callable,
        process_group: Any = None,
        parameters_as_bucket_view: bool = False,
        overlap_with_ddp: bool = False,
        **defaults: Any,
    ):
        if overlap_with_ddp:
            what = "overlap_with_ddp=True is not supported: a step begins when all gradients are computed"
            raise error(NotImplementedError, WHO, what, "leave overlap_with_ddp out, and call step() after backward()")
        self.process_group = member(process_group, WHO)
        self.owner: dict[Tensor, int] = {}  # parameter -> the rank that updates it
        self._elements = [0] * self.process_group.size()  # per rank, the number that it updates
        self._consolidated: list[dict] | None = None
        self.optim: Any = None
        super().__init__(params, defaults)
        self.optim = optimizer_class([self._own(group) for group in self.param_groups], **defaults)
        copy_settings(self.optim.param_groups, self.param_groups)
        self.state = self.optim.state

    join_device = property(lambda self: self._all()[0].device, doc="The device of the tensors that the ranks exchange.")
    join_process_group = property(lambda self: self.process_group, doc="The ranks that share the parameters.")

    def add_param_group(self, param_group: dict) -> None:
        """Add parameters, on all ranks; each, the largest first, goes to the rank with the fewest elements so far."""
        super().add_param_group(param_group)
        group, elements = self.param_groups[-1], self._elements
        for p in sorted(group["params"], key=Tensor.numel, reverse=True):
            self.owner[p] = elements.index(min(elements))
            elements[self.owner[p]] += p.numel()
        if self.optim is not None:
            self.optim.add_param_group(self._own(group))
            copy_settings(self.optim.param_groups, self.param_groups)

    def _share(self, group: dict, rank: int) -> list[Tensor]:
        """Return the parameters of a group that a rank updates."""
        return [p for p in group["params"] if self.owner[p] == rank]

    def _own(self, group: dict) -> dict:
        """Return the group of this rank's parameters for its optimizer, without the names of all parameters."""
        settings = {k: v for k, v in group.items() if k != "param_names"}
        return {**settings, "params": self._share(group, self.process_group.rank())}

    def _step(self, closure: Callable | None) -> Any:
        Join.notify_join_context(self)
        for hook in list(self._hooks["before"].values()):
            hook(self, () if closure is None else (closure,), {})
        loss = self.update_share(closure)
        for hook in list(self._hooks["after"].values()):
            hook(self, () if closure is None else (closure,), {})
        return loss

    def update_share(self, closure: Callable | None = None) -> Any:
        """Update this rank's parameters, and receive the others from their ranks; return the loss of a closure."""
        copy_settings(self.param_groups, self.optim.param_groups)
        loss = self.optim.step(closure)
        copy_settings(self.optim.param_groups, self.param_groups)
        self._earlier.cleared, self._earlier.stepped = False, True
        pieces = []
        for rank in range(self.process_group.size()):
            owned = [p for p, owner in self.owner.items() if owner == rank]
            pieces += begin_broadcast(owned, rank, self.process_group, f"parameters of rank {rank}")
        for piece in pieces:
            piece.finish()
        return loss

    def join_hook(self, **kwargs: Any) -> JoinHook:
        """Return the hook for a rank without input: it updates its share with the gradients of the others."""
        return UpdateShare(self)

    # ------------------------------------------------------------------ state
    def consolidate_state_dict(self, to: int = 0) -> None:
        """Send the states of all ranks to rank `to` of the group, so that it can call `state_dict()`; all ranks call this."""
        group, rank = self.process_group, self.process_group.rank()
        copy_settings(self.param_groups, self.optim.param_groups)
        mine, target = self.optim.state_dict(), group.ranks[to]
        layouts: list[Any] | None = [None] * group.size() if rank == to else None
        gather_object(tree_map(layout, mine), layouts, target, group)
        if layouts is not None:
            self._consolidated = [
                mine if r == to else tree_map(lambda leaf, r=r: received(leaf, group.ranks[r], group), layouts[r])
                for r in range(group.size())
            ]
        else:
            self._consolidated = None
            tree_map(lambda leaf: isinstance(leaf, Tensor) and send(leaf, target, group), mine)

    def state_dict(self) -> dict:
        """Return the state of all parameters at the last `consolidate_state_dict`.

        Raises RuntimeError on ranks other than its `to`.
        """
        if self._consolidated is None:
            rank = self.process_group.rank()
            what = f"Optimizer state has not been consolidated on this rank, which is {rank}"  # PyTorch's words
            raise error(RuntimeError, WHO, what, f"call consolidate_state_dict(to={rank}) on all ranks first")
        number, state = self._numbers(), {}
        for rank, theirs in enumerate(self._consolidated):
            for mine, p in enumerate(p for group in self.param_groups for p in self._share(group, rank)):
                if mine in theirs["state"]:
                    state[number[p]] = theirs["state"][mine]
        groups = [{**g, "params": [number[p] for p in g["params"]]} for g in self.param_groups]
        return {"state": dict(sorted(state.items())), "param_groups": groups}

    def load_state_dict(self, state_dict: dict) -> None:
        """Load this rank's share of the state of all parameters; all ranks call this.  Raises ValueError for other groups."""
        super().load_state_dict({"state": {}, "param_groups": state_dict["param_groups"]})
        numbers = {p: n for g, theirs in zip(self.param_groups, state_dict["param_groups"])
                   for p, n in zip(g["params"], theirs["params"])}  # fmt: skip
        own = [p for group in self.param_groups for p in self._share(group, self.process_group.rank())]
        state = {i: state_dict["state"][numbers[p]] for i, p in enumerate(own) if numbers[p] in state_dict["state"]}
        local = self.optim.state_dict()["param_groups"]
        copy_settings(self.param_groups, local)
        self.optim.load_state_dict({"state": state, "param_groups": local})
        self.state = self.optim.state

    def _numbers(self) -> dict[Tensor, int]:
        return {p: i for i, p in enumerate(self._all())}


class UpdateShare(JoinHook):
    """The step of a ZeroRedundancyOptimizer for the ranks that still train."""

    def __init__(self, optimizer: ZeroRedundancyOptimizer):
        self.optimizer = optimizer

    def main_hook(self) -> None:
        self.optimizer.update_share()


# ---------------------------------------------------------------------- helpers
def copy_settings(source: list[dict], target: list[dict]) -> None:
    """Copy the settings of groups, without their parameters, into other groups."""
    for theirs, mine in zip(source, target, strict=True):
        mine.update({k: v for k, v in theirs.items() if k not in ("params", "param_names")})


@dataclass
class Layout:
    """The shape and dtype of a tensor, which are sent before its elements."""

    shape: tuple
    dtype: Any


def layout(leaf: Any) -> Any:
    """Return the Layout of a tensor; return other values unchanged."""
    return Layout(tuple(leaf.shape), leaf.dtype) if isinstance(leaf, Tensor) else leaf


def received(leaf: Any, src: int, group: Any) -> Any:
    """Receive the tensor of a Layout from rank `src`; return other values unchanged."""
    if not isinstance(leaf, Layout):
        return leaf
    t = empty(leaf.shape, dtype=leaf.dtype, device="cpu")
    recv(t, src, group)
    return t
