"""`python -m minigrad.fast mul sum permute` prints the texts that this package writes for operations."""

import sys
from collections.abc import Iterator

import minigrad  # noqa: F401  (declares them all)

from ..ops.base.primitive import Primitive
from . import specialisable, specialise, written_out
from .text_plan import Plan


def declared(cls: type) -> Iterator:
    """A class and all that derive from it."""
    yield cls
    for sub in cls.__subclasses__():
        yield from declared(sub)


for name in sys.argv[1:]:
    operation = next((c for c in declared(Primitive) if name.lower() in (c.name, c.__name__.lower())), None)
    if operation is None or not specialisable(operation):
        sys.exit(f"{name} is no operation that is written out: it goes the general way (ops/base/primitive.py)")
    specialise(operation)
    if operation.variadic is not None:  # for two of what may be any number
        written_out(operation, Plan(operation, operation.variadic + 2))
    print(operation.text)
