"""Memory that libraries share: nothing is copied, and it lives as long as somebody needs it."""

import gc
import weakref

import ml_dtypes
import numpy as np
import pytest

import minigrad
from minigrad.arrays import dlpack
from minigrad.kernels.cuda import exchange, machine, pinned, simulator
from minigrad.kernels.cuda.device_array import to_device
from tests.core.test_dlpack import VIEWS as PARTS

DTYPES = [
    np.float16,
    ml_dtypes.bfloat16,
    np.float32,
    np.float64,
    np.int64,
    np.int32,
    np.int16,
    np.int8,
    np.uint8,
    np.bool_,
]
VIEWS = {**PARTS, "repeated": lambda a: np.broadcast_to(a[0], (3, 6))}


class Foreign:
    """An array of another library that shows where it lies."""

    def __init__(self, array, **changes):
        self.array = array
        self.__cuda_array_interface__ = {**exchange.interface(array), **changes}


class Lender:
    """An array of another library that knows DLPack, and notes for which stream it was asked."""

    def __init__(self, array, place=(2, 0)):
        self.array, self.place, self.streams = array, place, []

    def __dlpack__(self, stream=None):
        self.streams.append(stream)
        return self.array.__dlpack__(stream=stream)

    def __dlpack_device__(self):
        return self.place


def values(dtype=np.float32):
    return np.arange(24).reshape(4, 6).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("view", VIEWS)
def test_dlpack_leads_there_and_back(dtype, view):
    a = VIEWS[view](to_device(values(dtype)))
    found = exchange.from_dlpack(Capsule(exchange.capsule(a)))
    assert found.dtype == a.dtype and found.shape == a.shape
    np.testing.assert_array_equal(found.to_host(), VIEWS[view](values(dtype)))
    assert not a.size or found.address == a.address and found.strides == a.strides


@pytest.mark.parametrize("dtype", [d for d in DTYPES if d is not ml_dtypes.bfloat16])
@pytest.mark.parametrize("view", VIEWS)
def test_the_interface_leads_there_and_back(dtype, view):
    a = VIEWS[view](to_device(values(dtype)))
    found = exchange.from_interface(Foreign(a))
    assert found.dtype == a.dtype and found.shape == a.shape
    np.testing.assert_array_equal(found.to_host(), VIEWS[view](values(dtype)))
    assert not a.size or found.address == a.address and found.strides == a.strides


def test_tensors_share_memory_by_dlpack():
    x = minigrad.arange(6.0, device="cuda").view(2, 3)
    assert x.__dlpack_device__() == (2, 0)
    lender = Lender(x)
    y = minigrad.from_dlpack(lender)
    assert lender.streams == [machine.current().stream or None]
    y[0, 0] = 5.0
    assert y.is_cuda and x[0, 0].item() == 5.0 and minigrad.from_dlpack(x).data_ptr() == x.data_ptr()
    assert minigrad.from_dlpack(x, copy=True).data_ptr() != x.data_ptr()
    assert minigrad.from_dlpack(x, device="cpu").is_cpu
    assert minigrad.asarray(lender).data_ptr() == x.data_ptr()


def test_a_library_without_streams_gets_memory_in_which_all_is_computed():
    a = to_device(np.arange(6.0, dtype=np.float32))
    found = exchange.InOrder(a).__cuda_array_interface__
    assert found["data"] == (a.address, False) and found["stream"] is None
    lent = exchange.in_order(a)
    if simulator.SIMULATED:
        np.copyto(lent, 7.0)  # its memory is the computer's
    else:
        exchange.from_interface(lent).fill(7.0)
    assert a.tolist() == [7.0] * 6


