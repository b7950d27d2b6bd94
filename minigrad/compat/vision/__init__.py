"""torchvision's plain part: what programs import as `torchvision` after `minigrad.as_torch()`.

transforms.py prepares images, with functional.py, datasets.py reads them, utils.py makes grids.  It is Pillow and NumPy;
models, operators and other names of torchvision can be imported, and raise an error when they are used.
"""

from __future__ import annotations

from typing import Any

from . import datasets, transforms, utils

__all__ = ["datasets", "transforms", "utils"]
__version__ = "0.28.0+minigrad"
