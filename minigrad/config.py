"""Settings that the whole library reads: the switch of the fast code paths, and the library's name in texts."""

import os

GENERIC = bool(os.environ.get("MINIGRAD_GENERIC"))  # with MINIGRAD_GENERIC=1 everything runs by its definition
library_name = "minigrad"  # as in `minigrad.float32`; "torch" while programs import minigrad under that name (compat/)
