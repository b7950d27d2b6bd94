"""Functions for pages that are other functions: shapes, places of elements, orders, and what goes along dimensions.

The form of the definitions is that of definitions.py.
"""

PUBLIC = {
    # shapes
    "view": "input.reshape(*size)",
    "transpose": "input.movedim((dim0, dim1), (dim1, dim0))",
    "broadcast_tensors": "[(size := shape_of_all(tensors)), [t.expand(size) for t in tensors]][-1]",
    "atleast_1d": "as_given('at_least_1d', tensors)",
    "atleast_2d": "as_given('at_least_2d', tensors)",
    "atleast_3d": "as_given('at_least_3d', tensors)",
    "block_diag": "folded('blocks', mapped('at_least_2d', tensors))",
    "split_with_sizes": "input.split(split_sizes, dim)",
    "split": (
        "parts(tensor, split_size_or_sections, dim) if is_a(split_size_or_sections, 'list') else"
        " parts(tensor, lengths(tensor.shape[dim], split_size_or_sections), dim)"
    ),
    "Tensor.unfold": (
        "input.reshape(size) if input.ndim == 0 else"
        " unfolded(input.movedim(dimension, 0), size, step).movedim((0, 1), (dimension % input.ndim, -1))"
    ),
    "unbind": "mapped('squeeze', input.split(1, dim), dim)",
    "stack": "cat(mapped('unsqueeze', tensors, dim), dim)",
    "diagonal": "on_diagonal(input.movedim((dim1, dim2), (-2, -1)), -offset if offset < 0 else 0, offset if offset > 0 else 0)",
    "diag_embed": (
        "square_of(input, input.shape[-1] + (offset if offset > 0 else -offset)).diagonal_scatter(input, offset, -2, -1)"
        ".movedim((-2, -1), (dim1, dim2))"
    ),
    "tensor_split": (
        "mapped('movedim', pieces(input.movedim(dim, 0), 0, indices_or_sections), 0, dim) if is_a(indices_or_sections, 'list')"
        " else input.split(even(input.shape[dim], indices_or_sections), dim)"
    ),
    "roll": (
        "input.reshape(-1).roll(shifts, 0).reshape(input.shape) if dims is None else rolled(input, shifts, dims) if not"
        " is_a(dims, 'list') else input if length(dims) == 0 else rolled(input, shifts[0], dims[0]).roll(shifts[1:], dims[1:])"
    ),
    "tril": "where(offsets(input) <= diagonal, input, 0).to(input.dtype)",
    "triu": "where(offsets(input) >= diagonal, input, 0).to(input.dtype)",
    "rot90": (
        "input if k % 4 == 0 else input.flip(dims) if k % 4 == 2 else"
        " input.transpose(dims[0], dims[1]).flip(dims[k % 4 // 2])"
    ),
    "repeat": "kron(ones(*repeats, dtype=input.dtype), input)",
    "tile": "kron(ones(*dims, dtype=input.dtype), input)",
    "clone": "input",
    "contiguous": "input",
    "zeros": "full(sizes_of(args, size), 0, dtype=float32 if dtype is None else dtype)",
    "ones": "full(sizes_of(args, size), 1, dtype=float32 if dtype is None else dtype)",
    "linspace": (
        "line(start, end, steps, (end - start) / (steps - 1 or 1), arange(steps, dtype=float64))"
        ".to(float32 if dtype is None else dtype)"
    ),
    "zeros_like": "full(input.shape, 0, dtype=input.dtype if dtype is None else dtype)",
    "ones_like": "full(input.shape, 1, dtype=input.dtype if dtype is None else dtype)",
    "full_like": "full(input.shape, fill_value, dtype=input.dtype if dtype is None else dtype)",
    "eye": "(arange(n).unsqueeze(1) == arange(n if m is None else m)).to(float32 if dtype is None else dtype)",
    # places
    "where": "nonzero(condition, as_tuple=True) if input is None else pointwise('Where', condition, input, other)",
    "select": "input.narrow(dim, index, 1).squeeze(dim)",
    "select_scatter": "placed(input, positions(input).select(dim, index), src, False)",
    "slice_scatter": "placed(input, positions(input).movedim(dim, 0)[start:end:step].movedim(0, dim), src, False)",
    "diagonal_scatter": "placed(input, positions(input).diagonal(offset, dim1, dim2), src, False)",
    "index_put": "placed(input, elements(positions(input), indices), values, accumulate)",
    "put": "input.reshape(-1).index_put((index,), source.reshape(index.shape), accumulate).reshape(input.shape)",
    "masked_fill": "where(mask, tensor(value, dtype=input.dtype), input)",
    "combinations": (
        "input[ascending(stack(mapped('ravel', meshgrid([arange(input.numel())] * r, indexing='ij')), 1), with_replacement)]"
    ),
    "masked_scatter": "masked(broadcast_tensors(input, mask), source.reshape(-1))",
    "index_add": "rows_put(input, dim, index, source * alpha, True)",
    "index_copy": "rows_put(input, dim, index, source, False)",
    "index_fill": "input.movedim(dim, 0).index_put((index,), value).movedim(0, dim)",
    "index_reduce": "input.scatter_reduce(dim, along(index, source, dim), source, reduce, include_self=include_self)",
    "index_select": "input if input.ndim == 0 else input.movedim(dim, 0)[index.reshape(-1)].movedim(0, dim)",
    "take_along_dim": (
        "input.reshape(-1).gather(0, indices.reshape(-1)) if dim is None else"
        " widened(input, indices, dim).gather(dim, widened(indices, input, dim))"
    ),
    "embedding": "weight[input]",
    "one_hot": (
        "(input.unsqueeze(-1) == arange(input.max().item() + 1 if num_classes < 0 else num_classes)).to(int64)"
    ),
    "searchsorted": (
        "below(sorted_sequence if sorted_sequence.ndim == 1 else sorted_sequence.unsqueeze(-2),"
        " tensor(input).unsqueeze(-1), right or side == 'right').sum(-1)"
        ".to(int32 if out_int32 else int64)"
    ),
    "repeat_interleave": (
        "times(input) if repeats is None else repeated(input.reshape(-1), repeats, 0) if dim is None else"
        " repeated(input, repeats, dim)"
    ),
    "view_as": "input.reshape(other.shape)",
    "t": "input.T",
    "take": "input.reshape(-1)[index]",
    "masked_select": "selected(broadcast_tensors(input, mask))",
    "aminmax": "(amin(input, () if dim is None else dim, keepdim), amax(input, () if dim is None else dim, keepdim))",
    "median": (
        "input.reshape(-1).median(0)[0] if dim is None else taken(input.sort(dim), where(isnan(input).any(dim, True),"
        " numbers(input, dim), (numbers(input, dim) - 1) // 2), dim, keepdim)"
    ),
    "nanmedian": (
        "input.reshape(-1).nanmedian(0)[0] if dim is None else taken(input.sort(dim), clamp_min(numbers(input, dim) - 1, 0)"
        " // 2, dim, keepdim)"
    ),
    "max": (
        "maximum(input, dim if other is None else other) if is_a(dim, 'Tensor') or other is not None else input.amax()"
        " if dim is None else extreme(input, input.argmax(dim, True), dim, keepdim)"
    ),
    "min": (
        "minimum(input, dim if other is None else other) if is_a(dim, 'Tensor') or other is not None else input.amin()"
        " if dim is None else extreme(input, input.argmin(dim, True), dim, keepdim)"
    ),
    "kthvalue": "squeezed(mapped('narrow', input.sort(dim), dim, k - 1, 1), dim, keepdim)",
    "mode": "most_frequent(input.unsqueeze(0) if input.ndim == 0 else input.movedim(dim, -1), input, dim, keepdim)",
    "argsort": "input.sort(dim, descending)[1]",
    "topk": ("input.sort(dim, largest) if input.ndim == 0 else mapped('narrow', input.sort(dim, largest), dim, 0, k)"),
    # along dimensions
    "nansum": "where(isnan(input), 0, input).sum(dim, keepdim, dtype=dtype)",
    "nanmean": "nansum(input, dim, keepdim, dtype=dtype) / (input == input).sum(dim, keepdim)",
    "any": "as_bytes((input != 0).sum(dim, keepdim) > 0, input.dtype)",
    "all": "as_bytes((input == 0).sum(dim, keepdim) == 0, input.dtype)",
    "count_nonzero": "(input != 0).sum(dim)",
    "var": (
        "var(input, None, dim, keepdim, correction=correction) if dim is True or dim is False else"
        " variance(input, dim, keepdim, (0 if unbiased is False else 1) if correction is None else correction)"
    ),
    "std": "sqrt(var(input, dim, unbiased, keepdim, correction=correction))",
    "diff": "differences(cat([t for t in (prepend, input, append) if t is not None], dim), n, dim)",
}

