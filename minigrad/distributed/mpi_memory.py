"""Passes the memory of tensors to MPI, and has the handles of running collectives.

Elements travel as bytes, whatever their dtype; MPI computes with them only in reductions.  MPI has no float16 or bfloat16:
these are reduced in float32 and rounded once.  If a tensor's memory is plain, MPI reads and writes it directly; otherwise it
gets a copy.  A CUDA-aware MPI reads and writes a GPU's memory, too; for other MPIs it is copied to pinned host memory.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from enum import Enum
from functools import cache
from typing import Any

import numpy as np

from ..arrays.dtypes import HALVES
from ..arrays.kinds import contiguous, empty, on_device
from ..arrays.meta import is_meta, no_numbers
from ..core.frames import OFF, ON, current
from ..core.saved import INFERENCE, memory, plain_tensor
from ..core.tensor import Box, Tensor, wrap
from ..errors import error, warn
from ..kernels import cuda_kernels
from ..ops.transfer import placed
from .calls import CollectiveCall, report_communication
from .groups import seconds
from .waiting import wait_for


class ReduceOp(Enum):
    """The operation of a reduction over several processes.

    >>> import minigrad, minigrad.distributed as dist  # after dist.init_process_group("mpi")
    >>> x = minigrad.tensor([1.0, 2.0])
    >>> dist.all_reduce(x, dist.ReduceOp.MAX)  # the largest numbers of all ranks
    >>> x
    tensor([1., 2.])
    """

    SUM = "SUM"
    AVG = "AVG"  # the sum, divided by the number of processes
    PRODUCT = "PROD"
    MIN = "MIN"
    MAX = "MAX"


abandoned: list[list] = []  # requests that never completed: MPI may still write into their memory


class Work:
    """Handle of a running collective or message.

    >>> import minigrad, minigrad.distributed as dist  # after dist.init_process_group("mpi")
    >>> x = minigrad.tensor([1.0, 2.0])
    >>> work = dist.all_reduce(x, async_op=True)
    >>> work.wait()  # from here on x holds the sum
    True
    """

    def __init__(self, call: CollectiveCall, requests: list, finish: Callable[[], Any], results: Sequence[Tensor] = ()):
        self.call, self._requests, self._finish, self._results = call, requests, finish, list(results)

    def is_completed(self) -> bool:
        """Return True if it is done; the results are in their tensors then."""
        if self._requests and all([request.Test() for request in self._requests]):
            self.wait()
        return not self._requests

    def wait(self, timeout: Any = None) -> bool:
        """Wait until it is done and the results are in their tensors.

        Raises RuntimeError if it can never finish, or takes longer than `timeout`, a timedelta or seconds (by default the
        group's timeout).
        """
        if self._requests:
            limit = self.call.group.timeout if timeout is None else seconds(timeout, "Work.wait", 0)
            try:
                wait_for(self.call, self._requests, limit)
            except RuntimeError as e:
                abandoned.append(self._requests)
                e.add_note("The output tensors may hold a part of the result.")
                raise
            self._requests = []
            self.call.writes()
            self._finish()
            self.call.ended()
        return True

    def get_future(self) -> Future:
        """Return a future of the list of output tensors."""
        return Future(self, lambda: self._results)


class Future:
    """A value computed from the results of a Work, when a caller waits for it.

    >>> import minigrad, minigrad.distributed as dist  # after dist.init_process_group("mpi")
    >>> work = dist.all_reduce(minigrad.ones(2), async_op=True)
    >>> work.get_future().then(lambda done: done.value()[0] / dist.get_world_size()).wait().tolist()
    [1.0, 1.0]
    """

    def __init__(self, work: Work, compute: Callable[[], Any]):
        self._work, self._compute, self._found = work, compute, []

    def done(self) -> bool:
        """Return True if the Work is done."""
        return self._work.is_completed()

    def wait(self) -> Any:
        """Wait for the Work, then compute the value once and return it."""
        self._work.wait()
        if not self._found:
            self._found.append(self._compute())
        return self._found[0]

    value = wait

    def then(self, callback: Callable[[Future], Any]) -> Future:
        """Return a future of `callback(self)`."""
        return Future(self._work, lambda: callback(self))


def handle_or_wait(
    call: CollectiveCall, request: Any, finish: Callable[[], Any], async_op: bool, *results: Tensor
) -> Any:
    """Return the handle of a request whose results go to the given tensors; wait for it instead if not `async_op`."""
    work = Work(call, [request], finish, results)
    if not async_op:
        work.wait()
        return None
    for t in results:  # MPI may write from now on, without counting versions
        memory(t).bump(call.name, call.place)
    return work


@cache
def cuda_aware() -> bool:
    """Return True if MPI can read and write a GPU's memory, as Open MPI and MPICH report; warn if it cannot."""
    from mpi4py import MPI

    query = getattr(ctypes.CDLL(MPI.__file__), "MPIX_Query_cuda_support", None)
    if query is not None and query():
        return True
    what = "tensors on a GPU go through the computer's memory: they are copied there, sent, and copied back"
    fix = "use an MPI that is CUDA-aware, or send fewer and larger tensors, as DistributedDataParallel does"
    warn("gpu-through-host", "torch.distributed", what, fix)
    return False


def sendable_array(t: Tensor, who: str, name: str) -> Any:
    """Return a tensor's array.  Raises errors for arguments whose elements cannot travel."""
    if not isinstance(t, Tensor):
        what = f"expected {name} to be a tensor, got {type(t).__name__}"
        raise error(TypeError, who, what, "pass minigrad.tensor(value)")
    report_communication(who)
    if type(t) is Box:
        what = f"{name} belongs to {t._layer.title or t._layer.name}, whose values other processes do not have"
        raise error(RuntimeError, who, what, f"use torch.distributed.nn.functional.{who}, which transforms support")
    a = plain_tensor(t)._a
    if on_device(a) and is_meta(a):
        raise no_numbers(a.shape)
    return a


def reachable(a: Any) -> bool:
    """Return True if MPI can read and write the memory of an array."""
    return type(a) is np.ndarray or cuda_aware()


def array_of(t: Tensor, who: str, name: str = "tensor") -> Any:
    """Return a tensor's elements, contiguous in memory that MPI can read: its own memory if possible, else a copy."""
    a = contiguous(sendable_array(t, who, name))
    return a if reachable(a) else a.to_host(pin=True)


def mpi_buffer(a: Any) -> Any:
    """Return an array as mpi4py takes it."""
    return a if type(a) is np.ndarray else cuda_kernels("exchange").in_order(a)


def flat_bytes(a: Any) -> Any:
    """Return an array's memory as bytes."""
    return a.reshape(-1).view(np.uint8)


def as_bytes(a: Any) -> Any:
    """Return an array's memory as bytes, as mpi4py takes it."""
    return mpi_buffer(flat_bytes(a))


def can_write_directly(t: Tensor) -> bool:
    """Return True if MPI may write into a tensor's memory: it is contiguous, and no transform or recording is around it."""
    if current() not in (ON, OFF) or current().observers or t._layer is not None or t._ver is INFERENCE:
        return False
    return reachable(t._a) and t._a.flags.carray


def receive_buffer(t: Tensor, who: str, name: str = "tensor", sent: Any = None) -> Any:
    """Return contiguous memory to receive a tensor's elements: its own, unless that may overlap the memory that is sent."""
    a = sendable_array(t, who, name)
    if not reachable(a):
        return cuda_kernels("pinned").pinned(a.shape, a.dtype)
    own = can_write_directly(t) and (sent is None or not np.may_share_memory(a, sent))
    return a if own else empty(a.shape, a)


def write(t: Tensor, a: Any, call: CollectiveCall) -> None:
    """Write received elements into a tensor, unless MPI wrote them there; bump its version, so that saved tensors notice."""
    if a is plain_tensor(t)._a:
        memory(t).bump(call.name, call.place)
    else:
        t.detach().copy_(wrap(placed(a.reshape(t.shape), t.device)))


def to_reduce(a: Any, op: ReduceOp, who: str, own: bool = False) -> Any:
    """Return an array in a dtype that MPI can reduce: the array itself if `own`, else a copy.

    Raises errors if the operation is not defined for the dtype.
    """
    if not isinstance(op, ReduceOp):
        what = f"expected op to be a ReduceOp, got {op!r}"
        raise error(TypeError, who, what, "write op=torch.distributed.ReduceOp.SUM")
    kind = a.dtype.kind
    if op is ReduceOp.AVG and kind != "f" and a.dtype not in HALVES:
        what = f"{a.dtype} cannot hold a mean"
        raise error(RuntimeError, who, what, "write tensor.float(), or op=ReduceOp.SUM")
    if a.dtype in HALVES:
        return a.astype(np.float32)
    if kind == "b":
        return a.astype(np.uint8)
    return a if own else a.copy()


def reduced(a: Any, op: ReduceOp, size: int, dtype: Any) -> Any:
    """Return the result of MPI's reduction, converted back to `dtype`."""
    if op is ReduceOp.AVG:
        a /= a.dtype.type(size)
    return (a != 0) if dtype == np.bool_ else a.astype(dtype, copy=False)


@cache
def operation(op: ReduceOp) -> Any:
    """Return MPI's name of an operation."""
    from mpi4py import MPI

    return MPI.SUM if op is ReduceOp.AVG else getattr(MPI, op.value)


@cache
def in_place() -> Any:
    """Return MPI.IN_PLACE, which MPI takes as operands if they are in the memory of the result."""
    from mpi4py import MPI

    return MPI.IN_PLACE
