"""Set equal conditions, one thread on one core for every library, and describe the machine.

Set the variables before you import NumPy, PyTorch or JAX.  The flags keep XLA's own loops on one thread; binding to one core
does the same for thread pools without a flag.  Child processes inherit both.
"""

import importlib.metadata
import os
import platform

THREADS = "OMP_NUM_THREADS OPENBLAS_NUM_THREADS MKL_NUM_THREADS NUMEXPR_NUM_THREADS VECLIB_MAXIMUM_THREADS".split()
SETTINGS = ("OPENBLAS_CORETYPE",)  # also changes the figures: products in NumPy, and so in minigrad, mygrad, autograd
XLA = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
PACKAGES = ("numpy", "numba", "torch", "jax", "mygrad", "autograd")


def one_thread(bound=True):
    """Let this process and its children compute on one thread; `bound` puts all of them on one core."""
    for name in THREADS:
        os.environ[name] = "1"
    os.environ["XLA_FLAGS"] = XLA
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    if bound and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def machine(packages=PACKAGES):
    """Return the facts that the figures depend on, as plain data."""
    return {
        "processor": processor(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "packages": {name: version(name) for name in packages},
        "settings": {name: os.environ[name] for name in SETTINGS if name in os.environ},
        "load": round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None,
    }


def version(name):
    """Return the version of an installed package, or None."""
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def processor():
    """Return the processor's name, with family and vector units to distinguish processors of the same name."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as f:
            lines = [line.partition(":") for line in f.read().split("\n\n")[0].splitlines()]
    except OSError:
        return platform.processor() or platform.machine()
    facts = {name.strip(): value.strip() for name, _, value in lines}
    flags = facts.get("flags", "").split()
    vectors = next((text for flag, text in (("avx512f", "AVX-512"), ("avx2", "AVX2")) if flag in flags), "")
    family = f"family {facts['cpu family']}" if "cpu family" in facts else ""
    return ", ".join(filter(None, [facts.get("model name", platform.machine()), family, vectors]))
