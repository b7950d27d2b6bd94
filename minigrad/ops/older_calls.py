"""Calls with the argument order of PyTorch before 1.5, still accepted: `x.add_(-lr, grad)`, `torch.addcmul(x, 2, y, z)`.

Numbers stood before tensors there; today they are keywords.  Only a call that failed is examined, so others cost nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..core.tensor import Tensor

PRODUCT = ("beta", "alpha")
# operation -> its number of tensors, and the keywords that replaced the numbers, in their old order
OLDER = {
    **dict.fromkeys(("add", "sub"), (2, ("alpha",))),
    **dict.fromkeys(("addcmul", "addcdiv"), (3, ("value",))),
    **dict.fromkeys(("addmm", "addmv", "addr", "addbmm", "baddbmm"), (3, PRODUCT)),
}


def reordered(name: str, args: Sequence, kwargs: dict) -> tuple[list, dict] | None:
    """Return positional arguments and keywords of the call in today's order, or None if it is not an older one."""
    n, keywords = OLDER.get(name.removesuffix("_"), (0, ()))
    tensors, numbers = [a for a in args if isinstance(a, Tensor)], [a for a in args if isinstance(a, (int, float))]
    if kwargs or len(tensors) != n or not 0 < len(numbers) <= len(keywords) or len(args) != n + len(numbers):
        return None
    return tensors, dict(zip(keywords, numbers))
