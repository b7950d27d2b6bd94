"""Similarity and distance of vectors, and losses that pull vectors together or keep them a margin apart."""

from __future__ import annotations

from ...core.tensor import Tensor
from ...errors import error
from ...tensors.printing import error_notes
from ..broadcast import broadcast_tensors
from ..compare import where
from ..norms import pairwise_distance
from ..predicates import result_type
from .entry import functional
from .loss import chosen, reduced
from .normalize import normalize


@functional(
    "T(3, 4), T(3, 4)",
    "T(3, 4), T(4), 1",
    "T(2, 3, 4), T(2, 3, 4), dim=0",
    "T(4), T(4), -1",
)
def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """Return the cosine of the angle between vectors along `dim`; norms are clamped to at least `eps`."""
    dtype = result_type(x1, x2)  # norms, too, are of the common dtype
    x1, x2 = [normalize(x.to(dtype), 2, dim, eps) for x in broadcast_tensors(x1, x2)]
    return (x1 * x2).sum(dim)


@functional("T(3, 4), 2 * B(3, 4) - 1.0", "T(3), 2 * B(3) - 1.0, 0.3", "T(2, 2), 2 * B(2, 2) - 1.0, 0.5")
def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return input where the target is 1, max(0, margin - input) where it is -1, else, as in PyTorch, their sum; reduced."""
    reduction = chosen("hinge_embedding_loss", reduction, size_average, reduce)
    return reduced(where(target != -1, input, 0.0) + where(target != 1, (margin - input).clamp_min(0), 0.0), reduction)


@functional("T(3), T(3), 2 * B(3) - 1.0", "T(3), T(3), 2 * B(3) - 1.0, 0.5, reduction='none'")
def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return max(0, -target * (input1 - input2) + margin): it wants input1 larger for target 1, smaller for -1; reduced."""
    reduction = chosen("margin_ranking_loss", reduction, size_average, reduce)
    if not input1.ndim == input2.ndim == target.ndim:
        raise error(
            RuntimeError,
            "margin_ranking_loss",
            f"all tensors should have the same number of dimensions, but got shapes {tuple(input1.shape)}, "
            f"{tuple(input2.shape)} and {tuple(target.shape)}",
            "write input1.squeeze(-1) for scores of shape (n, 1)",
            notes=error_notes({"input1": input1, "input2": input2, "target": target}, marked=()),
        )
    return reduced((-target * (input1 - input2) + margin).clamp_min(0), reduction)


@functional(
    "T(3, 4), T(3, 4), T(3, 4)",
    "T(3, 4), T(3, 4), T(3, 4), 2.0, swap=True, reduction='none'",
)
def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return max(0, d(anchor, positive) - d(anchor, negative) + margin), reduced.

    With `swap` the distance of the negative is measured from the nearer of anchor and positive.
    """
    reduction = chosen("triplet_margin_loss", reduction, size_average, reduce)
    if margin <= 0:
        raise error(
            ValueError, "triplet_margin_loss", f"margin must be greater than 0, got {margin}", "write margin=1.0"
        )
    near, far = pairwise_distance(anchor, positive, p, eps), pairwise_distance(anchor, negative, p, eps)
    if swap:
        far = far.minimum(pairwise_distance(positive, negative, p, eps))
    return reduced((near - far + margin).clamp_min(0), reduction)


@functional(
    "T(3, 4), T(3, 4), 2 * B(3) - 1.0",
    "T(3, 4), T(3, 4), 2 * B(3) - 1.0, 0.2, reduction='none'",
)
def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return 1 - cos where the target is 1, max(0, cos - margin) where it is -1, reduced."""
    reduction = chosen("cosine_embedding_loss", reduction, size_average, reduce)
    if target.ndim > 1:
        what = f"expected a target of 0 or 1 dimensions, 1 or -1 for each pair, got shape {tuple(target.shape)}"
        raise error(RuntimeError, "cosine_embedding_loss", what, "write target.flatten()")
    squares = [x.square().sum(-1) + 1e-12 for x in (input1, input2)]
    cos = (input1 * input2).sum(-1) / (squares[0] * squares[1]).sqrt()
    return reduced(where(target == 1, 1 - cos, 0.0) + where(target == -1, (cos - margin).clamp_min(0), 0.0), reduction)
