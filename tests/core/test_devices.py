"""Devices, sizes, and the constants of memory formats and layouts."""

import pickle

import pytest

import minigrad


@pytest.mark.parametrize(
    ("name", "kind"), [("foo", RuntimeError), ("cuda:x", RuntimeError), ("cuda:-1", RuntimeError), (None, TypeError)]
)
def test_wrong_devices_are_refused(name, kind):
    with pytest.raises(kind, match="device"):
        minigrad.device(name)


@pytest.mark.cpu("asks for a device where there is none")
def test_a_number_is_a_gpu():
    assert minigrad.device(1) == minigrad.device("cuda", 1) == minigrad.device("cuda:1")
    with pytest.raises(RuntimeError, match="cpu"):
        minigrad.ones(2, device=0)
    assert minigrad.ones(2).get_device() == -1


def test_operations_on_sizes_give_sizes():
    size = minigrad.ones(1, 2).shape
    for found, expected in (((3,) + size, (3, 1, 2)), (size + (3,), (1, 2, 3)), (size * 2, (1, 2, 1, 2)),
                            (2 * size, (1, 2, 1, 2)), (size[1:], (2,))):  # fmt: skip
        assert type(found) is minigrad.Size and found == expected


def test_memory_formats():
    x = minigrad.arange(6.0).view(2, 3).t()
    for row_major in (x.clone(memory_format=minigrad.contiguous_format), x.to(memory_format=minigrad.contiguous_format),
                      x.double(memory_format=minigrad.contiguous_format),
                      minigrad.zeros_like(x, memory_format=minigrad.contiguous_format)):  # fmt: skip
        assert row_major.stride() == (2, 1)
    assert x.clone(memory_format=minigrad.preserve_format).stride() == (1, 3)
    assert x.layout is minigrad.strided and isinstance(minigrad.strided, minigrad.layout)
    assert pickle.loads(pickle.dumps(minigrad.contiguous_format)) is minigrad.contiguous_format
    with pytest.raises(TypeError, match="memory_format"):
        x.clone(memory_format="channels_last")
