"""The contents and reads of a recorded PyTorch program (docs/record.md), from which a page computes it again."""

# pyright: reportMissingImports=false

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import cache
from typing import Any

import ml_dtypes
import torch

from minigrad.record import schema
from minigrad.record.contents import without_expression, written

from .torch_document import Call, Noted

READING = ("item", "bool", "float", "int", "index", "tolist", "numpy", "array", "is_nonzero", "allclose", "equal")
WORDS = {"array": "numpy"}
SIZED = ("nonzero", "argwhere", "masked_select", "unique", "unique_consecutive", "_unique2", "unique_dim")


def contents_of(
    document: schema.Document, numbers: dict[Noted, int], calls: dict[Call, int], seen: Collection[int]
) -> dict[int, str]:
    """Return the elements of those values among `seen` that no expression of a document gives."""
    random = {i for call, i in calls.items() if call.of is None and draws(call.word)}
    wanted = without_expression(document, random).intersection(seen)
    found = {i: elements(value) for value, i in numbers.items() if i in wanted}
    return {i: text for i, text in found.items() if text is not None}


def elements(value: Noted) -> str | None:
    """Return the elements of a value, if its dtype is one that contents have; NumPy has held its bfloat16 as float32."""
    a = value.array
    if a is not None and value.dtype == "bfloat16":
        return written(a.astype(ml_dtypes.bfloat16))
    return written(a) if a is not None and str(a.dtype) == value.dtype else None


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


def reads_of(noted: Sequence[tuple], calls: dict[Call, int], numbers: dict[Noted, int]) -> list[schema.Read]:
    """Return the reads by Python, which are `noted`, and those that decide on the shapes of results, in their order."""
    found = [*noted, *((i, value, call.name, call.where, False) for call, i in calls.items() for value in sizing(call))]
    found = [one for one in sorted(found, key=lambda read: read[0]) if one[1] in numbers]
    by_place = {(numbers[value], how, where.file, where.line): (where, cut) for _, value, how, where, cut in found}
    return [schema.Read(value, how, *rest) for (value, how, *_), rest in by_place.items()]


def sizing(call: Call) -> Iterator[Noted]:
    """Yield the arguments of a call whose elements decide on the shape of its result."""
    if call.of is None and call.word in SIZED:
        yield [one for one in call.inputs if isinstance(one, Noted)][-1]
    elif call.of is None and call.word == "__getitem__":
        masks = [one for one in call.inputs[1:] if isinstance(one, Noted) and one.dtype in ("bool", "uint8")]
        yield from (mask for mask in masks if mask.shape)
