"""Functions for pages that are other functions: expressions in the Python that labels are written in.

A public function is an expression in the names of its parameters. A word is a part of such expressions, with its parameters.
`pointwise('Huber', input, target, delta)` is the generated kernel of that class; the other functions are those of the library.
"""

from . import arrays, draws, special, windows

PUBLIC = {
    **arrays.PUBLIC,
    **windows.PUBLIC,
    **special.PUBLIC,
    # pointwise, with settings
    "div": "true_divide(input, other) if rounding_mode is None else divided(input, other, rounding_mode)",
    "bitwise_not": "input == False if input.dtype == bool else pointwise('BitwiseNot', input)",
    "isreal": "ones_like(input, dtype=bool)",
    "allclose": "isclose(input, other, rtol, atol, equal_nan).all()",
    "clamp": (
        "minimum(input, max) if min is None else at_least(input, min) if max is None else minimum(at_least(input"
        ", min), max)"
    ),
    "nan_to_num": (
        "without_nan(input, nan, largest(input) if posinf is None else posinf, -largest(input)"
        " if neginf is None else neginf)"
    ),
    "mvlgamma": "lgamma(input.unsqueeze(-1) - arange(p) / 2).sum(-1) + p * (p - 1) / 4 * 1.1447298858494002",
    # activations
    "rrelu": "leaky_relu(input, (lower + upper) / 2)",
    "glu": "pointwise('Gated', input.chunk(2, dim)[0], input.chunk(2, dim)[1])",
    # linear equations
    "linalg.lu_factor_ex": "linalg.lu_factor(A) + (no_errors(A),)",
    "lu_unpack": "(permutation(LU_pivots, LU_data.shape[-2], LU_data.dtype), lower(LU_data), upper_rows(LU_data))",
    "linalg.lu": "lu_unpack(*linalg.lu_factor(A))",
    "linalg.lu_solve": "linalg.solve(adjoint_if(adjoint, folded('matmul', lu_unpack(LU, pivots))), B, left=left)",
    "linalg.solve_ex": "(linalg.solve(A, B, left=left), no_errors(A))",
    "linalg.solve_triangular": "linalg.solve(triangle(A, upper, unitriangular), B, left=left)",
    "linalg.inv_ex": "(linalg.inv(A), no_errors(A))",
    "inverse": "linalg.inv(A)",
    "linalg.householder_product": (
        "reflected(input.tril(-1) + corner(input), tau, corner(input).expand(input.shape), tau.shape[-1] - 1)"
    ),
    "linalg.cholesky": "lower_cholesky(A.mT).mT if upper else lower_cholesky(A)",
    "linalg.cholesky_ex": "(linalg.cholesky(A, upper=upper), no_errors(A))",
    "matrix_exp": "squared(exp_series(input.to(float64) / 256, 1), 8).to(input.dtype)",
    "cholesky_inverse": "linalg.inv(gram(input.triu() if upper else input.tril(), upper))",
    "det": "slogdet(A)[0] * exp(slogdet(A)[1])",
    # products
    "linalg.multi_dot": "folded('matmul', tensors)",
    "tensordot": (
        "contracted(a, b, dims) if not is_a(dims, 'list') else"
        " contracted(to_end(a, dims[0]), b.movedim(dims[1], span(length(dims[1]))), length(dims[0]))"
    ),
    "linear": "shifted(input @ weight.T, bias)",
    "nonzero": "indices(input) if as_tuple else argwhere(input)",
    "argwhere": ("zeros((input != 0).sum().item(), 0, dtype=int64) if input.ndim == 0 else stack(indices(input), 1)"),
    "linalg.cross": "crossed(broadcast_tensors(input, other), dim)",
    "cross": "linalg.cross(input, other, dim=first_of_three(input) if dim is None else dim)",
    "matrix_power": "power(input, n)",
    # norms and distances
    "linalg.vector_norm": "norm_of(typed(x, dtype), ord, dim, keepdim)",
    "kron": "interleaved_product(led(input, other.ndim), led(other, input.ndim))",
    "slogdet": "like_both(signed_log(*linalg.lu_factor(A.to(float64))), A.dtype)",
    "norm": (
        "linalg.matrix_norm(input, p, dim, keepdim) if p == 'nuc' else"
        " linalg.vector_norm(input, 2 if p == 'fro' else p, dim, keepdim, dtype=dtype)"
    ),
    "cdist": "linalg.vector_norm(x1.unsqueeze(-2) - x2.unsqueeze(-3), p, -1)",
    "pdist": "upper(linalg.vector_norm(input.unsqueeze(1) - input.unsqueeze(0), p, -1))",
    "cov": (
        "covariance(up_to_rows(input), sample_weights(up_to_rows(input), fweights, aweights), correction"
        ", aweights).squeeze()"
    ),
    "trapezoid": "strips(y, x, dx, dim).sum(dim)",
    "cumulative_trapezoid": "strips(y, x, dx, dim).cumsum(dim)",
    # normalization
    "rms_norm": "affine(unit(input, span(-length(normalized_shape), 0), epsilon(input) if eps is None else eps), weight, None)",
    # losses
    # images
    "affine_grid": (
        "(pad(stack(meshgrid(mapped('coordinates', size[2:], align_corners)), -1).flip(-1), (0, 1), 'constant', 1.0)"
        ".to(theta.dtype).reshape(-1, theta.shape[-1]) @ theta.mT).reshape(size[:1] + size[2:] + (length(size) - 2,))"
    ),
    "adaptive_avg_pool1d": "pooled(input, output_size, 1)",
    "adaptive_avg_pool2d": "pooled(input, output_size, 2)",
    "adaptive_avg_pool3d": "pooled(input, output_size, 3)",
}

