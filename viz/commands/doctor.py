"""`minigrad doctor`: inspect the installation on this machine.

Each finding has a name, a value and, if something is wrong, advice.  Nothing is changed, apart from one small file that is
written into the cache folder and removed again; only `mend`, behind `--fix`, removes damaged kernels and tests that new ones
compile.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import importlib.util
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from ..text import clean

PACKAGES = ("minigrad", "numpy", "ml_dtypes", "scipy", "numba", "llvmlite", "optree", "matplotlib", "rich", "cyclopts")
OPTIONAL = {"torch": "for comparisons", "numba_cuda": "for kernels on a GPU", "sklearn": "for the digits of the demo"}
VECTORS = ("avx", "avx2", "fma", "avx512f", "neon", "sve")  # vector instructions, under LLVM's names
LIMITS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "OPENBLAS_CORETYPE", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
SWITCHES = (
    "MINIGRAD_CACHE",
    "XDG_CACHE_HOME",
    "XDG_STATE_HOME",
    "MINIGRAD_GENERIC",
    "NUMBA_DISABLE_JIT",
    "NUMBA_CPU_NAME",
)


@dataclass
class Finding:
    """The result of one check; `advice` says how to fix a problem, and is empty if there is none."""

    name: str
    found: Any
    advice: str = ""


def examine() -> list[Finding]:
    """Run all checks and return their findings.  A check that raises is a finding too."""
    findings: list[Finding] = []
    machine = versions, switches, processor, products, threads, memory, cache, kernel_key, cuda
    for look in (*machine, layout_engine, fonts):
        findings += attempt(look)
    return findings


def attempt(look: Callable[[], Iterator[Finding]]) -> list[Finding]:
    """Return the findings of one check, or its exception as a finding."""
    try:
        return list(look())
    except Exception as e:
        return [Finding(look.__name__, f"{type(e).__name__}: {e}", "reinstall minigrad-viz and its dependencies")]


def versions() -> Iterator[Finding]:
    """Check Python and the packages, which must import."""
    yield Finding("Python", f"{platform.python_version()} at {sys.executable}")
    for name in PACKAGES:
        try:
            module = importlib.import_module(name)
            yield Finding(name, getattr(module, "__version__", None) or metadata.version(name))
        except Exception as e:
            yield Finding(name, f"{type(e).__name__}: {e}", f"pip install --upgrade --force-reinstall {name}")
    for name, use in OPTIONAL.items():
        there = importlib.util.find_spec(name) is not None
        yield Finding(name, "installed" if there else f"not installed (optional: {use})")


def switches() -> Iterator[Finding]:
    """Yield the environment variables that change minigrad's behaviour."""
    advice = {
        "MINIGRAD_GENERIC": "unset it for speed: it disables the fast paths",
        "NUMBA_DISABLE_JIT": "unset it for speed: it disables Numba's compiler, and large arrays are slow",
    }
    for name in SWITCHES:
        if name in os.environ:
            yield Finding(name, os.environ[name], advice.get(name, "") if os.environ[name] else "")


def processor() -> Iterator[Finding]:
    """Yield the processor and the vector instructions that LLVM compiles for."""
    from llvmlite import binding

    features = [name for name, there in binding.get_host_cpu_features().items() if there]
    vectors = [name for name in VECTORS if name in features]
    advice = "" if vectors else "use a processor with vector instructions: here kernels compute one number at a time"
    yield Finding("processor", f"{binding.get_host_cpu_name()}, {platform.machine()}")
    yield Finding("vector instructions", " ".join(vectors) or "none", advice)


def products() -> Iterator[Finding]:
    """Measure matrix products, and look for a faster setting of OpenBLAS."""
    from llvmlite import binding

    from .core_types import compared

    speed, advice = compared(binding.get_host_cpu_features())
    library = f"OpenBLAS for {speed.core}" if speed.core else "a library other than OpenBLAS"
    figures = " and ".join(f"{2e-9 * 512**3 / s:.0f} GFLOP/s" for s in (speed.float32, speed.float64))
    yield Finding("matrix products", f"{figures} in float32 and float64 on one thread, with {library}", advice)


def threads() -> Iterator[Finding]:
    """Yield the number of threads for kernels, and the limits of other libraries."""
    from minigrad.kernels.threads import get_num_threads

    n, processors = get_num_threads(), os.cpu_count()
    found = f"{n} for large kernels, of {processors} processors"
    yield Finding("threads", f"{found}; minigrad.set_num_threads(n) changes it")
    for name in LIMITS:
        if name in os.environ:
            yield Finding(name, os.environ[name])


def memory() -> Iterator[Finding]:
    """Yield the amount of freed memory that stays for new tensors."""
    from minigrad.kernels import buffer_pool

    if buffer_pool.library() is None:
        yield Finding("buffer pool", "none: it needs glibc (Linux)")
    elif buffer_pool.get_pool_limit():
        kept = f"up to {buffer_pool.get_pool_limit() >> 20} MiB of freed memory"
        yield Finding("buffer pool", f"{kept}; minigrad.set_pool_limit(bytes) and empty_pool() change it")
    else:
        yield Finding("buffer pool", "off", "unset MALLOC_... and GLIBC_TUNABLES, or large results pay page faults")