WORDS = {
    "as_given(name, tensors)": (
        "mapped(name, tensors[0]) if is_a(tensors[0], 'list') else mapped(name, tensors) if length(tensors) > 1 else"
        " mapped(name, tensors)[0]"
    ),
    "least(a, b)": "a if a < b else b",
    "most(a, b)": "a if a > b else b",
    "on_diagonal(t, down, right)": (
        "t.flatten(-2).index_select(-1, down * t.shape[-1] + right + arange(most(0, least(t.shape[-2] - down,"
        " t.shape[-1] - right))) * (t.shape[-1] + 1))"
    ),
    "sizes_of(args, size)": "size if size is not None else args[0] if length(args) == 1 and is_a(args[0], 'list') else args",
    "line(start, end, n, step, i)": "where(i < n / 2, start + i * step, end - (n - 1 - i) * step)",
    "as_bytes(t, dtype)": "t.to(uint8) if dtype == uint8 else t",
    "at_least_1d(t)": "t.reshape(1) if t.ndim == 0 else t",
    "at_least_2d(t)": "t.reshape(1, -1) if t.ndim < 2 else t",
    "at_least_3d(t)": "at_least_2d(t).unsqueeze(2) if t.ndim < 3 else t",
    "blocks(a, b)": "cat((pad(a, (0, b.shape[1])), pad(b, (a.shape[1], 0))))",
    "square_of(t, n)": "zeros(t.shape[:-1] + (n, n), dtype=t.dtype)",
    "lengths(n, size)": "[0] if n == 0 else [size] * (n // size) + ([n % size] if n % size else [])",
    "unfolded(t, size, step)": ("t[(arange((t.shape[0] - size) // step + 1) * step).unsqueeze(1) + arange(size)]"),
    "even(n, parts)": "[n // parts + 1] * (n % parts) + [n // parts] * (parts - n % parts)",
    "pieces(t, begin, ends)": (
        "[t[begin:]] if length(ends) == 0 else [t[begin : ends[0]]] + pieces(t, ends[0], ends[1:])"
    ),
    "rolled(t, shift, dim)": "t.index_select(dim, (arange(t.shape[dim]) - shift) % t.shape[dim])",
    "offsets(t)": "arange(t.shape[-1]) - arange(t.shape[-2]).unsqueeze(1)",
    "masked(pair, source)": "placed(pair[0], positions(pair[0])[pair[1]], source[: pair[1].sum().item()], False)",
    "rows_put(t, dim, index, source, add)": (
        "t.reshape(1).index_put((index.reshape(-1),), source.reshape(-1), add).reshape(()) if t.ndim == 0 else"
        " t.movedim(dim, 0).index_put((index,), source.movedim(dim, 0), add).movedim(0, dim)"
    ),
    "along(index, t, dim)": "index.reshape((-1,) + (1,) * (t.ndim - 1)).movedim(0, dim).expand(t.shape)",
    "widened(t, like, dim)": "broadcast_tensors(t, like.narrow(dim, 0, 1))[0]",
    "ascending(rows, same)": "rows[below(rows[:, :-1], rows[:, 1:], same).all(1)]",
    "below(x, y, also_equal)": "x <= y if also_equal else x < y",
    "times(counts)": "searchsorted(counts.cumsum(0), arange(counts.sum().item()), right=True)",
    "repeated(t, repeats, dim)": "t.index_select(dim, times(tensor(repeats).expand(t.shape[dim])))",
    "numbers(t, dim)": "(t == t).sum(dim, True)",
    "counts(t)": "(t.unsqueeze(-1) == t.unsqueeze(-2)).sum(-1)",
    "lowest(t, mask)": "where(mask, t, t.amax(-1, True)).amin(-1, True)",
    "last_of(t, value)": "where(t == value, arange(t.shape[-1]), -1).amax(-1, True)",
    "most_frequent(t, like, dim, keepdim)": (
        "with_place(t, last_of(t, lowest(t, counts(t) == counts(t).amax(-1, True))), like, dim, keepdim)"
    ),
    "with_place(t, place, like, dim, keepdim)": (
        "(t.gather(-1, place).squeeze(-1), place.squeeze(-1)) if like.ndim == 0 or not keepdim else"
        " (t.gather(-1, place).movedim(-1, dim), place.movedim(-1, dim))"
    ),
    "extreme(t, at, dim, keepdim)": "squeezed((t.gather(dim, at), at), dim, keepdim)",
    "taken(pair, at, dim, keepdim)": "squeezed(mapped('gather', pair, dim, at), dim, keepdim)",
    "squeezed(pair, dim, keepdim)": "pair if keepdim else mapped('squeeze', pair, dim)",
    "between(t, at, how)": "mixed(t.gather(-1, floor(at).to(int64)), t.gather(-1, ceil(at).to(int64)), at, how)",
    "mixed(low, high, at, how)": (
        "low if how == 'lower' else high if how == 'higher' else (low + high) / 2 if how == 'midpoint' else"
        " where(round(at) > at, high, low) if how == 'nearest' else low + (at - floor(at)) * (high - low)"
    ),
    "lower(lu)": "(lu.tril(-1) + eye(lu.shape[-2], lu.shape[-1], dtype=lu.dtype))[..., : lu.shape[-2]]",
    "typed(t, dtype)": "t if dtype is None else t.to(dtype)",
    "variance(t, dim, keepdim, less)": (
        "((t - t.mean(dim, True)) ** 2).sum(dim, keepdim) / clamp_min(ones_like(t).sum(dim, keepdim) - less, 0)"
    ),
    "differences(t, n, dim)": (
        "t if n == 0 or t.shape[dim] == 0 else differences(t.narrow(dim, 1, t.shape[dim] - 1)"
        " - t.narrow(dim, 0, t.shape[dim] - 1), n - 1, dim)"
    ),
    "selected(pair)": "pair[0].reshape(-1)[pair[1].reshape(-1)]",
    "size(shape)": "ones(shape, dtype=bool).numel()",
}
