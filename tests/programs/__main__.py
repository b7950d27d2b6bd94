"""`python -m tests.programs`: the losses of all programs, or some, in PyTorch and in minigrad, and the page about them."""

import json
import sys

from . import KEPT, SCRIPTS, curve, difference, kept, output, page

if __name__ == "__main__":
    curves = kept() if KEPT.exists() else {}
    for name in sys.argv[1:] or SCRIPTS:
        texts = [output(name, by) for by in ("minigrad", "torch")]
        ours, theirs = map(curve, texts)
        curves[name] = {"minigrad": ours, "torch": theirs, "same": texts[0] == texts[1]}
        print(f"{name}: {page.ends(theirs)}, at most {difference(ours, theirs):.1e} apart", flush=True)
    rows = [f'"{name}": {json.dumps(curves[name])}' for name in SCRIPTS]
    KEPT.write_text("{\n" + ",\n".join(rows) + "\n}\n")
    page.PAGE.write_text(page.text())