def cache() -> Iterator[Finding]:
    """Check the folder of compiled kernels: that it is writable, and that its files are intact."""
    from minigrad.kernels import cache

    place = cache.folder()
    if place is None:
        yield Finding("kernel cache", "none: no home directory", "set MINIGRAD_CACHE to a writable folder")
        return
    refused = unwritable(place)
    advice = f"set MINIGRAD_CACHE to a writable folder: each process compiles again ({refused})"
    yield Finding("kernel cache", str(place), advice if refused else "")
    is_ours = lambda f: f.name.startswith("minigrad_") or not f.is_dir()  # a kernel by its name, or a file
    files = [(f, f.lstat()) for f in sorted(place.iterdir()) if is_ours(f)] if place.is_dir() else []
    if foreign := [f.name for f, s in files if cache.distrust(s)]:
        advice = f"chmod 700 {place} and remove them: other users may have written them, so they are not read"
        yield Finding("kernels of other users", foreign, advice)
        files = [(f, s) for f, s in files if not cache.distrust(s)]
    texts = [f for f, _ in files if f.suffix == ".py"]
    binaries = [f for f, _ in files if f.suffix == ".bin"]
    size = sum(s.st_size for _, s in files) / 1e6
    now = [f for f in texts if is_current(f, cache.stamp())]
    filled = f"{len(binaries)} compiled functions of {len(texts)} modules, {size:.1f} MB"
    yield Finding("kernels", filled if files else "none yet: `minigrad warmup` compiles the common ones")
    if len(now) < len(texts):
        yield Finding("kernels of other versions", len(texts) - len(now), f"delete them with rm -r {place}")
    if damaged := [f.name for f in binaries if not seal_is_valid(f)]:
        advice = "minigrad doctor --fix removes them; until then they are recompiled on use"
        yield Finding("damaged kernels", damaged, advice)
    if unfinished := [f.name for f, _ in files if f.match(cache.UNFINISHED) and is_stale(f)]:
        advice = "nothing: killed processes left them, the next write removes them"
        yield Finding("unfinished files", unfinished, advice)


def kernel_key() -> Iterator[Finding]:
    """Check the key that seals kernels; the first kernel creates it, this check only reads it."""
    from minigrad.kernels import seal

    place, advice = seal.file(), ""
    if place is None:
        yield Finding("kernel key", "none: no home directory", "set XDG_STATE_HOME to a writable folder")
        return
    try:
        if os.path.lexists(place):
            seal.content(place)
        elif refused := unwritable(place.parent):
            advice = f"set XDG_STATE_HOME to a writable folder: each process compiles again ({refused})"
    except (OSError, ValueError) as e:
        advice = str(e)
    yield Finding("kernel key", str(place), advice)


TRIAL = """
import sys, warnings
import minigrad
from minigrad.warmup import jobs

warnings.simplefilter("error")  # minigrad warns if NumPy computes instead of a kernel
for name, compile_it in jobs():
    if name in ("exp float32", "softmax float32"):
        compile_it()
"""


def mend() -> Iterator[Finding]:
    """Remove damaged and unfinished files, and try to compile; if that fails, remove all kernels and try again."""
    from minigrad.kernels import cache

    place = cache.folder()
    ours = sorted(place.glob("minigrad_kernel_*")) if place is not None else []
    unfinished = [f for f in place.glob(cache.UNFINISHED) if is_stale(f)] if place is not None else []
    yield Finding("removed", removed([f for f in ours if f.suffix == ".bin" and not seal_is_valid(f)] + unfinished))
    fault = tried()
    if fault and ours:
        yield Finding("removed, as kernels fail", removed([f for f in ours if f.exists()]))
        fault = tried()
    yield Finding("kernels compile", fault or "yes", "reinstall numba and llvmlite, or report it" if fault else "")


def removed(files: list[Path]) -> list[str]:
    """Remove files, and return the names of the removed ones."""
    gone = []
    for f in files:
        with contextlib.suppress(OSError):
            f.unlink()
            gone.append(f.name)
    return gone


def tried() -> str:
    """Compile (or find) two kernels in a separate process, and return its error; "" if there is none."""
    done = subprocess.run([sys.executable, "-c", TRIAL], capture_output=True, text=True)
    return "" if done.returncode == 0 else done.stderr.strip()


def is_stale(f: Path) -> bool:
    """Return True if no process writes to an unfinished file any more."""
    from minigrad.kernels import cache

    with contextlib.suppress(OSError):
        return time.time() - f.stat().st_mtime > cache.STALE
    return False


