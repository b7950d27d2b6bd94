"""The reducer: averages gradients over the ranks, bucket by bucket, while backward still runs.

Each parameter has a hook that the engine calls when its gradient is complete.  The hook puts the gradient into the
parameter's bucket.  Full buckets are reduced in the order of their numbers, so that all ranks make the same calls.  At the
end of backward the means become the parameters' gradients.
"""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent import futures
from typing import TYPE_CHECKING

from ..autograd.grad_mode import no_grad
from ..core.engine import queue_callback, reachable
from ..core.graph import history
from ..core.tensor import Tensor
from ..errors import error
from ..ops.from_data import tensor
from .buckets import NAMES, Bucket, GradBucket, NumberedParameter, divided
from .calls import labelled
from .collectives import all_reduce
from .mpi_memory import ReduceOp, Work

if TYPE_CHECKING:
    from .data_parallel import DistributedDataParallel

WHO = "DistributedDataParallel"


class Reducer:
    """Averages the gradients of `parameters` over a group, in each backward that follows a `prepare`.

    `settings` is the DistributedDataParallel.  With its `find_unused_parameters` a parameter may get no gradient on some
    ranks.  With `static_graph` a parameter gets the same number of gradients in every backward as in the first; the number
    may be 0 or more than 1.
    """

    def __init__(self, parameters: list[NumberedParameter], settings: DistributedDataParallel):
        self.parameters, self.group, self.static = parameters, settings.process_group, settings.static_graph
        self.as_view = settings.gradient_as_bucket_view
        self.partial = settings.find_unused_parameters or self.static  # some parameters may get no gradient
        found = divided(parameters, settings.bucket_bytes_caps)
        self.buckets = [Bucket(i, members) for i, members in enumerate(found)]
        self.place = {p.number: (bucket, i) for bucket in self.buckets for i, p in enumerate(bucket.members)}
        self.hook: Callable | None = None  # replaces all_reduce: (GradBucket) -> future
        self.used: set[int] = set()  # parameters with a gradient on this rank since the last reduction
        self.arrivals: Counter[int] | None = None  # static: gradients of each parameter in one backward
        self.waits = False  # a forward has run, and its gradients are not reduced yet
        self.reset()
        arrive = weakref.WeakMethod(self.arrive)  # the hooks do not keep the reducer alive
        handles = [p.tensor.register_post_accumulate_grad_hook(hook_of(arrive, p.number)) for p in parameters]
        weakref.finalize(self, lambda: [handle.remove() for handle in handles])

    def reset(self) -> None:
        """Forget the gradients of the last backward."""
        self.arrived: Counter[int] = Counter()  # gradients of each parameter in this backward
        self.ready: set[int] = set()  # parameters whose gradient is in the bucket
        self.launched, self.queued = 0, False
        self.absent: set[int] = set()  # parameters that will get no more gradients
        for bucket in self.buckets:
            bucket.missing, bucket.work = len(bucket.members), None

    # ------------------------------------------------------------------ forward
    def prepare(self, outputs: Iterable[Tensor]) -> None:
        """Expect the gradients of a forward's outputs."""
        self.reset()
        self.waits = True
        if self.arrivals is not None:
            self.absent = {p.number for p in self.parameters if not self.arrivals[p.number]}
        elif self.partial:
            reached = reachable([e for t in outputs if (e := history(t)) is not None])[1]
            self.absent = {p.number for p in self.parameters if p.tensor._edge not in reached}

    def check_finished(self) -> None:
        """Raise RuntimeError, naming the parameters, if only some got a gradient since the last forward."""
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
        """Take the complete gradient of a parameter, and start to reduce the buckets that are full."""
        self.used.add(number)
        if not self.waits:
            return
        if not self.queued:
            self.queued = True
            queue_callback(self.end)
        self.arrived[number] += 1
        if self.static and self.arrivals is None:
            return  # more may follow; `end` counts them
        if self.arrivals is None or self.arrived[number] == self.arrivals[number]:
            self.absent.add(number)
        for known in self.absent:
            self.put(known)
        self.absent.clear()
        self.launch()

    def put(self, number: int) -> None:
        """Put the gradient of a parameter into its bucket.  Raises RuntimeError if the bucket has it already."""
        if number in self.ready:
            name = next(p.name for p in self.parameters if p.number == number)
            what = f"Expected to mark a variable ready only once, but a second gradient of {name} came in the same iteration"
            fix = "call backward once for each forward, or pass static_graph=True where every iteration does the same"
            raise error(RuntimeError, WHO, what, fix)
        self.ready.add(number)
        bucket, i = self.place[number]
        bucket.take(i, self.divisor)

    @property
    def divisor(self) -> int:
        """The number by which each rank divides its gradients before they are summed; a hook averages by itself."""
        return self.group.size() if self.hook is None else 1

    def launch(self) -> None:
        """Start to reduce the next full buckets, and let MPI make progress on the running ones."""
        while self.launched < len(self.buckets) and not self.buckets[self.launched].missing:
            self.begin(self.buckets[self.launched])
            self.launched += 1
        for bucket in self.buckets[: self.launched]:
            if not (bucket.work.is_completed() if isinstance(bucket.work, Work) else bucket.work.done()):
                break

    def begin(self, bucket: Bucket) -> None:
        """Start to reduce a bucket."""
        with labelled(bucket.label, self.divisor):
            if self.hook is None:
                bucket.work = all_reduce(bucket.buffer, ReduceOp.SUM, self.group, async_op=True)
            else:
                with no_grad():
                    bucket.work = self.hook(GradBucket(bucket, bucket is self.buckets[-1]))

    def end(self) -> None:
        """Finish a backward: wait for the buckets, and set the gradients to their means."""
        with no_grad():
            if self.partial:
                for p in self.parameters:
                    if p.number not in self.ready:
                        self.put(p.number)
                self.launch()
            if self.launched < len(self.buckets):
                self.queued = False  # the rest may come with another backward
                return
            if self.static and self.arrivals is None:
                self.arrivals = self.arrived
            self.finish()
            self.waits, self.used = False, set()

    def finish(self) -> None:
        """Wait for all buckets and set the gradients."""
        anywhere = self.used_on_any_rank() if self.partial else None
        for bucket in self.buckets:
            self.wait(bucket)
            place = bucket.work.call.place if isinstance(bucket.work, Work) else None
            for i, p in enumerate(bucket.members):
                if anywhere is None or p.number in anywhere:
                    bucket.give(i, self.as_view, place)

    def wait(self, bucket: Bucket) -> None:
        """Wait for the reduction of a bucket."""
        result = bucket.work.result() if isinstance(bucket.work, futures.Future) else bucket.work.wait()
        if self.hook is not None:
            result = result[0] if isinstance(result, (list, tuple)) else result
            if result is not bucket.buffer:
                bucket.buffer.copy_(result.reshape(-1))

    def used_on_any_rank(self) -> set[int]:
        """Return the parameters with a gradient on at least one rank."""
        counts = tensor([int(p.number in self.used) for p in self.parameters], device="cpu")
        with labelled("parameters with a gradient"):
            all_reduce(counts, ReduceOp.MAX, self.group)
        return {p.number for p, n in zip(self.parameters, counts.tolist()) if n}


def hook_of(arrive: weakref.WeakMethod, number: int) -> Callable:
    """Return the hook of a parameter, which calls `arrive` when its gradient is complete."""
    return lambda t: call(number) if (call := arrive()) else None
