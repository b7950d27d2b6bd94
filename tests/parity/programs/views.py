"""Views: what shares memory and version, which history a view has, and the gradients through chains of views."""

from tests.parity.harness import attempt, gives, leaf


@gives([2.0, 4.0, 0.0, 0.0])
def unused_part_of_split_gets_zero(torch):
    x = leaf(torch, [1.0, 2.0, 3.0, 4.0])
    a, _ = x.chunk(2)
    (a * a).sum().backward()
    return x.grad


@gives([[[1.0, 0.0], [0.0, 2.0]], True])
def flatten_and_contiguous_share_when_they_can(torch):
    x = torch.zeros(2, 2)
    x.flatten()[0] = 1.0
    x.contiguous()[1, 1] = 2.0
    x.t().contiguous()[0, 1] = 9.0
    return x, x.contiguous() is x


@gives([RuntimeError, [0.0, 3.0, 1.0, 4.0, 2.0, 5.0]])
def view_of_incompatible_layout_raises(torch):
    x = torch.arange(6.0).view(2, 3).t()
    return attempt(x.view, -1), x.reshape(-1)


@gives([RuntimeError, RuntimeError, RuntimeError, [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]])
def view_of_wrong_size_raises(torch):
    x = torch.arange(6.0)
    return attempt(x.view, 4), attempt(x.view, -1, -1), attempt(x.view, -1, 4), x.view(-1, 2)


@gives(
    {
        "slice": [[12, 4, 2], 4, False],
        "t": [[1, 4], 0, False],
        "select": [[1], 20, True],
        "diagonal": [[12, 5], 0, False],
        "expand": [[0, 1], 0, False],
    }
)
def layout_of_views(torch):
    x = torch.arange(24.0).view(2, 3, 4)
    views = {
        "slice": x[:, 1:, ::2],
        "t": x[0].t(),
        "select": x[1, 2],
        "diagonal": x.diagonal(dim1=1, dim2=2),
        "expand": x[0, 0].expand(3, 4),
    }
    return {name: [v.stride(), v.storage_offset(), v.is_contiguous()] for name, v in views.items()}


@gives([[0, 0, 0], [1, 1, 1], [2, 2, 2], [0.0, 2.0, 2.0, 2.0]])
def version_is_shared_among_base_views_and_detached(torch):
    x = torch.zeros(4)
    v, d = x[1:], x.detach()
    before = [x._version, v._version, d._version]
    v.add_(1)
    middle = [x._version, v._version, d._version]
    d.mul_(2)
    return before, middle, [x._version, v._version, d._version], x


@gives([0, 1, 2, 3, 4])
def version_counts_each_write(torch):
    x = torch.zeros(3)
    counts = [x._version]
    for write in (lambda: x.add_(1), lambda: x.zero_(), lambda: x.__setitem__(0, 2.0), lambda: x[1:].mul_(2)):
        write()
        counts.append(x._version)
    return counts


@gives([[2], [2, 1], [1, 2, 1], [2, 1], [1, 2]])
def squeeze_of_a_longer_dimension_does_nothing(torch):
    x = torch.zeros(1, 2, 1)
    return [list(s.shape) for s in (x.squeeze(), x.squeeze(0), x.squeeze(1), x.squeeze((0, 1)), x.squeeze(-1))]


@gives([[[], [2], [3, 2]], RuntimeError])
def t_of_few_dimensions(torch):
    shapes = [torch.tensor(1.0).t(), torch.ones(2).t(), torch.ones(2, 3).t()]
    return [list(s.shape) for s in shapes], attempt(torch.ones(1, 2, 3).t)


@gives(
    [
        [[[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]],
        [[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]],
        [[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]],
        RuntimeError,
    ]
)
def capital_t_and_mt(torch):
    x = torch.arange(6.0).view(1, 2, 3)
    return x.mT, x[0].T, x[0].mT, attempt(lambda: torch.ones(2).mT)


@gives([7.0, 0.0])
def same_view_taken_twice_adds_gradients(torch):
    x = leaf(torch, [3.0, 4.0])
    (x[0] * x[0] + x[0]).backward()
    return x.grad


def layout_of_results(torch):
    x = torch.arange(6.0).view(2, 3)
    results = {
        "clone of transposed": x.t().clone(),
        "product of transposed": x.t() * 2,
        "clone of expanded": x[0].expand(2, 3).clone(),
        "product of expanded": x[0].expand(2, 3) * 2,
        "stack of transposed": torch.stack([x.t(), x.t()]),
        "cat of transposed": torch.cat([x.t(), x.t()]),
        "zeros like transposed": torch.zeros_like(x.t()),
        "contiguous of transposed": x.t().contiguous(),
    }
    return {name: [t.stride(), t.is_contiguous()] for name, t in results.items()}
