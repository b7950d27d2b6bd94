"""The elements of values that no expression of the record gives, so that a reader can compute the program again from them.

These are leaves and their tangents, the gradients with which a backward begins, random numbers, tensors that operations only
save, and everything that custom Functions compute. A summary of up to 16 elements holds all of them already.
"""

from __future__ import annotations

import base64
import math
import re
from collections import Counter
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays.dtypes import BF2
from ..arrays.kinds import host
from ..arrays.meta import is_meta
from .schema import LEAVES, WHOLE, Document

if TYPE_CHECKING:
    from .build import Numbers
    from .recorder import Record

MOST = 4096  # elements of a value
# the bytes of an element, by the dtypes that contents may have
SIZES = {"bool": 1, "uint8": 1, "int8": 1, "int16": 2, "int32": 4, "int64": 8}
SIZES |= {"float16": 2, "bfloat16": 2, "float32": 4, "float64": 8}


def written(a: np.ndarray | None, dtype: str = "") -> str | None:
    """Return the elements of an array as base64, row by row, little-endian; None for few, many, unknown or other elements.

    `dtype` is that of the value, if the array may have another one: NumPy has no bfloat16, and holds it as float32.

    >>> written(np.arange(17, dtype=np.uint8))
    'AAECAwQFBgcICQoLDA0ODxA='
    """
    if a is None or not WHOLE < a.size <= MOST or (dtype or str(a.dtype)) not in SIZES or is_meta(a):
        return None
    a = host(a)
    a = a.astype(BF2, copy=False) if dtype == "bfloat16" else a
    a = a.view(np.uint16) if a.dtype == BF2 else a  # NumPy cannot swap the bytes of bfloat16
    return base64.b64encode(a.astype(a.dtype.newbyteorder("<"), copy=False).tobytes()).decode()


def fault(text: str, shape: list[int], dtype: str) -> str:
    """Return the reason why a text is not the elements of an array, or "".

    >>> fault("AAECAwQFBgcICQoLDA0ODxA=", [16], "uint8")
    'the text has 17 bytes, but shape [16] of uint8 has 16'
    """
    elements, size = math.prod(shape), SIZES.get(dtype, 0)
    if elements > MOST:
        return f"the value has more than {MOST:,} elements"
    if not size:
        return "the value's dtype is not one that contents have"
    if len(text) > 2 * MOST * size:
        return "the text is too long"
    try:
        found = len(base64.b64decode(text, validate=True))
    except ValueError:
        return "the text is not base64"
    if found != elements * size:
        return f"the text has {found} bytes, but shape {shape} of {dtype} has {elements * size}"
    return ""


def contents_of(rec: Any, document: Document, number: Numbers) -> dict[int, str]:
    """Return the elements of a recording's values that no expression gives, as far as they are known."""
    noted_of = dict(zip(number.new.values(), number.new))  # values inside of custom Functions are not among them
    found = {}
    for new in sorted(without_expression(document, rec.random(document, number)) & noted_of.keys()):
        noted = rec.values[noted_of[new]]
        if noted.contents is None and not noted.lost:
            noted.contents = written(noted.array if noted.before is None else noted.before, noted.form()[0])
        if noted.contents is not None:
            found[new] = noted.contents
    return found


def drawing(rec: Record, document: Document, number: Numbers) -> set[int]:
    """Return the operations that draw random numbers themselves, which their calls do not name."""
    drawn = {number.new[i] for i in rec.draws if i in number.new}
    label = lambda i: document.values[i].label
    reads = {op.id: drawn.intersection(i for i in op.inputs if isinstance(i, int)) for op in document.ops}
    return {op.id for op in document.ops if not set(map(label, reads[op.id])) <= set(re.findall(r"\w+", op.call))}


def without_expression(document: Document, random: Collection[int]) -> set[int]:
    """Return leaves, and the values that neither a call, nor a formula, nor a sum of gradients gives.

    The calls of `random` operations give nothing, because they draw other numbers each time.
    """
    given: set[int] = set()
    parts: Counter[int] = Counter()  # the edges along which a value gets its gradient
    gradients = list(document.gradients.items())
    for op in document.ops:
        parts.update(edge.input for edge in op.edges)
        gradients += [pair for edge in op.edges for pair in zip(op.outputs, edge.upstreams)]
        if op.function is None:
            given.update(edge.gives for edge in op.edges if edge.formula)
            given.update(op.tangents[push["output"]] for push in op.pushes if push["formula"])
            if op.call and op.phase != "backward" and op.id not in random:
                given.update(op.outputs)
    given.update(gradient for value, gradient in gradients if parts[value] > 1 and gradient is not None)
    return {value.id for value in document.values if value.id not in given or value.kind in LEAVES}
