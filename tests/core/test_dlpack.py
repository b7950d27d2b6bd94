"""bfloat16 in the computer's memory, lent and borrowed by DLPack."""

import gc

import ml_dtypes
import numpy as np
import pytest

import minigrad
from minigrad.arrays import dlpack


class Lender:
    """An array of another library, which lends it by DLPack: by records of the version that is asked for, or by old ones."""

    def __init__(self, array, old=False):
        self.array, self.old = array, old

    def __dlpack__(self, **options):
        if self.old and options:
            raise TypeError("what is a version?")
        return dlpack.as_capsule(self.array, **options)

    def __dlpack_device__(self):
        return dlpack.PROCESSOR, 0


VIEWS = {
    "whole": lambda a: a,
    "part": lambda a: a[1:, ::2],
    "turned": lambda a: a.T,
    "scalar": lambda a: a[0, 0, ...],
    "empty": lambda a: a[:0],
}


@pytest.mark.parametrize("view", VIEWS)
def test_bfloat16_survives_a_round_trip_by_dlpack(view):
    array = VIEWS[view](np.arange(24.0).reshape(4, 6).astype(ml_dtypes.bfloat16))
    found = minigrad.from_dlpack(Lender(array))
    assert found.dtype is minigrad.bfloat16 and found.shape == array.shape and found.tolist() == array.tolist()
    found.fill_(7)
    assert (array == 7).all()  # it is the same memory


def test_memory_is_alive_while_it_is_shared_by_dlpack():
    found = minigrad.from_dlpack(Lender(np.full(1000, 3, ml_dtypes.bfloat16)))
    gc.collect()
    assert (found == 3).all()


def test_memory_of_the_first_dlpack_version_is_copied():
    array = np.arange(3.0).astype(ml_dtypes.bfloat16)
    found = minigrad.from_dlpack(Lender(array, old=True))
    assert found.tolist() == [0.0, 1.0, 2.0]
    found.fill_(7)
    assert array.tolist() == [0.0, 1.0, 2.0]  # so it is copied, as NumPy's own dtypes are


@pytest.mark.parametrize("options", [{}, {"max_version": (1, 0)}, {"max_version": (1, 0), "copy": False}])
def test_an_exported_tensor_keeps_its_dtype(options):
    x = minigrad.arange(6.0).bfloat16().view(2, 3).t()
    capsule = x.__dlpack__(**options)
    array = dlpack.array_in(capsule)
    assert dlpack.is_bfloat16(array) and array.data + array.byte_offset == x.data_ptr()
    assert (array.shape[:2], array.strides[:2]) == ([3, 2], [1, 3])


@pytest.mark.cpu("tests/kernels/cuda/test_exchange.py has those of a device")
def test_tensors_share_memory():
    x = minigrad.arange(6.0).bfloat16()
    assert minigrad.from_dlpack(x).data_ptr() == minigrad.asarray(Lender(x._a)).data_ptr() == x.data_ptr()
    assert minigrad.from_dlpack(x, copy=True).data_ptr() != x.data_ptr()
    with pytest.raises(BufferError, match="requires grad"):
        x.detach().requires_grad_().__dlpack__()


@pytest.mark.cpu("NumPy takes no memory of a device")
def test_other_dtypes_are_exported_by_numpy():
    x = minigrad.arange(3)
    assert np.from_dlpack(x).dtype == np.int64 and minigrad.from_dlpack(Lender(x._a)).tolist() == [0, 1, 2]
