"""Compile every kernel for real GPUs, on a machine without one: `make cuda-build`.

    python -m tools.cuda_build                  all kernels, for sm_75, sm_80 and sm_90
    python -m tools.cuda_build softmax sum      those whose module's name has one of these words in it
    python -m tools.cuda_build --json FILE      also write the figures; --markdown FILE the table by family

Which kernels there are, cuda_collect.py finds with the simulator.  Here each is compiled as for its launch on a GPU, through
PTX to machine code, and the linker says how many registers and how much memory it takes.  A kernel that does not compile is
shown with its text, a sample that cannot be run with its error, and the exit code is 1.  Results are kept in the cache
folder: what has not changed is not compiled again.
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

from minigrad.kernels import cache
from minigrad.kernels.cuda import kernel_modules
from minigrad.kernels.cuda.kernel_modules import Launched

FLOATS = ("float16", "bfloat16", "float32", "float64")
ARCHITECTURES = ("sm_75", "sm_80", "sm_90")  # T4; A100; H100 and H200
BATCH = 12  # kernels that a process compiles before it takes more
KEPT = "cuda-build.json"


class Result(NamedTuple):
    """A compiled kernel in figures; bytes, but for the registers of a thread.  `error` says why there is none."""

    family: str
    kernel: str
    types: str
    arch: str
    registers: int = 0
    shared: int = 0
    local: int = 0  # arrays of single threads, which lie in slow memory
    spilled: int = 0  # registers that do, as there were not enough
    size: int = 0
    error: str = ""


def main() -> int:
    """Collect, compile, print."""
    options = arguments()
    if not find_spec("numba_cuda"):
        print("cuda-build: the compiler is not installed; pip install 'minigrad-viz[cuda12]'", file=sys.stderr)
        return 2
    begun = time.perf_counter()
    kernels, refused = collected()
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
    return 1 if failures or refused else 0  # what could not be run may launch kernels that nobody has seen


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.cuda_build",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="only kernels of families with this in their name")
    parser.add_argument("--arch", action="append", metavar="SM", help=f"instead of {', '.join(ARCHITECTURES)}")
    parser.add_argument("--all", action="store_true", help="print a line for every kernel")
    parser.add_argument("--json", metavar="FILE", help="write the figures of every kernel to FILE")
    parser.add_argument("--markdown", metavar="FILE", help="write the table by family to FILE")
    options = parser.parse_args()
    options.arch = tuple(options.arch or ARCHITECTURES)
    return options


def collected() -> tuple[list[Launched], list]:
    """All kernels, and the samples that could not be run: cuda_collect.py's findings, with blocks as large as a GPU's."""
    chosen = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1", "MINIGRAD_CUDA_BLOCKS": "full"}
    with tempfile.TemporaryDirectory() as folder:
        files = {dtype: pathlib.Path(folder) / f"{dtype}.json" for dtype in FLOATS}
        command = [sys.executable, "-m", f"{__package__}.cuda_collect"]
        running = [subprocess.Popen([*command, dtype, str(file)], env=chosen) for dtype, file in files.items()]
        if any([process.wait() for process in running]):
            raise SystemExit("cuda-build: the kernels could not be collected; see above")
        found = [json.loads(file.read_text()) for file in files.values()]
    kernels = {(k[0], k[2], tuple(k[3])): Launched(*k[:3], tuple(k[3])) for some in found for k in some["kernels"]}
    return [kernels[key] for key in sorted(kernels)], [r for some in found for r in some["refused"]]


# ---------------------------------------------------------------------- compiling
def compiled(kernels: list[Launched], arches: tuple) -> list[Result]:
    """Each kernel for each architecture, on all cores, in the order of the kernels."""
    known = read_kept()
    found = {hash_of(k, arch): known.get(hash_of(k, arch)) for k in kernels for arch in arches}
    missing = [k for k in kernels if any(found[hash_of(k, arch)] is None for arch in arches)]
    batches = [missing[i : i + BATCH] for i in range(0, len(missing), BATCH)]
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(os.cpu_count(), context) if batches else contextlib.nullcontext() as pool:
        for done in as_completed([pool.submit(compile_batch, b, arches) for b in batches] if pool else []):
            found.update(done.result())
            known.update({k: r for k, r in done.result().items() if not r.error})
            cache.write(KEPT, json.dumps(known).encode())  # at once: who stops it goes on from there
    return [r for k in kernels for arch in arches if (r := found[hash_of(k, arch)])]


def compile_batch(kernels: list[Launched], arches: tuple) -> dict[str, Result]:
    """What becomes of some kernels, by their hashes."""
    return {hash_of(k, r.arch): r for k in kernels for r in compile_one(k, arches)}


def compile_one(kernel: Launched, arches: tuple) -> list[Result]:
    """One kernel: its PTX, and from that the machine code of each architecture."""
    named = family(kernel), kernel.function, ", ".join(kernel.signature)
    try:
        module = kernel_modules.build(kernel.module, kernel.source)
        ptx = kernel_modules.assembly(getattr(module, kernel.function).function, kernel.signature)
        codes = [kernel_modules.linked(ptx, kernel.signature, arch) for arch in arches]
    except Exception as e:  # Numba's, NVVM's and the linker's are of many kinds; all mean that it cannot be launched
        return [Result(*named, arch, error=f"{type(e).__name__}: {e}") for arch in arches]
    return [Result(*named, arch, **figures(code.log), size=len(code.cubin)) for arch, code in zip(arches, codes)]


def figures(log: str) -> dict[str, int]:
    """What the linker says of a kernel.

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
    """What decides about the machine code."""
    text = repr((kernel.source, kernel.function, kernel.signature, arch, kernel_modules.stamp()))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def read_kept() -> dict[str, Result]:
    """Results of earlier builds, by their hashes."""
    try:
        return {k: Result(*r) for k, r in json.loads(cache.read(KEPT) or b"{}").items()}
    except (ValueError, TypeError):  # not whole, or written by another version
        return {}


