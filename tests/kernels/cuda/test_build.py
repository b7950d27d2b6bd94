"""The kernels that cuda-build finds, and what it says of them; with the compiler installed also that it compiles."""

import ast
import json
import os
import subprocess
import sys
from importlib.util import find_spec

import numpy as np
import pytest

import minigrad
from minigrad.kernels.cuda import kernel_modules, matmul_cuda
from minigrad.ops.base.registry import TABLE
from tests.floats import some
from tools import cuda_build as build
from tools import cuda_collect as collect


@pytest.fixture
def launched(monkeypatch):
    """Return the dict that collects the kernels launched in a test."""
    found = {}
    monkeypatch.setattr(kernel_modules, "launched", found)
    return found


def test_a_sample_notes_its_forward_and_its_backward_with_their_types(launched):
    with minigrad.device("cuda"):
        collect.forward_and_backward(minigrad, TABLE["tanh"], "T(2, 3)", "float32")
    noted = {(k.function, k.signature) for k in launched.values()}
    assert ("tanh_forward", ("float32[::1]", "float32[::1]")) in noted
    assert any(function == "tanh_backward" for function, _ in noted)


def test_products_are_collected_in_the_tiles_of_a_gpu_and_not_in_the_simulators(launched):
    with minigrad.device("cuda"), collect.products() as found:
        collect.forward_and_backward(minigrad, TABLE["matmul"], "T(3, 4), T(4, 2)", "float32")
    assert found
    for tile in matmul_cuda.tiles(np.dtype(np.float32)):
        sizes = f"TILE_M, TILE_N, TILE_K, THREAD_M, THREAD_N = {', '.join(map(str, tile[:5]))}"
        assert any(sizes in k.source for k in found), tile
    assert not {k.source for k in found} & {k.source for k in launched.values()}


@pytest.mark.parametrize("dtype", some(build.FLOATS[::-1], 4))
def test_every_formulas_kernel_takes_as_many_arguments_as_it_is_compiled_for(dtype):
    found = list(collect.formulas(dtype))
    assert len(found) > 150
    for k in found:
        (function,) = [n for n in ast.parse(k.source).body if isinstance(n, ast.FunctionDef) and n.name == k.function]
        assert len(function.args.args) == len(k.signature), k


def test_families_count_kernels_and_show_the_largest_figures():
    result = build.Result("sums", "sum", "float32[::1]", "sm_80", 20, 0, 0, 0, 900)
    results = [result, result._replace(arch="sm_90", registers=24, spilled=4), result._replace(types="float64[::1]")]
    assert list(build.families(results)) == [("sums", 1, 2, 24, 0, 0, 900, 1)]
    assert build.markdown(results).splitlines()[2] == "| sums | 1 | 2 | 24 | 0 | 0 | 900 | 1 |"
    assert build.table(results).splitlines()[1].split() == ["sums", "1", "2", "24", "0", "0", "900", "1"]


def test_a_kernel_that_does_not_compile_is_shown_with_its_text():
    broken = build.Result("k", "k", "int64", "sm_80", error="TypingError: no")
    kernel = kernel_modules.Launched("minigrad_cuda_k_0", "the text", "k", ("int64",))
    assert list(build.failed([broken], [kernel])) == [
        "\nk(int64) does not compile for sm_80:\nTypingError: no\nthe text"
    ]


GOOD = """
from numba import cuda
from minigrad.kernels.cuda.device_functions import sigmoid


@cuda.jit
def k(x, out):
    for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
        out[i] = sigmoid(x[i])
"""
PROGRAM = """
import json, sys
from minigrad.kernels.cuda import kernel_modules
from tools import cuda_build as build
kernel = kernel_modules.Launched(sys.argv[1], sys.argv[2], "k", ("float32[::1]", "float32[::1]"))
print(json.dumps([r._asdict() for r in build.compile_one(kernel, build.ARCHITECTURES)]))
"""


@pytest.mark.slow
@pytest.mark.skipif(not find_spec("numba_cuda"), reason="the compiler for GPUs is not installed (make cuda-build)")
def test_a_kernel_compiles_without_a_gpu_and_a_wrong_one_says_why():
    real = {k: v for k, v in os.environ.items() if k != "NUMBA_ENABLE_CUDASIM"}
    for name, text in (("good", GOOD), ("wrong", GOOD.replace("x[i]", "x.missing"))):
        command = [sys.executable, "-c", PROGRAM, f"minigrad_cuda_{name}_0", text]
        done = subprocess.run(command, env=real, capture_output=True, text=True, check=True)
        results = json.loads(done.stdout)
        assert [r["arch"] for r in results] == list(build.ARCHITECTURES)
        for result in results:
            assert bool(result["error"]) == (name == "wrong"), result
            assert "missing" in result["error"] if name == "wrong" else result["registers"] > 0 and result["size"] > 0
