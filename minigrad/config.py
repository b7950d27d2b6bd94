"""Settings for the whole library: the switch of the fast paths, and the library's name in texts."""

import os

GENERIC = bool(os.environ.get("MINIGRAD_GENERIC"))  # with MINIGRAD_GENERIC=1 every operation takes the generic path
library_name = "minigrad"  # as in `minigrad.float32`; "torch" while programs import minigrad as torch (compat/)