WORDS = {
    **arrays.WORDS,
    **windows.WORDS,
    **special.WORDS,
    **draws.WORDS,
    # operations, and the checks of them that give something
    "NLL(x, target, dim, ignore)": (
        "-where(target == ignore, 0, x.gather(dim, where(target == ignore, 0, target).unsqueeze(dim)).squeeze(dim))"
    ),
    "CountValid(target, ignore, dtype, lead)": "(target != ignore).sum(span(lead, target.ndim))",
    "products_one_dtype(who, x, y)": "(x, y)",
    "quantiles_ranks(input, q, interpolation, who)": "tensor(q, dtype=input.dtype)",
    "quantiles_between(x, rank, how)": "between(x, rank, how)",
    "matmul_of_rank(cls, who, ranks, x, y)": "x @ y",
    "predicates_result_type(x, y)": "(x * y).dtype",
    "root(n)": "n ** 0.5",
    "new_zeros(t, size)": "zeros(size, dtype=t.dtype)",
    "new_ones(t, size)": "ones(size, dtype=t.dtype)",
    "at_least(t, low)": "maximum(t, low)",
    "divided(x, y, how)": "pointwise('TruncDivide', x, y) if how == 'trunc' else floor_divide(x, y)",
    "without_nan(t, nan, high, low)": "pointwise('NanToNum', t, nan, high, low)",
    "first_of_three(t)": "place_of(3, t.shape, 0)",
    "place_of(n, shape, i)": "i if shape[i] == n else place_of(n, shape, i + 1)",
    "norm_of(t, p, dim, keepdim)": (
        "abs(t).amax(dim, keepdim) if p == inf else abs(t).amin(dim, keepdim) if p == -inf else"
        " (t != 0).sum(dim, keepdim).to(t.dtype) if p == 0 else abs(t).sum(dim, keepdim) if p == 1 else"
        " sqrt((t * t).sum(dim, keepdim)) if p == 2 else (abs(t) ** p).sum(dim, keepdim) ** (1 / p)"
    ),
    "led(t, n)": "t.reshape([1] * (n - t.ndim) + t.shape)",
    "interleaved(x, y)": "[] if length(x) == 0 else [x[0], y[0]] + interleaved(x[1:], y[1:])",
    "products(x, y)": "[] if length(x) == 0 else [x[0] * y[0]] + products(x[1:], y[1:])",
    "interleaved_product(a, b)": (
        "(a.reshape(interleaved(a.shape, [1] * a.ndim)) * b.reshape(interleaved([1] * a.ndim, b.shape)))"
        ".reshape(products(a.shape, b.shape))"
    ),
    "signed_log(lu, pivots)": (
        "(sign(lu.diagonal(0, -2, -1)).prod(-1) * (1 - 2 * ((pivots != arange(lu.shape[-1]) + 1).sum(-1) % 2)),"
        " log(abs(lu.diagonal(0, -2, -1))).sum(-1))"
    ),
    "like_both(pair, dtype)": "mapped('to', pair, dtype)",
    "lower_cholesky(a)": "by_borders(a.to(float64)).to(a.dtype)",
    "by_borders(a)": "sqrt(a) if a.shape[-1] < 2 else bordered(sqrt(a[..., :1, :1]), a)",
    "bordered(top, a)": "with_border(top, a[..., 1:, :1] / top, a[..., 1:, 1:])",
    "with_border(top, left, rest)": (
        "cat((cat((top, zeros_like(left).mT), -1), cat((left, by_borders(rest - left @ left.mT)), -1)), -2)"
    ),
    "make_dual(t, tangent)": "t",
    "fill(t, value)": "full(t.shape, value, dtype=t.dtype)",
    "zero(t)": "zeros_like(t)",
    "copy(t, other)": "tensor(other, dtype=t.dtype).expand(t.shape)",
    "drawn_class(soft, hard, dim)": "one_of(soft, soft.argmax(dim, True), dim) if hard else soft",
    "one_of(soft, at, dim)": "zeros_like(soft).scatter(dim, at, value=1.0) - soft + soft",
    "linalg.inv(a)": "solve(a, eye(a.shape[-1], dtype=a.dtype).expand(a.shape))",
    "upper_rows(lu)": "lu.triu()[..., : lu.shape[-1], :]",
    "adjoint_if(adjoint, t)": "t.mT if adjoint else t",
    "coordinates(n, corners)": (
        "linspace(-1, 1, n, dtype=float64) * (n > 1) if corners else (2 * arange(n, dtype=float64) + 1) / n - 1"
    ),
    "no_errors(t)": "zeros(t.shape[:-2], dtype=int32)",
    "triangle(t, upper, unit)": (
        "triangle(t - t.diagonal(0, -2, -1).diag_embed() + eye(t.shape[-1], dtype=t.dtype), upper, False) if unit else"
        " t.triu() if upper else t.tril()"
    ),
    "exp_series(t, k)": "eye(t.shape[-1], dtype=float64) + (0 if k > 12 else t @ exp_series(t, k + 1) / k)",
    "squared(t, n)": "t if n == 0 else squared(t @ t, n - 1)",
    "contracted(a, b, n)": (
        "(a.reshape(-1, size(b.shape[:n])) @ b.reshape(size(b.shape[:n]), -1)).reshape(a.shape[: a.ndim - n] + b.shape[n:])"
    ),
    "pooled(t, size, n)": (
        "interpolate(t, size, mode='area') if t.ndim == n + 2 else interpolate(t.unsqueeze(0), size, mode='area').squeeze(0)"
    ),
    "gram(factor, upper)": "factor.mT @ factor if upper else factor @ factor.mT",
    "weighted(t, weight)": "t if weight is None else t * weight",
    "shifted(t, bias)": "t if bias is None else t + bias",
    "affine(t, weight, bias)": "shifted(weighted(t, weight), bias)",
    "unit(t, dims, eps)": "t * rsqrt((t * t).mean(dims, True) + eps)",
    "across(t)": "(-1,) if t.ndim < 2 else (1, -1) + (1,) * (t.ndim - 2)",
    "channelwise(w, t)": "None if w is None else w.reshape(across(t))",
    "corner(t)": "eye(t.shape[-2], t.shape[-1], dtype=t.dtype)",
    "reflected(v, tau, t, i)": (
        "t if i < 0 else reflected(v, tau, t - tau[..., i, None, None] * (v[..., i : i + 1] @ (v[..., i : i + 1].mT @ t)),"
        " i - 1)"
    ),
    "minor(pair, dim, i, j)": (
        "pair[0].select(dim, i) * pair[1].select(dim, j) - pair[0].select(dim, j) * pair[1].select(dim, i)"
    ),
    "crossed(pair, dim)": "stack((minor(pair, dim, 1, 2), minor(pair, dim, 2, 0), minor(pair, dim, 0, 1)), dim)",
    "power(a, n)": (
        "eye(a.shape[-1], dtype=a.dtype).expand(a.shape) if n == 0 else power(linalg.inv(a), -n) if n < 0 else"
        " power(a, n - 1) @ a"
    ),
    "to_end(t, dims)": "t if dims is None else t.movedim(dims, span(-length(dims), 0))",
    "upper(t)": "t[ones_like(t, dtype=bool).triu(1)]",
    "up_to_rows(t)": "atleast_2d(t) * 1.0",
    "sample_weights(t, f, a)": ("(1 if f is None else f) * (1 if a is None else a) * ones(t.shape[1], dtype=t.dtype)"),
    "covariance(t, w, correction, a)": (
        "second_moment(t - (t * w).sum(1, True) / w.sum(), w, correction * (1 if a is None else (w * a).sum() / w.sum()))"
    ),
    "second_moment(t, w, less)": "(t * w) @ t.T / clamp_min(w.sum() - less, 0)",
    "pairs(y, dim)": (
        "y if y.shape[dim] == 0 else y.narrow(dim, 1, y.shape[dim] - 1) + y.narrow(dim, 0, y.shape[dim] - 1)"
    ),
    "strips(y, x, dx, dim)": (
        "pairs(y, dim) * ((1 if dx is None else dx) / 2) if x is None else (pairs(y, dim).movedim(dim, -1)"
        " * (diff(x) if x.ndim == 1 else diff(x, dim=dim).movedim(dim, -1))).movedim(-1, dim) * 0.5"
    ),
}
