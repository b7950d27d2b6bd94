"""Run the command `minigrad` as a separate process, and make a program for it to draw."""

from tests.forked import python

PROGRAM = """
from minigrad import tensor

w = tensor(0.5, requires_grad=True)
x = tensor(2.0)
rate = 0.1
plain = tensor(1.0)
h = (w * x).tanh()
loss = h * w

def f(a, b):
    return (a * b).tanh()

def g(a):
    return a * a

example_inputs = (tensor(0.5, requires_grad=True), tensor(2.0, requires_grad=True))
if __name__ == "__main__":
    main_value = loss * 2.0
"""


def minigrad(folder, *words, **options):
    return python("-m", "viz.cli", *words, cwd=folder, **options)


def written(folder):
    return {path.name for path in folder.iterdir()} - {"net.py", "__pycache__"}


def refused(folder, *words):
    """Return the message of a command that must end with 2 and write nothing."""
    done = minigrad(folder, *words)
    assert done.returncode == 2, done.stderr.decode()
    assert not written(folder) and not done.stdout
    return done.stderr.decode()
