"""The operations that take longer than PyTorch's, by size, with the reason for each: a section of docs/performance.md.

`python -m benchmarks.operations --docs` measures them.  `REASONS` has each operation once; one without a reason is listed as
open, which means work to do.
"""

import json
import statistics
from pathlib import Path

FILE = Path(__file__).parent.parent / "docs" / "performance_operations.json"
SLOW = 1.2  # times PyTorch's time
OPEN = "open"
REASONS: dict[str, str] = {  # reason -> names of operations
    "The call takes a few microseconds of Python, the work less: a view, or a result of few numbers": """
        to type_as view_as reshape_as expand_as expand squeeze swapaxes movedim moveaxis transpose t select
        narrow split chunk tensor_split unbind hsplit vsplit dsplit diagonal linalg.diagonal trace as_strided
        unfold permute""",
    "Several operations instead of one, each with its own pass and call": """
        addr addmv baddbmm renorm pairwise_distance cosine_similarity margin_ranking_loss triplet_margin_loss
        corrcoef cosine_embedding_loss trapezoid trapz cumulative_trapezoid gradient rot90 linalg.vecdot vdot
        block_diag linalg.multi_dot float_power rrelu ndtr aminmax""",
    "Checks of shapes and indices in Python, beside one pass over memory": """
        index_add index_copy index_fill put index_put index_reduce scatter take_along_dim diagonal_scatter
        interpolate upsample_bilinear nll_loss roll flip fliplr flipud repeat tile pad vstack row_stack hstack
        column_stack""",
    "A call takes 5 to 10 microseconds beside a pass of 10": """
        ones_like full_like clamp clamp_min clamp_max clip hardshrink hardtanh relu6 relu leaky_relu
        softshrink threshold prelu nan_to_num sign sgn reciprocal round isreal sum nansum mean amax amin max
        min prod lerp addcmul addcdiv
        linalg.norm linalg.matrix_norm mse_loss smooth_l1_loss huber_loss rad2deg rsqrt exp2 isneginf""",
    "SciPy or NumPy computes one number at a time": "i0 i0e i1 i1e erfcx ndtri log_ndtr digamma lgamma nextafter",
    "Computed in float64, for a result that is right to the last digit": "atan2 arctan2",
    "Accurate where PyTorch loses digits: the tails of gelu, distances of near points": "gelu cdist",
    "Least squares by singular values, as for matrices of less than full rank": "linalg.lstsq",
    "Factorizations from OpenBLAS's LAPACK": """
        linalg.solve_ex linalg.matrix_exp matrix_exp linalg.householder_product lu_unpack linalg.cholesky_ex
        cholesky_inverse qr linalg.qr linalg.cond linalg.svdvals pinverse""",
    "Sorted by NumPy": "searchsorted mode quantile nanquantile",
    "PyTorch has oneDNN's kernels": "conv3d conv_transpose3d",
    "The kernels of pooling have windows of one or two dimensions": "max_pool3d adaptive_max_pool3d",
    "PyTorch has FBGEMM's kernel, which fetches rows ahead": "embedding_bag",
}


def saved():
    """Return the saved figures for each size, as `summary` makes them."""
    return json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}


def summary(times):
    """Return for each size the number of rows, the median ratio, and the rows above SLOW; keys are "exp forward 1000"."""
    ratios: dict = {}
    for key, (ours, theirs) in times.items():
        row, _, n = key.rpartition(" ")
        ratios.setdefault(n, {})[row] = ours / theirs
    return {
        n: {
            "rows": len(rows),
            "median": statistics.median(rows.values()),
            "slow": {row: r for row, r in sorted(rows.items()) if r > SLOW},
        }
        for n, rows in ratios.items()
    }


def markdown(sizes):
    """Return a folded table for each size, with a line for each reason."""
    return "\n\n".join([table(int(n), sizes[n]) for n in sorted(sizes, key=int)])


def table(n, found):
    """Return the table of one size."""
    slow, lines = found["slow"], []
    reason_of = {name: reason for reason, names in REASONS.items() for name in names.split()}
    for reason in (*REASONS, OPEN):
        mine = [f"{row} {r:.1f}" for row, r in slow.items() if reason_of.get(row.split()[0], OPEN) == reason]
        lines += [f"    | {reason} | {', '.join(mine)} |"] if mine else []
    title = f"{n:,} elements: {len(slow)} of {found['rows']} rows are above {SLOW}; the median is {found['median']:.2f}"
    head = ["", "    | reason | times PyTorch's time |", "    | --- | --- |"] if lines else []
    return "\n".join([f'??? note "{title}"', *head, *lines])
