"""What benchmarks/cuda.py makes of its times, which it takes on a GPU only."""

import pytest

from benchmarks import cuda

TIMES = {
    cuda.pointwise.__doc__: {"minigrad": 0.4, "torch": 1.2},
    cuda.copy.__doc__: {"minigrad": 0.24, "torch": 0.2},
    cuda.softmax.__doc__: {"error": "RuntimeError: no"},
}


def test_the_share_of_the_copys_bandwidth_is_by_bytes_and_not_by_times():
    assert cuda.bandwidths(TIMES) == pytest.approx({"minigrad": 0.9, "torch": 0.25})
    failed = {**TIMES, cuda.copy.__doc__: {"error": "RuntimeError: no"}}
    assert cuda.bandwidths(failed) == {} == cuda.bandwidths({})


def test_the_page_has_the_share_and_the_products():
    products = {128: {"own": 0.01}, 256: {"own": 0.03, "cuBLAS": 0.02}}
    figures = {
        "device": "a GPU",
        "versions": {"numpy": "2", "torch": None},
        "milliseconds": TIMES,
        "products": products,
    }
    lines = cuda.markdown(figures).splitlines()
    assert lines[0] == "a GPU; numpy 2"
    assert "Bandwidth of the pointwise case relative to the copy: 90% (minigrad), 25% (torch)." in lines
    assert lines[-2:] == ["| 128 x 128 | 0.0100 | - | - |", "| 256 x 256 | 0.0300 | 0.0200 | 1.50 |"]
    assert f"| {cuda.softmax.__doc__} | failed | - | - |" in lines