# ---------------------------------------------------------------------- showing
def family(kernel: Launched) -> str:
    """The name of the kernel's module; the kernels of formulas are two families.

    >>> family(Launched("minigrad_cuda_exp_forward_0123456789abcdef", "", "exp_forward", ()))
    'formulas forward'
    """
    name = kernel.module.removeprefix("minigrad_cuda_").rpartition("_")[0]
    direction = name.rpartition("_")[2]
    return f"formulas {direction}" if direction in ("forward", "backward") else name


def families(results: list[Result]) -> Iterator[tuple]:
    """For each family: how many kernels and signatures, the most of each figure, and how many kernels spill registers."""
    for name in sorted({r.family for r in results}):
        some = [r for r in results if r.family == name]
        worst = [max([getattr(r, f) for r in some]) for f in ("registers", "shared", "local", "size")]
        spills = len({(r.kernel, r.types) for r in some if r.spilled})
        yield (name, len({r.kernel for r in some}), len({(r.kernel, r.types) for r in some}), *worst, spills)


HEADS = ("family", "kernels", "compiled for types", "registers", "shared bytes", "local bytes", "code bytes", "spill")


def table(results: list[Result]) -> str:
    """The families as text."""
    rows = [HEADS, *[tuple(map(str, f)) for f in families(results)]]
    widths = [max(len(r[i]) for r in rows) for i in range(len(HEADS))]
    return "\n".join("  ".join([r[0].ljust(widths[0]), *[c.rjust(w) for c, w in zip(r[1:], widths[1:])]]) for r in rows)


def markdown(results: list[Result]) -> str:
    """The families as a page of the documentation has them."""
    rows = [HEADS, ("---", *["---:"] * (len(HEADS) - 1)), *families(results)]
    return "".join(f"| {' | '.join(map(str, r))} |\n" for r in rows)


def line(r: Result) -> str:
    """A kernel in one line."""
    return (f"{r.arch}  {r.registers:3} registers  {r.shared:6} shared  {r.local:5} local  {r.spilled:4} spilled  "
            f"{r.size:6} bytes  {r.kernel}({r.types})")  # fmt: skip


def failed(failures: list[Result], kernels: list[Launched]) -> Iterator[str]:
    """For each kernel that does not compile: its text, and what the compiler says."""
    texts = {(k.function, ", ".join(k.signature)): k.source for k in kernels}
    for r in failures:
        yield f"\n{r.kernel}({r.types}) does not compile for {r.arch}:\n{r.error}\n{texts[r.kernel, r.types]}"


if __name__ == "__main__":
    sys.exit(main())
