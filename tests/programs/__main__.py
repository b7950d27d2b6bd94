"""`python -m tests.programs`: the losses of all programs, or some, in PyTorch and in minigrad, and the page about them."""

import json
import sys

from . import KEPT, SCRIPTS, difference, kept, page, trained

if __name__ == "__main__":
    curves = kept() if KEPT.exists() else {}
    for name in sys.argv[1:] or SCRIPTS:
        ours, theirs = trained(name, "minigrad"), trained(name, "torch")
        curves[name] = {"minigrad": ours, "torch": theirs}
        print(f"{name}: {page.ends(theirs)}, at most {difference(ours, theirs):.1e} apart", flush=True)
    rows = [f'"{name}": {json.dumps(curves[name])}' for name in SCRIPTS]
    KEPT.write_text("{\n" + ",\n".join(rows) + "\n}\n")
    page.PAGE.write_text(page.text())
