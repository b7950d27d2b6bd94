"""`python -m minigrad script.py`: run a program that imports torch with minigrad in its place; without a script, say how."""

import sys
from importlib import import_module

if __name__ == "__main__":
    import_module("viz.cli").main(["run", *sys.argv[1:]] if sys.argv[1:] else ["run", "--help"])
