"""Programs with a mistake whose corrected lines stand beside the wrong ones.

The corrected program lacks the lines that end in `# -`, and has the lines in comments `# + ...`.  A line that ends in `<-` is
the one that minigrad names.  If the mistake was made at an earlier line, that line ends in `<=`.
"""

import linecache
import re

NAMED = r"  # (- )?<-$"
MADE = r"  # (- )?<=$"
REMOVED = r"  # -( <[-=])?$"
ADDED = r"^( *)# \+ ?(.*)$"
MARK = f"{NAMED}|{MADE}|{REMOVED}"


def corrected(lines: list[str]) -> list[str]:
    """Return the corrected program."""
    changed = [re.sub(ADDED, r"\1\2", line) for line in lines if not re.search(REMOVED, line)]
    assert changed != lines, "no line is marked with '# -' or '# +'"
    return changed


def without_marks(lines: list[str]) -> str:
    """Return the wrong program as its reader sees it."""
    return "\n".join(re.sub(MARK, "", line) for line in lines if not re.match(ADDED, line))


def run_text(text: str, file: str, names: dict) -> dict:
    """Run a program of which messages can quote the lines; return its names."""
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    exec(compile(text, file, "exec"), names)
    return names
