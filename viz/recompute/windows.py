"""Functions for pages that pass windows over their input: convolution, pooling, padding, images of another size.

The form of the definitions is that of definitions.py. `elements_of(t, n, ...)` has the elements of all windows of the last n
dimensions, (..., elements, windows); its transpose `from_elements` adds up what belongs to one place (products.js).
"""

PUBLIC = {
    "gradient": (
        "slopes_at(input * 1.0, span(input.ndim) if dim is None else [dim] if is_a(dim, 'int') else dim, spacing, edge_order)"
    ),
    "unfold": (
        "unfold(input.unsqueeze(0), kernel_size, dilation, padding, stride).squeeze(0) if input.ndim == 3 else"
        " lists(elements_of(input, 2, kernel_size, stride, padding, dilation))"
    ),
    "fold": (
        "fold(input.unsqueeze(0), output_size, kernel_size, dilation, padding, stride).squeeze(0) if input.ndim == 2 else"
        " from_elements(input.reshape(input.shape[0], -1, area(kernel_size, 2), input.shape[-1]), all_of(output_size, 2),"
        " kernel_size, stride, padding, dilation)"
    ),
    "pad": "padded(input, pad, 0, mode, 0 if value is None else value)",
    "interpolate": (
        "unknown('antialias') if antialias else"
        " resized(input, 2, size, scale_factor, mode, align_corners, recompute_scale_factor)"
    ),
}
for n in (1, 2, 3):
    divisor = "None" if n == 1 else "divisor_override"
    step = "kernel_size if stride is None or stride == [] else stride"
    pooling = f"{n}, kernel_size, {step}, padding"
    PUBLIC |= {
        f"conv{n}d": f"convolved(input, weight, bias, stride, padding, dilation, groups, {n})",
        f"conv_transpose{n}d": (
            f"spread_out(input, weight, bias, stride, padding, output_padding, groups, dilation, {n})"
        ),
        f"max_pool{n}d": (
            f"largest_of(elements_of(input, {pooling}, dilation, ceil_mode, -inf),"
            f" elements_of(places(input, {n}), {pooling}, dilation, ceil_mode) if return_indices else None,"
            f" input.shape[:-{n}] + window_sizes(input, {pooling}, dilation, ceil_mode))"
        ),
        f"adaptive_max_pool{n}d": (
            f"largest_of(part_elements(input, {n}, output_size, -inf),"
            f" part_elements(places(input, {n}), {n}, output_size, 0) if return_indices else None,"
            f" input.shape[:-{n}] + part_sizes(input, {n}, output_size))"
        ),
        f"avg_pool{n}d": (
            f"(elements_of(input, {pooling}, 1, ceil_mode).sum(-2) / ({divisor} or elements_of(framed(input, {n}, padding,"
            f" 1 if count_include_pad else 0), {n}, kernel_size, {step}, 0, 1,"
            f" ceil_mode, 0, window_sizes(input, {pooling}, 1, ceil_mode)).sum(-2)))"
            f".reshape(input.shape[:-{n}] + window_sizes(input, {pooling}, 1, ceil_mode))"
        ),
    }

