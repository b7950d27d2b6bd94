"""`python -m minigrad.fast mul sum permute` prints the source that this package generates for operations."""

import sys
from collections.abc import Iterator

import minigrad  # noqa: F401  (declares them all)

from ..ops.base.primitive import Primitive
from . import generate_apply, specialisable, specialise
from .text_plan import Plan


def declared(cls: type) -> Iterator:
    """Yield a class and all its subclasses."""
    yield cls
    for sub in cls.__subclasses__():
        yield from declared(sub)


for name in sys.argv[1:]:
    operation = next((c for c in declared(Primitive) if name.lower() in (c.name, c.__name__.lower())), None)
    if operation is None or not specialisable(operation):
        sys.exit(f"{name} has no generated code: it {'takes the generic path' if operation else 'is no operation'}")
    specialise(operation)
    if operation.variadic is not None:  # for two of the variable arguments
        generate_apply(operation, Plan(operation, operation.variadic + 2))
    print(operation.dispatch_source)
