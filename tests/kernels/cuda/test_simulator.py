"""The simulator computes what a GPU computes, always in the same order, and names what must not be."""

import subprocess
import sys
import types

import numpy as np
import pytest

from minigrad.kernels.cuda.simulator import SIMULATED, prepare, run

from .kernels import HISTOGRAM, SCALE, TRANSPOSE, TREE, module

pytestmark = pytest.mark.skipif(not SIMULATED, reason="the simulator is off: set NUMBA_ENABLE_CUDASIM=1")

X = np.linspace(-2, 3, 21, dtype=np.float32)


def results(text, n=64, block=64, **arrays):
    """Return the array that a kernel `f` of one block writes to out_."""
    out = np.zeros(n)
    run(module(f"@cuda.jit\ndef f(out_, {', '.join(arrays)}):\n    t = cuda.threadIdx.x\n{text}").f, 1, block,
        [out, *arrays.values()])  # fmt: skip
    return out


# ---------------------------------------------------------------------- what is computed
def test_every_thread_of_the_grid_runs():
    out = np.zeros_like(X)
    run(module(SCALE).scale, 3, 8, [X, out])
    assert (out == 2 * X).all() and out.dtype == np.float32


def test_threads_know_where_they_are():
    text = """
@cuda.jit
def f(out_):
    x, y, z = cuda.grid(3)
    nx, ny, nz = cuda.gridsize(3)
    t, b, d = cuda.threadIdx, cuda.blockIdx, cuda.blockDim
    assert (x, y, z) == (b.x * d.x + t.x, b.y * d.y + t.y, b.z * d.z + t.z)
    assert (nx, ny, nz) == (d.x * cuda.gridDim.x, d.y * cuda.gridDim.y, d.z * cuda.gridDim.z)
    assert cuda.laneid == (t.x + d.x * (t.y + d.y * t.z)) % cuda.warpsize
    out_[x, y, z] += 1
"""
    out = np.zeros((6, 20, 2))
    run(module(text).f, (3, 4), (2, 5, 2), [out])
    assert (out == 1).all()


def test_arrays_are_the_memory_whatever_their_strides():
    memory = np.arange(42, dtype=np.float32)
    run(module(SCALE).scale, 3, 8, [memory[::2], memory[1::2]])
    assert (memory[1::2] == 4 * np.arange(21)).all()


def test_a_tree_in_shared_memory_sums():
    out = np.zeros(3, np.float32)
    run(module(TREE).tree, 3, 8, [X, out])
    np.testing.assert_allclose(out, np.pad(X, (0, 3)).reshape(3, 8).sum(1), rtol=1e-6)


def test_tiles_transpose():
    x = np.arange(35, dtype=np.float32).reshape(5, 7)
    out = np.zeros((7, 5), np.float32)
    run(module(TRANSPOSE).transpose, (2, 2), (4, 4), [x, out])
    assert (out == x.T).all()


def test_atomics_count():
    bins = np.array([0, 2, 2, 1, 2, 0])
    out = np.zeros(3)
    run(module(HISTOGRAM).count_atomically, 2, 4, [bins, out])
    assert (out == [2, 1, 3]).all()


def test_two_shared_arrays_of_one_line_are_two():
    out = results("""
    a, b = cuda.shared.array(64, np.int64), cuda.shared.array(64, np.int64)
    a[t], b[t] = t, -t
    cuda.syncthreads()
    out_[t] = a[63 - t] + 100 * b[t]
""")
    assert (out == 63 - np.arange(64) - 100 * np.arange(64)).all()


def test_memory_that_nobody_has_written_is_garbage():
    out = results("""
    a, b = cuda.shared.array(64, np.float32), cuda.local.array(2, np.int32)
    out_[t] = a[t] if t < 32 else b[0]
""")
    assert np.isnan(out[:32]).all() and (out[32:] == 0x7F7F7F7F).all()


def test_a_device_function_may_wait_and_kernels_may_import_it():
    other = module("""
@cuda.jit(device=True)
def total(x):
    d = 16
    while d > 0:
        x += cuda.shfl_xor_sync(0xFFFFFFFF, x, d)
        d //= 2
    return x
""")
    sys.modules["kernels_imported"] = other
    out = np.zeros(2)
    text = """
from kernels_imported import total
@cuda.jit(device=True)
def twice(x):
    return total(x) + total(x)
@cuda.jit
def f(out_):
    s = twice(cuda.grid(1))
    if cuda.laneid == 0:
        out_[cuda.grid(1) // 32] = s
"""
    run(module(text).f, 1, 64, [out])
    assert (out == [992, 3040]).all()


