"""The tables of docs/performance_cuda.md."""

import pathlib
from importlib.metadata import PackageNotFoundError, version

PAGE = pathlib.Path("docs/performance_cuda.md")
MARK = "<!-- figures: -->"
PACKAGES = ("minigrad-viz", "torch", "numpy", "numba", "numba-cuda", "cuda-core")
WAYS = ("minigrad", "minigrad.compile", "torch", "torch.compile")


def versions():
    """Return the versions of the packages, None for those that are not installed."""

    def installed(package):
        try:
            return version(package)
        except PackageNotFoundError:
            return None

    return {p: installed(p) for p in PACKAGES}


def write(figures):
    """Write the tables into the page, after its text."""
    PAGE.write_text(f"{PAGE.read_text().partition(MARK)[0]}{MARK}\n\n{markdown(figures)}")


def markdown(figures):
    """Return all tables."""
    times = figures["times"]
    head = f"{figures['device']}; {', '.join([f'{k} {v}' for k, v in figures['versions'].items() if v])}"
    parts = [head, cases(times["milliseconds"]), bandwidths(times.get("shares", {})), launches(times["launches"]),
             memory(times["memory"]), products(times["products"])]  # fmt: skip
    return "\n\n".join(filter(None, parts)) + "\n"


def table(head, rows):
    """Return a table whose first column has text, and the others numbers."""
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join([f"| {' | '.join(line)} |" for line in lines])


def number(value, digits=3):
    """Return a figure with three significant digits, or a dash."""
    return f"{value:.{digits}g}" if value is not None and value < 1000 else f"{value:.0f}" if value else "-"


def cases(milliseconds):
    """Return the table of times, with the ratio of the best of each library."""
    rows = []
    for name, found in milliseconds.items():
        cells = ["failed" if "error" in found else number(found.get(way)) for way in WAYS]
        best = [min([found[w] for w in pair if w in found], default=None) for pair in (WAYS[:2], WAYS[2:])]
        rows.append([name, *cells, f"{best[0] / best[1]:.2f}" if all(best) else "-"])
    return table(
        [
            "case, ms",
            "minigrad",
            "minigrad.compile",
            "PyTorch",
            "torch.compile",
            "minigrad / PyTorch, the faster of each",
        ],
        rows,
    )


def bandwidths(shares):
    """Return the table of shares of the copy's bandwidth."""
    rows = [[name, *[f"{f[way]:.0%}" if way in f else "-" for way in WAYS]] for name, f in shares.items()]
    return rows and table(
        ["share of the copy's bandwidth", *["minigrad", "minigrad.compile", "PyTorch", "torch.compile"]], rows
    )


def launches(found):
    """Return the table of the processor's time for launches."""
    rows = [
        [name, *["failed" if "error" in f else number(f.get(way)) for way in ("minigrad", "torch")]]
        for name, f in found.items()
    ]
    return table(["launch, us of the processor", "minigrad", "PyTorch"], rows)


def memory(found):
    """Return the table of peaks of memory."""
    rows = [[name, *["failed" if "error" in f else f"{f[w] / 2**20:.0f}" if w in f else "-" for w in ("minigrad", "torch")]]
            for name, f in found.items()]  # fmt: skip
    return table(["peak of memory, MiB", "minigrad", "PyTorch"], rows)


def products(found):
    """Return the table of products with minigrad's kernels and with cuBLAS."""
    if not found or "error" in found:
        return ""
    rows = []
    for n, f in found.items():
        own, library = f["own"], f.get("cuBLAS")
        rows.append([f"{n} x {n}", number(own), number(library), f"{library / own:.0%}" if library else "-"])
    return table(["product of matrices, ms", "own kernels", "cuBLAS", "own throughput relative to cuBLAS"], rows)
