"""Numba is loaded whole, whatever Ctrl-C does, and a fork finds it at rest, whatever other threads compile."""

import os

import pytest

from tests.forked import ROOT, python

INTERRUPTED = """
import signal, sys
import numpy as np
import minigrad

signal.signal(signal.SIGINT, signal.default_int_handler)  # a program in the background is begun without
assert "numba" not in sys.modules
x = minigrad.tensor(np.random.rand(600_000).astype(np.float32)) + 0.5
imports = 0

def look(event, args):  # Python tells of each import
    global imports
    if event == "import":
        imports += 1
        if imports == AT:
            signal.raise_signal(signal.SIGINT)

def large():
    return (x.exp() * x).log()

sys.addaudithook(look)
try:
    large()
    print("not interrupted")
except KeyboardInterrupt:
    print("interrupted")
a = x.numpy()
assert np.allclose(large().numpy(), np.log(np.exp(a) * a), rtol=1e-4, atol=1e-5)
assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
"""


@pytest.mark.parametrize("at", [100, *(pytest.param(n, marks=pytest.mark.slow) for n in (1, *range(20, 600, 40)))])
def test_large_operations_work_after_ctrl_c_while_numba_is_loaded(tmp_path, at):
    program = INTERRUPTED.replace("AT", str(at))
    done = python("-c", program, cwd=tmp_path, new=True, MINIGRAD_CACHE=str(tmp_path / "kernels"), PYTHONPATH=str(ROOT))
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout.split() == [b"interrupted"] or at > 300


FORKED = """
import os, signal, threading, warnings
import numpy as np
from minigrad.kernels import cache

warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 warns of a fork beside threads
SOURCE = '''
from numba import njit


@njit(nogil=True, error_model="numpy")
def times(x_, out_):
    for i in range(out_.size):
        out_[i] = {} * x_[i]
'''

def compiled(n):
    x, out = np.arange(8.0), np.empty(8)
    cache.load("times", SOURCE.format(n)).times(x, out)
    return (out == n * x).all()

def others():
    n = 1000
    while not ended:
        compiled(n)
        n += 1

ended = False
thread = threading.Thread(target=others)
thread.start()
for n in range(12):
    child = os.fork()
    if not child:
        signal.alarm(60)  # one that waits for ever is killed
        os._exit(0 if compiled(n) else 3)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0, n
ended = True
thread.join()
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_fork_while_another_thread_compiles_leaves_a_process_that_compiles(tmp_path):
    done = python("-c", FORKED, cwd=tmp_path, new=True, MINIGRAD_CACHE=str(tmp_path / "kernels"), PYTHONPATH=str(ROOT))
    assert done.returncode == 0, done.stderr.decode()


CAPTURED = """
import os, signal, sys, threading, warnings
import minigrad

warnings.simplefilter("ignore", DeprecationWarning)
inside, go_on = threading.Event(), threading.Event()

def captures():
    with sys.modules["minigrad.compile.api"]._capture_lock:
        inside.set()
        go_on.wait(50)

thread = threading.Thread(target=captures)
thread.start()
inside.wait()
child = os.fork()
if not child:
    signal.alarm(30)
    double = minigrad.compile(lambda x: x * 3.0)
    os._exit(0 if double(minigrad.ones(2)).tolist() == [3.0, 3.0] else 3)
code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
go_on.set()
thread.join()
assert code == 0, code
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_fork_while_another_thread_captures_leaves_a_process_that_captures(tmp_path):
    done = python(
        "-c", CAPTURED, cwd=tmp_path, new=True, MINIGRAD_CACHE=str(tmp_path / "kernels"), PYTHONPATH=str(ROOT)
    )
    assert done.returncode == 0, done.stderr.decode()