# ---------------------------------------------------------------------- warps
LANES = np.arange(64)
WARP = LANES // 32 * 32


@pytest.mark.parametrize(
    "call, expected",
    [
        ("shfl_sync(0xFFFFFFFF, t, 5)", WARP + 5),
        ("shfl_sync(0xFFFFFFFF, t, t + 1)", WARP + (LANES + 1) % 32),
        ("shfl_up_sync(0xFFFFFFFF, t, 4)", np.where(LANES % 32 < 4, LANES, LANES - 4)),
        ("shfl_down_sync(0xFFFFFFFF, t, 4)", np.where(LANES % 32 > 27, LANES, LANES + 4)),
        ("shfl_xor_sync(0xFFFFFFFF, t, 3)", LANES ^ 3),
        ("all_sync(0xFFFFFFFF, t < 40)", LANES < 32),
        ("any_sync(0xFFFFFFFF, t < 5)", LANES < 32),
        ("ballot_sync(0xFFFFFFFF, t % 2)", np.full(64, 0xAAAAAAAA)),
        ("syncthreads_count(t < 7)", np.full(64, 7)),
        ("syncthreads_and(t < 7)", np.zeros(64)),
        ("syncthreads_or(t == 7)", np.ones(64)),
    ],
)
def test_lanes_exchange(call, expected):
    assert (results(f"    out_[t] = cuda.{call}") == expected).all()


def test_half_a_warp_exchanges_by_its_mask():
    out = results("""
    if t < 16:
        out_[t] = cuda.shfl_xor_sync(0xFFFF, t, 15)
    else:
        out_[t] = cuda.shfl_sync(0xFFFF0000, t, 20)
""", block=32)  # fmt: skip
    assert (out[:32] == [*range(15, -1, -1), *[20] * 16]).all()


def test_a_lane_that_does_not_take_part_gives_garbage():
    out = results("    out_[t] = cuda.shfl_down_sync(0xFFFFFFFF, out_[t], 1)", block=8)
    assert np.isnan(out[7]) and (out[:7] == 0).all()


def test_threads_that_have_ended_are_not_waited_for():
    out = results("""
    if t >= 40:
        return
    cuda.syncthreads()
    out_[t] = cuda.any_sync(0xFFFFFFFF, t == 39)
""")
    assert (out == ((LANES >= 32) & (LANES < 40))).all()


# ---------------------------------------------------------------------- numbers
def test_numbers_are_those_of_a_gpu():
    x = np.float32([1000, -1000, 0, -1])
    text = "@cuda.jit\ndef f(x_, out_):\n    i = cuda.grid(1)\n    out_[0, i] = math.exp(x_[i])\n"
    text += "    out_[1, i] = math.log(x_[i])\n    out_[2, i] = 1 / x_[i]\n    out_[3, i] = math.erf(x_[i])"
    out = np.zeros((4, 4), np.float32)
    run(module(text).f, 1, 4, [x, out])
    e, erf = np.float32(np.exp(-1)), np.float32(-0.8427008)
    expected = [[np.inf, 0, 1, e], [np.log(1000), np.nan, -np.inf, np.nan], [1e-3, -1e-3, np.inf, -1], [1, -1, 0, erf]]
    np.testing.assert_allclose(out, np.float32(expected), rtol=1e-6)


@pytest.mark.parametrize("call, expected", [("popc(11)", 3), ("clz(1)", 31), ("ffs(8)", 4), ("brev(1)", 1 << 31)])
def test_bits(call, expected):
    assert (results(f"    out_[t] = cuda.{call}") == expected).all()


# ---------------------------------------------------------------------- what is refused
def refused(function, grid, block, *args):
    with pytest.raises(Exception) as caught:
        run(function, grid, block, args)
    return str(caught.value)


@pytest.mark.parametrize(
    "x, out, words",
    [
        (
            100,
            10,
            "kernel careless: thread (2, 0, 0) of block (2, 0, 0) writes out_[10], which has 10 elements (0 to 9)",
        ),
        (10, 100, "kernel careless: thread (2, 0, 0) of block (2, 0, 0) reads x_[10], which has 10 elements (0 to 9)"),
    ],
)
def test_an_index_outside_is_named(x, out, words):
    assert words in refused(module(SCALE).careless, 3, 4, np.zeros(x), np.zeros(out))


