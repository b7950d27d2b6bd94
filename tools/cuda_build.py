"""Compiles every kernel for real GPUs, on a machine without one: `make cuda-build`.

    python -m tools.cuda_build                  all kernels, for sm_75, sm_80 and sm_90
    python -m tools.cuda_build --arch sm_80 --dtype float32     a part of them, as a check before a merge
    python -m tools.cuda_build softmax sum      kernels whose module has one of these words in its name
    python -m tools.cuda_build --json FILE      also write the figures; --markdown FILE the table by family

cuda_collect.py finds the kernels with the simulator. Each is compiled as for a launch on a GPU, through PTX to machine code,
and the linker reports its registers and memory. If a kernel does not compile or a sample cannot run, the program shows the
kernel's text or the sample's error, and exits with 1. Results are stored in the cache folder: unchanged kernels are not
compiled again.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import multiprocessing
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from importlib.util import find_spec
from typing import NamedTuple

from minigrad.config import install
from minigrad.kernels import cache
from minigrad.kernels.cuda import kernel_modules
from minigrad.kernels.cuda.kernel_modules import Launched

FLOATS = ("float16", "bfloat16", "float32", "float64")
ARCHITECTURES = ("sm_75", "sm_80", "sm_90")  # T4; A100; H100 and H200
BATCH = 12  # kernels that a process compiles at a time
KEPT = "cuda-build.json"


class Result(NamedTuple):
    """Figures of a compiled kernel, in bytes except for the registers of a thread. `error` is the reason if it failed."""

    family: str
    kernel: str
    types: str
    arch: str
    registers: int = 0
    shared: int = 0
    local: int = 0  # arrays of single threads, in slow memory
    spilled: int = 0  # registers in slow memory, because there were not enough
    size: int = 0
    error: str = ""


def main() -> int:
    """Collect, compile, print."""
    options = arguments()
    if not find_spec("numba_cuda"):
        print(f"cuda-build: the compiler is not installed; {install('cuda13')}, or with cuda12", file=sys.stderr)
        return 2
    begun = time.perf_counter()
    kernels, refused = collected(options.dtype)
    kernels = [k for k in kernels if not options.names or any(n in family(k) for n in options.names)]
    found = time.perf_counter()
    print(f"{len(kernels)} kernels found in {found - begun:.0f} s", flush=True)
    results = compiled(kernels, options.arch)
    print(table(results))
    for r in results if options.all else []:
        print(line(r))
    if options.json:
        pathlib.Path(options.json).parent.mkdir(parents=True, exist_ok=True)
        pathlib.Path(options.json).write_text(json.dumps([r._asdict() for r in results], indent=0) + "\n")
    if options.markdown:
        pathlib.Path(options.markdown).write_text(markdown(results))
    failures = [r for r in results if r.error]
    for text in failed(failures, kernels):
        print(text, file=sys.stderr)
    for sample, reason in refused:
        print(f"not collected: {sample}: {reason.splitlines()[0]}")
    arches = ", ".join(options.arch)
    print(f"{len(kernels)} kernels for {arches} compiled, {len(failures)} failed, {len(refused)} samples refused, "
          f"{time.perf_counter() - begun:.0f} s")  # fmt: skip
    return 1 if failures or refused else 0  # samples that cannot run may launch unknown kernels


def arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.cuda_build",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="only kernels of families with this in their name")
    parser.add_argument("--arch", action="append", metavar="SM", help=f"instead of {', '.join(ARCHITECTURES)}")
    parser.add_argument("--dtype", action="append", choices=FLOATS, help=f"instead of {', '.join(FLOATS)}")
    parser.add_argument("--all", action="store_true", help="print a line for every kernel")
    parser.add_argument("--json", metavar="FILE", help="write the figures of every kernel to FILE")
    parser.add_argument("--markdown", metavar="FILE", help="write the table by family to FILE")
    options = parser.parse_args()
    options.arch, options.dtype = tuple(options.arch or ARCHITECTURES), tuple(options.dtype or FLOATS)
    return options


def collected(dtypes: tuple) -> tuple[list[Launched], list]:
    """Return all kernels, and the samples that cannot run: cuda_collect.py's findings, with blocks as large as a GPU's."""
    chosen = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1", "MINIGRAD_CUDA_BLOCKS": "full"}
    with tempfile.TemporaryDirectory() as folder:
        files = {dtype: pathlib.Path(folder) / f"{dtype}.json" for dtype in dtypes}
        command = [sys.executable, "-m", f"{__package__}.cuda_collect"]
        running = [subprocess.Popen([*command, dtype, str(file)], env=chosen) for dtype, file in files.items()]
        if any([process.wait() for process in running]):
            raise SystemExit("cuda-build: cannot collect the kernels; see above")
        found = [json.loads(file.read_text()) for file in files.values()]
    kernels = {(k[0], k[2], tuple(k[3])): Launched(*k[:3], tuple(k[3])) for some in found for k in some["kernels"]}
    return [kernels[key] for key in sorted(kernels)], [r for some in found for r in some["refused"]]


# ---------------------------------------------------------------------- compiling
def compiled(kernels: list[Launched], arches: tuple) -> list[Result]:
    """Compile each kernel for each architecture, on all cores; return results in the order of the kernels."""
    known = read_kept()
    found = {hash_of(k, arch): known.get(hash_of(k, arch)) for k in kernels for arch in arches}
    missing = [k for k in kernels if any(found[hash_of(k, arch)] is None for arch in arches)]
    batches = [missing[i : i + BATCH] for i in range(0, len(missing), BATCH)]
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(os.cpu_count(), context) if batches else contextlib.nullcontext() as pool:
        for done in as_completed([pool.submit(compile_batch, b, arches) for b in batches] if pool else []):
            found.update(done.result())
            known.update({k: r for k, r in done.result().items() if not r.error})
            cache.write(KEPT, json.dumps(known).encode())  # at once, so that an interrupted build continues from here
    return [r for k in kernels for arch in arches if (r := found[hash_of(k, arch)])]


def compile_batch(kernels: list[Launched], arches: tuple) -> dict[str, Result]:
    """Compile some kernels; return the results by hash."""
    return {hash_of(k, r.arch): r for k in kernels for r in compile_one(k, arches)}


def compile_one(kernel: Launched, arches: tuple) -> list[Result]:
    """Compile one kernel: to PTX, and from that to the machine code of each architecture."""
    named = family(kernel), kernel.function, ", ".join(kernel.signature)
    try:
        module = kernel_modules.build(kernel.module, kernel.source)
        ptx = kernel_modules.assembly(getattr(module, kernel.function).function, kernel.signature)
        codes = [kernel_modules.linked(ptx, kernel.signature, arch) for arch in arches]
    except Exception as e:  # errors of Numba, NVVM and the linker: the kernel cannot be launched
        return [Result(*named, arch, error=f"{type(e).__name__}: {e}") for arch in arches]
    return [Result(*named, arch, **figures(code.log), size=len(code.cubin)) for arch, code in zip(arches, codes)]


def figures(log: str) -> dict[str, int]:
    """Return the figures in the linker's log of a kernel.

    >>> log = "0 bytes spill stores, 8 bytes spill loads\\n used 46 registers, 40 stack, 128 bytes smem, 8 bytes lmem"
    >>> figures(log)
    {'registers': 46, 'shared': 128, 'local': 40, 'spilled': 8}
    """

    def number(text: str) -> int:
        return max([int(n) for n in re.findall(rf"(\d+) {text}", log)], default=0)

    return {
        "registers": number("registers"),
        "shared": number("bytes smem"),
        "local": number("stack"),
        "spilled": number("bytes spill (?:stores|loads)"),
    }


def hash_of(kernel: Launched, arch: str) -> str:
    """Return a hash of everything that determines the machine code."""
    text = repr((kernel.source, kernel.function, kernel.signature, arch, kernel_modules.stamp()))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def read_kept() -> dict[str, Result]:
    """Return the results of earlier builds by hash."""
    try:
        return {k: Result(*r) for k, r in json.loads(cache.read(KEPT) or b"{}").items()}
    except (ValueError, TypeError):  # truncated, or from another version
        return {}


# ---------------------------------------------------------------------- showing
def family(kernel: Launched) -> str:
    """Return the name of the kernel's module; kernels of formulas form two families.

    >>> family(Launched("minigrad_cuda_exp_forward_0123456789abcdef", "", "exp_forward", ()))
    'formulas forward'
    """
    name = kernel.module.removeprefix("minigrad_cuda_").rpartition("_")[0]
    direction = name.rpartition("_")[2]
    return f"formulas {direction}" if direction in ("forward", "backward") else name


def families(results: list[Result]) -> Iterator[tuple]:
    """Yield for each family the numbers of kernels and signatures, the maximum of each figure, and the number of spills."""
    for name in sorted({r.family for r in results}):
        some = [r for r in results if r.family == name]
        worst = [max([getattr(r, f) for r in some]) for f in ("registers", "shared", "local", "size")]
        spills = len({(r.kernel, r.types) for r in some if r.spilled})
        yield (name, len({r.kernel for r in some}), len({(r.kernel, r.types) for r in some}), *worst, spills)


HEADS = ("family", "kernels", "compiled for types", "registers", "shared bytes", "local bytes", "code bytes", "spill")


def table(results: list[Result]) -> str:
    """Return the families as text."""
    rows = [HEADS, *[tuple(map(str, f)) for f in families(results)]]
    widths = [max(len(r[i]) for r in rows) for i in range(len(HEADS))]
    return "\n".join("  ".join([r[0].ljust(widths[0]), *[c.rjust(w) for c, w in zip(r[1:], widths[1:])]]) for r in rows)


def markdown(results: list[Result]) -> str:
    """Return the families as a table in Markdown."""
    rows = [HEADS, ("---", *["---:"] * (len(HEADS) - 1)), *families(results)]
    return "".join(f"| {' | '.join(map(str, r))} |\n" for r in rows)


def line(r: Result) -> str:
    """Return a kernel in one line."""
    return (f"{r.arch}  {r.registers:3} registers  {r.shared:6} shared  {r.local:5} local  {r.spilled:4} spilled  "
            f"{r.size:6} bytes  {r.kernel}({r.types})")  # fmt: skip


def failed(failures: list[Result], kernels: list[Launched]) -> Iterator[str]:
    """Yield the text and the compiler's error of each kernel that does not compile."""
    texts = {(k.function, ", ".join(k.signature)): k.source for k in kernels}
    for r in failures:
        yield f"\n{r.kernel}({r.types}) does not compile for {r.arch}:\n{r.error}\n{texts[r.kernel, r.types]}"


if __name__ == "__main__":
    sys.exit(main())
