"""`python -m minigrad script.py`: run a program that imports torch with minigrad instead; without a script, print the help."""

import sys
from importlib import import_module

if __name__ == "__main__":
    import_module("viz.cli").main(["run", *sys.argv[1:]] if sys.argv[1:] else ["run", "--help"])
