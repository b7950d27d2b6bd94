"""The reducer: averages gradients over the ranks, bucket by bucket, while backward still runs.

Each parameter has a hook that is called when its gradient is complete.  The hook puts the gradient into the parameter's
bucket; a bucket that is full is reduced, in the order of the buckets, so that all ranks make the same calls.  At the end of
backward the sums become the parameters' gradients.
"""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from ..autograd.grad_mode import no_grad
from ..core.engine import behind, queue_callback
from ..core.graph import history
from ..core.tensor import Tensor
from ..errors import error
from ..ops.from_data import tensor
from .buckets import NAMES, Bucket, GradBucket, Numbered, divided
from .calls import labelled
from .collectives import all_reduce
from .groups import ProcessGroup
from .mpi_memory import ReduceOp, Work
from .uneven_inputs import Active

WHO = "DistributedDataParallel"


class Reducer:
    """Averages the gradients of `parameters` over a group, in each backward that follows a `prepare`.

    With `find_unused` parameters may get no gradient on some ranks.  With `static` as many gradients arrive at each parameter
    in each backward as in the first, which is one for most, none or several for some.
    """

    def __init__(
        self,
        parameters: list[Numbered],
        group: ProcessGroup,
        caps: Sequence[int],
        find_unused: bool,
        as_view: bool,
        static: bool,
    ):
        self.parameters, self.group, self.as_view, self.static = parameters, group, as_view, static
        self.partial = find_unused or static  # some parameters may get no gradient
        self.buckets = [Bucket(i, members) for i, members in enumerate(divided(parameters, caps))]
        self.place = {p.number: (bucket, i) for bucket in self.buckets for i, p in enumerate(bucket.members)}
        self.hook: Callable | None = None  # what reduces a bucket in place of all_reduce, (GradBucket) -> future
        self.active: Active | None = None  # how many ranks train in this step, where that is less than all
        self.used: set[int] = set()  # parameters that got a gradient here since the last reduction
        self.arrivals: Counter[int] | None = None  # per parameter those of one backward, where they are always the same
        self.waits = False  # for the gradients of a forward
        self.reset()
        me: weakref.ref[Reducer] = weakref.ref(self)
        handles = []
        for p in parameters:
            arrived = hook_of(me, p.number)
            handles.append(p.tensor.register_post_accumulate_grad_hook(arrived))
        weakref.finalize(self, remove, handles)

    def reset(self) -> None:
        """Forget what has arrived."""
        self.arrived: Counter[int] = Counter()  # gradients in this backward
        self.ready: set[int] = set()  # parameters whose gradient is in its bucket
        self.launched, self.queued = 0, False
        self.absent: set[int] = set()  # parameters that no gradient will come to
        for bucket in self.buckets:
            bucket.missing, bucket.work = len(bucket.members), None

    # ------------------------------------------------------------------ forward
    def prepare(self, outputs: Iterable[Tensor], active: Active | None) -> None:
        """Wait for the gradients of what a forward has returned; `active` counts the ranks that take part, None for all."""
        self.reset()
        self.waits, self.active = True, active
        if self.arrivals is not None:
            self.absent = {p.number for p in self.parameters if not self.arrivals[p.number]}
        elif self.partial:
            reached = behind([e for t in outputs if (e := history(t)) is not None])[1]
            self.absent = {p.number for p in self.parameters if p.tensor._edge not in reached}

    def check_finished(self) -> None:
        """Raise RuntimeError, with the parameters' names, where only some have got a gradient since the last forward."""
        if not self.waits or not self.ready:
            return
        without = [p.name for p in self.parameters if p.number not in self.ready]
        names = ", ".join(without[:NAMES]) + (f" and {len(without) - NAMES} more" if len(without) > NAMES else "")
        what = (
            "Expected to have finished reduction in the prior iteration before starting a new one, but on rank "
            f"{self.group.rank()} {len(without)} of {len(self.parameters)} parameters got no gradient: {names}"
        )
        self.waits = False
        fix = "let the loss depend on them, or pass find_unused_parameters=True"
        raise error(RuntimeError, WHO, what, fix, notes=["the other ranks may wait for these gradients"])

    # ------------------------------------------------------------------ backward
    def arrive(self, number: int) -> None:
        """Take the gradient of a parameter, which is complete; reduce the buckets that are full."""
        self.used.add(number)
        if not self.waits:
            return
        if not self.queued:
            self.queued = True
            queue_callback(self.end)
        self.arrived[number] += 1
        if self.static and self.arrivals is None:
            return  # more may come; the end of this backward knows
        if self.arrivals is None or self.arrived[number] == self.arrivals[number]:
            self.absent.add(number)
        for known in self.absent:
            self.put(known)
        self.absent.clear()
        self.launch()

    def put(self, number: int) -> None:
        """Put the gradient of a parameter into its bucket.  Raises RuntimeError where it is there already."""
        if number in self.ready:
            name = next(p.name for p in self.parameters if p.number == number)
            what = f"Expected to mark a variable ready only once, but a second gradient of {name} came in the same iteration"
            fix = (
                "use checkpoint(..., use_reentrant=False), call backward once for each forward, "
                "or pass static_graph=True where every iteration does the same"
            )
            raise error(RuntimeError, WHO, what, fix)
        self.ready.add(number)
        bucket, i = self.place[number]
        bucket.take(i, self.divisor() if self.hook is None else 1)

    def launch(self) -> None:
        """Begin to reduce the next buckets that are full, and let MPI go on with those that are under way."""
        while self.launched < len(self.buckets) and not self.buckets[self.launched].missing:
            self.begin(self.buckets[self.launched])
            self.launched += 1
        for bucket in self.buckets[: self.launched]:
            if not (bucket.work.is_completed() if isinstance(bucket.work, Work) else bucket.work.done()):
                break

    def divisor(self) -> int:
        """Return how many ranks' gradients come together."""
        return self.group.size() if self.active is None else self.active.count()

    def begin(self, bucket: Bucket) -> None:
        """Begin to reduce a bucket."""
        with labelled(bucket.label):
            if self.hook is None:
                bucket.work = all_reduce(bucket.buffer, ReduceOp.SUM, self.group, async_op=True)
            else:
                with no_grad():
                    bucket.work = self.hook(GradBucket(bucket, bucket is self.buckets[-1]))

    def end(self) -> None:
        """At the end of a backward: wait for the buckets, and let the gradients be what has come back."""
        with no_grad():
            if self.partial:
                for p in self.parameters:
                    if p.number not in self.ready:
                        self.put(p.number)
                self.launch()
            if self.launched < len(self.buckets):
                self.queued = False  # another backward may bring the rest
                return
            if self.static and self.arrivals is None:
                self.arrivals = self.arrived
            self.finish(self.used)
            self.waits, self.used = False, set()

    def finish(self, used: set[int]) -> None:
        """Wait for all buckets, and hand out the gradients; `used` are the parameters that got one here."""
        anywhere = self.used_anywhere(used) if self.partial else None
        for bucket in self.buckets:
            self.wait(bucket)
            place = bucket.work.call.place if isinstance(bucket.work, Work) else None
            for i, p in enumerate(bucket.members):
                if anywhere is None or p.number in anywhere:
                    bucket.give(i, self.as_view, place)

    def wait(self, bucket: Bucket) -> None:
        """Wait until a bucket is reduced."""
        result = bucket.work.wait()
        if self.hook is not None:
            result = result[0] if isinstance(result, (list, tuple)) else result
            if result is not bucket.buffer:
                bucket.buffer.copy_(result.reshape(-1))

    def used_anywhere(self, used: set[int]) -> set[int]:
        """Return the parameters that got a gradient on some rank."""
        counts = tensor([int(p.number in used) for p in self.parameters])
        with labelled("parameters with a gradient"):
            all_reduce(counts, ReduceOp.MAX, self.group)
        return {p.number for p, n in zip(self.parameters, counts.tolist()) if n}

    def shadow(self) -> None:
        """Make the calls of a backward for the ranks that still train, with gradients of zero; get the mean as they do."""
        with no_grad():
            for bucket in self.buckets:
                bucket.buffer.zero_()
                self.begin(bucket)
            self.finish(set())


def hook_of(reducer: weakref.ref[Reducer], number: int) -> Callable:
    """Return the hook of a parameter, which does not keep its reducer alive."""

    def gradient_is_complete(t: Tensor) -> None:
        if (here := reducer()) is not None:
            here.arrive(number)

    return gradient_is_complete


def remove(handles: list) -> None:
    """Take hooks off."""
    for handle in handles:
        handle.remove()
