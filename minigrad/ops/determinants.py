"""Determinants, their logarithms and cofactors."""

from __future__ import annotations

import math

import numpy as np

from .. import return_types
from ..arrays.kinds import to_device_of
from ..arrays.meta import has_numbers
from ..core.tensor import Tensor
from ..return_types import SignAndLog
from . import lapack
from .base.layouts import wrap_near
from .base.registry import op
from .compare import where
from .decompositions import Svd
from .linalg import Inv, OfMatrices, guarded, inverse, square


class Det(OfMatrices):
    """The determinant of each matrix."""

    node = "LinalgDet"
    impl = lambda x: determinant(x)
    dx = lambda g, x: g.unsqueeze(-1).unsqueeze(-1) * Cofactors.apply(x)


class Cofactors(OfMatrices):
    """The determinant's partial derivatives: det(A) inv(A)^T if A is invertible; they exist for singular A too."""

    impl = lambda x: cofactors(x)
    definition = lambda x: det(x).unsqueeze(-1).unsqueeze(-1) * inverse(x).mT
    dx = lambda g, x: cofactors_gradient(g, x)


class Slogdet(OfMatrices):
    """Sign and log of the absolute value of each matrix's determinant; the derivative of the sign is 0."""

    node = "LinalgSlogdet"
    impl = lambda x: sign_and_log(x)
    dx = lambda g1, x: x.new_zeros(x.shape) if g1 is None else g1.unsqueeze(-1).unsqueeze(-1) * Inv.apply(x, "").mT


@op("T(3, 3)", "T(2, 3, 3)", "T(1, 1)", "T(0, 0)", "T(3, 1) * T(1, 3)", "T(2, 3, 3).mT", "T(0, 2, 2)", out=True)
def det(A: Tensor) -> Tensor:
    """Return the determinant of each matrix of a batch (..., n, n).

    Its gradient, the cofactors, exists for singular ones too.  Raises RuntimeError for matrices that are not square.
    """
    square("linalg.det", A)
    return Det.apply(A)


@op("T(3, 3)", "T(2, 3, 3)", "T(0, 0)", out=True)
def slogdet(A: Tensor) -> SignAndLog:
    """Return (sign, logabsdet) of determinants that may be too large or small for a number; (0, -inf) if singular."""
    square("linalg.slogdet", A)
    return return_types.slogdet(*Slogdet.apply(A))


@op("S(3, 3)", "S(2, 3, 3)")
def logdet(input: Tensor) -> Tensor:
    """Return the logarithm of each matrix's determinant: NaN if it is negative, -inf if it is 0."""
    square("logdet", input)
    sign, logabsdet = Slogdet.apply(input)
    return where(sign == -1.0, math.nan, logabsdet)


def determinant(x: np.ndarray) -> np.ndarray:
    """Return NumPy's det, with NaN if NumPy takes a non-finite matrix for singular."""
    out = lapack.det(x)
    return out if not has_numbers(out) or out.all() else np.where((out == 0) & ~finite(x), np.nan, out)


def sign_and_log(x: np.ndarray) -> tuple:
    """Return NumPy's slogdet with the same correction, and sign 0 for NaN."""
    sign, log = lapack.slogdet(x)
    log = log if not has_numbers(sign) or sign.all() else np.where((sign == 0) & ~finite(x), np.nan, log)
    return np.where(log == log, sign, 0), log


def finite(x: np.ndarray) -> np.ndarray:
    """Return True for each matrix whose elements are all finite."""
    return np.isfinite(x).all((-2, -1))


def cofactors(x: np.ndarray) -> np.ndarray:
    """Compute cofactors by determinant and inverse, or if a matrix is singular by singular values, with NaN for infinities."""
    if x.shape[-1] == 1:
        return np.full_like(x, 1)
    try:
        return lapack.det(x)[..., None, None] * np.swapaxes(lapack.inv(x), -1, -2)
    except np.linalg.LinAlgError:
        known = finite(x)[..., None, None]
        u, s, vh = guarded("linalg.det", lapack.svd, np.where(known, x, 1))
        others = np.where(to_device_of(np.eye(s.shape[-1], dtype=bool), s), 1, s[..., None, :]).prod(-1)
        sign = np.sign(lapack.det(u) * lapack.det(vh))
        return np.where(known, sign[..., None, None] * (u * others[..., None, :]) @ vh, np.nan)


def cofactors_gradient(g: Tensor, x: Tensor) -> Tensor:
    """Return the pull-back of Cofactors; NaN for matrices that are not finite.

    In the bases of x's singular vectors x is diag(s), and its cofactors' derivative along m has products of all s but
    two: off the diagonal -m^T P, on it P times m's diagonal, with P[i, j] the product of all s[k], k neither i nor j.
    """
    n, known = x.shape[-1], x.isfinite().all((-2, -1), True)
    if n == 1:
        return x.new_zeros(x.shape)
    u, s, vh = Svd.apply(where(known, x, 1.0), True)
    same = np.eye(n, dtype=bool)
    left_out, diagonal = wrap_near(same[:, None] | same, x), wrap_near(same, x)
    products = where(diagonal, 0.0, where(left_out, 1.0, s.unsqueeze(-2).unsqueeze(-2)).prod(-1))
    m = u.mT @ g @ vh.mT
    on = (products * where(diagonal, m, 0.0).sum(-2, True)).sum(-1, True)
    sign = Slogdet.apply(u)[0] * Slogdet.apply(vh)[0]
    out = sign.unsqueeze(-1).unsqueeze(-1) * (u @ where(diagonal, on, -(m.mT * products)) @ vh)
    return where(known, out, math.nan)
