"""`python -m minigrad.ops mul` prints the text that dispatch/ writes for an operation."""

import sys

import minigrad  # noqa: F401  (fills the table)

from .dispatch import specialisable, specialise
from .registry import TABLE

for name in sys.argv[1:]:
    cls = TABLE[name].cls if name in TABLE else None
    if cls is None or not specialisable(cls):
        sys.exit(f"{name} is no operation that is written out: only pointwise ones of one or two operands are")
    specialise(cls)
    print(cls.text)
