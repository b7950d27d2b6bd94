"""Short programs that begin with a seed (seeded.toml), and what they print in PyTorch (seeded.json).

`python -m tests.programs.seeded` runs them in PyTorch; the test needs no PyTorch.
"""

import contextlib
import io
import json
import tomllib
from pathlib import Path

from . import in_minigrad, in_torch

FOLDER = Path(__file__).parent
PROGRAMS: dict[str, str] = tomllib.loads((FOLDER / "seeded.toml").read_text(encoding="utf-8"))
KEPT = FOLDER / "seeded.json"
IMPORTS = "import torch, torch.utils.checkpoint, torch.nn as nn, torch.nn.functional as F\n"


def prints(name: str, by: str) -> str:
    """Run a program by "minigrad" or by "torch"; return what it prints."""
    text = io.StringIO()
    with {"minigrad": in_minigrad, "torch": in_torch}[by](), contextlib.redirect_stdout(text):
        exec(compile(IMPORTS + PROGRAMS[name], f"<{name}>", "exec"), {"__name__": name})
    return text.getvalue()


if __name__ == "__main__":
    KEPT.write_text(json.dumps({name: prints(name, "torch") for name in PROGRAMS}, indent=1) + "\n", encoding="utf-8")