def test_pinned_memory_is_used_again():
    first = to_device(np.arange(6.0).reshape(2, 3)).T.copy().to_host(pin=True)
    assert first.flags.c_contiguous and first.tolist() == [[0, 3], [1, 4], [2, 5]]
    place, kept = first.ctypes.data, first[1:]
    other = pinned.pinned((3, 2), np.float64)
    assert other.ctypes.data != place
    del first
    assert pinned.pinned((3, 2), np.float64).ctypes.data != place, "a view of it is still there"
    del kept
    assert pinned.pinned((5,), ml_dtypes.bfloat16).ctypes.data == place
    assert to_device(np.ones((0, 2))).to_host(pin=True).shape == (0, 2)


def test_memory_that_another_library_has_pinned_is_main_memory():
    class Pinned:
        """An array of another library in pinned memory, which is another type of device for DLPack."""

        def __dlpack__(self, **options):
            found = dlpack.as_capsule(array, **options)
            dlpack.array_in(found).device.kind = 3
            return found

        def __dlpack_device__(self):
            return 3, 0

    array = np.arange(3.0)
    x = minigrad.from_dlpack(Pinned())
    array[0] = 7.0
    assert x.is_cpu and x.tolist() == [7.0, 1.0, 2.0]


def test_tensors_share_memory_by_the_interface():
    x = minigrad.arange(6.0, device="cuda").view(2, 3)
    found = x.__cuda_array_interface__
    assert found["shape"] == (2, 3) and found["typestr"] == "<f4" and found["data"] == (x.data_ptr(), False)
    assert found["strides"] is None and x.t().__cuda_array_interface__["strides"] == (4, 12)
    other = Foreign(x._a)
    shared, same, copied = minigrad.as_tensor(other), minigrad.asarray(other), minigrad.tensor(other)
    assert shared.data_ptr() == same.data_ptr() == x.data_ptr() != copied.data_ptr()
    assert minigrad.as_tensor(other, dtype=minigrad.int64).tolist() == [[0, 1, 2], [3, 4, 5]]
    assert minigrad.as_tensor(other, device="cpu").is_cpu and copied.is_cuda
    x[0, 0] = 7.0
    assert shared[0, 0].item() == 7.0 and copied[0, 0].item() == 0.0


def test_bfloat16_goes_by_dlpack_and_not_by_the_interface():
    x = minigrad.arange(3.0, device="cuda").bfloat16()
    y = minigrad.from_dlpack(Lender(x))
    y[0] = 5.0
    assert y.dtype is minigrad.bfloat16 and x.tolist() == [5.0, 1.0, 2.0]
    with pytest.raises(TypeError, match=r"no name for bfloat16.*\n.*\n.*through DLPack"):
        x.__cuda_array_interface__  # noqa: B018
    on_processor = exchange.capsule(x._a, dl_device=(1, 0))
    assert minigrad.from_dlpack(Capsule(on_processor, 1)).tolist() == [5.0, 1.0, 2.0]


def test_only_what_is_on_the_device_and_untracked_shows_where_it_lies():
    assert not hasattr(minigrad.ones(2), "__cuda_array_interface__")
    with pytest.raises(AttributeError, match=r"use x\.cuda\(\)"):
        minigrad.ones(2).__cuda_array_interface__  # noqa: B018
    leaf = minigrad.ones(2, device="cuda", requires_grad=True)
    with pytest.raises(RuntimeError, match="requires grad"):
        leaf.__cuda_array_interface__  # noqa: B018
    with pytest.raises(BufferError, match="requires grad"):
        leaf.__dlpack__()


def test_memory_that_is_lent_lives_until_it_is_given_back():
    gc.collect()  # what other tests have left
    before = minigrad.cuda.memory_allocated()
    x = minigrad.ones(3, device="cuda")
    capsule = exchange.capsule(x._a)
    del x
    assert minigrad.cuda.memory_allocated() > before
    y = minigrad.from_dlpack(Capsule(capsule))
    part = y[1:]
    del y, capsule
    assert part.tolist() == [1.0, 1.0]
    del part
    gc.collect()
    assert minigrad.cuda.memory_allocated() == before


class Capsule:
    """A capsule that was made before."""

    def __init__(self, capsule, kind=2):
        self.capsule, self.kind = capsule, kind

    def __dlpack__(self, stream=None):
        return self.capsule

    def __dlpack_device__(self):
        return self.kind, 0


