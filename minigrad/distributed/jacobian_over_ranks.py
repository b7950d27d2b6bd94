"""gradcheck over ranks: compares the derivatives of every rank's outputs by every rank's inputs with central differences.

All ranks run the function together, since it may communicate.  For a difference one element on one rank moves.  For backward
one element of one rank's outputs has gradient 1, and all others have gradient 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ..autograd import forward_ad
from ..autograd.disagreement import GradcheckError
from ..autograd.gradcheck import check_inputs
from ..autograd.gradients import grad
from ..autograd.numeric_jacobians import checked, numbers, tensor_like
from ..core.function import as_tuple
from ..core.tensor import Tensor, is_float
from ..errors import error
from .groups import ProcessGroup, member
from .objects import all_gather_object

WHO = "gradcheck_distributed"


def gradcheck_distributed(
    func: Callable,
    inputs: Tensor | Sequence,
    *,
    group: Any = None,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
) -> bool:
    """Compare the derivatives of a function that all ranks run together with central differences.

    Each rank passes its own inputs, of any shape; inputs that require grad are checked, and should be float64.  Returns True
    on every rank if all derivatives agree.  Raises GradcheckError on every rank (returns False if not `raise_exception`) if
    one does not agree, and ValueError if no input requires grad.

    >>> import minigrad
    >>> import minigrad.distributed as dist
    >>> dist.init_process_group("mpi")  # doctest: +SKIP
    >>> x = minigrad.randn(3, dtype=minigrad.float64, requires_grad=True)
    >>> minigrad.testing.gradcheck_distributed(dist.nn.functional.all_reduce, x)  # doctest: +SKIP
    True
    """
    check = Check(func, as_tuple(inputs), member(group, WHO))
    check_inputs(check.inputs)
    expected = check.exchanged(check.by_differences(eps))
    found = {"backward": check.by_backward()} if check_backward_ad else {}
    if check_forward_ad:
        found["forward mode"] = check.exchanged(check.by_forward())
    reports = [
        check.difference(r, mode, blocks[r], expected[r], atol, rtol)
        for mode, blocks in found.items()
        for r in range(check.group.size())
    ]
    wrong = [line for lines in everywhere(reports, check.group) for line in lines if line]
    if wrong and raise_exception:
        fix = "look at the backward and the jvp of the Functions inside; every rank has to call what the others call"
        raise error(GradcheckError, WHO, f"{len(wrong)} Jacobians differ from central differences", fix, notes=wrong)
    return not wrong


class Check:
    """A function at one point, on one rank; its Jacobians have a block for each rank."""

    def __init__(self, func: Callable, inputs: tuple, group: ProcessGroup):
        self.func, self.inputs, self.group = func, inputs, group
        self.targets = [x for _, x in checked(inputs)]
        self.inputs_of = everywhere(sum(x.numel() for x in self.targets), group)
        self.outputs_of = everywhere(sum(o.numel() for o in self.outputs()), group)

    def outputs(self) -> list[Tensor]:
        """Run the function; return its floating-point outputs."""
        return [o for o in as_tuple(self.func(*self.inputs)) if is_float(o)]

    def values(self) -> np.ndarray:
        """Run the function; return all elements of its outputs in one flat array."""
        return np.concatenate([numbers(o) for o in self.outputs()] or [np.zeros(0)])

    def units(self, counts: list[int], like: Callable[[], list[Tensor]]) -> Iterator[tuple[int, list[np.ndarray]]]:
        """Yield each element of each rank: the rank, and arrays with 1 at the element and 0 elsewhere."""
        shapes = [(tuple(t.shape), t._np_dtype) for t in like()]
        for rank, count in enumerate(counts):
            for place in range(count):
                arrays, at = [], place if rank == self.group.rank() else -1
                for shape, dtype in shapes:
                    a = np.zeros(shape, dtype)
                    if 0 <= at < a.size:
                        a.reshape(-1)[at] = 1
                    at -= a.size
                    arrays.append(a)
                yield rank, arrays

    def by_differences(self, eps: float) -> list[np.ndarray]:
        """Differentiate this rank's outputs by each rank's inputs; return blocks of shape (inputs there, outputs here)."""
        rows: list[list] = [[] for _ in self.inputs_of]
        for rank, unit in self.units(self.inputs_of, lambda: self.targets):
            sides = []
            for step in (eps, -2 * eps, eps):
                for x, u in zip(self.targets, unit):
                    x.detach().add_(tensor_like(x, u), alpha=step)
                sides.append(self.values())
            rows[rank].append((sides[0] - sides[1]) / (2 * eps))
        return self.blocks(rows, self.inputs_of, self.outputs_of)

    def by_forward(self) -> list[np.ndarray]:
        """Return the same blocks, by forward mode."""
        rows: list[list] = [[] for _ in self.inputs_of]
        for rank, unit in self.units(self.inputs_of, lambda: self.targets):
            tangents = iter(unit)
            with forward_ad.dual_level():
                args = [
                    forward_ad.make_dual(x.detach(), tensor_like(x, next(tangents)))
                    if isinstance(x, Tensor) and x.requires_grad
                    else x
                    for x in self.inputs
                ]
                pushed = [forward_ad.unpack_dual(o) for o in as_tuple(self.func(*args)) if is_float(o)]
                found = [np.zeros(p.numel()) if t is None else numbers(t) for p, t in pushed]
            rows[rank].append(np.concatenate(found or [np.zeros(0)]))
        return self.blocks(rows, self.inputs_of, self.outputs_of)

    def by_backward(self) -> list[np.ndarray]:
        """Differentiate each rank's outputs by this rank's inputs; return blocks of shape (inputs here, outputs there)."""
        outs = self.outputs()
        tracked = [o for o in outs if o.requires_grad]
        rows: list[list] = [[] for _ in self.outputs_of]
        for rank, unit in self.units(self.outputs_of, lambda: outs):
            seeds = [tensor_like(o, u) for o, u in zip(outs, unit) if o.requires_grad]
            found = (
                grad(tracked, self.targets, seeds, True, allow_unused=True) if tracked else [None] * len(self.targets)
            )
            rows[rank].append(
                np.concatenate([np.zeros(x.numel()) if g is None else numbers(g) for x, g in zip(self.targets, found)])
            )
        return [block.T for block in self.blocks(rows, self.outputs_of, self.inputs_of)]

    def blocks(self, rows: list[list], counts: list[int], columns: list[int]) -> list[np.ndarray]:
        """Return the rows of each rank as one array."""
        here = columns[self.group.rank()]
        return [np.reshape(found, (count, here)) for found, count in zip(rows, counts)]

    def exchanged(self, blocks: list[np.ndarray]) -> list[np.ndarray]:
        """Exchange blocks: give away those of the other ranks' inputs, return those of this rank's inputs."""
        return [found[self.group.rank()] for found in everywhere(blocks, self.group)]

    def difference(self, rank: int, mode: str, a: np.ndarray, n: np.ndarray, atol: float, rtol: float) -> str:
        """Describe where two Jacobians of a rank's outputs by this rank's inputs differ most; return "" if they agree."""
        close = np.isclose(a, n, rtol=rtol, atol=atol)
        if close.all():
            return ""
        gap = np.where(np.isnan(a - n), np.inf, np.abs(a - n))
        i, k = np.unravel_index(int(np.argmax(np.where(close, -1, gap))), gap.shape)
        inputs, outputs = self.group.ranks[self.group.rank()], self.group.ranks[rank]
        return (
            f"{mode}: outputs of rank {outputs} by inputs of rank {inputs}: {(~close).sum()} of {a.size} elements differ, most "
            f"output element {k} by input element {i}: numerical {n[i, k]:.6g}, analytical {a[i, k]:.6g}"
        )


def everywhere(mine: Any, group: ProcessGroup) -> list:
    """Return the objects of all ranks of a group."""
    found: list = [None] * group.size()
    all_gather_object(found, mine, group)
    return found
