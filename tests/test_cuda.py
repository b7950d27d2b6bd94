"""Programs that ask minigrad.cuda for a GPU run without one, and calls that need a GPU raise an error."""

import subprocess
import sys

import pytest

import minigrad

NOT_HERE = pytest.mark.skipif(minigrad.cuda.is_available(), reason="there is a GPU")
NEEDS_ONE = [
    lambda: minigrad.cuda.current_device(),
    lambda: minigrad.cuda.set_device(0),
    lambda: minigrad.cuda.get_device_name(),
    lambda: minigrad.cuda.get_device_capability(0),
    lambda: minigrad.cuda.get_device_properties("cuda"),
    lambda: minigrad.cuda.synchronize(),
    lambda: minigrad.cuda.mem_get_info(),
    lambda: minigrad.cuda.initial_seed(),
    lambda: minigrad.cuda.get_rng_state(),
    lambda: minigrad.cuda.set_rng_state(minigrad.get_rng_state()),
    lambda: minigrad.ones(2, device="cuda"),
    lambda: minigrad.ones(2).cuda(),
    lambda: minigrad.Generator("cuda"),
    lambda: minigrad.set_default_device("cuda"),
    lambda: minigrad.nn.Linear(2, 2).cuda(),
]


@NOT_HERE
@pytest.mark.parametrize("use", NEEDS_ONE)
def test_what_needs_a_gpu_says_that_there_is_none(use):
    with pytest.raises(RuntimeError, match=r"there is no CUDA device(.|\n)*use device='cpu'"):
        use()


@NOT_HERE
def test_programs_may_ask_and_prepare_without_a_gpu():
    assert not minigrad.cuda.is_available() and minigrad.cuda.device_count() == 0
    minigrad.cuda.manual_seed(1), minigrad.cuda.manual_seed_all(1), minigrad.cuda.seed(), minigrad.cuda.empty_cache()
    minigrad.cuda.reset_peak_memory_stats()
    assert set(minigrad.cuda.memory_stats().values()) == {0}
    assert minigrad.cuda.memory_allocated() == minigrad.cuda.max_memory_reserved() == 0


def test_a_device_of_another_kind_is_refused():
    with pytest.raises(ValueError, match="expected a cuda device, but got cpu"):
        minigrad.cuda.get_device_name("cpu")


def test_running_out_of_memory_is_an_error_of_both_kinds():
    assert issubclass(minigrad.cuda.OutOfMemoryError, (RuntimeError, MemoryError))
    assert issubclass(minigrad.cuda.OutOfMemoryError, minigrad.MinigradError)


def test_importing_minigrad_does_not_load_the_kernels_of_gpus():
    code = "import minigrad, sys; x = minigrad.rand(3, requires_grad=True); (x * x).sum().cpu().backward(); " \
           "print([m for m in sys.modules if m.startswith('minigrad.kernels.cuda')])"  # fmt: skip
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