def test_a_capsule_that_nobody_takes_ends_its_loan():
    gc.collect()
    before = minigrad.cuda.memory_allocated()
    capsule = minigrad.ones(3, device="cuda").__dlpack__()
    assert minigrad.cuda.memory_allocated() > before
    del capsule
    assert minigrad.cuda.memory_allocated() == before


def test_who_cannot_take_it_says_so_and_ends_its_loan():
    gc.collect()
    before = minigrad.cuda.memory_allocated()
    with pytest.raises((RuntimeError, BufferError), match="Unsupported device"):  # BufferError from NumPy 2.5 on
        np.from_dlpack(minigrad.ones(3, device="cuda"))
    gc.collect()
    assert minigrad.cuda.memory_allocated() == before


def test_a_capsule_is_taken_once():
    capsule = Capsule(minigrad.ones(3, device="cuda").__dlpack__())
    first = minigrad.from_dlpack(capsule)
    with pytest.raises(ValueError, match="PyCapsule holds no array, or one that has been taken"):
        minigrad.from_dlpack(capsule)
    assert first.tolist() == [1.0, 1.0, 1.0]


def test_what_is_borrowed_keeps_its_owner_and_is_not_given_to_others():
    owner = Foreign(to_device(values()))
    alive, before = weakref.ref(owner), minigrad.cuda.memory_allocated()
    part = minigrad.as_tensor(owner)[1:]
    del owner
    gc.collect()
    assert alive() is not None and minigrad.cuda.memory_allocated() == before
    del part
    gc.collect()
    assert alive() is None


def test_gradients_flow_to_what_is_borrowed():
    x = minigrad.as_tensor(Foreign(to_device(values()))).requires_grad_()
    (x * x).backward(minigrad.ones(4, 6, device="cuda"))
    np.testing.assert_array_equal(x.grad.cpu().numpy(), 2 * values())


def test_dlpack_gives_the_processor_a_copy():
    x = minigrad.arange(6.0, device="cuda")
    host = exchange.capsule(x._a, dl_device=(1, 0))
    np.testing.assert_array_equal(np.from_dlpack(OnHost(host)), np.arange(6.0))
    with pytest.raises(BufferError, match=r"cannot be shared on DLPack's device \(1, 0\)"):
        exchange.capsule(x._a, dl_device=(1, 0), copy=False)
    with pytest.raises(BufferError, match=r"device \(2, 1\)"):
        minigrad.from_dlpack(Lender(x, (2, 1)))
    own = exchange.from_dlpack(Capsule(exchange.capsule(x._a, copy=True)))
    assert own.address != x.data_ptr() and own.to_host().tolist() == x.tolist()


class OnHost(Capsule):
    def __dlpack__(self, **options):
        return self.capsule

    def __dlpack_device__(self):
        return 1, 0


@pytest.mark.parametrize(
    ("changes", "kind", "text"),
    [
        ({"mask": 1}, NotImplementedError, "masked"),
        ({"strides": (-24, 4)}, ValueError, "stride of the array of shape .* is negative"),
        ({"typestr": "<c8", "shape": (2, 6)}, TypeError, "complex64"),
    ],
)
def test_what_tensors_do_not_support_is_refused(changes, kind, text):
    with pytest.raises(kind, match=text):
        minigrad.as_tensor(Foreign(to_device(values()), **changes))


def test_other_streams_are_waited_for(monkeypatch):
    waited, place, a = [], machine.current(), to_device(values())
    monkeypatch.setattr(place, "wait_for", waited.append)
    monkeypatch.setattr(place, "synchronize", lambda: waited.append("all"))
    for stream in (None, 1, 77):
        exchange.from_interface(Foreign(a, stream=stream))
    assert waited == [77]
    for stream in (None, 1, -1, 77):
        exchange.capsule(a, stream=stream)
    assert waited == [77, "all"]