def unwritable(place: Path) -> str:
    """Return why a folder, or its nearest existing parent, is not writable; "" if it is."""
    while not place.exists() and place != place.parent:
        place = place.parent
    try:
        with tempfile.NamedTemporaryFile(dir=place, prefix="minigrad_", suffix=".part") as part:
            part.write(bytes(4096))
    except OSError as e:
        return e.strerror or str(e)
    return ""


def is_current(text: Path, stamp: str) -> bool:
    """Return True if a module belongs to these versions and this processor: its name ends in the hash of its text and both."""
    try:
        return hashlib.sha256(text.read_bytes() + stamp.encode()).hexdigest()[:16] == text.stem.rpartition("_")[2]
    except OSError:
        return False


def seal_is_valid(binary: Path) -> bool:
    """Return True if the seal of compiled code is valid; without a key, which this check does not make, none is."""
    from minigrad.kernels import cache, seal

    place = seal.file()
    try:
        with seal.open_regular(binary) as file:
            return place is not None and place.exists() and cache.opened(binary.name, file.read()) is not None
    except OSError:
        return False


def cuda() -> Iterator[Finding]:
    """Check for a GPU: its driver, the package to use it, and the GPU that the driver finds."""
    import ctypes.util

    from minigrad import cuda
    from minigrad.config import install

    if os.environ.get("NUMBA_ENABLE_CUDASIM", "0") not in ("", "0"):
        yield Finding("CUDA", "simulated: NUMBA_ENABLE_CUDASIM is set")
        return
    yield from gpu_compiler()
    library = ctypes.util.find_library("nvcuda" if sys.platform == "win32" else "cuda")
    driver = library or shutil.which("nvidia-smi")
    if not driver:
        yield Finding("CUDA", "no driver found")
        return
    there = importlib.util.find_spec("numba_cuda") is not None
    extra = f"{install('cuda13')}, or with cuda12 if nvidia-smi shows a driver below 580"
    yield Finding("CUDA", f"driver {driver}", "" if there else extra)
    if there and not cuda.is_available():
        yield Finding("GPU", "the driver finds none", "check nvidia-smi and CUDA_VISIBLE_DEVICES")
    elif there:
        free, total = cuda.mem_get_info()
        major, minor = cuda.get_device_capability()
        memory = f"{free / 2**30:.1f} of {total / 2**30:.1f} GiB free"
        yield Finding("GPU", f"{cuda.get_device_name()}, sm_{major}{minor}, {memory}")


def gpu_compiler() -> Iterator[Finding]:
    """Check that numba-cuda, if it is installed, works with this NumPy; version 0.30 does not with NumPy 2.5."""
    if importlib.util.find_spec("numba_cuda") is None:
        return
    try:
        importlib.import_module("numba.cuda.np.arrayobj")  # its functions that take arrays
        yield Finding("numba-cuda", importlib.import_module("numba_cuda").__version__)
    except Exception as e:
        yield Finding("numba-cuda", f"{type(e).__name__}: {e}", 'pip install --upgrade numba-cuda "numpy<2.5"')


def layout_engine() -> Iterator[Finding]:
    """Check that Graphviz, which is part of pygraphviz, lays out two nodes."""
    from ..layout.positions import REINSTALL, graphviz_fault, quiet_stderr

    fault, fix = graphviz_fault()
    if fault:
        yield Finding("layout engine", fault, fix)
        return
    try:
        import pygraphviz

        graph: Any = pygraphviz.AGraph(directed=True)
        graph.add_edge("a", "b")
        with quiet_stderr():
            graph.layout("dot")
        fix = "" if all(graph.get_node(n).attr["pos"] for n in "ab") else REINSTALL
        yield Finding("layout engine", f"Graphviz in pygraphviz {pygraphviz.__version__}", fix)
    except Exception as e:
        yield Finding("layout engine", f"{type(e).__name__}: {e}", REINSTALL)


def fonts() -> Iterator[Finding]:
    """Check the fonts of PNG and PDF; an SVG uses the reader's fonts."""
    from matplotlib import font_manager

    from ..formats.export import FONTS

    for name in FONTS.values():
        try:
            yield Finding(f"font {name}", str(font_manager.findfont(name, fallback_to_default=False)))
        except ValueError:
            yield Finding(f"font {name}", "missing", "pip install --force-reinstall matplotlib, which brings it")


def show(findings: list[Finding]) -> None:
    """Print the findings, then the advice again; file names are cleaned of terminal escapes."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, show_header=False, pad_edge=False)
    for f in findings:
        found = f"{len(f.found)}: {', '.join(map(clean, f.found))}" if isinstance(f.found, list) else str(f.found)
        table.add_row(Text("!" if f.advice else " "), Text(f.name), Text(lines(found), overflow="fold"))
    console = Console()
    console.print(table)
    faults = [f for f in findings if f.advice]
    console.print("\nNothing is wrong." if not faults else "\nWhat to do:")
    for f in faults:
        console.print(Text(f"  {f.name}: {lines(f.advice)}"))


def lines(text: str) -> str:
    """Clean each line of a text."""
    return "\n".join(map(clean, text.split("\n")))
