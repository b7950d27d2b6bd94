"""Rebuild docs/gen/ and report any failure: `python -m docs.build`."""

import os
import shutil
import sys
import time

from . import DOCS, ROOT, assemble
from .execute import LessonError

if __name__ == "__main__":
    start, out = time.perf_counter(), DOCS / "gen"
    shutil.rmtree(out, ignore_errors=True)
    if "SITE_URL" in os.environ:  # as in mkdocs.yml: pages copy links to this site
        os.environ.setdefault("MINIGRAD_SITE", os.environ["SITE_URL"])
    try:
        assemble(out)
    except LessonError as error:
        sys.exit(f"docs: {error}")
    print(f"docs: {out.relative_to(ROOT)} made in {time.perf_counter() - start:.0f} s")
