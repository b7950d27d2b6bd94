"""The tests of this folder compute on a device: a GPU, or the simulator, which is chosen before Numba is imported.

    NUMBA_ENABLE_CUDASIM=1 python -m pytest tests/kernels/cuda

Where there is neither they are left out; `make test` runs them in a separate process.
"""

from minigrad.kernels.cuda.machine import count

collect_ignore_glob = [] if count() else ["test_*.py"]
