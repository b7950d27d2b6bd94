"""Functions for pages that are other functions: expressions in the Python that labels are written in.

A public function is an expression in the names of its parameters. A word is a part of such expressions, with its parameters.
`pointwise('Huber', input, target, delta)` is the generated kernel of that class; the other functions are those of the library.
"""

from . import arrays, special, windows

PUBLIC = {
    **arrays.PUBLIC,
    **windows.PUBLIC,
    **special.PUBLIC,
    # pointwise, with settings
    "add": "pointwise('Add', input, other) if alpha == 1 else pointwise('AddScaled', input, other, alpha)",
    "sub": "pointwise('Sub', input, other) if alpha == 1 else pointwise('SubScaled', input, other, alpha)",
    "neg": "pointwise('Neg', input)",
    "square": "pointwise('Square', input)",
    "pow": "pointwise('Pow', input, exponent)",
    "float_power": "pointwise('Pow', tensor(input, dtype=float64), tensor(exponent, dtype=float64))",
    "floor_divide": "pointwise('FloorDivide', input, other)",
    "true_divide": "pointwise('Div', input, other)",
    "div": "true_divide(input, other) if rounding_mode is None else divided(input, other, rounding_mode)",
    "bitwise_not": "input == False if input.dtype == bool else pointwise('BitwiseNot', input)",
    "heaviside": "pointwise('Heaviside', input, values)",
    "isreal": "ones_like(input, dtype=bool)",
    "isclose": "pointwise('Isclose', input, other, rtol, atol, equal_nan)",
    "allclose": "isclose(input, other, rtol, atol, equal_nan).all()",
    "clamp": (
        "minimum(input, max) if min is None else at_least(input, min) if max is None else minimum(at_least(input"
        ", min), max)"
    ),
    "clamp_min": "pointwise('ClampMin', input, min)",
    "clamp_max": "pointwise('ClampMax', input, max)",
    "round": "pointwise('Round', input) if decimals == 0 else pointwise('RoundDecimals', input, decimals)",
    "logit": "log(input / (1 - input)) if eps is None else logit(clamp(input, eps, 1 - eps))",
    "nan_to_num": (
        "without_nan(input, nan, largest(input) if posinf is None else posinf, -largest(input)"
        " if neginf is None else neginf)"
    ),
    "lerp": "pointwise('Lerp', input, end, weight)",
    "addcmul": "pointwise('Addcmul', input, tensor1, tensor2, value)",
    "addcdiv": "pointwise('Addcdiv', input, tensor1, tensor2, value)",
    "special.ndtr": "0.5 * erfc(-input / 2 ** 0.5)",
    "mvlgamma": "lgamma(input.unsqueeze(-1) - arange(p) / 2).sum(-1) + p * (p - 1) / 4 * 1.1447298858494002",
    # activations
    "gelu": "pointwise('GeluTanh', input) if approximate == 'tanh' else pointwise('Gelu', input)",
    "elu": "pointwise('Elu', input, alpha, 1, 1)",
    "selu": "pointwise('Elu', input, 1.6732632423543772, 1.0507009873554805, 1)",
    "celu": "pointwise('Elu', input, alpha, 1, 1 / alpha)",
    "hardtanh": "pointwise('Hardtanh', input, min_val, max_val)",
    "relu6": "hardtanh(input, 0, 6)",
    "softshrink": "pointwise('Softshrink', input, lambd)",
    "threshold": "pointwise('Threshold', input, threshold, value)",
    "tanhshrink": "input - tanh(input)",
    "rrelu": "leaky_relu(input, (lower + upper) / 2)",
    "prelu": "pointwise('Prelu', input, weight.reshape(across(input) if weight.numel() > 1 else ()))",
    "glu": "pointwise('Gated', input.chunk(2, dim)[0], input.chunk(2, dim)[1])",
    "softmin": "softmax(-input, dim, dtype)",
    # linear equations
    "linalg.lu_factor_ex": "linalg.lu_factor(A) + (no_errors(A),)",
    "lu_unpack": "(permutation(LU_pivots, LU_data.shape[-2], LU_data.dtype), lower(LU_data), upper_rows(LU_data))",
    "linalg.lu": "lu_unpack(*linalg.lu_factor(A))",
    "linalg.lu_solve": "linalg.solve(adjoint_if(adjoint, folded('matmul', lu_unpack(LU, pivots))), B, left=left)",
    "linalg.solve": "solve(A, B) if left else solve(A.mT, B.mT).mT",
    "linalg.solve_ex": "(linalg.solve(A, B, left=left), no_errors(A))",
    "linalg.solve_triangular": "linalg.solve(triangle(A, upper, unitriangular), B, left=left)",
    "triangular_solve": (
        "(linalg.solve_triangular(A.mT if transpose else A, input, upper=upper != transpose, unitriangular=unitriangular),"
        " A.expand(input.shape[:-2] + A.shape[-2:]) if input.ndim > A.ndim else A)"
    ),
    "linalg.inv_ex": "(linalg.inv(A), no_errors(A))",
    "inverse": "linalg.inv(A)",
    "linalg.householder_product": (
        "reflected(input.tril(-1) + corner(input), tau, corner(input).expand(input.shape), tau.shape[-1] - 1)"
    ),
    "linalg.cholesky": "lower_cholesky(A.mT).mT if upper else lower_cholesky(A)",
    "linalg.cholesky_ex": "(linalg.cholesky(A, upper=upper), no_errors(A))",
    "cholesky": "linalg.cholesky(input, upper=upper)",
    "matrix_exp": "squared(exp_series(input.to(float64) / 256, 1), 8).to(input.dtype)",
    "cholesky_solve": "linalg.solve(gram(L, upper), input)",
    "cholesky_inverse": "linalg.inv(gram(input.triu() if upper else input.tril(), upper))",
    "det": "slogdet(A)[0] * exp(slogdet(A)[1])",
    "logdet": "slogdet(input)[1]",
    # products
    "mm": "input @ mat2",
    "bmm": "input @ mat2",
    "mv": "input @ vec",
    "dot": "input @ tensor",
    "vdot": "input @ other",
    "chain_matmul": "folded('matmul', matrices)",
    "linalg.multi_dot": "folded('matmul', tensors)",
    "tensordot": (
        "contracted(a, b, dims) if not is_list(dims) else"
        " contracted(to_end(a, dims[0]), b.movedim(dims[1], first(dims[1])), length(dims[0]))"
    ),
    "outer": "input.reshape(-1, 1) * vec2.reshape(1, -1)",
    "inner": "input * other if input.ndim == 0 or other.ndim == 0 else tensordot(input, other, ([-1], [-1]))",
    "addmm": "beta * input + alpha * (mat1 @ mat2)",
    "addmv": "beta * input + alpha * (mat @ vec)",
    "addr": "beta * input + alpha * outer(vec1, vec2)",
    "baddbmm": "beta * input + alpha * (batch1 @ batch2)",
    "addbmm": "beta * input + alpha * (batch1 @ batch2).sum(0)",
    "linear": "shifted(input @ weight.T, bias)",
    "bilinear": "shifted(einsum('...i,oij,...j->...o', input1, weight, input2), bias)",
    "linalg.tensorinv": "linalg.inv(A.reshape(size(A.shape[:ind]), -1)).reshape(A.shape[ind:] + A.shape[:ind])",
    "linalg.tensorsolve": (
        "linalg.solve(to_end(A, dims).reshape(B.numel(), -1), B.flatten()).reshape(to_end(A, dims).shape[B.ndim :])"
    ),
    "nonzero": "indices(input) if as_tuple else argwhere(input)",
    "argwhere": ("zeros((input != 0).sum().item(), 0, dtype=int64) if input.ndim == 0 else stack(indices(input), 1)"),
    "linalg.vecdot": "(x * y).sum(dim)",
    "linalg.cross": "crossed(broadcast_tensors(input, other), dim)",
    "cross": "linalg.cross(input, other, dim=first_of_three(input) if dim is None else dim)",
    "trace": "input.diagonal().sum()",
    "matrix_power": "power(input, n)",
    "vander": "x.unsqueeze(1) ** (arange(columns(x, N)) if increasing else arange(columns(x, N) - 1, -1, -1))",
    "linalg.vander": "x.unsqueeze(-1) ** arange(columns(x, N))",
    "scaled_dot_product_attention": (
        "attended(restricted(restricted(scores(query, heads(key, query, enable_gqa), scale), attn_mask),"
        " causal(query, key) if is_causal else None).softmax(-1), heads(value, query, enable_gqa))"
    ),
    # norms and distances
    "linalg.vector_norm": "norm_of(typed(x, dtype), ord, dim, keepdim)",
    "kron": "interleaved_product(led(input, other.ndim), led(other, input.ndim))",
    "slogdet": "like_both(signed_log(*linalg.lu_factor(A.to(float64))), A.dtype)",
    "norm": (
        "linalg.matrix_norm(input, p, dim, keepdim) if p == 'nuc' else"
        " linalg.vector_norm(input, 2 if p == 'fro' else p, dim, keepdim, dtype=dtype)"
    ),
    "dist": "linalg.vector_norm(input - other, p)",
    "pairwise_distance": "linalg.vector_norm(x1 - x2 + eps, p, -1, keepdim)",
    "cdist": "linalg.vector_norm(x1.unsqueeze(-2) - x2.unsqueeze(-3), p, -1)",
    "pdist": "upper(linalg.vector_norm(input.unsqueeze(1) - input.unsqueeze(0), p, -1))",
    "normalize": "input / clamp_min(linalg.vector_norm(input, p, dim, True), eps)",
    "cosine_similarity": "cosine(broadcast_tensors(x1, x2), dim, eps)",
    "renorm": "input * shrinking(linalg.vector_norm(input, p, others(input, dim), True), maxnorm)",
    "cov": (
        "covariance(up_to_rows(input), sample_weights(up_to_rows(input), fweights, aweights), correction"
        ", aweights).squeeze()"
    ),
    "corrcoef": "correlation(cov(input))",
    "trapezoid": "strips(y, x, dx, dim).sum(dim)",
    "trapz": "strips(y, x, dx, dim).sum(dim)",
    "cumulative_trapezoid": "strips(y, x, dx, dim).cumsum(dim)",
    # normalization
    "layer_norm": "affine(standard(input, last(normalized_shape), eps), weight, bias)",
    "rms_norm": "affine(unit(input, last(normalized_shape), epsilon(input) if eps is None else eps), weight, None)",
    "group_norm": (
        "affine(standard(input.reshape(input.shape[0], num_groups, -1), -1, eps).reshape(input.shape),"
        " channelwise(weight, input), channelwise(bias, input))"
    ),
    "instance_norm": (
        "affine(standard(input, spatial(input), eps) if use_input_stats else"
        " fixed(input, running_mean, running_var, eps), channelwise(weight, input), channelwise(bias, input))"
    ),
    "batch_norm": (
        "affine(standard(input, others(input, 1), eps) if training else fixed(input, running_mean, running_var, eps),"
        " channelwise(weight, input), channelwise(bias, input))"
    ),
    "local_response_norm": "input / (k + alpha * neighbours(input * input, size)) ** beta",
    # losses
    "mse_loss": "averaged((input - target) ** 2, weight, reduction)",
    "l1_loss": "averaged(abs(input - target), weight, reduction)",
    "huber_loss": "reduced(weighted(pointwise('Huber', input, target, delta), weight), reduction)",
    "smooth_l1_loss": (
        "reduced(abs(input - target) if beta == 0 else pointwise('Huber', input, target, beta) / beta, reduction)"
    ),
    "binary_cross_entropy": (
        "reduced(weighted(-(target * bounded(log(input)) + (1 - target) * bounded(log1p(-input))), weight), reduction)"
    ),
    "binary_cross_entropy_with_logits": (
        "reduced(weighted(pointwise('WithLogits', input, target) if pos_weight is None else"
        " pointwise('WeightedLogits', input, target, pos_weight), weight), reduction)"
    ),
    "kl_div": (
        "by_batch(exp(target) * (target - input) if log_target else xlogy(target, target) - target * input, reduction)"
    ),
    "poisson_nll_loss": (
        "reduced((exp(input) - target * input if log_input else input - target * log(input + eps))"
        " + (stirling(target) if full else 0), reduction)"
    ),
    "gaussian_nll_loss": (
        "reduced(0.5 * (log(clamp_min(var, eps)) + (input - target) ** 2 / clamp_min(var, eps))"
        " + (0.9189385332046727 if full else 0), reduction)"
    ),
    "soft_margin_loss": "reduced(log1p(exp(-target * input)), reduction)",
    "multilabel_soft_margin_loss": (
        "reduced(weighted(-(target * logsigmoid(input) + (1 - target) * logsigmoid(-input)), weight).mean(-1), reduction)"
    ),
    "hinge_embedding_loss": (
        "reduced(where(target == 1, input, 0) + where(target == -1, clamp_min(margin - input, 0), 0), reduction)"
    ),
    "margin_ranking_loss": "reduced(clamp_min(-target * (input1 - input2) + margin, 0), reduction)",
    "cosine_embedding_loss": "reduced(embedding_loss(cosine((input1, input2), -1, 1e-12), target, margin), reduction)",
    "triplet_margin_loss": (
        "reduced(clamp_min(margin + pairwise_distance(anchor, positive, p, eps) - (minimum("
        "pairwise_distance(anchor, negative, p, eps), pairwise_distance(positive, negative, p, eps)) if swap else"
        " pairwise_distance(anchor, negative, p, eps)), 0), reduction)"
    ),
    "nll_loss": (
        "by_class(-picked(input, target, ignore_index) * class_weights(input, target, weight, ignore_index),"
        " class_weights(input, target, weight, ignore_index), reduction)"
    ),
    "cross_entropy": (
        "soft_loss(log_softmax(input, channel(input)), target, weight, reduction, label_smoothing)"
        " if target.dtype == input.dtype else"
        " hard_loss(log_softmax(input, channel(input)), target, weight, ignore_index, reduction, label_smoothing)"
    ),
    # images
    "affine_grid": (
        "(pad(stack(grids(mapped('coordinates', size[2:], align_corners)), -1).flip(-1), (0, 1), 'constant', 1.0)"
        ".to(theta.dtype).reshape(-1, theta.shape[-1]) @ theta.mT).reshape(size[:1] + size[2:] + (length(size) - 2,))"
    ),
    "adaptive_avg_pool1d": "pooled(input, output_size, 1)",
    "adaptive_avg_pool2d": "pooled(input, output_size, 2)",
    "adaptive_avg_pool3d": "pooled(input, output_size, 3)",
    "pixel_shuffle": (
        "input.unflatten(-3, (-1, upscale_factor, upscale_factor)).movedim((-4, -3), (-3, -1)).flatten(-2).flatten(-3, -2)"
    ),
    "pixel_unshuffle": (
        "input.unflatten(-1, (-1, downscale_factor)).unflatten(-3, (-1, downscale_factor))"
        ".movedim((-3, -1), (-4, -3)).flatten(-5, -3)"
    ),
    "channel_shuffle": "input.unflatten(1, (groups, -1)).transpose(1, 2).flatten(1, 2)",
    "upsample": "interpolate(input, size, scale_factor, mode, align_corners)",
    "upsample_nearest": "interpolate(input, size, scale_factor, 'nearest')",
    "upsample_bilinear": "interpolate(input, size, scale_factor, 'bilinear', True)",
}

