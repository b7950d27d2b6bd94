"""Parts of a PyTorch program that depend on the elements of tensors: random numbers, reads by Python, shapes of results."""

# pyright: reportMissingImports=false

from functools import cache
from typing import Any

import torch

from minigrad.record.values import OpEntry

from .torch_values import Call

READING = ("item", "bool", "float", "int", "index", "tolist", "numpy", "array", "is_nonzero", "allclose", "equal")
WORDS = {"array": "numpy"}
SIZED = ("nonzero", "argwhere", "masked_select", "unique", "unique_consecutive", "_unique2", "unique_dim")


@cache
def draws(word: str) -> bool:
    """Return True if PyTorch's function of this name draws random numbers.

    >>> draws("dropout"), draws("normal_"), draws("exp")
    (True, True, False)
    """
    packet: Any = getattr(torch.ops.aten, word, None)  # a method of Python's if the word is one, such as __ge__
    known = isinstance(packet, torch._ops.OpOverloadPacket)
    overloads = [getattr(packet, name) for name in packet.overloads()] if known else []
    return any(torch.Tag.nondeterministic_seeded in one.tags for one in overloads) or word == "gumbel_softmax"


def sizing(call: OpEntry, values: list) -> list[int]:
    """Return the arguments of a call whose elements decide on the shape of its result."""
    if not isinstance(call, Call) or call.of is not None:
        return []
    if call.word in SIZED:
        return call.read[-1:]
    given = [values[i] for i in call.read[1:]] if call.word == "__getitem__" else []
    return [v.index for v in given if v.dtype in ("bool", "uint8") and v.shape]
