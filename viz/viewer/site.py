"""The address of the documentation site, whose page play.html draws the record in its address."""

import os

from minigrad import config

PAGE = "play.html"


def site() -> str:
    """Return the address of the site, from the environment or from minigrad/config.py; "" if there is none."""
    return os.environ.get("MINIGRAD_SITE") or config.SITE


def page_at(site: str) -> str:
    """Return the address of the page play.html on a site; "" without a site.

    >>> page_at("https://example.org/docs/")
    'https://example.org/docs/play.html'
    """
    return site if site.endswith(".html") or not site else f"{site.rstrip('/')}/{PAGE}"
