"""Whether OpenBLAS multiplies matrices as quickly as it can on this machine: `minigrad doctor` says what to set if not.

OpenBLAS, which is what NumPy's and SciPy's wheels bring, has products for many types of cores and chooses one when it is
loaded.  A processor that is newer than the library may get that of a far older one, at half the speed.
OPENBLAS_CORETYPE names another, but only to a process that has not yet loaded the library.  So each type is tried in a
process of its own, where one that this processor cannot run does no harm.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass

VARIABLE = "OPENBLAS_CORETYPE"
ENOUGH = 1.2  # less of a gain is not worth a variable, and may be noise
FITTING = {  # the types worth a trial, by the best vector instructions, as LLVM calls them
    "avx512f": ("SkylakeX", "Haswell"),
    "avx2": ("Haswell", "Zen"),
    "sve": ("NeoverseV1", "NeoverseN1"),
    "neon": ("NeoverseN1", "ARMV8"),
}

TRIAL = """
import json, time
import numpy
from threadpoolctl import threadpool_info

def quickest(dtype, n=512, seconds=0.06):
    a = numpy.ones((n, n), dtype)
    times, end = [], time.perf_counter() + seconds
    while not times or time.perf_counter() < end:
        start = time.perf_counter()
        a @ a
        times.append(time.perf_counter() - start)
    return min(times)

core = [i["architecture"] for i in threadpool_info() if i["internal_api"] == "openblas"]
print(json.dumps([core[0] if core else "", quickest("float32"), quickest("float64")]))
"""


@dataclass(frozen=True)
class Speed:
    """Seconds of a product of 512 x 512 numbers on one thread, and the type of core that OpenBLAS then takes this for."""

    core: str  # empty where NumPy has another library for its products
    float32: float
    float64: float

    @property
    def seconds(self) -> float:
        """Both products."""
        return self.float32 + self.float64


def tried(core_type: str | None) -> Speed | None:
    """Measure in a new process with this core type, or with none for None; None if that does not run."""
    environment = {name: value for name, value in os.environ.items() if name != VARIABLE}
    environment |= {"OPENBLAS_NUM_THREADS": "1"} | ({VARIABLE: core_type} if core_type else {})
    done = subprocess.run([sys.executable, "-c", TRIAL], env=environment, capture_output=True, text=True)
    return Speed(*json.loads(done.stdout)) if done.returncode == 0 else None


def fitting(features: Mapping[str, bool]) -> tuple[str | None, ...]:
    """The core types to be tried on a processor with these features, and none: OpenBLAS then chooses itself."""
    return None, *next((types for feature, types in FITTING.items() if features.get(feature)), ())


def advice(usual: Speed, others: Mapping[str | None, Speed]) -> str:
    """Return what to set so that both products take much less time than usual; empty where nothing helps."""
    if not others:
        return ""
    best = min(others, key=lambda core_type: others[core_type].seconds)
    if None in others and others[None].seconds <= ENOUGH * others[best].seconds:
        best = None  # what needs no variable is preferred
    if usual.seconds <= ENOUGH * others[best].seconds:
        return ""
    share = f"products of matrices then take {others[best].seconds / usual.seconds:.2f} of the time"
    if best is None:
        return f"unset {VARIABLE}: {share}"
    return f"`export {VARIABLE}={best}` before Python starts: {share}"


def compared(features: Mapping[str, bool]) -> tuple[Speed, str]:
    """The speed of products as they are, and what to set to make them quicker.

    What seems to be quicker is measured once more, as it may have been another program that made the others slow.
    """
    now = os.environ.get(VARIABLE) or None
    usual = tried(now)
    if usual is None:
        raise RuntimeError(f"NumPy cannot multiply matrices with {VARIABLE}={now}")
    if not usual.core:
        return usual, ""
    others = {c: speed for c in fitting(features) if c != now and (speed := tried(c))}
    if advice(usual, others):
        usual = min(usual, tried(now) or usual, key=lambda speed: speed.seconds)
    return usual, advice(usual, others)