WORDS = {
    "slopes_at(t, dims, spaces, order)": (
        "() if length(dims) == 0 else (slopes(t.movedim(dims[0], -1), spaces[0] if is_a(spaces, 'list') else spaces, order)"
        ".movedim(-1, dims[0]),) + slopes_at(t, dims[1:], spaces[1:] if is_a(spaces, 'list') else spaces, order)"
    ),
    "slopes(t, space, order)": (
        "slopes_over(t, diff(space) if is_a(space, 'Tensor') else space * ones(t.shape[-1] - 1, dtype=t.dtype), order)"
    ),
    "slopes_over(t, h, order)": (
        "cat((end_slope(t, h, order), slopes_inside(t, h[:-1], h[1:]), -end_slope(t.flip(-1), h.flip(-1), order)), -1)"
    ),
    "end_slope(t, h, order)": (
        "(t[..., 1:2] - t[..., :1]) / h[:1] if order == 1 else slope_of_three(t[..., :3], h[:1], h[1:2])"
    ),
    "slope_of_three(t, a, b)": (
        "(a + b) / (a * b) * t[..., 1:2] - (2 * a + b) / (a * (a + b)) * t[..., :1] - a / (b * (a + b)) * t[..., 2:]"
    ),
    "slopes_inside(t, a, b)": (
        "(b - a) / (a * b) * t[..., 1:-1] - b / (a * (a + b)) * t[..., :-2] + a / (b * (a + b)) * t[..., 2:]"
    ),
    "at(v, i)": "v if not is_a(v, 'list') else v[i] if length(v) > 1 else v[0]",
    "all_of(v, n)": "v if is_a(v, 'list') and length(v) == n else [at(v, 0)] * n",
    "area(v, n)": "size(all_of(v, n))",
    "lists(t)": "t.reshape(t.shape[0], -1, t.shape[-1])",
    "places(t, n)": "arange(size(t.shape[-n:])).reshape(t.shape[-n:]).expand(t.shape)",
    # convolution
    "halves(weight, dilation, d)": (
        "[] if d < 2 else half(at(dilation, d - 2) * (weight.shape[d] - 1)) + halves(weight, dilation, d - 1)"
    ),
    "half(n)": "[n // 2, (n + 1) // 2]",
    "convolved(t, weight, bias, stride, padding, dilation, groups, n)": (
        "convolved(t.unsqueeze(0), weight, bias, stride, padding, dilation, groups, n).squeeze(0) if t.ndim == n + 1 else"
        " convolved(pad(t, halves(weight, dilation, n + 1)), weight, bias, stride, 0, dilation, groups, n)"
        " if padding == 'same' else"
        " convolved(t, weight, bias, stride, 0, dilation, groups, n) if padding == 'valid' else"
        " shifted(filtered(weight, elements_of(t, n, weight.shape[2:], stride, padding, dilation), groups,"
        " window_sizes(t, n, weight.shape[2:], stride, padding, dilation)), channelwise(bias, t))"
    ),
    "filtered(weight, t, groups, sizes)": (
        "(weight.reshape(groups, weight.shape[0] // groups, -1) @ by_groups(t, groups, t.shape[1] * t.shape[2] // groups))"
        ".reshape([t.shape[0], weight.shape[0]] + sizes)"
    ),
    "by_groups(t, groups, n)": "t.reshape(t.shape[0], groups, n, t.shape[-1])",
    "spread_out(t, weight, bias, stride, padding, more, groups, dilation, n)": (
        "spread_out(t.unsqueeze(0), weight, bias, stride, padding, more, groups, dilation, n).squeeze(0)"
        " if t.ndim == n + 1 else shifted(from_elements((weight.reshape(groups, weight.shape[0] // groups, -1).mT"
        " @ t.reshape(t.shape[0], groups, t.shape[1] // groups, -1)).reshape(t.shape[0], weight.shape[1] * groups, -1,"
        " size(t.shape[2:])), wide_sizes(t, weight, stride, padding, more, dilation, 0, n), weight.shape[2:], stride, padding,"
        " dilation, t.shape[2:]), channelwise(bias, t))"
    ),
    "wide_sizes(t, weight, stride, padding, more, dilation, i, n)": (
        "[] if i == n else [(t.shape[i + 2] - 1) * at(stride, i) - 2 * at(padding, i) + at(dilation, i) * (weight.shape[i + 2]"
        " - 1) + at(more, i) + 1] + wide_sizes(t, weight, stride, padding, more, dilation, i + 1, n)"
    ),
    # pooling
    "largest_of(t, places, shape)": (
        "t.amax(-2).reshape(shape) if places is None else"
        " (t.amax(-2).reshape(shape), places.gather(-2, t.argmax(-2, True)).reshape(shape))"
    ),
    "framed(t, n, padding, edge)": "pad(ones(t.shape[-n:], dtype=t.dtype), ends(padding, n), 'constant', edge)",
    "ends(padding, i)": "[] if i == 0 else [at(padding, i - 1), at(padding, i - 1)] + ends(padding, i - 1)",
    # padding, from the last dimension on
    "padded(t, widths, k, mode, value)": (
        "t if 2 * k >= length(widths) else padded(edged(t, t.ndim - 1 - k, widths[2 * k], widths[2 * k + 1], mode, value),"
        " widths, k + 1, mode, value)"
    ),
    "edged(t, d, low, high, mode, value)": (
        "framed_by(t.narrow(d, outside(low), t.shape[d] - outside(low) - outside(high)), d, low, high, value)"
        " if mode == 'constant' else t.index_select(d, read_by(mode, arange(-low, t.shape[d] + high), t.shape[d]))"
    ),
    "outside(n)": "-n if n < 0 else 0",
    "framed_by(t, d, low, high, value)": "cat((edge(t, d, low, value), t, edge(t, d, high, value)), d)",
    "edge(t, d, n, value)": ("full(t.shape[:d] + [n if n > 0 else 0] + t.shape[d + 1 :], value, dtype=t.dtype)"),
    "read_by(mode, i, n)": (
        "n - 1 - abs(n - 1 - abs(i)) if mode == 'reflect' else clamp(i, 0, n - 1) if mode == 'replicate' else"
        " i % n if mode == 'circular' else unknown(mode)"
    ),
    # images of another size: a matrix for each dimension
    "resized(t, d, size, factor, mode, corners, recompute)": (
        "t if d == t.ndim else resized(by_matrix(t, d, resizing(mode, t.shape[d], length_after(t, d, size, factor),"
        " step_between(t.shape[d], length_after(t, d, size, factor), at(factor, d - 2), corners, recompute), corners)),"
        " d + 1, size, factor, mode, corners, recompute)"
    ),
    "length_after(t, d, size, factor)": (
        "int(t.shape[d] * at(factor, d - 2)) if size is None else at(size, d - 2) or t.shape[d]"
    ),
    "step_between(n, out, factor, corners, recompute)": (
        "(n - 1) / (out - 1 or 1) * (out > 1) if corners else n / out if factor is None or recompute else 1 / factor"
    ),
    "by_matrix(t, d, matrix)": "(t.movedim(d, -1) @ matrix.T).to(t.dtype).movedim(-1, d)",
    "resizing(mode, n, out, step, corners)": (
        "chosen(floor(rows(out) * step), n) if mode == 'nearest' else"
        " chosen(floor((rows(out) + 0.5) * step), n) if mode == 'nearest-exact' else"
        " shared(floor(rows(out) * n / out), ceil((rows(out) + 1) * n / out), n) if mode == 'area' else"
        " cubic(middle(out, step, corners), n) if mode == 'bicubic' else"
        " hats(clamp(middle(out, step, corners), 0, n - 1), n)"
        " if mode == 'linear' or mode == 'bilinear' or mode == 'trilinear' else unknown(mode)"
    ),
    "rows(n)": "arange(n, dtype=float64).unsqueeze(1)",
    "middle(out, step, corners)": "rows(out) * step if corners else (rows(out) + 0.5) * step - 0.5",
    "chosen(place, n)": "(clamp(place, 0, n - 1) == arange(n)).to(float64)",
    "shared(begin, end, n)": "((arange(n) >= begin) & (arange(n) < end)) / (end - begin)",
    "hats(x, n)": "clamp_min(1 - abs(x - arange(n)), 0)",
    "cubic(x, n)": "tap(x, n, -1) + tap(x, n, 0) + tap(x, n, 1) + tap(x, n, 2)",
    "tap(x, n, k)": "chosen(floor(x) + k, n) * keys(abs(x - floor(x) - k))",
    "keys(d)": "where(d <= 1, (1.25 * d - 2.25) * d * d + 1, ((-0.75 * d + 3.75) * d - 6) * d + 3)",
}
