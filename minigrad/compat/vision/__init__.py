"""torchvision's plain part, on Pillow and NumPy: what programs import as `torchvision` after `minigrad.as_torch()`.

transforms.py prepares images with functional.py, datasets.py reads them, utils.py shows them, reads and writes files; models.py
has networks.
"""

from . import datasets, models, transforms, utils

__version__ = "0.28.0+minigrad"