@pytest.mark.parametrize(
    "line, words",
    [
        ("a_[t, 9] = 0", "thread (0, 0, 0) of block (0, 0, 0) writes a_[0, 9], of shape (3, 4)"),
        ("a_[-4 + t, 0] += 1", "reads a_[-4, 0], of shape (3, 4)"),
        ("cuda.atomic.add(a_, (t, t), 1)", "thread (3, 0, 0) of block (0, 0, 0) updates a_[3, 3], of shape (3, 4)"),
        ("a_[t % 3][t] = 7", "thread (4, 0, 0) of block (0, 0, 0) writes a_[t % 3][4], which has 4 elements (0 to 3)"),
        ("helper(a_, t)", "thread (3, 0, 0) of block (0, 0, 0) reads a_[3, 0], of shape (3, 4)"),
    ],
)
def test_an_index_outside_of_a_matrix_is_named(line, words):
    text = "@cuda.jit(device=True)\ndef helper(b, i):\n    return b[i, 0]\n"
    made = module(f"{text}@cuda.jit\ndef f(a_):\n    t = cuda.threadIdx.x\n    {line}")
    assert words in refused(made.f, 1, 8, np.zeros((3, 4)))


def test_another_error_says_in_which_thread():
    made = module("@cuda.jit\ndef f(a_):\n    a_[0] = 1 // (cuda.threadIdx.x - 3)")
    with pytest.raises(ZeroDivisionError) as caught:
        run(made.f, 1, 8, [np.zeros(1)])
    assert caught.value.__notes__ == ["kernel f: thread (3, 0, 0) of block (0, 0, 0)"]


def test_different_barriers_are_refused():
    text = """
@cuda.jit
def f(a_):
    if cuda.threadIdx.x < 3:
        cuda.syncthreads()
    elif cuda.threadIdx.x < 6:
        cuda.syncthreads()
"""
    said = refused(module(text).f, 1, 8, X)
    assert "kernel f: the threads of block (0, 0, 0) wait for each other forever: threads 0 to 2 in syncthreads" in said
    assert "threads 3 to 5 in syncthreads" in said and "threads 6 to 7 ended before" in said


def test_a_barrier_that_some_do_not_reach_is_refused():
    text = (
        "@cuda.jit\ndef f(a_):\n    if cuda.laneid < 3:\n        cuda.syncthreads()\n    else:\n        cuda.syncwarp()"
    )
    said = refused(module(text).f, 1, 8, X)
    assert "threads 0 to 2 in syncthreads" in said and "threads 3 to 7 in syncwarp" in said


def test_a_mask_without_its_caller_is_refused():
    made = module("@cuda.jit\ndef f(a_):\n    cuda.syncwarp(0x3)")
    assert "syncwarp: the mask 0x3 leaves out the calling lane 2" in refused(made.f, 1, 8, X)


@pytest.mark.parametrize("grid, block", [(0, 1), ((1, 2, 3, 4), 1), (1, 2.0), (1, -1), (1, (32, 33))])
def test_sizes_are_checked(grid, block):
    assert refused(module(SCALE).scale, grid, block, X, X.copy()).startswith("kernel scale: a ")


def test_a_block_larger_than_the_kernels_launch_bounds_is_refused():
    made = module(SCALE.replace("@cuda.jit", "LAUNCH_BOUNDS = {'scale': (32, 2)}\n\n\n@cuda.jit", 1))
    run(made.scale, 1, 32, [X, X.copy()])
    assert "has 64 threads, the limit is 32" in refused(made.scale, 1, 64, X, X.copy())


def test_after_an_error_the_next_launch_runs():
    made, out = module(SCALE), np.zeros_like(X)
    refused(made.careless, 3, 8, X, np.zeros(1))
    run(made.scale, 3, 8, [X, out])
    assert (out == 2 * X).all()


# ---------------------------------------------------------------------- the runner itself
def test_the_order_is_the_same_in_every_run():
    text = """
@cuda.jit
def f(order_, next_):
    for _ in range(3):
        order_[next_[0]] = cuda.grid(1)
        next_[0] += 1
        cuda.syncthreads()
"""
    order = np.zeros(24, int)
    run(module(text).f, 2, 4, [order, np.zeros(1, int)])
    assert (order == [*[0, 1, 2, 3] * 3, *[4, 5, 6, 7] * 3]).all()


@pytest.mark.slow
def test_simulated_is_asked_of_the_environment_alone():
    code = "import sys; from minigrad.kernels.cuda.simulator import SIMULATED as S; print(S, 'numba' in sys.modules)"
    for value, expected in (("1", "True"), ("0", "False"), ("", "False")):
        environment = {"NUMBA_ENABLE_CUDASIM": value, "PYTHONPATH": ":".join(sys.path)}
        ran = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
        assert ran.stdout.split() == [expected, "False"]


def test_a_module_whose_text_is_nowhere_is_refused():
    made = types.ModuleType("nowhere")
    with pytest.raises(ValueError, match="prepare: the text of nowhere is not in nowhere"):
        prepare(made)
