"""`python -m minigrad.fast mul sum permute` prints the texts that this package writes for operations."""

import sys
from collections.abc import Iterator

import minigrad  # noqa: F401  (declares them all)

from ..ops.base.primitive import Primitive
from . import specialisable, specialise


def declared(cls: type) -> Iterator:
    """A class and all that derive from it."""
    yield cls
    for sub in cls.__subclasses__():
        yield from declared(sub)


for name in sys.argv[1:]:
    operation = next((c for c in declared(Primitive) if name.lower() in (c.name, c.__name__.lower())), None)
    if operation is None or not specialisable(operation):
        sys.exit(
            f"{name} is no operation that is written out: it has to take a tensor and plain values, in a fixed number"
        )
    specialise(operation)
    print(operation.text)
