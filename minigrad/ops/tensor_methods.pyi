"""Tensor's methods and operators, from the table of operations."""

# `make contents` writes this file from the declarations in ops/.
from builtins import bool as _bool
from builtins import float as _float
from builtins import int as _int
from collections.abc import Sequence
from typing import Any, Literal, overload

from ..arrays.devices import device, memory_format
from ..arrays.dtypes import dtype
from ..core.tensor import Tensor
from ..ops.generator import Generator
from ..ops.storage import Storage, TypedStorage, UntypedStorage
from ..return_types import QR, Extremes, Selected, SignAndLog, SVDWithV, TriangularSolution

class Operations:
    """The methods and operators of Tensor that minigrad attaches when it is imported."""
    @property
    def H(self) -> Tensor:
        """`.mT`: the last two dimensions swapped, as a view."""
    @property
    def T(self) -> Tensor:
        """`.T`: all dimensions in reverse order, as a view."""
    def __abs__(self) -> Tensor:
        """The absolute value; its derivative at 0 is 0."""
    def __add__(self, other: Tensor | _float) -> Tensor: ...
    def __and__(self, other: Tensor | _float) -> Tensor: ...
    def __delitem__(self, index: Any) -> None:
        """Raise TypeError for `del x[index]`."""
    def __eq__(self, other: Tensor | _float) -> Tensor:  # type: ignore[override]
        ...
    def __floordiv__(self, other: Tensor | _float) -> Tensor: ...
    def __ge__(self, other: Tensor | _float) -> Tensor:  # type: ignore[override]
        ...
    def __getitem__(self, index: Any) -> Tensor:
        """Return `x[index]`: a view for integers, slices, None and Ellipsis, a copy if tensors, lists or masks take part.

        Raises IndexError for indices out of range or too many, ValueError for slices with negative steps.
        """
    def __gt__(self, other: Tensor | _float) -> Tensor:  # type: ignore[override]
        ...
    def __iadd__(self, other: Tensor | _float) -> Tensor: ...
    def __iand__(self, other: Tensor | _float) -> Tensor: ...
    def __ifloordiv__(self, other: Tensor | _float) -> Tensor: ...
    def __ilshift__(self, other: Tensor | _float) -> Tensor: ...
    def __imod__(self, other: Tensor | _float) -> Tensor: ...
    def __imul__(self, other: Tensor | _float) -> Tensor: ...
    def __init__(self, *data: Any, device: device | str | _int | None = None) -> None:
        """Tensor(...): make a tensor of the default dtype, as PyTorch's legacy constructor does."""
    def __invert__(self) -> Tensor:
        """Compute `~x`: all bits inverted, for bools logical not."""
    def __ior__(self, other: Tensor | _float) -> Tensor: ...
    def __ipow__(self, other: Tensor | _float) -> Tensor: ...
    def __irshift__(self, other: Tensor | _float) -> Tensor: ...
    def __isub__(self, other: Tensor | _float) -> Tensor: ...
    def __itruediv__(self, other: Tensor | _float) -> Tensor: ...
    def __ixor__(self, other: Tensor | _float) -> Tensor: ...
    def __le__(self, other: Tensor | _float) -> Tensor:  # type: ignore[override]
        ...
    def __lshift__(self, other: Tensor | _float) -> Tensor: ...
    def __lt__(self, other: Tensor | _float) -> Tensor:  # type: ignore[override]
        ...
    def __matmul__(self, other: Tensor | _float) -> Tensor:
        """Compute `x @ y`."""
    def __mod__(self, other: Tensor | _float) -> Tensor: ...
    def __mul__(self, other: Tensor | _float) -> Tensor: ...
    def __ne__(self, other: Tensor | _float) -> Tensor:  # type: ignore[override]
        ...
    def __neg__(self) -> Tensor:
        """The negative."""
    def __or__(self, other: Tensor | _float) -> Tensor: ...
    def __pos__(self) -> Tensor:
        """Return `+x`: x itself.  Raises RuntimeError for bools."""
    def __pow__(self, other: Tensor | _float) -> Tensor: ...
    def __radd__(self, other: Tensor | _float) -> Tensor: ...
    def __rand__(self, other: Tensor | _float) -> Tensor: ...
    def __rfloordiv__(self, other: Tensor | _float) -> Tensor: ...
    def __rlshift__(self, other: Tensor | _float) -> Tensor: ...
    def __rmatmul__(self, other: Tensor | _float) -> Tensor:
        """Compute `y @ x` if Python asks the right operand."""
    def __rmod__(self, other: Tensor | _float) -> Tensor: ...
    def __rmul__(self, other: Tensor | _float) -> Tensor: ...
    def __ror__(self, other: Tensor | _float) -> Tensor: ...
    def __rpow__(self, other: Tensor | _float) -> Tensor: ...
    def __rrshift__(self, other: Tensor | _float) -> Tensor: ...
    def __rshift__(self, other: Tensor | _float) -> Tensor: ...
    def __rsub__(self, other: Tensor | _float) -> Tensor: ...
    def __rtruediv__(self, other: Tensor | _float) -> Tensor:
        """Compute `2 / x` as PyTorch does, x.reciprocal() * 2: x is not saved, so it may be modified afterwards."""
    def __rxor__(self, other: Tensor | _float) -> Tensor: ...
    def __setitem__(self, index: Any, value: Tensor | _float) -> None:
        """Write `x[index] = value`: value, a number or a tensor, is broadcast to the part and written in place."""
    def __sub__(self, other: Tensor | _float) -> Tensor: ...
    def __truediv__(self, other: Tensor | _float) -> Tensor: ...
    def __xor__(self, other: Tensor | _float) -> Tensor: ...
    def abs(self) -> Tensor:
        """The absolute value; its derivative at 0 is 0."""
    def abs_(self) -> Tensor:
        """In-place form of abs."""
    def absolute(self) -> Tensor:
        """The absolute value; its derivative at 0 is 0."""
    def absolute_(self) -> Tensor:
        """In-place form of absolute."""
    def acos(self) -> Tensor:
        """The angle in [0, pi] whose cosine is x; NaN outside [-1, 1]."""
    def acos_(self) -> Tensor:
        """In-place form of acos."""
    def acosh(self) -> Tensor:
        """Inverse hyperbolic cosine; NaN below 1."""
    def acosh_(self) -> Tensor:
        """In-place form of acosh."""
    def add(self, other: Tensor | _float, *, alpha: _float = 1) -> Tensor:
        """Add: input + alpha * other.  Raises RuntimeError for a float `alpha` with integer tensors."""
    def add_(self, other: Tensor | _float, *, alpha: _float = 1) -> Tensor:
        """In-place form of add."""
    def addbmm(self, batch1: Tensor, batch2: Tensor, *, beta: _float = 1, alpha: _float = 1) -> Tensor:
        """Return beta * input + alpha * the sum of bmm(batch1, batch2) over the batch."""
    def addbmm_(self, batch1: Tensor, batch2: Tensor, *, beta: _float = 1, alpha: _float = 1) -> Tensor:
        """In-place form of addbmm."""
    def addcdiv(self, tensor1: Tensor, tensor2: Tensor, *, value: Tensor | _float = 1) -> Tensor:
        """Return input + value * tensor1 / tensor2.  Raises RuntimeError if both tensors of the quotient are integers."""
    def addcdiv_(self, tensor1: Tensor, tensor2: Tensor, *, value: Tensor | _float = 1) -> Tensor:
        """In-place form of addcdiv."""
    def addcmul(self, tensor1: Tensor, tensor2: Tensor, *, value: Tensor | _float = 1) -> Tensor:
        """Return input + value * tensor1 * tensor2; `value` loses its fraction if all are integers."""
    def addcmul_(self, tensor1: Tensor, tensor2: Tensor, *, value: Tensor | _float = 1) -> Tensor:
        """In-place form of addcmul."""
    def addmm(self, mat1: Tensor, mat2: Tensor, *, beta: _float = 1, alpha: _float = 1) -> Tensor:
        """Return beta * input + alpha * (mat1 @ mat2); `input` is broadcast, and ignored if beta is 0 (NaNs do not spread)."""
    def addmm_(self, mat1: Tensor, mat2: Tensor, *, beta: _float = 1, alpha: _float = 1) -> Tensor:
        """In-place form of addmm."""
    def addmv(self, mat: Tensor, vec: Tensor, *, beta: _float = 1, alpha: _float = 1) -> Tensor:
        """Return beta * input + alpha * (mat @ vec)."""
    def addmv_(self, mat: Tensor, vec: Tensor, *, beta: _float = 1, alpha: _float = 1) -> Tensor:
        """In-place form of addmv."""
    def addr(self, vec1: Tensor, vec2: Tensor, *, beta: _float = 1, alpha: _float = 1) -> Tensor:
        """Return beta * input + alpha * outer(vec1, vec2)."""
    def addr_(self, vec1: Tensor, vec2: Tensor, *, beta: _float = 1, alpha: _float = 1) -> Tensor:
        """In-place form of addr."""
    def adjoint(self) -> Tensor:
        """Swap the last two dimensions (minigrad has no complex numbers to conjugate)."""
    def all(self, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False) -> Tensor:
        """Return True if no element is zero, of all or over the dimensions `dim`, as bool (uint8 stays uint8)."""
    def allclose(self, other: Tensor, rtol: _float = 1e-05, atol: _float = 1e-08, equal_nan: _bool = False) -> _bool:
        """Return True, a Python bool, if all elements are close in the sense of isclose."""
    def amax(self, dim: _int | Sequence[_int] = (), keepdim: _bool = False) -> Tensor:
        """Return the maximum of all elements, or over the dimensions `dim`; equal maxima share the gradient.

        Raises RuntimeError for an empty tensor without `dim`, IndexError for a dimension of size 0.
        """
    def amin(self, dim: _int | Sequence[_int] = (), keepdim: _bool = False) -> Tensor:
        """Return the minimum of all elements, or over the dimensions `dim`; equal minima share the gradient.

        Raises RuntimeError for an empty tensor without `dim`, IndexError for a dimension of size 0.
        """
    def aminmax(self, *, dim: _int | None = None, keepdim: _bool = False) -> Extremes:
        """Return the minimum and the maximum, of all elements or along a dimension."""
    def any(self, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False) -> Tensor:
        """Return True if any element is not zero, of all or over the dimensions `dim`, as bool (uint8 stays uint8)."""
    def arccos(self) -> Tensor:
        """The angle in [0, pi] whose cosine is x; NaN outside [-1, 1]."""
    def arccos_(self) -> Tensor:
        """In-place form of arccos."""
    def arccosh(self) -> Tensor:
        """Inverse hyperbolic cosine; NaN below 1."""
    def arccosh_(self) -> Tensor:
        """In-place form of arccosh."""
    def arcsin(self) -> Tensor:
        """The angle in [-pi/2, pi/2] whose sine is x; NaN outside [-1, 1]."""
    def arcsin_(self) -> Tensor:
        """In-place form of arcsin."""
    def arcsinh(self) -> Tensor:
        """Inverse hyperbolic sine."""
    def arcsinh_(self) -> Tensor:
        """In-place form of arcsinh."""
    def arctan(self) -> Tensor:
        """The angle in (-pi/2, pi/2) whose tangent is x."""
    def arctan2(self, other: Tensor | _float) -> Tensor:
        """The angle in [-pi, pi] of the point (other, input).  At (0, 0) its derivatives are 0."""
    def arctan2_(self, other: Tensor | _float) -> Tensor:
        """In-place form of arctan2."""
    def arctan_(self) -> Tensor:
        """In-place form of arctan."""
    def arctanh(self) -> Tensor:
        """Inverse hyperbolic tangent; NaN outside [-1, 1]."""
    def arctanh_(self) -> Tensor:
        """In-place form of arctanh."""
    def argmax(self, dim: _int | None = None, keepdim: _bool = False) -> Tensor:
        """Return the position of the first maximum, in the flattened tensor or along a dimension, as int64.  NaN counts as it.

        Raises IndexError for an empty tensor or a dimension of size 0.
        """
    def argmin(self, dim: _int | None = None, keepdim: _bool = False) -> Tensor:
        """Return the position of the first minimum, in the flattened tensor or along a dimension, as int64.  NaN counts as it.

        Raises IndexError for an empty tensor or a dimension of size 0.
        """
    def argsort(self, dim: _int = -1, descending: _bool = False, stable: _bool = False) -> Tensor:
        """Return the indices that sort a dimension."""
    def argwhere(self) -> Tensor:
        """Return the indices of the elements that are not zero, one row each."""
    def as_strided(
        self, size: _int | Sequence[_int], stride: _int | Sequence[_int], storage_offset: _int | None = None
    ) -> Tensor:
        """Return a view of the tensor's memory by sizes and strides, from `storage_offset` on (default: the tensor's offset).

        Raises RuntimeError if this leaves the memory.
        """
    def as_strided_(
        self, size: _int | Sequence[_int], stride: _int | Sequence[_int], storage_offset: _int | None = None
    ) -> Tensor:
        """In-place form of as_strided: change the shape of this tensor, not of others on its memory."""
    def asin(self) -> Tensor:
        """The angle in [-pi/2, pi/2] whose sine is x; NaN outside [-1, 1]."""
    def asin_(self) -> Tensor:
        """In-place form of asin."""
    def asinh(self) -> Tensor:
        """Inverse hyperbolic sine."""
    def asinh_(self) -> Tensor:
        """In-place form of asinh."""
    def atan(self) -> Tensor:
        """The angle in (-pi/2, pi/2) whose tangent is x."""
    def atan2(self, other: Tensor | _float) -> Tensor:
        """The angle in [-pi, pi] of the point (other, input).  At (0, 0) its derivatives are 0."""
    def atan2_(self, other: Tensor | _float) -> Tensor:
        """In-place form of atan2."""
    def atan_(self) -> Tensor:
        """In-place form of atan."""
    def atanh(self) -> Tensor:
        """Inverse hyperbolic tangent; NaN outside [-1, 1]."""
    def atanh_(self) -> Tensor:
        """In-place form of atanh."""
    def backward(
        self,
        gradient: Tensor | None = None,
        retain_graph: _bool | None = None,
        create_graph: _bool = False,
        inputs: Tensor | Sequence[Tensor] | None = None,
    ) -> None:
        """Add the gradients of this tensor to the `.grad` of the leaves it was computed from.

        `gradient` (of this tensor's shape) is needed unless it has one element.
        """
    def baddbmm(self, batch1: Tensor, batch2: Tensor, *, beta: _float = 1, alpha: _float = 1) -> Tensor:
        """Return beta * input + alpha * bmm(batch1, batch2)."""
    def baddbmm_(self, batch1: Tensor, batch2: Tensor, *, beta: _float = 1, alpha: _float = 1) -> Tensor:
        """In-place form of baddbmm."""
    def bernoulli(self, p: _float | None = None, *, generator: Generator | None = None) -> Tensor:
        """Draw 0 or 1 for each element of `input`, 1 with the probability in that element, or with probability p everywhere.

        Its gradient is zero.  Raises RuntimeError for probabilities outside [0, 1].
        """
    def bernoulli_(self, p: Tensor | _float = 0.5, *, generator: Generator | None = None) -> Tensor:
        """Fill with 0 and 1, 1 with probability p, a number or a tensor of probabilities."""
    def bfloat16(self, memory_format: memory_format | None = None) -> Tensor:
        """Convert the tensor to minigrad.bfloat16."""
    def bincount(self, weights: Tensor | None = None, minlength: _int = 0) -> Tensor:
        """Count each number from 0 on in a vector, or sum its weights; the result has at least `minlength` elements."""
    def bitwise_and(self, other: Tensor | _float) -> Tensor:
        """The bits that both have set; on bools, and."""
    def bitwise_and_(self, other: Tensor | _float) -> Tensor:
        """In-place form of bitwise_and."""
    def bitwise_left_shift(self, other: Tensor | _float) -> Tensor:
        """The bits shifted up: `input * 2**other`."""
    def bitwise_left_shift_(self, other: Tensor | _float) -> Tensor:
        """In-place form of bitwise_left_shift."""
    def bitwise_not(self) -> Tensor:
        """All bits inverted; on bools, not."""
    def bitwise_not_(self) -> Tensor:
        """In-place form of bitwise_not."""
    def bitwise_or(self, other: Tensor | _float) -> Tensor:
        """The bits that one or both have set; on bools, or."""
    def bitwise_or_(self, other: Tensor | _float) -> Tensor:
        """In-place form of bitwise_or."""
    def bitwise_right_shift(self, other: Tensor | _float) -> Tensor:
        """The bits shifted down, with the sign kept: `floor(input / 2**other)`."""
    def bitwise_right_shift_(self, other: Tensor | _float) -> Tensor:
        """In-place form of bitwise_right_shift."""
    def bitwise_xor(self, other: Tensor | _float) -> Tensor:
        """The bits that exactly one has set; on bools, exclusive or."""
    def bitwise_xor_(self, other: Tensor | _float) -> Tensor:
        """In-place form of bitwise_xor."""
    def bmm(self, mat2: Tensor) -> Tensor:
        """Return the products of two batches of matrices, (b, n, k) times (b, k, m).  Raises RuntimeError for anything else."""
    def bool(self, memory_format: memory_format | None = None) -> Tensor:
        """Convert the tensor to minigrad.bool."""
    def broadcast_to(self, *size: _int | Sequence[_int]) -> Tensor:
        """Expand the tensor to a shape; NumPy's name of `expand`."""
    def byte(self, memory_format: memory_format | None = None) -> Tensor:
        """Convert the tensor to minigrad.uint8."""
    def cauchy_(self, median: _float = 0.0, sigma: _float = 1.0, *, generator: Generator | None = None) -> Tensor:
        """Fill with numbers of a Cauchy distribution: the tangents of uniform angles, times `sigma`, around `median`."""
    def ceil(self) -> Tensor:
        """The smallest integer that is not below x."""
    def ceil_(self) -> Tensor:
        """In-place form of ceil."""
    def char(self, memory_format: memory_format | None = None) -> Tensor:
        """Convert the tensor to minigrad.int8."""
    def cholesky(self, upper: _bool = False) -> Tensor:
        """Return the Cholesky factor of each symmetric positive-definite matrix (see linalg.cholesky)."""
    def cholesky_inverse(self, upper: _bool = False) -> Tensor:
        """Return the inverse of the matrix with the given Cholesky factor.  Raises LinAlgError for a singular factor."""
    def cholesky_solve(self, L: Tensor, upper: _bool = False) -> Tensor:
        """Return the solution X of A X = input, given A's Cholesky factor L (A = L L^T, or with upper=True A = L^T L)."""
    def chunk(self, chunks: _int, dim: _int = 0) -> tuple[Tensor, ...]:
        """Cut a dimension into `chunks` parts of equal size, the last smaller, or into fewer; return a tuple of views."""
    def clamp(self, min: Tensor | _float | None = None, max: Tensor | _float | None = None) -> Tensor:
        """Clamp the elements to [`min`, `max`] (numbers or tensors, one may be missing); `max` wins if min > max.

        The gradient is 0 outside the range, and 1 inside and at its bounds.  Raises RuntimeError if both are missing.
        """
    def clamp_(self, min: Tensor | _float | None = None, max: Tensor | _float | None = None) -> Tensor:
        """In-place form of clamp."""
    def clamp_max(self, max: Tensor | _float) -> Tensor:
        """Clamp the elements to at most `max`."""
    def clamp_max_(self, max: Tensor | _float) -> Tensor:
        """In-place form of clamp_max."""
    def clamp_min(self, min: Tensor | _float) -> Tensor:
        """Clamp the elements to at least `min`."""
    def clamp_min_(self, min: Tensor | _float) -> Tensor:
        """In-place form of clamp_min."""
    def clip(self, min: Tensor | _float | None = None, max: Tensor | _float | None = None) -> Tensor:
        """Clamp the elements to [`min`, `max`] (numbers or tensors, one may be missing); `max` wins if min > max.

        The gradient is 0 outside the range, and 1 inside and at its bounds.  Raises RuntimeError if both are missing.
        """
    def clip_(self, min: Tensor | _float | None = None, max: Tensor | _float | None = None) -> Tensor:
        """In-place form of clip."""
    def clone(self, *, memory_format: memory_format | None = None) -> Tensor:
        """Copy the tensor into separate memory, tracked: the gradient flows on to `input`."""
    def contiguous(self, memory_format: memory_format | None = None) -> Tensor:
        """Return the tensor itself if its memory is row-major without gaps (or in the memory format), else a copy that is."""
    def copy_(self, src: Tensor | _float, non_blocking: _bool = False) -> Tensor:
        """Write `src`, broadcast and converted, into this tensor's memory; see `to` for `non_blocking`."""
    def copysign(self, other: Tensor | _float) -> Tensor:
        """The absolute value of input with the sign of other, even of a zero.  At input = 0 the derivative is 0."""
    def copysign_(self, other: Tensor | _float) -> Tensor:
        """In-place form of copysign."""
    def corrcoef(self) -> Tensor:
        """Return Pearson's correlations of variables, the rows, over observations: covariances over both standard deviations."""
    def cos(self) -> Tensor:
        """Cosine of x in radians."""
    def cos_(self) -> Tensor:
        """In-place form of cos."""
    def cosh(self) -> Tensor:
        """Hyperbolic cosine."""
    def cosh_(self) -> Tensor:
        """In-place form of cosh."""
    def count_nonzero(self, dim: _int | Sequence[_int] | None = None) -> Tensor:
        """Return the number of elements that are not zero, in all or over the dimensions `dim`, as int64."""
    def cov(self, *, correction: _int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None) -> Tensor:
        """Return the covariances of variables, the rows, over observations, the columns; for a vector its variance.

        `fweights` are integers, the number of times each observation counts, `aweights` its importance.  Squared distances from
        the mean are divided by the number of observations less `correction`.  Raises RuntimeError for more than two dimensions,
        bools, and weights of another dtype, of another number or below 0.
        """
    def cpu(self) -> Tensor:
        """Return the tensor in CPU memory: itself, if it is there."""
    def cross(self, other: Tensor, dim: _int | None = None) -> Tensor:
        """Return the vector product along `dim`, by default the first dimension of size 3; raise RuntimeError if none exists."""
    def cuda(self, device: device | str | _int | None = None, non_blocking: _bool = False) -> Tensor:
        """Return the tensor in GPU memory; see `to` for `non_blocking`."""
    def cummax(self, dim: _int) -> Selected:
        """Return the running maxima along a dimension, `values`, and their positions, `indices`: the latest of equal ones."""
    def cummin(self, dim: _int) -> Selected:
        """Return the running minima along a dimension, `values`, and their positions, `indices`: the latest of equal ones."""
    def cumprod(self, dim: _int, *, dtype: dtype | None = None) -> Tensor:
        """Return the running products along a dimension; integers and bools are multiplied as int64."""
    def cumprod_(self, dim: _int, *, dtype: dtype | None = None) -> Tensor:
        """In-place form of cumprod."""
    def cumsum(self, dim: _int, *, dtype: dtype | None = None) -> Tensor:
        """Return the running sums along a dimension; integers and bools are summed as int64."""
    def cumsum_(self, dim: _int, *, dtype: dtype | None = None) -> Tensor:
        """In-place form of cumsum."""
    def deg2rad(self) -> Tensor:
        """Degrees to radians."""
    def deg2rad_(self) -> Tensor:
        """In-place form of deg2rad."""
    def det(self) -> Tensor:
        """Return the determinant of each matrix of a batch (..., n, n).

        Its gradient, the cofactors, exists for singular ones too.  Raises RuntimeError for matrices that are not square.
        """
    def diag(self, diagonal: _int = 0) -> Tensor:
        """Return a matrix with a vector as its diagonal, or the diagonal of a matrix as a vector (a copy)."""
    def diag_embed(self, offset: _int = 0, dim1: _int = -2, dim2: _int = -1) -> Tensor:
        """Return zeros with the last dimension of `input` as the diagonal of the planes of two new dimensions."""
    def diagflat(self, offset: _int = 0) -> Tensor:
        """Return a matrix with all elements as its diagonal."""
    def diagonal(self, offset: _int = 0, dim1: _int = 0, dim2: _int = 1) -> Tensor:
        """Return the diagonal of the planes of two dimensions, as a view with it last; offset > 0 is above the main one."""
    def diagonal_scatter(self, src: Tensor, offset: _int = 0, dim1: _int = 0, dim2: _int = 1) -> Tensor:
        """Return a copy of `input` with a diagonal of two dimensions replaced by `src`.

        Raises RuntimeError if `src` does not have the diagonal's shape.
        """
    def diff(self, n: _int = 1, dim: _int = -1, prepend: Tensor | None = None, append: Tensor | None = None) -> Tensor:
        """Return the n-th differences of neighbours along a dimension, after joining `prepend` before it and `append` after it.

        For bools the result is True where neighbours differ.  Raises RuntimeError for 0-d tensors and negative n.
        """
    def digamma(self) -> Tensor:
        """Derivative of lgamma."""
    def digamma_(self) -> Tensor:
        """In-place form of digamma."""
    def dist(self, other: Tensor, p: _float = 2) -> Tensor:
        """Return the p-norm of `input - other`, which are broadcast."""
    def div(self, other: Tensor | _float, *, rounding_mode: str | None = None) -> Tensor:
        """Return the quotient, a float for integers too; with `rounding_mode` "floor" or "trunc" rounded, in the operands' dtype.

        Raises RuntimeError for other rounding modes, and for a rounded integer division by 0.
        """
    def div_(self, other: Tensor | _float, *, rounding_mode: str | None = None) -> Tensor:
        """In-place form of div."""
    def divide(self, other: Tensor | _float, *, rounding_mode: str | None = None) -> Tensor:
        """Return the quotient, a float for integers too; with `rounding_mode` "floor" or "trunc" rounded, in the operands' dtype.

        Raises RuntimeError for other rounding modes, and for a rounded integer division by 0.
        """
    def divide_(self, other: Tensor | _float, *, rounding_mode: str | None = None) -> Tensor:
        """In-place form of divide."""
    def dot(self, tensor: Tensor) -> Tensor:
        """Return the scalar product of two vectors of equal size, as a 0-d tensor.  Raises RuntimeError for other ranks."""
    def double(self, memory_format: memory_format | None = None) -> Tensor:
        """Convert the tensor to minigrad.float64."""
    def eq(self, other: Tensor | _float) -> Tensor:
        """input == other, elementwise; NaN equals nothing."""
    def eq_(self, other: Tensor | _float) -> Tensor:
        """In-place form of eq."""
    def equal(self, other: Tensor) -> _bool:
        """Return True, a Python bool, if two tensors have the same shape and equal elements."""
    def erf(self) -> Tensor:
        """The error function: 2 / sqrt(pi) times the integral of exp(-t*t) from 0 to x."""
    def erf_(self) -> Tensor:
        """In-place form of erf."""
    def erfc(self) -> Tensor:
        """1 - erf(x), accurate where erf is close to 1 too."""
    def erfc_(self) -> Tensor:
        """In-place form of erfc."""
    def erfinv(self) -> Tensor:
        """The inverse of the error function; infinite at -1 and 1, NaN beyond."""
    def erfinv_(self) -> Tensor:
        """In-place form of erfinv."""
    def exp(self) -> Tensor:
        """e to the power of x."""
    def exp2(self) -> Tensor:
        """2 to the power of x."""
    def exp2_(self) -> Tensor:
        """In-place form of exp2."""
    def exp_(self) -> Tensor:
        """In-place form of exp."""
    def expand(self, *size: _int | Sequence[_int]) -> Tensor:
        """Repeat dimensions of size 1 to the given size, and add new ones in front, without copying; -1 keeps a size."""
    def expand_as(self, other: Tensor) -> Tensor:
        """Broadcast `input` to the shape of `other`, without copying."""
    def expm1(self) -> Tensor:
        """exp(x) - 1, accurate for small x too."""
    def expm1_(self) -> Tensor:
        """In-place form of expm1."""
    def exponential_(self, lambd: _float = 1.0, *, generator: Generator | None = None) -> Tensor:
        """Fill with exponentially distributed numbers of rate `lambd`."""
    def fill_(self, value: Tensor | _float) -> Tensor:
        """Write one value into every element."""
    def fill_diagonal_(self, fill_value: Tensor | _float, wrap: _bool = False) -> Tensor:
        """Write one value into the main diagonal; `wrap` continues it after each square of a tall matrix.

        Raises RuntimeError for fewer than 2 dimensions, and for more unless all have the same size.
        """
    def fix(self) -> Tensor:
        """x rounded towards zero."""
    def fix_(self) -> Tensor:
        """In-place form of fix."""
    def flatten(self, start_dim: _int = 0, end_dim: _int = -1) -> Tensor:
        """Merge the dimensions from `start_dim` to `end_dim`; a 0-d tensor gets shape (1,)."""
    def flip(self, *dims: _int | Sequence[_int]) -> Tensor:
        """Return the elements in reverse order along dimensions, as a copy."""
    def fliplr(self) -> Tensor:
        """Return the columns (second dimension) in reverse order."""
    def flipud(self) -> Tensor:
        """Return the rows (first dimension) in reverse order."""
    def float(self, memory_format: memory_format | None = None) -> Tensor:
        """Convert the tensor to minigrad.float32."""
    def float_power(self, exponent: Tensor | _float) -> Tensor:
        """Raise input to the power of exponent in float64, whatever their dtypes."""
    def float_power_(self, exponent: Tensor | _float) -> Tensor:
        """In-place form of float_power, for tensors of float64."""
    def floor(self) -> Tensor:
        """The largest integer that is not above x."""
    def floor_(self) -> Tensor:
        """In-place form of floor."""
    def floor_divide(self, other: Tensor | _float) -> Tensor:
        """Return the quotient rounded down.  Raises RuntimeError for an integer division by 0, except on a GPU."""
    def floor_divide_(self, other: Tensor | _float) -> Tensor:
        """In-place form of floor_divide."""
    def fmax(self, other: Tensor | _float) -> Tensor:
        """The larger element; if one is NaN, the other.  Of equal elements the first gets the gradient."""
    def fmin(self, other: Tensor | _float) -> Tensor:
        """The smaller element; if one is NaN, the other.  Of equal elements the first gets the gradient."""
    def fmod(self, other: Tensor | _float) -> Tensor:
        """Remainder of input after division rounded towards zero, with the sign of input, as in C."""
    def fmod_(self, other: Tensor | _float) -> Tensor:
        """In-place form of fmod."""
    def frac(self) -> Tensor:
        """The fractional part of x, with the sign of x."""
    def frac_(self) -> Tensor:
        """In-place form of frac."""
    def gather(self, dim: _int, index: Tensor, *, sparse_grad: _bool = False) -> Tensor:
        """Return the elements at `index` along `dim`, in index's shape: for dim=0, out[i, j] = input[index[i, j], j].

        Raises RuntimeError for indices out of range (negative ones are), or with another number of dimensions.
        """
    def gcd(self, other: Tensor | _float) -> Tensor:
        """The greatest common divisor of two integers; 0 for two zeros."""
    def gcd_(self, other: Tensor | _float) -> Tensor:
        """In-place form of gcd."""
    def ge(self, other: Tensor | _float) -> Tensor:
        """input >= other, elementwise."""
    def ge_(self, other: Tensor | _float) -> Tensor:
        """In-place form of ge."""
    def geometric_(self, p: _float, *, generator: Generator | None = None) -> Tensor:
        """Fill with numbers of trials up to the first success, which has probability p."""
    def ger(self, vec2: Tensor) -> Tensor:
        """Return the matrix of all products of two vectors' elements, (n, m).  Raises RuntimeError for other ranks."""
    def get_device(self) -> _int:
        """Return the index of the tensor's GPU, or -1 for the CPU."""
    def greater(self, other: Tensor | _float) -> Tensor:
        """input > other, elementwise."""
    def greater_(self, other: Tensor | _float) -> Tensor:
        """In-place form of greater."""
    def greater_equal(self, other: Tensor | _float) -> Tensor:
        """input >= other, elementwise."""
    def greater_equal_(self, other: Tensor | _float) -> Tensor:
        """In-place form of greater_equal."""
    def gt(self, other: Tensor | _float) -> Tensor:
        """input > other, elementwise."""
    def gt_(self, other: Tensor | _float) -> Tensor:
        """In-place form of gt."""
    def half(self, memory_format: memory_format | None = None) -> Tensor:
        """Convert the tensor to minigrad.float16."""
    def hardshrink(self, lambd: _float = 0.5) -> Tensor:
        """x, but 0 where |x| <= lambd; the derivative there is 0."""
    def heaviside(self, values: Tensor) -> Tensor:
        """Return the step from 0 to 1 at 0, where it is `values`.  Raises RuntimeError for two dtypes."""
    def heaviside_(self, values: Tensor) -> Tensor:
        """In-place form of heaviside."""
    def histc(self, bins: _int = 100, min: _float = 0, max: _float = 0) -> Tensor:
        """Count the elements in each of `bins` equal parts of [min, max], or of the input's range if both are 0."""
    def hypot(self, other: Tensor | _float) -> Tensor:
        """Length of the hypotenuse, sqrt(x*x + y*y), without intermediate overflow."""
    def hypot_(self, other: Tensor | _float) -> Tensor:
        """In-place form of hypot."""
    def i0(self) -> Tensor:
        """The modified Bessel function of the first kind and order 0."""
    def i0_(self) -> Tensor:
        """In-place form of i0."""
    def index_add(self, dim: _int, index: Tensor, source: Tensor, *, alpha: _float = 1) -> Tensor:
        """Add alpha times the slices of `source` to `input` at the indices along `dim`; repeated indices add up."""
    def index_add_(self, dim: _int, index: Tensor, source: Tensor, *, alpha: _float = 1) -> Tensor:
        """In-place form of index_add."""
    def index_copy(self, dim: _int, index: Tensor, source: Tensor) -> Tensor:
        """Write the slices of `source` into `input` at the indices along `dim`."""
    def index_copy_(self, dim: _int, index: Tensor, source: Tensor) -> Tensor:
        """In-place form of index_copy."""
    def index_fill(self, dim: _int, index: Tensor, value: Tensor | _float) -> Tensor:
        """Write one value, a number or a 0-d tensor, into `input` at the indices along `dim`."""
    def index_fill_(self, dim: _int, index: Tensor, value: Tensor | _float) -> Tensor:
        """In-place form of index_fill."""
    def index_put(
        self, indices: Sequence[Tensor | _int | slice | None], values: Tensor, accumulate: _bool = False
    ) -> Tensor:
        """Set input[indices] = values; with `accumulate` add them, where repeated indices add up."""
    def index_put_(
        self, indices: Sequence[Tensor | _int | slice | None], values: Tensor, accumulate: _bool = False
    ) -> Tensor:
        """In-place form of index_put."""
    def index_reduce(
        self, dim: _int, index: Tensor, source: Tensor, reduce: str, *, include_self: _bool = True
    ) -> Tensor:
        """Combine the slices of `source` with `input` at the indices along `dim`, by "prod", "mean", "amax" or "amin".

        With include_self=False the old values do not take part.
        """
    def index_reduce_(
        self, dim: _int, index: Tensor, source: Tensor, reduce: str, *, include_self: _bool = True
    ) -> Tensor:
        """In-place form of index_reduce."""
    def index_select(self, dim: _int, index: Tensor) -> Tensor:
        """Return the slices of `input` at the indices along `dim`, as a copy.  Raises IndexError for indices out of range."""
    def inner(self, other: Tensor) -> Tensor:
        """Return the scalar products of all vectors along the last dimensions: (..., k) and (---, k) give (..., ---)."""
    def int(self, memory_format: memory_format | None = None) -> Tensor:
        """Convert the tensor to minigrad.int32."""
    def inverse(self) -> Tensor:
        """Return the inverse of each square matrix of a batch (..., n, n).

        Raises LinAlgError for a singular one, and names it; RuntimeError for matrices that are not square.
        """
    def is_nonzero(self) -> _bool:
        """Return True if the single element of `input` is not zero.  Raises RuntimeError for another number of elements."""
    def is_same_size(self, other: Tensor) -> _bool:
        """Return True if the two shapes are equal."""
    def isclose(
        self, other: Tensor | _float, rtol: _float = 1e-05, atol: _float = 1e-08, equal_nan: _bool = False
    ) -> Tensor:
        """Return True where |input - other| <= atol + rtol * |other|; infinities are close to themselves, NaN with `equal_nan`.

        Raises RuntimeError for different dtypes and for negative tolerances.
        """
    def isfinite(self) -> Tensor:
        """True where an element is neither infinite nor NaN."""
    def isinf(self) -> Tensor:
        """True where an element is infinite, of either sign."""
    def isnan(self) -> Tensor:
        """True where an element is NaN."""
    def isneginf(self) -> Tensor:
        """True where an element is -inf."""
    def isposinf(self) -> Tensor:
        """True where an element is inf."""
    def isreal(self) -> Tensor:
        """True everywhere: there are no complex tensors."""
    def isreal_(self) -> Tensor:
        """In-place form of isreal."""
    def kron(self, other: Tensor) -> Tensor:
        """Return the Kronecker product: each element of `input` becomes a block, its product with the whole of `other`."""
    def kthvalue(self, k: _int, dim: _int = -1, keepdim: _bool = False) -> Selected:
        """Return (value, index) of the k-th smallest element of a dimension, counted from 1."""
    def lcm(self, other: Tensor | _float) -> Tensor:
        """The least common multiple of two integers; 0 if one of them is 0."""
    def lcm_(self, other: Tensor | _float) -> Tensor:
        """In-place form of lcm."""
    def le(self, other: Tensor | _float) -> Tensor:
        """input <= other, elementwise."""
    def le_(self, other: Tensor | _float) -> Tensor:
        """In-place form of le."""
    def lerp(self, end: Tensor, weight: Tensor | _float) -> Tensor:
        """Interpolate between `input` and `end`: input + weight * (end - input).  Raises RuntimeError for different dtypes."""
    def lerp_(self, end: Tensor, weight: Tensor | _float) -> Tensor:
        """In-place form of lerp."""
    def less(self, other: Tensor | _float) -> Tensor:
        """input < other, elementwise."""
    def less_(self, other: Tensor | _float) -> Tensor:
        """In-place form of less."""
    def less_equal(self, other: Tensor | _float) -> Tensor:
        """input <= other, elementwise."""
    def less_equal_(self, other: Tensor | _float) -> Tensor:
        """In-place form of less_equal."""
    def lgamma(self) -> Tensor:
        """Logarithm of the absolute value of the gamma function; infinite at 0, -1, -2, ..."""
    def lgamma_(self) -> Tensor:
        """In-place form of lgamma."""
    def log(self) -> Tensor:
        """Natural logarithm."""
    def log10(self) -> Tensor:
        """Logarithm to base 10."""
    def log10_(self) -> Tensor:
        """In-place form of log10."""
    def log1p(self) -> Tensor:
        """log(1 + x), accurate for small x too."""
    def log1p_(self) -> Tensor:
        """In-place form of log1p."""
    def log2(self) -> Tensor:
        """Logarithm to base 2."""
    def log2_(self) -> Tensor:
        """In-place form of log2."""
    def log_(self) -> Tensor:
        """In-place form of log."""
    def log_normal_(self, mean: _float = 1.0, std: _float = 2.0, *, generator: Generator | None = None) -> Tensor:
        """Fill with numbers whose logarithms are normal, with this mean and standard deviation."""
    def log_softmax(self, dim: _int | None = None, dtype: dtype | None = None) -> Tensor:
        """Return the logarithm of softmax, computed without softmax itself: finite even where softmax underflows to 0.

        `dtype` converts the input first.  Without `dim`, a warning names the dimension used.  Raises NotImplementedError for
        integers without `dtype`.
        """
    def logaddexp(self, other: Tensor | _float) -> Tensor:
        """log(exp(x) + exp(y)), without intermediate overflow."""
    def logaddexp2(self, other: Tensor | _float) -> Tensor:
        """log2(2**x + 2**y), without intermediate overflow."""
    def logcumsumexp(self, dim: _int) -> Tensor:
        """Return log(cumsum(exp(input))) along a dimension, without overflow.

        Raises NotImplementedError for integers, as PyTorch does.
        """
    def logdet(self) -> Tensor:
        """Return the logarithm of each matrix's determinant: NaN if it is negative, -inf if it is 0."""
    def logical_and(self, other: Tensor | _float) -> Tensor:
        """True where both elements are true (not 0)."""
    def logical_and_(self, other: Tensor | _float) -> Tensor:
        """In-place form of logical_and."""
    def logical_not(self) -> Tensor:
        """True where the element is false (0)."""
    def logical_not_(self) -> Tensor:
        """In-place form of logical_not."""
    def logical_or(self, other: Tensor | _float) -> Tensor:
        """True where one of the elements, or both, is true (not 0)."""
    def logical_or_(self, other: Tensor | _float) -> Tensor:
        """In-place form of logical_or."""
    def logical_xor(self, other: Tensor | _float) -> Tensor:
        """True where exactly one of the elements is true (not 0)."""
    def logical_xor_(self, other: Tensor | _float) -> Tensor:
        """In-place form of logical_xor."""
    def logit(self, eps: _float | None = None) -> Tensor:
        """Return log(x / (1 - x)), the inverse of sigmoid: NaN outside [0, 1], unless `eps` clamps x to [eps, 1 - eps] first."""
    def logit_(self, eps: _float | None = None) -> Tensor:
        """In-place form of logit."""
    def logsumexp(self, dim: _int | Sequence[_int], keepdim: _bool = False) -> Tensor:
        """Return log(sum(exp(input))) over the dimensions `dim`, without overflow; -inf for an empty sum.

        Integers are converted to the default dtype.
        """
    def long(self, memory_format: memory_format | None = None) -> Tensor:
        """Convert the tensor to minigrad.int64."""
    def lt(self, other: Tensor | _float) -> Tensor:
        """input < other, elementwise."""
    def lt_(self, other: Tensor | _float) -> Tensor:
        """In-place form of lt."""
    @property
    def mH(self) -> Tensor:
        """`.mT`: the last two dimensions swapped, as a view."""
    @property
    def mT(self) -> Tensor:
        """`.mT`: the last two dimensions swapped, as a view."""
    def masked_fill(self, mask: Tensor, value: Tensor | _float) -> Tensor:
        """Replace elements where `mask` holds by one value, a number or a 0-d tensor; input and mask are broadcast."""
    def masked_fill_(self, mask: Tensor, value: Tensor | _float) -> Tensor:
        """In-place form of masked_fill."""
    def masked_scatter(self, mask: Tensor, source: Tensor) -> Tensor:
        """Replace elements where `mask` holds by the elements of `source`, in order."""
    def masked_scatter_(self, mask: Tensor, source: Tensor) -> Tensor:
        """In-place form of masked_scatter."""
    def masked_select(self, mask: Tensor) -> Tensor:
        """Return the elements where `mask` holds, in one dimension; input and mask are broadcast."""
    def matmul(self, other: Tensor) -> Tensor:
        """Return the matrix product, `x @ y`.

        Two vectors give their scalar product; a matrix and a vector, or a vector and a matrix, a vector; otherwise the last
        two dimensions are matrices, and the others are broadcast.  Raises RuntimeError for different inner sizes, for 0-d
        tensors and for two dtypes.
        """
    def matrix_exp(self) -> Tensor:
        """Return the exponential of each square matrix, I + A + A @ A / 2 + A @ A @ A / 6 + ..."""
    def matrix_power(self, n: _int) -> Tensor:
        """Raise each square matrix to an integer power by repeated squaring; a negative power inverts first."""
    @overload
    def max(self) -> Tensor:
        """Return the maximum of all elements; with `dim` the maxima along it and their positions, `(values, indices)`.

        With another tensor, return the larger of each pair of elements.

        NaN counts as the largest.  Of several equal maxima `indices` has the first, which gets the gradient; without `dim` they
        share it evenly.  Raises RuntimeError for an empty tensor, IndexError for a dimension of size 0.
        """
    @overload
    def max(self, dim: _int, keepdim: _bool = False) -> Selected: ...
    @overload
    def max(self, other: Tensor) -> Tensor: ...
    def maximum(self, other: Tensor | _float) -> Tensor:
        """The larger element; NaN if one is NaN.  Equal elements get half of the gradient each."""
    def mean(
        self, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, dtype: dtype | None = None
    ) -> Tensor:
        """Return the mean of all elements, or over the dimensions `dim`; NaN for no elements.

        Raises RuntimeError for integers and bools, unless `dtype` is a floating-point one.
        """
    @overload
    def median(self) -> Tensor:
        """Return the median (the lower one of an even number); with `dim`, medians and positions along it: `(values, indices)`.

        NaN if an element is NaN, or if there are none.  Raises IndexError for a dimension of size 0.
        """
    @overload
    def median(self, dim: _int, keepdim: _bool = False) -> Selected: ...
    @overload
    def min(self) -> Tensor:
        """Return the minimum of all elements; with `dim` the minima along it and their positions, `(values, indices)`.

        With another tensor, return the smaller of each pair of elements.  All else is as in `max`.
        """
    @overload
    def min(self, dim: _int, keepdim: _bool = False) -> Selected: ...
    @overload
    def min(self, other: Tensor) -> Tensor: ...
    def minimum(self, other: Tensor | _float) -> Tensor:
        """The smaller element; NaN if one is NaN.  Equal elements get half of the gradient each."""
    def mm(self, mat2: Tensor) -> Tensor:
        """Return the product of two matrices, (n, k) times (k, m).  Raises RuntimeError for anything else."""
    def mode(self, dim: _int = -1, keepdim: _bool = False) -> Selected:
        """Return the most frequent values along a dimension, and their positions: `(values, indices)`.

        Of equally frequent values it is the smallest.  Raises IndexError for a dimension of size 0.
        """
    def moveaxis(self, source: _int | Sequence[_int], destination: _int | Sequence[_int]) -> Tensor:
        """Move the dimensions `source` to the positions `destination`; the others keep their order.  A view."""
    def movedim(self, source: _int | Sequence[_int], destination: _int | Sequence[_int]) -> Tensor:
        """Move the dimensions `source` to the positions `destination`; the others keep their order.  A view."""
    def msort(self) -> Tensor:
        """Sort the first dimension."""
    def mul(self, other: Tensor | _float) -> Tensor:
        """Product of two tensors, element by element."""
    def mul_(self, other: Tensor | _float) -> Tensor:
        """In-place form of mul."""
    def multinomial(
        self, num_samples: _int, replacement: _bool = False, *, generator: Generator | None = None
    ) -> Tensor:
        """Draw `num_samples` positions in each row of `input`, with its elements as weights, as int64.

        Raises RuntimeError for weights that are negative, infinite or all zero, and for more samples than a row has
        positions (unless `replacement`).
        """
    def multiply(self, other: Tensor | _float) -> Tensor:
        """Product of two tensors, element by element."""
    def multiply_(self, other: Tensor | _float) -> Tensor:
        """In-place form of multiply."""
    def mv(self, vec: Tensor) -> Tensor:
        """Return the product of a matrix (n, k) and a vector (k).  Raises RuntimeError for anything else."""
    def mvlgamma(self, p: _int) -> Tensor:
        """Return the logarithm of the gamma function of p dimensions, which normalizes Wishart's distribution: the sum over
        i < p of lgamma(x - i/2), plus p * (p-1) / 4 * log(pi).

        Raises RuntimeError for p < 1.
        """
    def mvlgamma_(self, p: _int) -> Tensor:
        """In-place form of mvlgamma."""
    def nan_to_num(self, nan: _float = 0.0, posinf: _float | None = None, neginf: _float | None = None) -> Tensor:
        """Replace NaN and infinities: by 0 and the largest and smallest number of the dtype, or by given numbers."""
    def nan_to_num_(self, nan: _float = 0.0, posinf: _float | None = None, neginf: _float | None = None) -> Tensor:
        """In-place form of nan_to_num."""
    def nanmean(
        self, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, dtype: dtype | None = None
    ) -> Tensor:
        """Return the mean of the elements that are not NaN, of all or over the dimensions `dim`; NaN if all are NaN."""
    @overload
    def nanmedian(self) -> Tensor:
        """Return the median of the elements that are not NaN, otherwise like `median`."""
    @overload
    def nanmedian(self, dim: _int, keepdim: _bool = False) -> Selected: ...
    def nanquantile(
        self,
        q: Tensor | _float | Sequence[_float],
        dim: _int | None = None,
        keepdim: _bool = False,
        *,
        interpolation: str = "linear",
    ) -> Tensor:
        """Return the q-quantiles of the elements that are not NaN, otherwise like `quantile`."""
    def nansum(
        self, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, dtype: dtype | None = None
    ) -> Tensor:
        """Return the sum of the elements that are not NaN, of all or over the dimensions `dim`."""
    def narrow(self, dim: _int, start: _int, length: _int) -> Tensor:
        """Return `length` slices of a dimension from `start` on, as a view."""
    def ne(self, other: Tensor | _float) -> Tensor:
        """input != other, elementwise."""
    def ne_(self, other: Tensor | _float) -> Tensor:
        """In-place form of ne."""
    def neg(self) -> Tensor:
        """The negative."""
    def neg_(self) -> Tensor:
        """In-place form of neg."""
    def negative(self) -> Tensor:
        """The negative."""
    def negative_(self) -> Tensor:
        """In-place form of negative."""
    def new(self, *data: Any, device: device | str | _int | None = None) -> Tensor:
        """Return a tensor of this one's dtype from sizes or from data, as FloatTensor and the others do."""
    def new_empty(
        self,
        *args: _int | Sequence[_int],
        size: _int | Sequence[_int] | None = None,
        dtype: dtype | None = None,
        device: device | str | _int | None = None,
        requires_grad: _bool = False,
        pin_memory: _bool = False,
    ) -> Tensor:
        """Return a tensor of the given size with unset elements, of this tensor's dtype unless another is given."""
    def new_full(
        self,
        size: _int | Sequence[_int],
        fill_value: Tensor | _float,
        *,
        dtype: dtype | None = None,
        device: device | str | _int | None = None,
        requires_grad: _bool = False,
        pin_memory: _bool = False,
    ) -> Tensor:
        """Return a tensor of the given size filled with `fill_value`, of this tensor's dtype unless another is given."""
    def new_ones(
        self,
        *args: _int | Sequence[_int],
        size: _int | Sequence[_int] | None = None,
        dtype: dtype | None = None,
        device: device | str | _int | None = None,
        requires_grad: _bool = False,
        pin_memory: _bool = False,
    ) -> Tensor:
        """Return a tensor of the given size with ones, of this tensor's dtype unless another is given."""
    def new_tensor(
        self,
        data: Any,
        *,
        dtype: dtype | None = None,
        device: device | str | _int | None = None,
        requires_grad: _bool = False,
    ) -> Tensor:
        """Return a new leaf with a copy of `data`, of this tensor's dtype unless another is given."""
    def new_zeros(
        self,
        *args: _int | Sequence[_int],
        size: _int | Sequence[_int] | None = None,
        dtype: dtype | None = None,
        device: device | str | _int | None = None,
        requires_grad: _bool = False,
        pin_memory: _bool = False,
    ) -> Tensor:
        """Return a tensor of the given size with zeros, of this tensor's dtype unless another is given."""
    @overload
    def nonzero(self, *, as_tuple: Literal[False] = False) -> Tensor:
        """Return the indices of the elements that are not zero, one row each; with `as_tuple` one tensor per dimension."""
    @overload
    def nonzero(self, *, as_tuple: Literal[True]) -> tuple[Tensor, ...]: ...
    @overload
    def nonzero(self, *, as_tuple: _bool = False) -> Any: ...
    def norm(
        self,
        p: _float | str = "fro",
        dim: _int | Sequence[_int] | None = None,
        keepdim: _bool = False,
        *,
        dtype: dtype | None = None,
    ) -> Tensor:
        """Return the vector norm `(sum |x|**p)**(1/p)` of all elements, or over the dimensions `dim`.

        `p` is a number, or "fro" for 2; inf and -inf give the largest and smallest |x|, 0 the number of non-zero elements,
        "nuc" the nuclear norm of matrices.
        Raises RuntimeError for integers, and for norms that are undefined for an empty tensor.
        """
    def normal_(self, mean: _float = 0.0, std: _float = 1.0, *, generator: Generator | None = None) -> Tensor:
        """Fill with normal numbers."""
    def not_equal(self, other: Tensor | _float) -> Tensor:
        """input != other, elementwise."""
    def not_equal_(self, other: Tensor | _float) -> Tensor:
        """In-place form of not_equal."""
    def outer(self, vec2: Tensor) -> Tensor:
        """Return the matrix of all products of two vectors' elements, (n, m).  Raises RuntimeError for other ranks."""
    def permute(self, *dims: _int | Sequence[_int]) -> Tensor:
        """Return the dimensions in the given order, as a view."""
    def pin_memory(self, device: device | str | _int | None = None) -> Tensor:
        """Return a copy in pinned memory, which a GPU reads faster and without waiting; the tensor itself if it is pinned.

        Raises RuntimeError if there is no GPU, or if the tensor is not on the CPU.
        """
    def pinverse(self, rcond: _float = 1e-15) -> Tensor:
        """Return the pseudo-inverse (see linalg.pinv)."""
    def polygamma(self, n: Any) -> Tensor: ...
    def polygamma_(self, n: _int) -> Tensor:
        """In-place form of polygamma."""
    def positive(self) -> Tensor:
        """Return `+x`: x itself.  Raises RuntimeError for bools."""
    def pow(self, exponent: Tensor | _float) -> Tensor:
        """x to the power of y.  At x = 0 the partial with respect to y is 0; with respect to x it is 0 where y = 0, as in PyTorch.

        Raises RuntimeError for integers to the power of a negative Python integer.
        """
    def pow_(self, exponent: Tensor | _float) -> Tensor:
        """In-place form of pow."""
    def prelu(self, weight: Tensor) -> Tensor:
        """Return x where positive, else weight * x, with one weight, or one for each index of dimension 1.

        Raises RuntimeError for another number of weights, or weights of another dtype.
        """
    def prod(
        self, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, dtype: dtype | None = None
    ) -> Tensor:
        """Return the product of all elements, or over one dimension; integers and bools are multiplied as int64.

        Derivatives of every order are right at zeros too: they are products of the other elements, never quotients.
        """
    def put(self, index: Tensor, source: Tensor, accumulate: _bool = False) -> Tensor:
        """Write the elements of `source` at `index` of the flattened `input`; with `accumulate` add them."""
    def put_(self, index: Tensor, source: Tensor, accumulate: _bool = False) -> Tensor:
        """In-place form of put."""
    def qr(self, some: _bool = True) -> QR:
        """Return (Q, R), reduced or complete (see linalg.qr)."""
    def quantile(
        self,
        q: Tensor | _float | Sequence[_float],
        dim: _int | None = None,
        keepdim: _bool = False,
        *,
        interpolation: str = "linear",
    ) -> Tensor:
        """Return the q-quantiles (0 <= q <= 1) of all elements or along a dimension; several q add a dimension in front.

        Between two elements `interpolation` decides: linear, lower, higher, midpoint, nearest.  NaN if an element is NaN.
        Raises RuntimeError for integers, empty tensors, and q out of range or of another dtype.
        """
    def rad2deg(self) -> Tensor:
        """Radians to degrees."""
    def rad2deg_(self) -> Tensor:
        """In-place form of rad2deg."""
    def random_(self, low: _int = 0, high: _int | None = None, *, generator: Generator | None = None) -> Tensor:
        """Fill with integers in [low, high): `random_()`, `random_(high)`, `random_(low, high)`.

        Without limits the range is all integers that the dtype represents exactly.
        """
    def ravel(self) -> Tensor:
        """Return all elements in one dimension, contiguous: a view if the memory allows it, else a copy."""
    def reciprocal(self) -> Tensor:
        """1 / x."""
    def reciprocal_(self) -> Tensor:
        """In-place form of reciprocal."""
    def relu(self, inplace: _bool = False) -> Tensor:
        """x where positive, else 0; the derivative at 0 is 0."""
    def relu_(self) -> Tensor:
        """In-place form of relu."""
    def remainder(self, other: Tensor | _float) -> Tensor:
        """Remainder of input after division rounded down, with the sign of the divisor, as in Python."""
    def remainder_(self, other: Tensor | _float) -> Tensor:
        """In-place form of remainder."""
    def renorm(self, p: _float, dim: _int, maxnorm: _float) -> Tensor:
        """Scale slices along `dim` whose p-norm exceeds `maxnorm` down to it; leave the others unchanged.

        Raises RuntimeError for fewer than two dimensions, p of 0 or less and a negative maxnorm.
        """
    def renorm_(self, p: _float, dim: _int, maxnorm: _float) -> Tensor:
        """In-place form of renorm."""
    def repeat(self, *repeats: Tensor | _int | Sequence[_int]) -> Tensor:
        """Tile copies of the tensor, `repeats[d]` of them along each dimension; new dimensions come in front."""
    def repeat_interleave(
        self,
        repeats: Tensor | _int | Sequence[_int] | None = None,
        dim: _int | None = None,
        *,
        output_size: _int | None = None,
    ) -> Tensor:
        """Repeat each element (slice along `dim`), by a number or a tensor with one for each; flattened without `dim`.

        `repeat_interleave(repeats)` of an integer tensor alone returns indices: each position, repeated by its number.
        """
    def reshape(self, *shape: _int | Sequence[_int]) -> Tensor:
        """Return the same elements in row-major order under another shape: a view if the memory allows it, else a copy.

        One size may be -1, to be computed.  Raises RuntimeError if the number of elements does not fit.
        """
    def reshape_as(self, other: Tensor) -> Tensor:
        """Reshape `input` to the shape of `other`: a view if the memory allows it, else a copy."""
    def resize_(self, *size: _int | Sequence[_int], memory_format: memory_format | None = None) -> Tensor:
        """Give the tensor another size: the elements of its memory, from its first one on, in row-major order.

        Other tensors on the memory keep their sizes.  A larger memory than it has is filled up with zeros.
        Raises RuntimeError for a tensor that requires grad, and if the memory is too small and shared with other tensors.
        """
    def resize_as_(self, the_template: Tensor, *, memory_format: memory_format | None = None) -> Tensor:
        """Give the tensor the size of another (see resize_)."""
    def roll(self, shifts: _int | Sequence[_int], dims: _int | Sequence[_int] | None = None) -> Tensor:
        """Shift the elements along dimensions; those that leave at the end re-enter at the start.  Flattened without `dims`."""
    def rot90(self, k: _int = 1, dims: _int | Sequence[_int] = (0, 1)) -> Tensor:
        """Rotate the plane of two dimensions by k times 90 degrees, from the first towards the second."""
    def round(self, *, decimals: _int = 0) -> Tensor:
        """Round to the nearest integer, to the even one in a tie; or to `decimals` decimals (floats only)."""
    def round_(self, *, decimals: _int = 0) -> Tensor:
        """In-place form of round."""
    def rsqrt(self) -> Tensor:
        """1 / sqrt(x)."""
    def rsqrt_(self) -> Tensor:
        """In-place form of rsqrt."""
    def scatter(
        self,
        dim: _int,
        index: Tensor,
        src: Tensor | _float | None = None,
        *,
        value: Tensor | _float | None = None,
        reduce: str | None = None,
    ) -> Tensor:
        """Write elements of `src`, or the number `value`, at `index` along `dim` of `input`.

        For dim=0 this is out[index[i, j], j] = src[i, j].  Of several elements with one index, one stays.
        `reduce` "add" or "multiply" combines them with the old value.  Raises RuntimeError for indices out of range.
        """
    def scatter_(
        self,
        dim: _int,
        index: Tensor,
        src: Tensor | _float | None = None,
        *,
        value: Tensor | _float | None = None,
        reduce: str | None = None,
    ) -> Tensor:
        """In-place form of scatter."""
    def scatter_add(self, dim: _int, index: Tensor, src: Tensor) -> Tensor:
        """Add elements of `src` to `input` along `dim`; repeated indices add up.

        For dim=0 this is out[index[i, j], j] += src[i, j].
        """
    def scatter_add_(self, dim: _int, index: Tensor, src: Tensor) -> Tensor:
        """In-place form of scatter_add."""
    def scatter_reduce(
        self, dim: _int, index: Tensor, src: Tensor, reduce: str, *, include_self: _bool = True
    ) -> Tensor:
        """Combine elements of `src` with `input` at the indices along `dim`.

        `reduce` is "sum", "prod", "mean", "amax" or "amin".  With include_self=False the old values do not
        take part.
        """
    def scatter_reduce_(
        self, dim: _int, index: Tensor, src: Tensor, reduce: str, *, include_self: _bool = True
    ) -> Tensor:
        """In-place form of scatter_reduce."""
    def select(self, dim: _int, index: _int) -> Tensor:
        """Return the slice at one index of a dimension, as a view without that dimension."""
    def select_scatter(self, src: Tensor, dim: _int, index: _int) -> Tensor:
        """Return a copy of `input` with its slice at one index of a dimension replaced by `src`.

        Raises RuntimeError if `src` does not have the slice's shape, IndexError for an index out of range.
        """
    def set_(
        self,
        source: Tensor | Storage | None = None,
        storage_offset: _int = 0,
        size: _int | Sequence[_int] | None = None,
        stride: _int | Sequence[_int] | None = None,
    ) -> Tensor:
        """Let the tensor use the memory, the shape and the strides of another, as x.data = source does; return it.

        A storage, or a tensor's, comes with the offset of the first element, the sizes and the strides; of a storage all elements
        are taken by default.
        Without a source, the tensor becomes empty, so that its memory can be freed.

        Raises TypeError for anything but a tensor and a storage, and RuntimeError for one of another dtype, for sizes that leave
        the memory, and if this tensor requires grad, outside no_grad().
        """
    def sgn(self) -> Tensor:
        """The sign, -1, 0 or 1; PyTorch's sgn differs from sign only for complex numbers."""
    def sgn_(self) -> Tensor:
        """In-place form of sgn."""
    def short(self, memory_format: memory_format | None = None) -> Tensor:
        """Convert the tensor to minigrad.int16."""
    def sigmoid(self) -> Tensor:
        """1 / (1 + exp(-x)): from 0 to 1, 1/2 at 0."""
    def sigmoid_(self) -> Tensor:
        """In-place form of sigmoid."""
    def sign(self) -> Tensor:
        """1, 0 or -1 (0 for NaN).  Its derivative is 0."""
    def sign_(self) -> Tensor:
        """In-place form of sign."""
    def signbit(self) -> Tensor:
        """True where an element has a minus sign, even a zero."""
    def sin(self) -> Tensor:
        """Sine of x in radians."""
    def sin_(self) -> Tensor:
        """In-place form of sin."""
    def sinc(self) -> Tensor:
        """sin(pi x) / (pi x); 1 at 0."""
    def sinc_(self) -> Tensor:
        """In-place form of sinc."""
    def sinh(self) -> Tensor:
        """Hyperbolic sine."""
    def sinh_(self) -> Tensor:
        """In-place form of sinh."""
    def slice_scatter(
        self, src: Tensor, dim: _int = 0, start: _int | None = None, end: _int | None = None, step: _int = 1
    ) -> Tensor:
        """Return a copy of `input` with its slice from `start` to `end` along a dimension replaced by `src`.

        Raises RuntimeError if `src` does not have the slice's shape, and for a step below 1, IndexError for an
        input without dimensions.
        """
    def slogdet(self) -> SignAndLog:
        """Return (sign, logabsdet) of determinants that may be too large or small for a number; (0, -inf) if singular."""
    def softmax(self, dim: _int | None = None, dtype: dtype | None = None) -> Tensor:
        """Return exp(input) divided by its sum along a dimension: positive numbers that sum to 1.

        `dtype` converts the input first.  Without `dim`, a warning names the dimension used.  Raises NotImplementedError for
        integers without `dtype`.
        """
    def sort(self, dim: _int = -1, descending: _bool = False, stable: _bool = False) -> Selected:
        """Return (values, indices) of a sorted dimension.  NaN counts as the largest; equal elements always keep their order."""
    def split(self, split_size_or_sections: _int | Sequence[_int], dim: _int = 0) -> tuple[Tensor, ...]:
        """Cut a dimension into parts of one size (the last may be smaller), or of the given sizes; return a tuple of views."""
    def split_with_sizes(self, split_sizes: Sequence[_int], dim: _int = 0) -> tuple[Tensor, ...]:
        """Cut a dimension into parts of the given sizes, which must add up to its size; return a tuple of views."""
    def sqrt(self) -> Tensor:
        """Square root; its derivative at 0 is infinite."""
    def sqrt_(self) -> Tensor:
        """In-place form of sqrt."""
    def square(self) -> Tensor:
        """Return the square; for bools it is an integer."""
    def square_(self) -> Tensor:
        """In-place form of square."""
    def squeeze(self, dim: _int | Sequence[_int] | None = None) -> Tensor:
        """Remove dimensions of size 1, all or those in `dim`, as a view; dimensions of other sizes stay."""
    def squeeze_(self, dim: _int | Sequence[_int] | None = None) -> Tensor:
        """In-place form of squeeze: change the shape of this tensor, not of others on its memory."""
    def std(
        self,
        dim: _int | Sequence[_int] | None = None,
        unbiased: _bool | None = None,
        keepdim: _bool = False,
        *,
        correction: _float | None = None,
    ) -> Tensor:
        """Return the standard deviation of all elements, or over the dimensions `dim`: the root of `var`, with its arguments."""
    def storage(self) -> TypedStorage:
        """Return the memory that the tensor shares with its views, element by element."""
    def sub(self, other: Tensor | _float, *, alpha: _float = 1) -> Tensor:
        """Subtract: input - alpha * other.  Raises RuntimeError for bools, and for a float `alpha` with integers."""
    def sub_(self, other: Tensor | _float, *, alpha: _float = 1) -> Tensor:
        """In-place form of sub."""
    def subtract(self, other: Tensor | _float, *, alpha: _float = 1) -> Tensor:
        """Subtract: input - alpha * other.  Raises RuntimeError for bools, and for a float `alpha` with integers."""
    def subtract_(self, other: Tensor | _float, *, alpha: _float = 1) -> Tensor:
        """In-place form of subtract."""
    def sum(
        self, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, dtype: dtype | None = None
    ) -> Tensor:
        """Return the sum of all elements, or over the dimensions `dim`; integers and bools are summed as int64."""
    def sum_to_size(self, *size: _int | Sequence[_int]) -> Tensor:
        """Sum `input` to a shape that broadcasts to its own."""
    def svd(self, some: _bool = True, compute_uv: _bool = True) -> SVDWithV:
        """Return (U, S, V), V not transposed (see linalg.svd); with compute_uv=False U and V are zeros."""
    def swapaxes(self, dim0: _int, dim1: _int) -> Tensor:
        """Swap two dimensions, as a view."""
    def swapaxes_(self, dim0: _int, dim1: _int) -> Tensor:
        """In-place form of transpose: change the shape of this tensor, not of others on its memory."""
    def swapdims(self, dim0: _int, dim1: _int) -> Tensor:
        """Swap two dimensions, as a view."""
    def swapdims_(self, dim0: _int, dim1: _int) -> Tensor:
        """In-place form of transpose: change the shape of this tensor, not of others on its memory."""
    def t(self) -> Tensor:
        """Transpose a matrix; tensors of fewer dimensions stay unchanged.  A view."""
    def t_(self) -> Tensor:
        """In-place form of t: change the shape of this tensor, not of others on its memory."""
    def take(self, index: Tensor) -> Tensor:
        """Return the elements at `index` of the flattened `input`, in the shape of `index`."""
    def take_along_dim(self, indices: Tensor, dim: _int | None = None) -> Tensor:
        """Gather with `input` and `indices` broadcast in the other dimensions; flattened without `dim`.

        With `dim`, negative indices count from the end.
        """
    def tan(self) -> Tensor:
        """Tangent of x in radians."""
    def tan_(self) -> Tensor:
        """In-place form of tan."""
    def tanh(self) -> Tensor:
        """Hyperbolic tangent."""
    def tanh_(self) -> Tensor:
        """In-place form of tanh."""
    def tensor_split(self, indices_or_sections: Tensor | _int | Sequence[_int], dim: _int = 0) -> tuple[Tensor, ...]:
        """Cut a dimension into a number of nearly equal parts, or at the given indices; return a tuple of views."""
    def tile(self, *dims: _int | Sequence[_int]) -> Tensor:
        """Repeat the tensor as `repeat` does, but let a short `dims` count from the last dimension."""
    def to(
        self,
        *args: Tensor | dtype | device | str | _int | None,
        dtype: dtype | None = None,
        device: device | str | _int | None = None,
        non_blocking: _bool = False,
        copy: _bool = False,
        memory_format: memory_format | None = None,
    ) -> Tensor:
        """Convert to another dtype, device, or both: `to(dtype)`, `to(device)`, `to(device, dtype)`, `to(other)`.

        `non_blocking` and `copy` may follow.  Returns `input` itself if nothing changes and `copy` is False.

        With `non_blocking`, a copy of pinned memory to a GPU may still be running: do not write to `input` before
        `torch.cuda.synchronize()`.  A copy from a GPU is in pinned memory and, unlike PyTorch's, complete.
        """
    def topk(self, k: _int, dim: _int = -1, largest: _bool = True, sorted: _bool = True) -> Selected:
        """Return (values, indices) of the k largest, or smallest, elements of a dimension, in order."""
    def trace(self) -> Tensor:
        """Return the sum of a matrix's main diagonal."""
    def transpose(self, dim0: _int, dim1: _int) -> Tensor:
        """Swap two dimensions, as a view."""
    def transpose_(self, dim0: _int, dim1: _int) -> Tensor:
        """In-place form of transpose: change the shape of this tensor, not of others on its memory."""
    def triangular_solve(
        self, A: Tensor, upper: _bool = True, transpose: _bool = False, unitriangular: _bool = False
    ) -> TriangularSolution:
        """Return (X, a copy of A) with A X = input, or A^T X = input with `transpose`, for triangular A; see solve_triangular."""
    def tril(self, diagonal: _int = 0) -> Tensor:
        """Return the lower triangles of matrices: zeros above diagonal number `diagonal`."""
    def tril_(self, diagonal: _int = 0) -> Tensor:
        """In-place form of tril."""
    def triu(self, diagonal: _int = 0) -> Tensor:
        """Return the upper triangles of matrices: zeros below diagonal number `diagonal`."""
    def triu_(self, diagonal: _int = 0) -> Tensor:
        """In-place form of triu."""
    def true_divide(self, other: Tensor | _float) -> Tensor:
        """Return the quotient, a float for integers too."""
    def true_divide_(self, other: Tensor | _float) -> Tensor:
        """In-place form of true_divide."""
    def trunc(self) -> Tensor:
        """x rounded towards zero."""
    def trunc_(self) -> Tensor:
        """In-place form of trunc."""
    def type(self, dtype: dtype | str | None = None, non_blocking: _bool = False) -> Tensor:
        """Return the name of the tensor's type, "minigrad.FloatTensor", or with `dtype` (or such a name) the converted tensor."""
    def type_as(self, other: Tensor) -> Tensor:
        """Convert `input` to the dtype of `other`, and move it to its device."""
    def unbind(self, dim: _int = 0) -> tuple[Tensor, ...]:
        """Return all slices along a dimension, without it, as a tuple of views."""
    def unflatten(self, dim: _int, sizes: _int | Sequence[_int]) -> Tensor:
        """Split one dimension into several of the given sizes, one of which may be -1."""
    def unfold(self, dimension: _int, size: _int, step: _int) -> Tensor:
        """Return windows of `size` elements of a dimension, `step` apart, as a view with the elements of a window last."""
    def uniform_(self, low: _float = 0.0, high: _float = 1.0, *, generator: Generator | None = None) -> Tensor:
        """Fill with numbers uniform in [low, high)."""
    @overload
    def unique(
        self,
        sorted: _bool = True,
        return_inverse: Literal[False] = False,
        return_counts: Literal[False] = False,
        dim: _int | None = None,
    ) -> Tensor:
        """Return the distinct elements in order (with `dim`, the distinct slices); the length depends on the values.

        On request also return the index among them of each element, and their counts.
        """
    @overload
    def unique(
        self,
        sorted: _bool = True,
        return_counts: _bool = False,
        dim: _int | None = None,
        *,
        return_inverse: Literal[True],
    ) -> tuple[Tensor, ...]: ...
    @overload
    def unique(
        self,
        sorted: _bool = True,
        return_inverse: _bool = False,
        dim: _int | None = None,
        *,
        return_counts: Literal[True],
    ) -> tuple[Tensor, ...]: ...
    @overload
    def unique(
        self, sorted: _bool = True, return_inverse: _bool = False, return_counts: _bool = False, dim: _int | None = None
    ) -> Any: ...
    @overload
    def unique_consecutive(
        self, return_inverse: Literal[False] = False, return_counts: Literal[False] = False, dim: _int | None = None
    ) -> Tensor:
        """Merge only equal neighbours, and keep the order; otherwise like `unique`."""
    @overload
    def unique_consecutive(
        self, return_counts: _bool = False, dim: _int | None = None, *, return_inverse: Literal[True]
    ) -> tuple[Tensor, ...]: ...
    @overload
    def unique_consecutive(
        self, return_inverse: _bool = False, dim: _int | None = None, *, return_counts: Literal[True]
    ) -> tuple[Tensor, ...]: ...
    @overload
    def unique_consecutive(
        self, return_inverse: _bool = False, return_counts: _bool = False, dim: _int | None = None
    ) -> Any: ...
    def unsqueeze(self, dim: _int) -> Tensor:
        """Add a dimension of size 1 at position `dim`, as a view."""
    def unsqueeze_(self, dim: _int) -> Tensor:
        """In-place form of unsqueeze: change the shape of this tensor, not of others on its memory."""
    def untyped_storage(self) -> UntypedStorage:
        """Return the memory that the tensor shares with its views, byte by byte."""
    def var(
        self,
        dim: _int | Sequence[_int] | None = None,
        unbiased: _bool | None = None,
        keepdim: _bool = False,
        *,
        correction: _float | None = None,
    ) -> Tensor:
        """Return the variance of all elements, or over the dimensions `dim`: squared distances from the mean over n - correction.

        `correction` defaults to 1 (Bessel's); `unbiased=False` means 0.  One element with correction 1 gives 0/0, NaN, and a
        warning.  Raises RuntimeError for integers.
        """
    def vdot(self, other: Tensor) -> Tensor:
        """Return the scalar product of two vectors; it equals `dot`, as minigrad has no complex tensors."""
    def view(self, *size: _int | Sequence[_int] | dtype, dtype: dtype | None = None) -> Tensor:
        """Return the same memory under another shape, or by `view(dtype)` as elements of another dtype.

        Raises RuntimeError if the memory does not allow it; `reshape` copies then.
        """
    def view_as(self, other: Tensor) -> Tensor:
        """Return a view of `input` with the shape of `other`."""
    def where(self, condition: Any, other: Tensor | _float) -> Tensor: ...
    def xlogy(self, other: Tensor | _float) -> Tensor:
        """x * log(y); 0 where x is 0 (unless y is NaN)."""
    def xlogy_(self, other: Tensor | _float) -> Tensor:
        """In-place form of xlogy."""
    def zero_(self) -> Tensor:
        """Write zeros."""
    def __hash__(self) -> int: ...

def install() -> None:
    """Give Tensor all methods of the table, and those that are not operations."""
