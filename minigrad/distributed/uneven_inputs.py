"""Join: training with uneven inputs.  A rank without data makes the collectives of the ranks that still train.

Inside `with Join([model, optimizer]):` each rank announces in every step that it still trains.  A rank that has finished its
loop stays in the block's end: while others train it calls the main hooks, which make the collectives of one step.  When no
rank trains, it calls the post-hooks.
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

SKEW = 1000  # steps without data after which a rank warns


class JoinHook:
    """The work of a rank without data; a subclass overrides both methods.

    >>> from minigrad.distributed.uneven_inputs import JoinHook
    >>> JoinHook().main_hook(), JoinHook().post_hook(True)
    (None, None)
    """

    def main_hook(self) -> None:
        """Make the collectives of one step; called while other ranks train."""

    def post_hook(self, is_last_joiner: bool) -> None:
        """Finish, when no rank trains any more; `is_last_joiner` is True if this rank was among the last."""


class Settings(NamedTuple):
    """The settings of the surrounding Join for one of its joinables."""

    enable: bool = False
    throw_on_early_termination: bool = False
    is_first_joinable: bool = False


class Joinable:
    """Base class of objects that a Join supports.

    A subclass defines `join_hook(**kwargs)`, which returns a JoinHook, and the properties `join_device` and
    `join_process_group`; before the first collective of a step it calls `Join.notify_join_context(self)`.
    """

    _join_config = Settings()

    def join_hook(self, **kwargs: Any) -> JoinHook:
        """Return the JoinHook of this object."""
        raise NotImplementedError

    join_device: Any
    join_process_group: Any


class Join:
    """Context manager for a loop over uneven inputs, whose number of steps differs from rank to rank.

    `enable=False` switches it off.  With `throw_on_early_termination=True` all ranks raise RuntimeError at the first step for
    which a rank has no input.  Other keyword arguments go to the join hooks.  Raises ValueError for an empty list of
    joinables, and for joinables of different groups.

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
            raise error(
                ValueError, "Join", "the list of joinables is empty", "pass the objects that communicate: Join([model])"
            )
        self.group = joinables[0].join_process_group
        if any(j.join_process_group is not self.group for j in joinables):
            what = "the joinables belong to different process groups"
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
        """Make the collectives of the ranks that still train, until no rank trains."""
        steps = 0
        while self.others_train():
            if self.throw:
                all_reduce(ones(1, device=self.device), group=self.group)
                what = f"Rank {get_rank(self.group)} exhausted all inputs, and others have more"
                raise error(RuntimeError, "Join", what, "give all ranks the same number of inputs")
            for hook in self.hooks:
                hook.main_hook()
            steps += 1
            if steps == SKEW:
                what = f"rank {get_rank(self.group)} has {SKEW} inputs fewer than other ranks, and waits for them"
                warn("uneven-inputs", "Join", what, "divide the data evenly: utils.data.DistributedSampler")
        for hook in self.hooks:
            hook.post_hook(steps == 0)

    def others_train(self) -> bool:
        """Return True if a rank still trains; each of them adds one to the sum."""
        training = zeros(1, device=self.device)
        all_reduce(training, group=self.group)
        return training.item() > 0

    @staticmethod
    def notify_join_context(joinable: Any) -> Active | None:
        """Announce to the other ranks that this one still trains; return the handle that counts such ranks.

        Returns None outside a Join, and for all but its first joinable.  Raises RuntimeError with
        `throw_on_early_termination` if a rank has no input.
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
                    RuntimeError,
                    "Join",
                    what,
                    "give all ranks the same number of inputs, or pass throw_on_early_termination=False",
                )
        return Active(work, training)


class Active:
    """Handle of the number of ranks that still train."""

    def __init__(self, work: Work, training: Tensor):
        self.work, self.training = work, training

    def wait(self) -> None:
        """Wait for the number."""
        self.work.wait()

    def count(self) -> int:
        """Wait for the number, and return it."""
        self.wait()
        return int(self.training.item())
