"""Settings for the whole library: the switch of the fast paths, the library's name in texts, and where it can be had."""

import os

GENERIC = bool(os.environ.get("MINIGRAD_GENERIC"))  # with MINIGRAD_GENERIC=1 every operation takes the generic path
library_name = "minigrad"  # as in `minigrad.float32`; "torch" while programs import minigrad as torch (compat/)

PUBLISHED = False  # True once `pip install minigrad-viz` finds it: hints and notebooks follow
# https://github.com/OWNER/NAME: then pages link to it, to their sources, to Binder and to Colab, and the theme of the site
# asks api.github.com for the repository's stars
REPOSITORY = ""
# https://...: the published address of the documentation, which has the page play.html; `minigrad share` makes links to it
SITE = ""


def requirement(extra: str) -> str:
    """Return the requirement by which pip finds minigrad with an extra; "" if only a checkout has it."""
    address = "" if PUBLISHED or not REPOSITORY else f" @ git+{REPOSITORY}"
    return f"minigrad-viz[{extra}]{address}" if PUBLISHED or REPOSITORY else ""


def install(extra: str) -> str:
    """Return the command that installs minigrad with an extra.

    >>> install("mpi")
    "pip install '.[mpi]' in a checkout of minigrad"
    """
    found = requirement(extra)
    return f"pip install '{found}'" if found else f"pip install '.[{extra}]' in a checkout of minigrad"
