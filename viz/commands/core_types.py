"""Check for `minigrad doctor` that OpenBLAS multiplies matrices as fast as it can on this machine, and advise if not.

OpenBLAS, which comes with NumPy's and SciPy's wheels, has matrix products for many core types and selects one when it is
loaded.  On a processor newer than the library, it may select a far older type, at half the speed.  OPENBLAS_CORETYPE
overrides the choice, but only before the library is loaded.  So each type is tried in its own process, where a type that the
processor cannot run does no harm.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass

VARIABLE = "OPENBLAS_CORETYPE"
ENOUGH = 1.2  # a smaller gain is not worth a variable, and may be noise
FITTING = {  # the types worth a trial, by the best vector instructions, under LLVM's names
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
    """Seconds of a 512 x 512 matrix product on one thread, and the core type that OpenBLAS selected."""

    core: str  # empty if NumPy uses another library
    float32: float
    float64: float

    @property
    def seconds(self) -> float:
        """The time of both products."""
        return self.float32 + self.float64


def tried(core_type: str | None) -> Speed | None:
    """Measure in a new process with this core type, or without one for None; return None if that does not run."""
    environment = {name: value for name, value in os.environ.items() if name != VARIABLE}
    environment |= {"OPENBLAS_NUM_THREADS": "1"} | ({VARIABLE: core_type} if core_type else {})
    done = subprocess.run([sys.executable, "-c", TRIAL], env=environment, capture_output=True, text=True)
    return Speed(*json.loads(done.stdout)) if done.returncode == 0 else None


def fitting(features: Mapping[str, bool]) -> tuple[str | None, ...]:
    """Return the core types to try on a processor with these features; the first is None, OpenBLAS's own choice."""
    return None, *next((types for feature, types in FITTING.items() if features.get(feature)), ())


def advice(usual: Speed, others: Mapping[str | None, Speed]) -> str:
    """Return the setting that makes both products much faster than usual; "" if none does."""
    if not others:
        return ""
    best = min(others, key=lambda core_type: others[core_type].seconds)
    if None in others and others[None].seconds <= ENOUGH * others[best].seconds:
        best = None  # prefer the solution without a variable
    if usual.seconds <= ENOUGH * others[best].seconds:
        return ""
    share = f"matrix products then take {others[best].seconds / usual.seconds:.2f} of the time"
    if best is None:
        return f"unset {VARIABLE}: {share}"
    return f"`export {VARIABLE}={best}` before Python starts: {share}"


def compared(features: Mapping[str, bool]) -> tuple[Speed, str]:
    """Return the current speed of products, and the setting that makes them faster.

    If one seems to help, the current speed is measured once more: another program may have slowed the first measurement.
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
