"""Calls in the order that PyTorch took before version 1.5 and still takes: `x.add_(-lr, grad)`, `torch.addcmul(x, 2, y, z)`.

Numbers stood in front of tensors and are keywords now.  A call is looked at only when it has failed, so others cost nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...core.tensor import Tensor

PRODUCT = ("beta", "alpha")
# the operation -> how many tensors it takes, and the keywords that numbers have become, in the order in which they stood
OLDER = {
    **dict.fromkeys(("add", "sub"), (2, ("alpha",))),
    **dict.fromkeys(("addcmul", "addcdiv"), (3, ("value",))),
    **dict.fromkeys(("addmm", "addmv", "addr", "addbmm", "baddbmm"), (3, PRODUCT)),
}


def reordered(name: str, args: Sequence, kwargs: dict) -> tuple[list, dict] | None:
    """Return positional arguments and keywords of the same call in today's order; None for a call that is not an older one."""
    n, keywords = OLDER.get(name.removesuffix("_"), (0, ()))
    tensors, numbers = [a for a in args if isinstance(a, Tensor)], [a for a in args if isinstance(a, (int, float))]
    if kwargs or len(tensors) != n or not 0 < len(numbers) <= len(keywords) or len(args) != n + len(numbers):
        return None
    return tensors, dict(zip(keywords, numbers))
