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
        narrow split chunk tensor_split unbind diagonal linalg.diagonal trace as_strided
        unfold permute""",
    "Several operations instead of one, each with its own pass and call": """
        addr addmv baddbmm renorm pairwise_distance cosine_similarity margin_ranking_loss triplet_margin_loss
        corrcoef cosine_embedding_loss trapezoid trapz cumulative_trapezoid gradient rot90 linalg.vecdot vdot
        block_diag linalg.multi_dot float_power rrelu ndtr aminmax batch_norm group_norm instance_norm
        local_response_norm std_mean var_mean dist linalg.vector_norm pdist nanmean count_nonzero cov
        hinge_embedding_loss im2col upsample upsample_nearest combinations isclose""",
    "Checks of shapes and indices in Python, beside one pass over memory": """
        index_add index_copy index_fill put index_put index_reduce scatter take_along_dim diagonal_scatter
        interpolate upsample_bilinear nll_loss roll flip fliplr flipud repeat tile pad vstack row_stack hstack
        column_stack dstack gather scatter_add scatter_reduce masked_fill masked_select index_select select_scatter
        slice_scatter repeat_interleave tril triu meshgrid broadcast_tensors avg_pool1d avg_pool2d avg_pool3d
        max_pool1d max_pool2d max_pool3d adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d
        adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d""",
    "A call takes 5 to 10 microseconds beside a pass of 10": """
        ones_like full_like clamp clamp_min clamp_max clip hardshrink hardtanh relu6 relu leaky_relu
        softshrink threshold prelu nan_to_num sign sgn reciprocal round isreal sum nansum mean amax amin max
        min prod lerp addcmul addcdiv
        linalg.norm linalg.matrix_norm mse_loss smooth_l1_loss huber_loss rad2deg rsqrt exp2 isneginf
        cumsum cumprod cummax cummin diff heaviside logical_and logical_or logical_xor log_softmax softmax
        logsumexp pow reshape binary_cross_entropy_with_logits minimum maximum celu elu selu softplus silu mish
        hardswish frac logit norm""",
    "Gradients of few numbers are computed by NumPy, a step of their formula at a time": "remainder fmod sinc",
    "SciPy or NumPy computes one number at a time": """
        i0 i0e i1 i1e erfcx ndtri log_ndtr digamma lgamma polygamma""",
    "Computed in float64, for a result that is right to the last digit": "atan2 arctan2",
    "Accurate where PyTorch loses digits: the tails of gelu, distances of near points": "gelu cdist",
    "Least squares by singular values, as for matrices of less than full rank": "linalg.lstsq",
    "Factorizations from OpenBLAS's LAPACK": """
        linalg.solve_ex linalg.matrix_exp matrix_exp linalg.householder_product lu_unpack linalg.cholesky_ex
        cholesky_inverse qr linalg.qr linalg.cond linalg.svdvals pinverse cholesky linalg.cholesky cholesky_solve
        inverse linalg.inv_ex linalg.lu linalg.lu_factor linalg.lu_factor_ex linalg.lu_solve
        linalg.solve linalg.solve_triangular triangular_solve linalg.tensorinv det logdet slogdet
        linalg.eigvalsh linalg.matrix_rank linalg.pinv""",
    "Products by OpenBLAS, where PyTorch has MKL": """
        addmm addbmm mm mv dot inner kron tensordot chain_matmul matrix_power""",
    "Vectors of numbers by NumPy's functions, where PyTorch has MKL": "exp log sqrt erfc",
    "Sorted, searched or counted by NumPy": """
        searchsorted mode quantile nanquantile median nanmedian kthvalue sort msort topk argsort unique isin bucketize
        histc bincount""",
    "PyTorch has oneDNN's kernels": "conv2d conv3d conv_transpose3d",
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
