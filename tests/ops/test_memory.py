"""Copies, conversions and writes: every form of `to`, the order of copies, numbers that do not fit."""

import pytest

import minigrad

DOUBLE = minigrad.float64
PADDINGS = ("constant", "reflect", "replicate", "circular")


@pytest.mark.parametrize(
    "call",
    [lambda x: x.to(DOUBLE), lambda x: x.to(dtype=DOUBLE), lambda x: x.to("cpu", DOUBLE), lambda x: x.to(None, DOUBLE),
     lambda x: x.to(device="cpu", dtype=DOUBLE), lambda x: x.to(minigrad.ones(1, dtype=DOUBLE)),
     lambda x: x.to("cpu", DOUBLE, False, True), lambda x: x.to(DOUBLE, True, copy=True), lambda x: x.double()],
)  # fmt: skip
def test_forms_of_to(call):
    assert call(minigrad.ones(2)).dtype == DOUBLE


def test_to_copies_on_request_only():
    x = minigrad.ones(2)
    for same in (x.to(x.dtype), x.to(x.device), x.to(x), x.to(x.dtype, True), x.float()):
        assert same is x
    for other in (x.to(x.dtype, copy=True), x.to(x.dtype, False, True), x.to(x.device, None, False, True)):
        assert other is not x and other.data_ptr() != x.data_ptr()


@pytest.mark.parametrize("args", [(DOUBLE, DOUBLE), ("cpu", DOUBLE, 3), (DOUBLE, True, False, True)])
def test_to_refuses(args):
    with pytest.raises(TypeError, match="to: "):
        minigrad.ones(2).to(*args)


def test_conversions_and_likes_of_expanded_tensors_are_row_major():
    x = minigrad.ones(1, 3).expand(2, 3)
    for t in (x.double(), x.clone(), minigrad.zeros_like(x), minigrad.full_like(x, 2.0)):
        assert t.stride() == (3, 1)


@pytest.mark.parametrize(
    "f, shape",
    [
        (lambda x: minigrad.nn.functional.unfold(x, 2), (2, 3, 2, 2)),  # of a single window
        (lambda x: minigrad.nn.functional.pixel_shuffle(x, 2), (1, 8, 1, 1)),
        (lambda x: minigrad.nn.functional.pixel_unshuffle(x, 2), (1, 1, 2, 2)),
        (lambda x: x.sum_to_size(3), (1, 3)),
        (lambda x: x[..., :1].ravel(), (4, 3)),
        (lambda x: minigrad.nn.functional.pixel_shuffle(x.expand(9, 1, 1), 3), (1, 1, 1)),
        (lambda x: x.flip(0), (1, 3)),
        *[(lambda x, mode=mode: minigrad.nn.functional.pad(x, (0, 0), mode), (1, 2, 3)) for mode in PADDINGS],
    ],
)
def test_results_that_are_no_views_have_separate_memory(f, shape):
    x = minigrad.zeros(shape)
    f(x).add_(1)
    assert not x.any()


def test_ravel_gives_the_elements_in_order():
    assert minigrad.ones(4, 3)[:, :1].ravel().stride() == (1,)
    x = minigrad.zeros(2, 3)
    x.ravel().add_(1)
    assert x.all()


@pytest.mark.filterwarnings(r"ignore:(?s).*\[fraction-lost\]")
@pytest.mark.parametrize(
    "write",
    [lambda x, v: x.fill_(v), lambda x, v: x.__setitem__(0, v), lambda x, v: x.__setitem__(slice(0, 2), v),
     lambda x, v: x.__setitem__([0], v), lambda x, v: x.__setitem__(x == 0, v),
     lambda x, v: x.masked_fill_(x == 0, v), lambda x, v: x.index_fill_(0, minigrad.tensor([0]), v)],
)  # fmt: skip
def test_numbers_that_do_not_fit_are_not_written(write):
    x = minigrad.zeros(3, dtype=minigrad.uint8)
    for value in (300, float("nan")):
        with pytest.raises(RuntimeError, match="overflow"):
            write(x, value)
    assert x.tolist() == [0, 0, 0]
    write(x, -1)
    assert x[0].item() == 255
    write(x.zero_(), 2.7)
    assert x[0].item() == 2


def test_data_of_a_tracked_tensor_remains_floating_point():
    x = minigrad.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="floating-point"):
        x.data = minigrad.ones(2, dtype=minigrad.int64)


def test_detach_is_a_function_too():
    x = minigrad.ones(2, requires_grad=True) * 2
    assert not minigrad.detach(x).requires_grad and minigrad.detach(x).data_ptr() == x.data_ptr()


@pytest.mark.parametrize(
    ("order", "shape"), [(minigrad.channels_last, (2, 3, 4, 5)), (minigrad.channels_last_3d, (2, 3, 4, 5, 6))]
)
@pytest.mark.parametrize(
    "how",
    [
        lambda x, order: x.contiguous(memory_format=order),
        lambda x, order: x.to(memory_format=order),
        lambda x, order: x.clone(memory_format=order),
        lambda x, order: x.double().to(minigrad.float32, memory_format=order),
    ],
)
def test_channels_last_makes_dimension_one_innermost(how, order, shape):
    x = minigrad.randn(shape, requires_grad=True)
    y = how(x, order)
    assert minigrad.equal(x, y) and y.stride(1) == 1 and y.is_contiguous(memory_format=order) and not y.is_contiguous()
    assert y.permute(0, *range(2, len(shape)), 1).is_contiguous() and x.is_contiguous()
    (y * 2).sum().backward()
    assert minigrad.equal(x.grad, minigrad.full(shape, 2.0))
    assert y.contiguous(memory_format=order) is y and y.clone(memory_format=order) is not y


def test_channels_last_needs_four_dimensions():
    with pytest.raises(RuntimeError, match=r"required rank 4 tensor to use channels_last format, got shape \(2, 3\)"):
        minigrad.ones(2, 3).contiguous(memory_format=minigrad.channels_last)
    assert not minigrad.ones(2, 3).is_contiguous(memory_format=minigrad.channels_last)


def test_a_module_takes_a_memory_format():
    conv = minigrad.nn.Conv2d(3, 4, 3).to(memory_format=minigrad.channels_last)
    assert conv(minigrad.ones(1, 3, 5, 5).to(memory_format=minigrad.channels_last)).shape == (1, 4, 3, 3)
