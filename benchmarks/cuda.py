"""Run the tests on a GPU and compare times with PyTorch on the same GPU: `make cuda-test`.

    python -m benchmarks.cuda                        the tests, then the times
    python -m benchmarks.cuda --only times           no tests
    python -m benchmarks.cuda --json FILE --docs     also write the figures, and docs/performance_cuda.md

Both libraries have the same names, so each case is written once.  Times are between CUDA events, on warm kernels, in turns;
the figure is the median of all rounds.  Before a case is timed, the results are compared.  The times of the pointwise case
and of a copy give its share of the bandwidth.  Matrix products are timed with minigrad's own kernels and, if installed, with
cuBLAS.  The network is not needed.  Without a GPU nothing is measured, and the exit code is 2.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version

import numpy as np

ROUNDS, CALLS = 15, 20
TOLERANCE = 2e-3  # relative to the largest number of a result: float32, sums in another order
PAGE = pathlib.Path("docs/performance_cuda.md")
PACKAGES = ("minigrad-viz", "torch", "numpy", "numba", "numba-cuda", "cuda-core")
SUITES = ("tests/kernels/cuda", "tests/spec", "tests/ops", "tests/autograd", "tests/func", "tests/nn", "tests/optim",
          "tests/core", "tests/compile", "tests/record")  # fmt: skip


# ---------------------------------------------------------------------- cases
def numbers(torch, *shape):
    """Return the same numbers for both libraries, on the GPU."""
    return torch.tensor(np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32), device="cuda")


def tracked(torch, *shape):
    """Return numbers that require a gradient."""
    return numbers(torch, *shape).requires_grad_()


def pointwise(torch):
    """tanh(x) * sigmoid(y) + exp(-x * x), 1e8 numbers; minigrad's is compiled, PyTorch's is eager"""
    x, y = numbers(torch, 100_000_000), numbers(torch, 100_000_000) + 1
    chain = lambda: torch.tanh(x) * torch.sigmoid(y) + torch.exp(-x * x)
    return torch.compile(chain) if torch.__name__ == "minigrad" else chain


def copy(torch):
    """a copy of 1e8 numbers: the bandwidth that pointwise work can have"""
    x = numbers(torch, 100_000_000)
    return lambda: x.clone()


def softmax(torch):
    """softmax of (8192, 4096), forward and backward"""
    x, g = tracked(torch, 8192, 4096), numbers(torch, 8192, 4096)
    return lambda: torch.autograd.grad(torch.softmax(x, 1), x, g)[0]


def layer_norm(torch):
    """layer norm of (8192, 4096), forward and backward"""
    x, w, b, g = tracked(torch, 8192, 4096), tracked(torch, 4096), tracked(torch, 4096), numbers(torch, 8192, 4096)
    return lambda: torch.autograd.grad(torch.nn.functional.layer_norm(x, (4096,), w, b), (x, w, b), g)[0]


def cross_entropy(torch):
    """cross entropy of (8192, 4096), forward and backward"""
    x = tracked(torch, 8192, 4096)
    classes = torch.tensor(np.random.default_rng(0).integers(0, 4096, 8192), device="cuda")
    return lambda: torch.autograd.grad(torch.nn.functional.cross_entropy(x, classes), x)[0]


def row_sums(torch):
    """sums of the rows of (10000, 10000)"""
    x = numbers(torch, 10_000, 10_000)
    return lambda: x.sum(1)


def column_sums(torch):
    """sums of the columns of (10000, 10000)"""
    x = numbers(torch, 10_000, 10_000)
    return lambda: x.sum(0)


def matmul(torch):
    """a product of two (4096, 4096) matrices"""
    x, y = numbers(torch, 4096, 4096), numbers(torch, 4096, 4097)[:, 1:]
    return lambda: x @ y


def conv2d(torch):
    """a convolution: (32, 64, 56, 56) with (64, 64, 3, 3), forward and backward"""
    x, w = tracked(torch, 32, 64, 56, 56), tracked(torch, 64, 64, 3, 3)
    g = numbers(torch, 32, 64, 56, 56)
    return lambda: torch.autograd.grad(torch.nn.functional.conv2d(x, w, padding=1), (x, w), g)[0]


def mlp_step(torch):
    """a training step of an MLP 784-256-10 at batch 32; minigrad's is compiled, PyTorch's is eager"""
    x = numbers(torch, 32, 784)
    classes = torch.tensor(np.random.default_rng(0).integers(0, 10, 32), device="cuda")
    weights = [(numbers(torch, *s) * 0.05).requires_grad_() for s in ((784, 256), (256,), (256, 10), (10,))]

    def step():
        a, b, c, d = weights
        loss = torch.nn.functional.cross_entropy(torch.relu(x @ a + b) @ c + d, classes)
        with torch.no_grad():
            for w, g in zip(weights, torch.autograd.grad(loss, weights)):
                w -= 0.01 * g
        return loss

    return torch.compile(step) if torch.__name__ == "minigrad" else step


def transfer(torch):
    """1e7 numbers to the GPU and back"""
    x = np.random.default_rng(0).standard_normal(10_000_000).astype(np.float32)
    return lambda: torch.tensor(x, device="cuda").cpu()


def launch(torch):
    """one addition of single numbers: what a launch costs"""
    x = numbers(torch, 1)
    return lambda: x + x


MOVED = {pointwise: 3 * 4e8, copy: 2 * 4e8}  # bytes that a case reads and writes at least
PRODUCTS = (128, 256, 512, 1024, 2048, 4096, 8192)  # rows and columns of the matrices
CASES = (pointwise, copy, softmax, layer_norm, cross_entropy, row_sums, column_sums, matmul, conv2d, mlp_step, transfer,
         launch)  # fmt: skip


# ---------------------------------------------------------------------- times
def clock(torch):
    """Return a function that gives the milliseconds of one run of f, between two events of the library's stream."""
    if torch.__name__ == "torch":
        from torch.cuda import Event

        def mark():
            event = Event(enable_timing=True)
            event.record()
            return event

        passed = lambda begin, end: begin.elapsed_time(end)
    else:
        from cuda.core import EventOptions

        from minigrad.kernels.cuda import machine

        mark = lambda: machine.current().queue.record(options=EventOptions(timing_enabled=True))
        passed = lambda begin, end: end - begin

    def milliseconds(f):
        begin = mark()
        for _ in range(CALLS):
            f()
        end = mark()
        torch.cuda.synchronize()
        return passed(begin, end) / CALLS

    return milliseconds


