"""Uneven inputs: ranks whose data is used up make the collectives of those that still train.

Inside `with Join([model, optimizer]):` each rank tells the others at each step that it still trains.  One that has left its
loop waits at the end of the block: as long as others train it calls the main hooks, which make the collectives of one step,
and at last the post-hooks.
"""

from __future__ import annotations

from types import TracebackType
from typing import Any, NamedTuple

from ..core.tensor import Tensor
from ..errors import error, warn
from ..ops.create import ones, zeros
from .collectives import all_reduce
from .groups import get_rank
from .mpi_memory import Work

SKEW = 1000  # steps that the others may be ahead until a rank warns


class JoinHook:
    """What a rank does in place of training; a subclass overrides both methods.

    >>> from minigrad.distributed.uneven_inputs import JoinHook
    >>> JoinHook().main_hook(), JoinHook().post_hook(True)
    (None, None)
    """

    def main_hook(self) -> None:
        """Make the collectives of one step; called as long as other ranks train."""

    def post_hook(self, is_last_joiner: bool) -> None:
        """Be called once no rank trains; `is_last_joiner` says whether this one was among the last."""


class Settings(NamedTuple):
    """How an object takes part in the block around: whether there is one, and whether the object is its first."""

    enable: bool = False
    throw_on_early_termination: bool = False
    is_first_joinable: bool = False


class Joinable:
    """Base class of what can be used with uneven inputs.

    A subclass defines `join_hook(**kwargs)`, which returns a JoinHook, and the properties `join_device` and
    `join_process_group`; before the first collective of a step it calls `Join.notify_join_context(self)`.
    """

    _join_config = Settings()

    def join_hook(self, **kwargs: Any) -> JoinHook:
        """Return what a rank does in place of training."""
        raise NotImplementedError

    join_device: Any
    join_process_group: Any


class Join:
    """Context of a loop of which each rank may make another number of steps, with the given joinables.

    `enable=False` switches it off, where all make the same.  With `throw_on_early_termination=True` all ranks raise
    RuntimeError at the step for which one of them has no input.  Other keyword arguments go to the join hooks.  Raises
    ValueError for no joinables, and for joinables of several groups.

    >>> import minigrad
    >>> from minigrad.distributed.uneven_inputs import Join
    >>> minigrad.distributed.init_process_group("mpi")
    >>> model = minigrad.nn.parallel.DistributedDataParallel(minigrad.nn.Linear(2, 1))
    >>> with Join([model]):
    ...     for x in minigrad.ones(3, 1, 2):
    ...         model(x).sum().backward()
    >>> minigrad.distributed.destroy_process_group()
    """

    def __init__(
        self, joinables: list, enable: bool = True, throw_on_early_termination: bool = False, **kwargs: Any
    ) -> None:
        if not joinables:
            raise error(ValueError, "Join", "it is given no joinables", "pass those that communicate: Join([model])")
        self.group = joinables[0].join_process_group
        if any(j.join_process_group is not self.group for j in joinables):
            what = "the joinables are of several process groups"
            raise error(ValueError, "Join", what, "pass the same process_group= to each of them")
        self.device, self.enable, self.throw = joinables[0].join_device, enable, throw_on_early_termination
        self.hooks = [j.join_hook(**kwargs) for j in joinables]
        self.joinables = joinables
        for j in joinables:
            j._join_config = Settings(enable, throw_on_early_termination, j is joinables[0])

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            if self.enable and kind is None:
                self.join()
        finally:
            for j in self.joinables:
                j._join_config = Settings()

    def join(self) -> None:
        """Make the collectives of the ranks that still train, until none does."""
        steps = 0
        while self.others_train():
            if self.throw:
                all_reduce(ones(1, device=self.device), group=self.group)
                what = f"Rank {get_rank(self.group)} exhausted all inputs, and others have more"
                raise error(RuntimeError, "Join", what, "give all ranks as many")
            for hook in self.hooks:
                hook.main_hook()
            steps += 1
            if steps == SKEW:
                what = f"rank {get_rank(self.group)} had {SKEW} inputs less than others, and waits for them"
                warn("uneven-inputs", "Join", what, "divide the data evenly: utils.data.DistributedSampler")
        for hook in self.hooks:
            hook.post_hook(steps == 0)

    def others_train(self) -> bool:
        """Return whether some rank still trains: its part of the sum is one."""
        training = zeros(1, device=self.device)
        all_reduce(training, group=self.group)
        return training.item() > 0

    @staticmethod
    def notify_join_context(joinable: Any) -> Active | None:
        """Tell the other ranks that this one still trains; None where that is not to be said, or by another joinable.

        Returns the handle of the sum over the ranks, whose `count()` is the number of those that train.  Raises RuntimeError
        where the block is to end with the first rank, and one has no input.
        """
        settings: Settings = joinable._join_config
        if not settings.enable or not settings.is_first_joinable:
            return None
        group, training = joinable.join_process_group, ones(1, device=joinable.join_device)
        work = all_reduce(training, group=group, async_op=True)
        assert work is not None
        if settings.throw_on_early_termination:
            without = zeros(1, device=joinable.join_device)
            all_reduce(without, group=group)
            if without.item():
                what = "Detected at least one rank that exhausted inputs, which ends the loop on all ranks"
                raise error(
                    RuntimeError, "Join", what, "give all ranks as many, or let throw_on_early_termination=False"
                )
        return Active(work, training)


class Active:
    """The number of ranks that still train, once it is known."""

    def __init__(self, work: Work, training: Tensor):
        self.work, self.training = work, training

    def wait(self) -> None:
        """Wait until it is known."""
        self.work.wait()

    def count(self) -> int:
        """Wait, and return it."""
        self.wait()
        return int(self.training.item())
