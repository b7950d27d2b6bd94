"""Rebuild docs/gen/ and report any failure: `python -m docs.build`."""

import shutil
import sys
import time

from . import DOCS, ROOT, assemble
from .execute import LessonError

if __name__ == "__main__":
    start, out = time.perf_counter(), DOCS / "gen"
    shutil.rmtree(out, ignore_errors=True)
    try:
        assemble(out)
    except LessonError as error:
        sys.exit(f"docs: {error}")
    print(f"docs: {out.relative_to(ROOT)} made in {time.perf_counter() - start:.0f} s")