def measured(case, libraries):
    """Return the median milliseconds of a case for each library, in turns; raise ValueError if the results differ."""
    runs = {torch.__name__: case(torch) for torch in libraries}
    results = [f().detach().cpu().numpy() for f in runs.values()]
    for other in results[1:]:
        if (worst := np.abs(results[0] - other).max()) > TOLERANCE * max(1, np.abs(other).max()):
            raise ValueError(f"{case.__name__}: results differ by {worst}")
    clocks = {torch.__name__: clock(torch) for torch in libraries}
    for name, f in runs.items():
        clocks[name](f)
    rounds = [{name: clocks[name](f) for name, f in runs.items()} for _ in range(ROUNDS)]
    return {name: statistics.median([r[name] for r in rounds]) for name in runs}


def products(sizes, milliseconds):
    """Return the times of products of square matrices by size, with minigrad's kernels and with cuBLAS."""
    import minigrad
    from minigrad.kernels.cuda import blas

    chosen, found = blas.LIBRARY_FROM, {}
    ways = {"own": float("inf"), **({"cuBLAS": 0} if blas.library() is not None else {})}
    for n in sizes:
        x, y = numbers(minigrad, n, n), numbers(minigrad, n, n + 1)[:, 1:]
        rounds = {way: [] for way in ways}
        try:
            for way in list(ways) * ROUNDS:
                blas.LIBRARY_FROM = ways[way]
                rounds[way].append(milliseconds(lambda x=x, y=y: x @ y))
        finally:
            blas.LIBRARY_FROM = chosen
        found[n] = {way: statistics.median(took[1:]) for way, took in rounds.items()}  # the first compiles
    return found


def libraries():
    """Return minigrad, and PyTorch if it is installed with CUDA."""
    import minigrad

    try:
        import torch
    except ImportError:
        return [minigrad]
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False  # float32 in both
    return [minigrad, torch] if torch.cuda.is_available() else [minigrad]