WORDS = {
    **arrays.WORDS,
    **windows.WORDS,
    **special.WORDS,
    "at_least(t, low)": "maximum(t, low)",
    "divided(x, y, how)": "pointwise('TruncDivide', x, y) if how == 'trunc' else floor_divide(x, y)",
    "without_nan(t, nan, high, low)": "pointwise('NanToNum', t, nan, high, low)",
    "detach(t)": "t",
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
    "standard(t, dims, eps)": "unit(t - t.mean(dims, True), dims, eps)",
    "unit(t, dims, eps)": "t * rsqrt((t * t).mean(dims, True) + eps)",
    "fixed(t, mean, var, eps)": "(t - channelwise(mean, t)) * rsqrt(channelwise(var, t) + eps)",
    "across(t)": "(-1,) if t.ndim < 2 else (1, -1) + (1,) * (t.ndim - 2)",
    "channelwise(w, t)": "None if w is None else w.reshape(across(t))",
    "channel(t)": "1 if t.ndim > 1 else 0",
    "neighbours(t, size)": (
        "pad(t.transpose(1, -1), (size // 2, (size - 1) // 2)).unfold(-1, size, 1).mean(-1).transpose(1, -1)"
    ),
    "reduced(t, how)": "t if how == 'none' else t.sum() if how == 'sum' else t.mean()",
    "averaged(t, weight, how)": (
        "reduced(t, how) if weight is None else reduced(t * weight, how) if how != 'mean' else"
        " (t * weight).sum() / weight.expand_as(t).sum()"
    ),
    "by_batch(t, how)": "t.sum() / t.shape[0] if how == 'batchmean' else reduced(t, how)",
    "corner(t)": "eye(t.shape[-2], t.shape[-1], dtype=t.dtype)",
    "reflected(v, tau, t, i)": (
        "t if i < 0 else reflected(v, tau, t - tau[..., i, None, None] * (v[..., i : i + 1] @ (v[..., i : i + 1].mT @ t)),"
        " i - 1)"
    ),
    "bounded(t)": "clamp_min(t, -100)",
    "stirling(t)": "where(t > 1, t * log(t) - t + 0.5 * log(2 * pi * t), 0)",
    "embedding_loss(c, target, margin)": "where(target == 1, 1 - c, clamp_min(c - margin, 0))",
    "cosine(pair, dim, eps)": (
        "(pair[0] * pair[1]).sum(dim) / (clamp_min(linalg.vector_norm(pair[0], 2, dim), eps)"
        " * clamp_min(linalg.vector_norm(pair[1], 2, dim), eps))"
    ),
    "known(target, ignore)": "where(target != ignore, target, 0)",
    "picked(logs, target, ignore)": (
        "logs.gather(channel(logs), known(target, ignore).unsqueeze(channel(logs))).squeeze(channel(logs))"
    ),
    "class_weights(logs, target, weight, ignore)": (
        "where(target != ignore, 1 if weight is None else weight[known(target, ignore)], 0).to(logs.dtype)"
    ),
    "by_class(t, weights, how)": "reduced(t, how) if how != 'mean' else t.sum() / weights.sum()",
    "hard_loss(logs, target, weight, ignore, how, s)": (
        "nll_loss(logs, target, weight, ignore_index=ignore, reduction=how) * (1 - s) + (0 if s == 0 else"
        " s / logs.shape[channel(logs)] * by_class(-weighted(logs, channelwise(weight, logs)).sum(channel(logs))"
        " * (target != ignore), class_weights(logs, target, weight, ignore), how))"
    ),
    "soft_loss(logs, target, weight, how, s)": (
        "reduced(-weighted((target * (1 - s) + s / logs.shape[channel(logs)]) * logs, channelwise(weight, logs))"
        ".sum(channel(logs)), how)"
    ),
    "heads(t, query, grouped)": "t.repeat_interleave(query.shape[-3] // t.shape[-3], -3) if grouped else t",
    "scores(query, key, scale)": "query @ key.mT * (1 / query.shape[-1] ** 0.5 if scale is None else scale)",
    "causal(query, key)": "ones(query.shape[-2], key.shape[-2], dtype=bool).tril()",
    "restricted(t, mask)": "t if mask is None else where(mask, t, -inf) if mask.dtype == bool else t + mask",
    "attended(weights, value)": "where(isnan(weights), 0, weights) @ value",
    "minor(pair, dim, i, j)": (
        "pair[0].select(dim, i) * pair[1].select(dim, j) - pair[0].select(dim, j) * pair[1].select(dim, i)"
    ),
    "crossed(pair, dim)": "stack((minor(pair, dim, 1, 2), minor(pair, dim, 2, 0), minor(pair, dim, 0, 1)), dim)",
    "power(a, n)": (
        "eye(a.shape[-1], dtype=a.dtype).expand(a.shape) if n == 0 else power(linalg.inv(a), -n) if n < 0 else"
        " power(a, n - 1) @ a"
    ),
    "to_end(t, dims)": "t if dims is None else t.movedim(dims, last(dims))",
    "columns(x, n)": "x.shape[-1] if n is None else n",
    "upper(t)": "t[ones_like(t, dtype=bool).triu(1)]",
    "shrinking(n, most)": "where(n > most, most / (n + 1e-7), 1)",
    "up_to_rows(t)": "atleast_2d(t) * 1.0",
    "sample_weights(t, f, a)": ("(1 if f is None else f) * (1 if a is None else a) * ones(t.shape[1], dtype=t.dtype)"),
    "covariance(t, w, correction, a)": (
        "second_moment(t - (t * w).sum(1, True) / w.sum(), w, correction * (1 if a is None else (w * a).sum() / w.sum()))"
    ),
    "second_moment(t, w, less)": "(t * w) @ t.T / clamp_min(w.sum() - less, 0)",
    "correlation(c)": (
        "c / c if c.ndim == 0 else clamp(c / sqrt(c.diagonal()).unsqueeze(1) / sqrt(c.diagonal()), -1, 1)"
    ),
    "pairs(y, dim)": (
        "y if y.shape[dim] == 0 else y.narrow(dim, 1, y.shape[dim] - 1) + y.narrow(dim, 0, y.shape[dim] - 1)"
    ),
    "strips(y, x, dx, dim)": (
        "pairs(y, dim) * ((1 if dx is None else dx) / 2) if x is None else (pairs(y, dim).movedim(dim, -1)"
        " * (diff(x) if x.ndim == 1 else diff(x, dim=dim).movedim(dim, -1))).movedim(-1, dim) * 0.5"
    ),
}
