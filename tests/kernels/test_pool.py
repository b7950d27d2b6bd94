"""The buffer pool: no page faults for results of a size that was there before, a limit, and a way to empty it."""

import os
import subprocess
import sys

import pytest

import minigrad
from minigrad.kernels import buffer_pool

glibc = pytest.mark.skipif(buffer_pool.library() is None, reason="needs glibc")

FAULTS = """
import resource
import minigrad as torch
{prepare}
x = torch.ones(500_000)

def run():
    y = x * x
    z = y + x
    return (z * y).sum()

for _ in range(3):
    run()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(10):
    run()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def faults(prepare="", **environment):
    clean = {k: v for k, v in os.environ.items() if k not in buffer_pool.CHOSEN}
    done = subprocess.run(
        [sys.executable, "-c", FAULTS.format(prepare=prepare)], env=clean | environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


@glibc
def test_large_results_do_not_pay_page_faults_at_each_step():
    assert faults() < 50  # each of 30 results has 488 pages


@glibc
def test_without_a_limit_memory_goes_back():
    assert faults("torch.set_pool_limit(0)") > 1000


@glibc
def test_settings_of_the_user_come_first():
    assert faults(MALLOC_MMAP_THRESHOLD_="65536") > 1000


EMPTIED = """
import minigrad

def resident():
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * 4096

minigrad.set_pool_limit(2**30)
x = minigrad.ones(20_000_000)
del x
full = resident()
minigrad.empty_pool()
print(full - resident())
"""


@glibc
def test_emptying_the_pool_gives_memory_back():
    # in a separate process: others' threads and arrays come and go in this one
    done = subprocess.run([sys.executable, "-c", EMPTIED], capture_output=True, text=True, check=True)
    assert int(done.stdout) > 50_000_000


@pytest.mark.parametrize("limit", [-1, 2**31])
def test_limit_out_of_range_is_refused(limit):
    with pytest.raises(ValueError, match=rf"set_pool_limit: the limit must be between 0 and .*, got {limit}"):
        minigrad.set_pool_limit(limit)


def test_limit_that_is_no_number_is_refused():
    with pytest.raises(TypeError, match="set_pool_limit: expected an int, got str"):
        minigrad.set_pool_limit("1 GB")