# ---------------------------------------------------------------------- the report
def installed(package):
    """Return the version of a package, or None."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def markdown(figures):
    """Return the table for the documentation."""
    lines = ["| case | minigrad, ms | PyTorch, ms | ratio |", "| --- | ---: | ---: | ---: |"]
    for name, found in figures["milliseconds"].items():
        ours, theirs = found.get("minigrad"), found.get("torch")
        cells = [f"{ours:.4f}" if ours else "failed", f"{theirs:.4f}" if theirs else "-"]
        lines.append(f"| {name} | {' | '.join(cells)} | {f'{ours / theirs:.2f}' if ours and theirs else '-'} |")
    shares = [f"{share:.0%} ({name})" for name, share in bandwidths(figures["milliseconds"]).items()]
    if shares:
        lines += ["", f"Bandwidth of the pointwise case relative to the copy: {', '.join(shares)}."]
    if figures["products"]:
        lines += ["", "| product of matrices | own kernels, ms | cuBLAS, ms | ratio |", "| --- | ---: | ---: | ---: |"]
    for n, found in figures["products"].items():
        own, library = found["own"], found.get("cuBLAS")
        cells = [f"{own:.4f}", f"{library:.4f}" if library else "-", f"{own / library:.2f}" if library else "-"]
        lines.append(f"| {n} x {n} | {' | '.join(cells)} |")
    versions = ", ".join(f"{k} {v}" for k, v in figures["versions"].items() if v)
    return "\n".join([f"{figures['device']}; {versions}", "", *lines, ""])


def bandwidths(milliseconds):
    """Return the pointwise case's share of the copy's bandwidth, for each library that ran both."""
    work, base = [milliseconds.get(case.__doc__, {}) for case in (pointwise, copy)]
    names = [n for n in work if n in base and n != "error"]
    return {n: (MOVED[pointwise] / work[n]) / (MOVED[copy] / base[n]) for n in names}


def tests():
    """Run the suites on the GPU, each in a separate process, and return the names of those that fail."""
    suites = [*SUITES, *(["tests/parity"] if installed("torch") else [])]
    real = {k: v for k, v in os.environ.items() if k != "NUMBA_ENABLE_CUDASIM"}
    command = [sys.executable, "-m", "pytest", "-q", "--device", "cuda", "-p", "no:cacheprovider"]
    return [s for s in suites if subprocess.run([*command, s], env=real).returncode]


def times():
    """Measure all cases and return plain data; a failed case has an error instead of figures."""
    import minigrad
    from minigrad.kernels.cuda import machine

    found = {}
    for case in CASES:
        try:
            found[case.__doc__] = measured(case, libraries())
        except Exception as e:
            found[case.__doc__] = {"error": f"{type(e).__name__}: {e}"}
        print(case.__name__, found[case.__doc__], flush=True)
    print("of the copy's bandwidth", bandwidths(found), flush=True)
    made = {}
    try:
        made = products(PRODUCTS, clock(minigrad))
    except Exception as e:
        found["products of matrices"] = {"error": f"{type(e).__name__}: {e}"}
    print("products", made or found["products of matrices"], flush=True)
    versions = {p: installed(p) for p in PACKAGES}
    return {"device": machine.current().name, "versions": versions, "milliseconds": found, "products": made}


def main():
    """Run the tests, measure the times, and write the files."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.cuda", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", choices=("tests", "times"), help="run only one of the two parts")
    parser.add_argument("--json", metavar="FILE", help="write the figures to FILE")
    parser.add_argument("--docs", action="store_true", help=f"write the table of {PAGE}")
    options = parser.parse_args()
    from minigrad.kernels.cuda import machine, simulator

    if simulator.SIMULATED or not machine.count():
        print("cuda-test: found no GPU, or numba-cuda is not installed; nothing ran", file=sys.stderr)
        return 2
    failed = tests() if options.only != "times" else []
    if options.only != "tests":
        figures = times()
        if options.json:
            pathlib.Path(options.json).write_text(json.dumps(figures, indent=1) + "\n")
        if options.docs:
            head = PAGE.read_text().partition("<!-- figures: -->")[0]
            PAGE.write_text(f"{head}<!-- figures: -->\n\n{markdown(figures)}")
        failed += [name for name, found in figures["milliseconds"].items() if "error" in found]
    for name in failed:
        print(f"failed: {name}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
