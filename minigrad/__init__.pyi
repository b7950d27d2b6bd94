"""minigrad: the autograd toolkit that shows its work.

This file is the table of contents: it lists every public name with the file that defines it.  `import minigrad as torch` runs
programs written for PyTorch's autograd; names, arguments and semantics are PyTorch's.

Where to read on: core/tensor.py and core/function.py for tensors and operations, core/engine.py for reverse
mode, ops/base/families.py for the declaration of an operation, layers/ for the transforms, record/ for recordings of programs.
"""

# `make contents` writes this file from the declarations in ops/.
from builtins import bool as _bool
from builtins import float as _float
from builtins import int as _int
from collections.abc import Sequence
from typing import Any, Literal, overload

from . import (
    autograd,
    compat,
    cuda,
    distributed,
    distributions,
    func,
    linalg,
    nn,
    optim,
    profiler,
    return_types,
    testing,
    utils,
)
from .arrays.devices import (
    Size,
    channels_last,
    channels_last_3d,
    contiguous_format,
    device,
    get_default_device,
    layout,
    memory_format,
    preserve_format,
    strided,
)
from .arrays.dtypes import (
    bfloat16,
    can_cast,
    dtype,
    finfo,
    float16,
    float32,
    float64,
    get_default_dtype,
    iinfo,
    int8,
    int16,
    int32,
    int64,
    promote_types,
    set_default_dtype,
    uint8,
)
from .arrays.dtypes import bool_ as bool
from .arrays.dtypes import float16 as half
from .arrays.dtypes import float32 as float
from .arrays.dtypes import float64 as double
from .arrays.dtypes import int16 as short
from .arrays.dtypes import int32 as int
from .arrays.dtypes import int64 as long
from .autograd import (
    debug,
    enable_grad,
    inference_mode,
    is_anomaly_check_nan_enabled,
    is_anomaly_enabled,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from .compat import amp, library, special
from .compat.amp import autocast, get_autocast_dtype, is_autocast_enabled
from .compat.as_torch import as_torch
from .compat.grad_scaler import GradScaler
from .compat.placeholders import set_default_tensor_type, sparse_coo_tensor
from .compat.special import (
    digamma,
    erf,
    erfc,
    erfinv,
    exp2,
    expm1,
    i0,
    log1p,
    logit,
    logsumexp,
    polygamma,
    round,
    sinc,
    xlogy,
)
from .compat.special import gammaln as lgamma
from .compat.special import multigammaln as mvlgamma
from .compile import compile
from .core.tensor import Tensor
from .display import load_ipython_extension
from .errors import InternalError, MinigradError, MinigradWarning, OutOfMemoryError, silence
from .explain import explain, explain_shape
from .func import vmap
from .kernels.buffer_pool import empty_pool, get_pool_limit, set_pool_limit
from .kernels.threads import get_num_threads, set_num_threads
from .linalg import det, matmul, matrix_exp, matrix_power, slogdet
from .linalg import inv as inverse
from .nn.functional import (
    adaptive_avg_pool1d,
    alpha_dropout,
    avg_pool1d,
    batch_norm,
    bilinear,
    celu,
    celu_,
    channel_shuffle,
    conv1d,
    conv2d,
    conv3d,
    conv_transpose1d,
    conv_transpose2d,
    conv_transpose3d,
    cosine_embedding_loss,
    cosine_similarity,
    dropout,
    feature_alpha_dropout,
    group_norm,
    hardshrink,
    hinge_embedding_loss,
    instance_norm,
    kl_div,
    layer_norm,
    log_softmax,
    margin_ranking_loss,
    max_pool1d,
    max_pool2d,
    max_pool3d,
    pairwise_distance,
    pdist,
    pixel_shuffle,
    pixel_unshuffle,
    poisson_nll_loss,
    prelu,
    relu,
    relu_,
    rms_norm,
    rrelu,
    rrelu_,
    selu,
    selu_,
    sigmoid,
    softmax,
    tanh,
    threshold,
    threshold_,
    triplet_margin_loss,
)
from .ops import generator as random
from .ops.copy import detach, set_default_device
from .ops.from_data import as_tensor, asarray, from_dlpack, from_numpy, frombuffer, scalar_tensor, tensor
from .ops.generator import (
    Generator,
    default_generator,
    fork_rng,
    get_rng_state,
    initial_seed,
    manual_seed,
    seed,
    set_rng_state,
)
from .ops.legacy import (
    BFloat16Tensor,
    BoolTensor,
    ByteTensor,
    CharTensor,
    DoubleTensor,
    FloatTensor,
    HalfTensor,
    IntTensor,
    LongTensor,
    ShortTensor,
)
from .ops.predicates import (
    is_complex,
    is_floating_point,
    is_inference,
    is_nonzero,
    is_same_size,
    is_signed,
    is_tensor,
    numel,
    result_type,
    typename,
)
from .ops.storage import TypedStorage, UntypedStorage
from .record import Record, record, record_of
from .return_types import PLU, QR, Extremes, Selected, SVDWithV, TriangularSolution
from .serialization import load, save
from .tensors.printing import get_printoptions, printoptions, set_printoptions

__all__ = [
    "BFloat16Tensor",
    "BoolTensor",
    "ByteTensor",
    "CharTensor",
    "DoubleTensor",
    "FloatTensor",
    "Generator",
    "GradScaler",
    "HalfTensor",
    "IntTensor",
    "InternalError",
    "LongTensor",
    "MinigradError",
    "MinigradWarning",
    "OutOfMemoryError",
    "Record",
    "ShortTensor",
    "Size",
    "Tensor",
    "TypedStorage",
    "UntypedStorage",
    "__version__",
    "abs",
    "absolute",
    "accelerator",
    "acos",
    "acosh",
    "adaptive_avg_pool1d",
    "add",
    "addbmm",
    "addcdiv",
    "addcmul",
    "addmm",
    "addmv",
    "addr",
    "adjoint",
    "all",
    "allclose",
    "alpha_dropout",
    "amax",
    "amin",
    "aminmax",
    "amp",
    "any",
    "arange",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctan2",
    "arctanh",
    "are_deterministic_algorithms_enabled",
    "argmax",
    "argmin",
    "argsort",
    "argwhere",
    "as_strided",
    "as_tensor",
    "as_torch",
    "asarray",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "autocast",
    "autograd",
    "avg_pool1d",
    "backends",
    "baddbmm",
    "batch_norm",
    "bernoulli",
    "bfloat16",
    "bilinear",
    "bincount",
    "binomial",
    "bitwise_and",
    "bitwise_left_shift",
    "bitwise_not",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "block_diag",
    "bmm",
    "bool",
    "broadcast_shapes",
    "broadcast_tensors",
    "broadcast_to",
    "bucketize",
    "can_cast",
    "cartesian_prod",
    "cat",
    "cdist",
    "ceil",
    "celu",
    "celu_",
    "chain_matmul",
    "channel_shuffle",
    "channels_last",
    "channels_last_3d",
    "cholesky",
    "cholesky_inverse",
    "cholesky_solve",
    "chunk",
    "clamp",
    "clamp_max",
    "clamp_min",
    "clip",
    "clone",
    "column_stack",
    "combinations",
    "compat",
    "compile",
    "compiler",
    "concat",
    "concatenate",
    "contiguous_format",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "copysign",
    "corrcoef",
    "cos",
    "cosh",
    "cosine_embedding_loss",
    "cosine_similarity",
    "count_nonzero",
    "cov",
    "cross",
    "cuda",
    "cummax",
    "cummin",
    "cumprod",
    "cumsum",
    "cumulative_trapezoid",
    "debug",
    "default_generator",
    "deg2rad",
    "det",
    "detach",
    "device",
    "diag",
    "diag_embed",
    "diagflat",
    "diagonal",
    "diagonal_scatter",
    "diff",
    "digamma",
    "dist",
    "distributed",
    "distributions",
    "div",
    "divide",
    "dot",
    "double",
    "dropout",
    "dstack",
    "dtype",
    "einsum",
    "empty",
    "empty_like",
    "empty_pool",
    "empty_strided",
    "enable_grad",
    "eq",
    "equal",
    "erf",
    "erfc",
    "erfinv",
    "exp",
    "exp2",
    "explain",
    "explain_shape",
    "expm1",
    "eye",
    "feature_alpha_dropout",
    "feature_dropout",
    "finfo",
    "fix",
    "flatten",
    "flip",
    "fliplr",
    "flipud",
    "float",
    "float16",
    "float32",
    "float64",
    "float_power",
    "floor",
    "floor_divide",
    "fmax",
    "fmin",
    "fmod",
    "fork_rng",
    "frac",
    "from_dlpack",
    "from_numpy",
    "frombuffer",
    "full",
    "full_like",
    "func",
    "gather",
    "gcd",
    "ge",
    "ger",
    "get_autocast_dtype",
    "get_default_device",
    "get_default_dtype",
    "get_device_module",
    "get_float32_matmul_precision",
    "get_num_interop_threads",
    "get_num_threads",
    "get_pool_limit",
    "get_printoptions",
    "get_rng_state",
    "gradient",
    "greater",
    "greater_equal",
    "group_norm",
    "gt",
    "half",
    "hardshrink",
    "heaviside",
    "hinge_embedding_loss",
    "histc",
    "hstack",
    "hypot",
    "i0",
    "iinfo",
    "index_add",
    "index_copy",
    "index_fill",
    "index_put",
    "index_reduce",
    "index_select",
    "inference_mode",
    "initial_seed",
    "inner",
    "instance_norm",
    "int",
    "int16",
    "int32",
    "int64",
    "int8",
    "inverse",
    "is_anomaly_check_nan_enabled",
    "is_anomaly_enabled",
    "is_autocast_enabled",
    "is_complex",
    "is_floating_point",
    "is_grad_enabled",
    "is_inference",
    "is_inference_mode_enabled",
    "is_nonzero",
    "is_same_size",
    "is_signed",
    "is_storage",
    "is_tensor",
    "isclose",
    "isfinite",
    "isin",
    "isinf",
    "isnan",
    "isneginf",
    "isposinf",
    "isreal",
    "jit",
    "kl_div",
    "kron",
    "kthvalue",
    "layer_norm",
    "layout",
    "lcm",
    "le",
    "lerp",
    "less",
    "less_equal",
    "lgamma",
    "library",
    "linalg",
    "linspace",
    "load",
    "load_ipython_extension",
    "log",
    "log10",
    "log1p",
    "log2",
    "log_softmax",
    "logaddexp",
    "logaddexp2",
    "logcumsumexp",
    "logdet",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "logit",
    "logspace",
    "logsumexp",
    "long",
    "lt",
    "lu_unpack",
    "manual_seed",
    "margin_ranking_loss",
    "masked_fill",
    "masked_scatter",
    "masked_select",
    "matmul",
    "matrix_exp",
    "matrix_power",
    "max",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "maximum",
    "mean",
    "median",
    "memory_format",
    "meshgrid",
    "min",
    "minimum",
    "mm",
    "mode",
    "moveaxis",
    "movedim",
    "msort",
    "mul",
    "multinomial",
    "multiply",
    "multiprocessing",
    "mv",
    "mvlgamma",
    "nan_to_num",
    "nanmean",
    "nanmedian",
    "nanquantile",
    "nansum",
    "narrow",
    "ne",
    "neg",
    "negative",
    "newaxis",
    "nn",
    "no_grad",
    "nonzero",
    "norm",
    "normal",
    "not_equal",
    "numel",
    "ones",
    "ones_like",
    "onnx",
    "optim",
    "outer",
    "pairwise_distance",
    "pdist",
    "permute",
    "pinverse",
    "pixel_shuffle",
    "pixel_unshuffle",
    "poisson",
    "poisson_nll_loss",
    "polygamma",
    "positive",
    "pow",
    "prelu",
    "preserve_format",
    "printoptions",
    "prod",
    "profiler",
    "promote_types",
    "put",
    "qr",
    "quantile",
    "rad2deg",
    "rand",
    "rand_like",
    "randint",
    "randint_like",
    "randn",
    "randn_like",
    "random",
    "randperm",
    "range",
    "ravel",
    "reciprocal",
    "record",
    "record_of",
    "relu",
    "relu_",
    "remainder",
    "renorm",
    "repeat_interleave",
    "reshape",
    "result_type",
    "return_types",
    "rms_norm",
    "roll",
    "rot90",
    "round",
    "row_stack",
    "rrelu",
    "rrelu_",
    "rsqrt",
    "save",
    "scalar_tensor",
    "scatter",
    "scatter_add",
    "scatter_reduce",
    "searchsorted",
    "seed",
    "select",
    "select_scatter",
    "selu",
    "selu_",
    "set_default_device",
    "set_default_dtype",
    "set_default_tensor_type",
    "set_float32_matmul_precision",
    "set_flush_denormal",
    "set_grad_enabled",
    "set_num_interop_threads",
    "set_num_threads",
    "set_pool_limit",
    "set_printoptions",
    "set_rng_state",
    "set_warn_always",
    "sgn",
    "short",
    "sigmoid",
    "sign",
    "signbit",
    "silence",
    "sin",
    "sinc",
    "sinh",
    "slice_scatter",
    "slogdet",
    "softmax",
    "sort",
    "sparse_coo_tensor",
    "special",
    "split",
    "split_with_sizes",
    "sqrt",
    "square",
    "squeeze",
    "stack",
    "std",
    "std_mean",
    "strided",
    "sub",
    "subtract",
    "sum",
    "svd",
    "swapaxes",
    "swapdims",
    "t",
    "take",
    "take_along_dim",
    "tan",
    "tanh",
    "tensor",
    "tensor_split",
    "tensordot",
    "testing",
    "threshold",
    "threshold_",
    "tile",
    "topk",
    "trace",
    "transpose",
    "trapezoid",
    "trapz",
    "triangular_solve",
    "tril",
    "tril_indices",
    "triplet_margin_loss",
    "triu",
    "triu_indices",
    "true_divide",
    "trunc",
    "typename",
    "uint8",
    "unbind",
    "unflatten",
    "unique",
    "unique_consecutive",
    "unravel_index",
    "unsqueeze",
    "use_deterministic_algorithms",
    "utils",
    "vander",
    "var",
    "var_mean",
    "vdot",
    "version",
    "vmap",
    "vstack",
    "where",
    "xlogy",
    "zeros",
    "zeros_like",
]
__version__: str
newaxis: None
use_deterministic_algorithms: Any
are_deterministic_algorithms_enabled: Any
set_float32_matmul_precision: Any
get_float32_matmul_precision: Any
set_num_interop_threads: Any
get_num_interop_threads: Any
set_warn_always: Any
set_flush_denormal: Any
get_device_module: Any
is_storage: Any
accelerator: Any
backends: Any
compiler: Any
jit: Any
multiprocessing: Any
onnx: Any
version: Any

def as_strided(
    input: Tensor, size: _int | Sequence[_int], stride: _int | Sequence[_int], storage_offset: _int | None = None
) -> Tensor:
    """Return a view of the tensor's memory by sizes and strides, from `storage_offset` on (default: the tensor's offset).

    Raises RuntimeError if this leaves the memory.
    """

@overload
def atleast_1d(input: Tensor, /) -> Tensor:
    """Return 0-d tensors as tensors of shape (1,); several give a tuple."""

@overload
def atleast_1d(input: Tensor, other: Tensor, /, *tensors: Tensor) -> tuple[Tensor, ...]: ...
@overload
def atleast_1d(tensors: Sequence[Tensor], /) -> tuple[Tensor, ...]: ...
@overload
def atleast_2d(input: Tensor, /) -> Tensor:
    """Return tensors of fewer than 2 dimensions with new ones in front; several give a tuple."""

@overload
def atleast_2d(input: Tensor, other: Tensor, /, *tensors: Tensor) -> tuple[Tensor, ...]: ...
@overload
def atleast_2d(tensors: Sequence[Tensor], /) -> tuple[Tensor, ...]: ...
@overload
def atleast_3d(input: Tensor, /) -> Tensor:
    """Return tensors of fewer than 3 dimensions with new ones, a vector in the middle; several give a tuple."""

@overload
def atleast_3d(input: Tensor, other: Tensor, /, *tensors: Tensor) -> tuple[Tensor, ...]: ...
@overload
def atleast_3d(tensors: Sequence[Tensor], /) -> tuple[Tensor, ...]: ...
def broadcast_shapes(*shapes: _int | Sequence[_int]) -> Size:
    """Return the shape to which tensors of these shapes broadcast, or raise RuntimeError.

    >>> import minigrad
    >>> minigrad.broadcast_shapes((3, 1), (4,))
    minigrad.Size([3, 4])
    """

def broadcast_tensors(*tensors: Tensor | Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Expand the tensors to their common shape, as views."""

def broadcast_to(input: Tensor, *size: _int | Sequence[_int]) -> Tensor:
    """Expand the tensor to a shape; NumPy's name of `expand`."""

def chain_matmul(*matrices: Tensor) -> Tensor:
    """Multiply the matrices in the order that takes the fewest multiplications (see linalg.multi_dot)."""

def allclose(
    input: Tensor, other: Tensor, rtol: _float = 1e-05, atol: _float = 1e-08, equal_nan: _bool = False
) -> _bool:
    """Return True, a Python bool, if all elements are close in the sense of isclose."""

def clamp(
    input: Tensor | _float,
    min: Tensor | _float | None = None,
    max: Tensor | _float | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Clamp the elements to [`min`, `max`] (numbers or tensors, one may be missing); `max` wins if min > max.

    The gradient is 0 outside the range, and 1 inside and at its bounds.  Raises RuntimeError if both are missing.

    >>> import minigrad
    >>> minigrad.clamp(minigrad.tensor([-2., 0.5, 3.]), 0, 1)
    tensor([0.0000, 0.5000, 1.0000])
    """

def clamp_max(input: Tensor | _float, max: Tensor | _float, *, out: Tensor | None = None) -> Tensor:
    """Clamp the elements to at most `max`."""

def clamp_min(input: Tensor | _float, min: Tensor | _float, *, out: Tensor | None = None) -> Tensor:
    """Clamp the elements to at least `min`."""

def clip(
    input: Tensor | _float,
    min: Tensor | _float | None = None,
    max: Tensor | _float | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Clamp the elements to [`min`, `max`] (numbers or tensors, one may be missing); `max` wins if min > max.

    The gradient is 0 outside the range, and 1 inside and at its bounds.  Raises RuntimeError if both are missing.

    >>> import minigrad
    >>> minigrad.clamp(minigrad.tensor([-2., 0.5, 3.]), 0, 1)
    tensor([0.0000, 0.5000, 1.0000])
    """

def eq(input: Tensor | _float, other: Tensor | _float, *, out: Tensor | None = None) -> Tensor:
    """input == other, elementwise; NaN equals nothing."""

def equal(input: Tensor, other: Tensor) -> _bool:
    """Return True, a Python bool, if two tensors have the same shape and equal elements.

    >>> import minigrad
    >>> minigrad.equal(minigrad.tensor([1, 2]), minigrad.tensor([1., 2.]))
    True
    """

def fmax(input: Tensor | _float, other: Tensor | _float, *, out: Tensor | None = None) -> Tensor:
    """The larger element; if one is NaN, the other.  Of equal elements the first gets the gradient."""

def fmin(input: Tensor | _float, other: Tensor | _float, *, out: Tensor | None = None) -> Tensor:
    """The smaller element; if one is NaN, the other.  Of equal elements the first gets the gradient."""

def ge(input: Tensor | _float, other: Tensor | _float, *, out: Tensor | None = None) -> Tensor:
    """input >= other, elementwise."""

def greater(input: Tensor | _float, other: Tensor | _float, *, out: Tensor | None = None) -> Tensor:
    """input > other, elementwise."""

def greater_equal(input: Tensor | _float, other: Tensor | _float, *, out: Tensor | None = None) -> Tensor:
    """input >= other, elementwise."""

def gt(input: Tensor | _float, other: Tensor | _float, *, out: Tensor | None = None) -> Tensor:
    """input > other, elementwise."""

def isclose(
    input: Tensor | _float,
    other: Tensor | _float,
    rtol: _float = 1e-05,
    atol: _float = 1e-08,
    equal_nan: _bool = False,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Return True where |input - other| <= atol + rtol * |other|; infinities are close to themselves, NaN with `equal_nan`.

    Raises RuntimeError for different dtypes and for negative tolerances.

    >>> import minigrad
    >>> minigrad.isclose(minigrad.tensor([1., 2.]), minigrad.tensor([1.001, 2.]), rtol=1e-4)
    tensor([False,  True])
    """

def isfinite(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """True where an element is neither infinite nor NaN."""

def isinf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """True where an element is infinite, of either sign."""

def isnan(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """True where an element is NaN."""

def isneginf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """True where an element is -inf."""

def isposinf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """True where an element is inf."""

def le(input: Tensor | _float, other: Tensor | _float, *, out: Tensor | None = None) -> Tensor:
    """input <= other, elementwise."""

def less(input: Tensor | _float, other: Tensor | _float, *, out: Tensor | None = None) -> Tensor:
    """input < other, elementwise."""

def less_equal(input: Tensor | _float, other: Tensor | _float, *, out: Tensor | None = None) -> Tensor:
    """input <= other, elementwise."""

def lt(input: Tensor | _float, other: Tensor | _float, *, out: Tensor | None = None) -> Tensor:
    """input < other, elementwise."""

def maximum(input: Tensor | _float, other: Tensor | _float, *, out: Tensor | None = None) -> Tensor:
    """The larger element; NaN if one is NaN.  Equal elements get half of the gradient each."""

def minimum(input: Tensor | _float, other: Tensor | _float, *, out: Tensor | None = None) -> Tensor:
    """The smaller element; NaN if one is NaN.  Equal elements get half of the gradient each."""

def ne(input: Tensor | _float, other: Tensor | _float, *, out: Tensor | None = None) -> Tensor:
    """input != other, elementwise."""

def not_equal(input: Tensor | _float, other: Tensor | _float, *, out: Tensor | None = None) -> Tensor:
    """input != other, elementwise."""

def signbit(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """True where an element has a minus sign, even a zero."""

@overload
def where(condition: Tensor, input: Tensor | _float, other: Tensor | _float, *, out: Tensor | None = None) -> Tensor:
    """Return `input` where the condition holds, `other` elsewhere; all three are broadcast.

    `where(condition)` alone returns the indices of true elements, one tensor per dimension.  The operand that is not chosen
    gets gradient 0, even where its derivative is infinite or NaN.

    >>> import minigrad
    >>> x = minigrad.tensor([-1., 2.])
    >>> minigrad.where(x > 0, x, 0.)
    tensor([0., 2.])
    """

@overload
def where(condition: Tensor) -> tuple[Tensor, ...]: ...
def clone(input: Tensor, *, memory_format: memory_format | None = None) -> Tensor:
    """Copy the tensor into separate memory, tracked: the gradient flows on to `input`.

    >>> import minigrad
    >>> x = minigrad.tensor([1., 2.])
    >>> y = x.clone()
    >>> y[0] = 5.
    >>> x
    tensor([1., 2.])
    """

def arange(
    start: Tensor | _float | None = None,
    end: Tensor | _float | None = None,
    step: Tensor | _float = 1,
    *,
    dtype: dtype | None = None,
    device: device | str | _int | None = None,
    layout: layout | None = None,
    requires_grad: _bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """Return the numbers from `start` (0) up to but not including `end`, `step` apart; integers give int64.

    Raises RuntimeError for step 0 and for an end on the wrong side.
    """

def empty(
    *args: _int | Sequence[_int],
    size: _int | Sequence[_int] | None = None,
    dtype: dtype | None = None,
    device: device | str | _int | None = None,
    memory_format: memory_format | None = None,
    layout: layout | None = None,
    requires_grad: _bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """Return a tensor of the given size with unset elements."""

def empty_like(
    input: Tensor,
    *,
    dtype: dtype | None = None,
    device: device | str | _int | None = None,
    memory_format: memory_format | None = None,
    layout: layout | None = None,
    requires_grad: _bool = False,
) -> Tensor:
    """Return a tensor with unset elements, with the shape, dtype and memory order of `input`; not tracked."""

def empty_strided(
    size: _int | Sequence[_int],
    stride: _int | Sequence[_int],
    *,
    dtype: dtype | None = None,
    device: device | str | _int | None = None,
    layout: layout | None = None,
    requires_grad: _bool = False,
) -> Tensor:
    """Return a tensor of the given size and strides (in elements) with unset elements."""

def eye(
    n: _int,
    m: _int | None = None,
    *,
    dtype: dtype | None = None,
    device: device | str | _int | None = None,
    layout: layout | None = None,
    requires_grad: _bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """Return the matrix of n rows and m columns (default: n) with ones on the diagonal."""

def full(
    size: _int | Sequence[_int],
    fill_value: Tensor | _float,
    *,
    dtype: dtype | None = None,
    device: device | str | _int | None = None,
    layout: layout | None = None,
    requires_grad: _bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """Return a tensor of the given size filled with `fill_value`, whose kind (bool, int, float) decides the dtype."""

def full_like(
    input: Tensor,
    fill_value: Tensor | _float,
    *,
    dtype: dtype | None = None,
    device: device | str | _int | None = None,
    memory_format: memory_format | None = None,
    layout: layout | None = None,
    requires_grad: _bool = False,
) -> Tensor:
    """Return a tensor filled with `fill_value`, with the shape, dtype and memory order of `input`; not tracked."""

def linspace(
    start: Tensor | _float,
    end: Tensor | _float,
    steps: _int,
    *,
    dtype: dtype | None = None,
    device: device | str | _int | None = None,
    layout: layout | None = None,
    requires_grad: _bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """Return `steps` numbers from `start` to `end`, both included, equally spaced."""

def logspace(
    start: Tensor | _float,
    end: Tensor | _float,
    steps: _int,
    base: _float = 10.0,
    *,
    dtype: dtype | None = None,
    device: device | str | _int | None = None,
    layout: layout | None = None,
    requires_grad: _bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """Return `steps` numbers from `base**start` to `base**end`, with equal ratios."""

def ones(
    *args: _int | Sequence[_int],
    size: _int | Sequence[_int] | None = None,
    dtype: dtype | None = None,
    device: device | str | _int | None = None,
    layout: layout | None = None,
    requires_grad: _bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """Return a tensor of ones of the given size."""

def ones_like(
    input: Tensor,
    *,
    dtype: dtype | None = None,
    device: device | str | _int | None = None,
    memory_format: memory_format | None = None,
    layout: layout | None = None,
    requires_grad: _bool = False,
) -> Tensor:
    """Return a tensor of ones, with the shape, dtype and memory order of `input`; not tracked."""

def range(
    start: Tensor | _float,
    end: Tensor | _float,
    step: Tensor | _float = 1,
    *,
    dtype: dtype | None = None,
    device: device | str | _int | None = None,
    layout: layout | None = None,
    requires_grad: _bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """Return the numbers from `start` up to and including `end`, `step` apart: an older arange, of the default float dtype.

    Raises RuntimeError for step 0 and for an end on the wrong side.
    """

def tril_indices(
    row: _int,
    col: _int,
    offset: _int = 0,
    *,
    dtype: dtype = ...,
    layout: layout | None = None,
    device: device | str | _int | None = None,
) -> Tensor:
    """Return row and column indices of the lower triangle of a (row, col) matrix: a (2, n) tensor."""

def triu_indices(
    row: _int,
    col: _int,
    offset: _int = 0,
    *,
    dtype: dtype = ...,
    layout: layout | None = None,
    device: device | str | _int | None = None,
) -> Tensor:
    """Return row and column indices of the upper triangle of a (row, col) matrix: a (2, n) tensor."""

def zeros(
    *args: _int | Sequence[_int],
    size: _int | Sequence[_int] | None = None,
    dtype: dtype | None = None,
    device: device | str | _int | None = None,
    layout: layout | None = None,
    requires_grad: _bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """Return a tensor of zeros of the given size."""

def zeros_like(
    input: Tensor,
    *,
    dtype: dtype | None = None,
    device: device | str | _int | None = None,
    memory_format: memory_format | None = None,
    layout: layout | None = None,
    requires_grad: _bool = False,
) -> Tensor:
    """Return a tensor of zeros, with the shape, dtype and memory order of `input`; not tracked."""

def cholesky(input: Tensor, upper: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """Return the Cholesky factor of each symmetric positive-definite matrix (see linalg.cholesky)."""

def qr(input: Tensor, some: _bool = True, *, out: tuple[Tensor, ...] | None = None) -> QR:
    """Return (Q, R), reduced or complete (see linalg.qr)."""

def svd(
    input: Tensor, some: _bool = True, compute_uv: _bool = True, *, out: tuple[Tensor, ...] | None = None
) -> SVDWithV:
    """Return (U, S, V), V not transposed (see linalg.svd); with compute_uv=False U and V are zeros."""

def logdet(input: Tensor) -> Tensor:
    """Return the logarithm of each matrix's determinant: NaN if it is negative, -inf if it is 0."""

def diag(input: Tensor, diagonal: _int = 0, *, out: Tensor | None = None) -> Tensor:
    """Return a matrix with a vector as its diagonal, or the diagonal of a matrix as a vector (a copy)."""

def diag_embed(input: Tensor, offset: _int = 0, dim1: _int = -2, dim2: _int = -1) -> Tensor:
    """Return zeros with the last dimension of `input` as the diagonal of the planes of two new dimensions."""

def diagflat(input: Tensor, offset: _int = 0) -> Tensor:
    """Return a matrix with all elements as its diagonal."""

def diagonal(input: Tensor, offset: _int = 0, dim1: _int = 0, dim2: _int = 1) -> Tensor:
    """Return the diagonal of the planes of two dimensions, as a view with it last; offset > 0 is above the main one."""

def trace(input: Tensor) -> Tensor:
    """Return the sum of a matrix's main diagonal."""

def tril(input: Tensor, diagonal: _int = 0, *, out: Tensor | None = None) -> Tensor:
    """Return the lower triangles of matrices: zeros above diagonal number `diagonal`."""

def triu(input: Tensor, diagonal: _int = 0, *, out: Tensor | None = None) -> Tensor:
    """Return the upper triangles of matrices: zeros below diagonal number `diagonal`."""

def renorm(input: Tensor, p: _float, dim: _int, maxnorm: _float, *, out: Tensor | None = None) -> Tensor:
    """Scale slices along `dim` whose p-norm exceeds `maxnorm` down to it; leave the others unchanged.

    Raises RuntimeError for fewer than two dimensions, p of 0 or less and a negative maxnorm.

    >>> import minigrad
    >>> minigrad.renorm(minigrad.tensor([[3., 4.], [0.5, 0.]]), 2, 0, 1.0)
    tensor([[0.6000, 0.8000],
            [0.5000, 0.0000]])
    """

def einsum(*args: str | Tensor | Sequence[Any]) -> Tensor:
    """Sum products of the operands' elements along labelled dimensions: `einsum("ij,jk->ik", x, y)` is `x @ y`.

    A letter names a dimension; the same letter twice in one operand takes its diagonal; `...` stands for any number of
    broadcast dimensions.  Letters missing on the right side are summed over; without `->` the result has the dimensions of
    the ellipsis, then the letters that occur once, alphabetically.  Also `einsum(x, [0, 1], y, [1, 2], [0, 2])`.
    Raises RuntimeError if the equation does not fit the operands.

    >>> import minigrad
    >>> x = minigrad.tensor([[1., 2.], [3., 4.]])
    >>> minigrad.einsum("ii", x), minigrad.einsum("ij->j", x)
    (tensor(5.), tensor([4., 6.]))
    """

def inner(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the scalar products of all vectors along the last dimensions: (..., k) and (---, k) give (..., ---)."""

def kron(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the Kronecker product: each element of `input` becomes a block, its product with the whole of `other`."""

def tensordot(
    a: Tensor, b: Tensor, dims: _int | Sequence[_int] | Sequence[Sequence[_int]] = 2, *, out: Tensor | None = None
) -> Tensor:
    """Sum the products of a's and b's elements over pairs of dimensions.

    `dims` is the number of a's last and b's first dimensions to pair, or the two lists of dimensions.
    Raises RuntimeError if paired dimensions differ in size.
    """

def acos(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The angle in [0, pi] whose cosine is x; NaN outside [-1, 1]."""

def acosh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Inverse hyperbolic cosine; NaN below 1."""

def arccos(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The angle in [0, pi] whose cosine is x; NaN outside [-1, 1]."""

def arccosh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Inverse hyperbolic cosine; NaN below 1."""

def arcsin(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The angle in [-pi/2, pi/2] whose sine is x; NaN outside [-1, 1]."""

def arcsinh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Inverse hyperbolic sine."""

def arctan(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The angle in (-pi/2, pi/2) whose tangent is x."""

def arctan2(input: Tensor | _float, other: Tensor | _float, *, out: Tensor | None = None) -> Tensor:
    """The angle in [-pi, pi] of the point (other, input).  At (0, 0) its derivatives are 0."""

def arctanh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Inverse hyperbolic tangent; NaN outside [-1, 1]."""

def asin(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The angle in [-pi/2, pi/2] whose sine is x; NaN outside [-1, 1]."""

def asinh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Inverse hyperbolic sine."""

def atan(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The angle in (-pi/2, pi/2) whose tangent is x."""

def atan2(input: Tensor | _float, other: Tensor | _float, *, out: Tensor | None = None) -> Tensor:
    """The angle in [-pi, pi] of the point (other, input).  At (0, 0) its derivatives are 0."""

def atanh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Inverse hyperbolic tangent; NaN outside [-1, 1]."""

def cos(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Cosine of x in radians."""

def cosh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Hyperbolic cosine."""

def deg2rad(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Degrees to radians."""

def exp(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """e to the power of x."""

def hypot(input: Tensor | _float, other: Tensor | _float, *, out: Tensor | None = None) -> Tensor:
    """Length of the hypotenuse, sqrt(x*x + y*y), without intermediate overflow."""

def log(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Natural logarithm."""

def log10(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Logarithm to base 10."""

def log2(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Logarithm to base 2."""

def logaddexp(input: Tensor | _float, other: Tensor | _float, *, out: Tensor | None = None) -> Tensor:
    """log(exp(x) + exp(y)), without intermediate overflow."""

def rad2deg(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Radians to degrees."""

def rsqrt(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """1 / sqrt(x)."""

def sin(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Sine of x in radians."""

def sinh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Hyperbolic sine."""

def sqrt(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Square root; its derivative at 0 is infinite."""

def tan(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Tangent of x in radians."""

def flip(input: Tensor, *dims: _int | Sequence[_int]) -> Tensor:
    """Return the elements in reverse order along dimensions, as a copy."""

def fliplr(input: Tensor) -> Tensor:
    """Return the columns (second dimension) in reverse order."""

def flipud(input: Tensor) -> Tensor:
    """Return the rows (first dimension) in reverse order."""

def roll(input: Tensor, shifts: _int | Sequence[_int], dims: _int | Sequence[_int] | None = None) -> Tensor:
    """Shift the elements along dimensions; those that leave at the end re-enter at the start.  Flattened without `dims`."""

def rot90(input: Tensor, k: _int = 1, dims: _int | Sequence[_int] = (0, 1)) -> Tensor:
    """Rotate the plane of two dimensions by k times 90 degrees, from the first towards the second."""

def gather(input: Tensor, dim: _int, index: Tensor, *, sparse_grad: _bool = False, out: Tensor | None = None) -> Tensor:
    """Return the elements at `index` along `dim`, in index's shape: for dim=0, out[i, j] = input[index[i, j], j].

    Raises RuntimeError for indices out of range (negative ones are), or with another number of dimensions.

    >>> import minigrad
    >>> minigrad.gather(minigrad.tensor([[1, 2], [3, 4]]), 1, minigrad.tensor([[0, 0], [1, 0]]))
    tensor([[1, 1],
            [4, 3]])
    """

def take_along_dim(input: Tensor, indices: Tensor, dim: _int | None = None, *, out: Tensor | None = None) -> Tensor:
    """Gather with `input` and `indices` broadcast in the other dimensions; flattened without `dim`.

    With `dim`, negative indices count from the end.
    """

def cartesian_prod(*tensors: Tensor | Sequence[Tensor]) -> Tensor:
    """Return all ways to take one element of each vector, one row each."""

def combinations(input: Tensor, r: _int = 2, with_replacement: _bool = False) -> Tensor:
    """Return all ways to take r elements of a vector, one row each, in the order of itertools.combinations."""

def gradient(
    input: Tensor,
    *,
    spacing: _float | Sequence[_float | Tensor] = 1,
    dim: _int | Sequence[_int] | None = None,
    edge_order: _int = 1,
) -> tuple[Tensor, ...]:
    """Estimate the derivatives of a function along all dimensions, or those in `dim`, from its values on a grid.

    `spacing` is the distance of neighbours, one for each dimension, or the coordinates along each as tensors.  The formulas are
    of second order inside, and of `edge_order` (1 or 2) at both ends.
    Raises RuntimeError if a dimension has fewer than edge_order + 1 values.

    >>> import minigrad
    >>> minigrad.gradient(minigrad.tensor([4.0, 1.0, 1.0, 16.0]), spacing=(minigrad.tensor([-2.0, -1.0, 1.0, 4.0]),))
    (tensor([-3., -2.,  2.,  5.]),)
    """

def meshgrid(*tensors: Tensor | Sequence[Tensor], indexing: str | None = None) -> tuple[Tensor, ...]:
    """Return the coordinates of a grid, whose sides are the given vectors: one tensor of the grid's shape each, as views.

    With indexing="xy" the first two dimensions are swapped, as for an image.
    """

def unravel_index(indices: Tensor, shape: _int | Sequence[_int]) -> tuple[Tensor, ...]:
    """Convert flat row-major indices to coordinates in an array of `shape`: one tensor per dimension.

    Raises TypeError for indices that are not integers, ValueError for negative sizes.

    >>> import minigrad
    >>> minigrad.unravel_index(minigrad.tensor([5, 3]), (2, 3))
    (tensor([1, 1]), tensor([2, 0]))
    """

def vander(x: Tensor, N: _int | None = None, increasing: _bool = False) -> Tensor:
    """Return a Vandermonde matrix: rows of powers of a vector's numbers, the highest power first unless `increasing`.

    >>> import minigrad
    >>> minigrad.vander(minigrad.tensor([1, 2, 3]))
    tensor([[1, 1, 1],
            [4, 2, 1],
            [9, 3, 1]])
    """

def float_power(input: Tensor | _float, exponent: Tensor | _float, *, out: Tensor | None = None) -> Tensor:
    """Raise input to the power of exponent in float64, whatever their dtypes.

    >>> import minigrad
    >>> minigrad.float_power(minigrad.tensor([2, 4]), -1)
    tensor([0.5000, 0.2500], dtype=minigrad.float64)
    """

def block_diag(*tensors: Tensor | Sequence[Tensor]) -> Tensor:
    """Return a matrix with the given matrices along its diagonal and zeros elsewhere; vectors count as rows."""

def cat(tensors: Tensor | Sequence[Tensor], dim: _int = 0, *, out: Tensor | None = None) -> Tensor:
    """Concatenate tensors along a dimension; in all others they have the same size.

    1-d tensors of size 0 are skipped.

    >>> import minigrad
    >>> minigrad.cat([minigrad.tensor([1, 2]), minigrad.tensor([3])])
    tensor([1, 2, 3])
    """

def chunk(input: Tensor, chunks: _int, dim: _int = 0) -> tuple[Tensor, ...]:
    """Cut a dimension into `chunks` parts of equal size, the last smaller, or into fewer; return a tuple of views."""

def column_stack(tensors: Tensor | Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Join tensors horizontally, with vectors as columns."""

def dstack(tensors: Tensor | Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Join tensors in depth: along the third dimension."""

def hstack(tensors: Tensor | Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Join tensors horizontally: along the second dimension, or the only one."""

def narrow(input: Tensor, dim: _int, start: _int, length: _int) -> Tensor:
    """Return `length` slices of a dimension from `start` on, as a view."""

def select(input: Tensor, dim: _int, index: _int) -> Tensor:
    """Return the slice at one index of a dimension, as a view without that dimension."""

def split(tensor: Tensor, split_size_or_sections: _int | Sequence[_int], dim: _int = 0) -> tuple[Tensor, ...]:
    """Cut a dimension into parts of one size (the last may be smaller), or of the given sizes; return a tuple of views."""

def split_with_sizes(input: Tensor, split_sizes: Sequence[_int], dim: _int = 0) -> tuple[Tensor, ...]:
    """Cut a dimension into parts of the given sizes, which must add up to its size; return a tuple of views."""

def stack(tensors: Tensor | Sequence[Tensor], dim: _int = 0, *, out: Tensor | None = None) -> Tensor:
    """Stack tensors of equal shape along a new dimension."""

def tensor_split(
    input: Tensor, indices_or_sections: Tensor | _int | Sequence[_int], dim: _int = 0
) -> tuple[Tensor, ...]:
    """Cut a dimension into a number of nearly equal parts, or at the given indices; return a tuple of views."""

def unbind(input: Tensor, dim: _int = 0) -> tuple[Tensor, ...]:
    """Return all slices along a dimension, without it, as a tuple of views."""

def vstack(tensors: Tensor | Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Join tensors vertically: along the first dimension, with vectors as rows."""

def concat(tensors: Tensor | Sequence[Tensor], dim: _int = 0, *, out: Tensor | None = None) -> Tensor:
    """Concatenate tensors along a dimension; in all others they have the same size.

    1-d tensors of size 0 are skipped.

    >>> import minigrad
    >>> minigrad.cat([minigrad.tensor([1, 2]), minigrad.tensor([3])])
    tensor([1, 2, 3])
    """

def concatenate(tensors: Tensor | Sequence[Tensor], dim: _int = 0, *, out: Tensor | None = None) -> Tensor:
    """Concatenate tensors along a dimension; in all others they have the same size.

    1-d tensors of size 0 are skipped.

    >>> import minigrad
    >>> minigrad.cat([minigrad.tensor([1, 2]), minigrad.tensor([3])])
    tensor([1, 2, 3])
    """

def row_stack(tensors: Tensor | Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Join tensors vertically: along the first dimension, with vectors as rows."""

def cholesky_inverse(input: Tensor, upper: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """Return the inverse of the matrix with the given Cholesky factor.  Raises LinAlgError for a singular factor."""

def cholesky_solve(input: Tensor, L: Tensor, upper: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """Return the solution X of A X = input, given A's Cholesky factor L (A = L L^T, or with upper=True A = L^T L)."""

def triangular_solve(
    input: Tensor,
    A: Tensor,
    upper: _bool = True,
    transpose: _bool = False,
    unitriangular: _bool = False,
    *,
    out: tuple[Tensor, ...] | None = None,
) -> TriangularSolution:
    """Return (X, a copy of A) with A X = input, or A^T X = input with `transpose`, for triangular A; see solve_triangular."""

def bitwise_and(input: Tensor | _float, other: Tensor | _float, *, out: Tensor | None = None) -> Tensor:
    """The bits that both have set; on bools, and."""

def bitwise_left_shift(input: Tensor | _float, other: Tensor | _float, *, out: Tensor | None = None) -> Tensor:
    """The bits shifted up: `input * 2**other`."""

def bitwise_not(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """All bits inverted; on bools, not."""

def bitwise_or(input: Tensor | _float, other: Tensor | _float, *, out: Tensor | None = None) -> Tensor:
    """The bits that one or both have set; on bools, or."""

def bitwise_right_shift(input: Tensor | _float, other: Tensor | _float, *, out: Tensor | None = None) -> Tensor:
    """The bits shifted down, with the sign kept: `floor(input / 2**other)`."""

def bitwise_xor(input: Tensor | _float, other: Tensor | _float, *, out: Tensor | None = None) -> Tensor:
    """The bits that exactly one has set; on bools, exclusive or."""

def gcd(input: Tensor | _float, other: Tensor | _float, *, out: Tensor | None = None) -> Tensor:
    """The greatest common divisor of two integers; 0 for two zeros."""

def isreal(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """True everywhere: there are no complex tensors."""

def lcm(input: Tensor | _float, other: Tensor | _float, *, out: Tensor | None = None) -> Tensor:
    """The least common multiple of two integers; 0 if one of them is 0."""

def logical_and(input: Tensor | _float, other: Tensor | _float, *, out: Tensor | None = None) -> Tensor:
    """True where both elements are true (not 0)."""

def logical_not(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """True where the element is false (0)."""

def logical_or(input: Tensor | _float, other: Tensor | _float, *, out: Tensor | None = None) -> Tensor:
    """True where one of the elements, or both, is true (not 0)."""

def logical_xor(input: Tensor | _float, other: Tensor | _float, *, out: Tensor | None = None) -> Tensor:
    """True where exactly one of the elements is true (not 0)."""

def lu_unpack(
    LU_data: Tensor,
    LU_pivots: Tensor,
    unpack_data: _bool = True,
    unpack_pivots: _bool = True,
    *,
    out: tuple[Tensor, ...] | None = None,
) -> PLU:
    """Return (P, L, U) from the result of lu_factor; parts that are not unpacked are empty."""

def argwhere(input: Tensor) -> Tensor:
    """Return the indices of the elements that are not zero, one row each."""

def masked_fill(input: Tensor, mask: Tensor, value: Tensor | _float) -> Tensor:
    """Replace elements where `mask` holds by one value, a number or a 0-d tensor; input and mask are broadcast.

    >>> import minigrad
    >>> x = minigrad.tensor([1., 2., 3.])
    >>> x.masked_fill(minigrad.tensor([True, False, True]), 0)
    tensor([0., 2., 0.])
    """

def masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """Replace elements where `mask` holds by the elements of `source`, in order."""

def masked_select(input: Tensor, mask: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the elements where `mask` holds, in one dimension; input and mask are broadcast."""

@overload
def nonzero(input: Tensor, *, as_tuple: Literal[False] = False, out: Tensor | None = None) -> Tensor:
    """Return the indices of the elements that are not zero, one row each; with `as_tuple` one tensor per dimension.

    >>> import minigrad
    >>> minigrad.nonzero(minigrad.tensor([[0, 1], [2, 0]]))
    tensor([[0, 1],
            [1, 0]])
    """

@overload
def nonzero(input: Tensor, *, as_tuple: Literal[True], out: Tensor | None = None) -> tuple[Tensor, ...]: ...
@overload
def nonzero(input: Tensor, *, as_tuple: _bool = False, out: Tensor | None = None) -> Any: ...
def addbmm(
    input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: _float = 1, alpha: _float = 1, out: Tensor | None = None
) -> Tensor:
    """Return beta * input + alpha * the sum of bmm(batch1, batch2) over the batch."""

def addmm(
    input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: _float = 1, alpha: _float = 1, out: Tensor | None = None
) -> Tensor:
    """Return beta * input + alpha * (mat1 @ mat2); `input` is broadcast, and ignored if beta is 0 (NaNs do not spread)."""

def addmv(
    input: Tensor, mat: Tensor, vec: Tensor, *, beta: _float = 1, alpha: _float = 1, out: Tensor | None = None
) -> Tensor:
    """Return beta * input + alpha * (mat @ vec)."""

def addr(
    input: Tensor, vec1: Tensor, vec2: Tensor, *, beta: _float = 1, alpha: _float = 1, out: Tensor | None = None
) -> Tensor:
    """Return beta * input + alpha * outer(vec1, vec2)."""

def baddbmm(
    input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: _float = 1, alpha: _float = 1, out: Tensor | None = None
) -> Tensor:
    """Return beta * input + alpha * bmm(batch1, batch2)."""

def bmm(input: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the products of two batches of matrices, (b, n, k) times (b, k, m).  Raises RuntimeError for anything else."""

def cross(input: Tensor, other: Tensor, dim: _int | None = None, *, out: Tensor | None = None) -> Tensor:
    """Return the vector product along `dim`, by default the first dimension of size 3; raise RuntimeError if none exists."""

def dot(input: Tensor, tensor: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the scalar product of two vectors of equal size, as a 0-d tensor.  Raises RuntimeError for other ranks."""

def mm(input: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the product of two matrices, (n, k) times (k, m).  Raises RuntimeError for anything else."""

def mv(input: Tensor, vec: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the product of a matrix (n, k) and a vector (k).  Raises RuntimeError for anything else."""

def outer(input: Tensor, vec2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the matrix of all products of two vectors' elements, (n, m).  Raises RuntimeError for other ranks."""

def vdot(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the scalar product of two vectors; it equals `dot`, as minigrad has no complex tensors."""

def ger(input: Tensor, vec2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the matrix of all products of two vectors' elements, (n, m).  Raises RuntimeError for other ranks."""

def feature_dropout(input: Tensor, p: _float, train: _bool) -> Tensor:
    """Drop whole channels of (n, c, ...): in (n, c) every element.  Raises RuntimeError for fewer dimensions.

    >>> import minigrad
    >>> x = minigrad.feature_dropout(minigrad.ones(8, 3, 2), 0.5, train=True)
    >>> bool((x[..., 0] == x[..., 1]).all())
    True
    """

def cdist(x1: Tensor, x2: Tensor, p: _float = 2.0, compute_mode: str = "use_mm_for_euclid_dist_if_necessary") -> Tensor:
    """Return the distances between all rows of x1 (..., n, d) and all of x2 (..., m, d), in the p-norm: (..., n, m).

    The gradient between coincident points is 0.  `compute_mode` selects when Euclidean distances may come from a matrix
    product: "use_mm_for_euclid_dist_if_necessary" (more than 25 points), "use_mm_for_euclid_dist",
    "donot_use_mm_for_euclid_dist"; if cancellation would make the product inaccurate, differences are used.
    """

def dist(input: Tensor, other: Tensor, p: _float = 2) -> Tensor:
    """Return the p-norm of `input - other`, which are broadcast."""

def norm(
    input: Tensor,
    p: _float | str = "fro",
    dim: _int | Sequence[_int] | None = None,
    keepdim: _bool = False,
    *,
    dtype: dtype | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Return the vector norm `(sum |x|**p)**(1/p)` of all elements, or over the dimensions `dim`.

    `p` is a number, or "fro" for 2; inf and -inf give the largest and smallest |x|, 0 the number of non-zero elements,
    "nuc" the nuclear norm of matrices.
    Raises RuntimeError for integers, and for norms that are undefined for an empty tensor.

    >>> import minigrad
    >>> minigrad.norm(minigrad.tensor([3., 4.]))
    tensor(5.)
    """

def amax(
    input: Tensor, dim: _int | Sequence[_int] = (), keepdim: _bool = False, *, out: Tensor | None = None
) -> Tensor:
    """Return the maximum of all elements, or over the dimensions `dim`; equal maxima share the gradient.

    Raises RuntimeError for an empty tensor without `dim`, IndexError for a dimension of size 0.
    """

def amin(
    input: Tensor, dim: _int | Sequence[_int] = (), keepdim: _bool = False, *, out: Tensor | None = None
) -> Tensor:
    """Return the minimum of all elements, or over the dimensions `dim`; equal minima share the gradient.

    Raises RuntimeError for an empty tensor without `dim`, IndexError for a dimension of size 0.
    """

def aminmax(
    input: Tensor, *, dim: _int | None = None, keepdim: _bool = False, out: tuple[Tensor, ...] | None = None
) -> Extremes:
    """Return the minimum and the maximum, of all elements or along a dimension.

    >>> import minigrad
    >>> low, high = minigrad.aminmax(minigrad.tensor([3., 1., 2.]))
    >>> low, high
    (tensor(1.), tensor(3.))
    """

def argmax(input: Tensor, dim: _int | None = None, keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """Return the position of the first maximum, in the flattened tensor or along a dimension, as int64.  NaN counts as it.

    Raises IndexError for an empty tensor or a dimension of size 0.
    """

def argmin(input: Tensor, dim: _int | None = None, keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """Return the position of the first minimum, in the flattened tensor or along a dimension, as int64.  NaN counts as it.

    Raises IndexError for an empty tensor or a dimension of size 0.
    """

@overload
def max(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the maximum of all elements; with `dim` the maxima along it and their positions, `(values, indices)`.

    With another tensor, return the larger of each pair of elements.

    NaN counts as the largest.  Of several equal maxima `indices` has the first, which gets the gradient; without `dim` they
    share it evenly.  Raises RuntimeError for an empty tensor, IndexError for a dimension of size 0.

    >>> import minigrad
    >>> minigrad.max(minigrad.tensor([[1., 5.], [7., 2.]]), 1).values
    tensor([5., 7.])
    """

@overload
def max(input: Tensor, dim: _int, keepdim: _bool = False, *, out: tuple[Tensor, ...] | None = None) -> Selected: ...
@overload
def max(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@overload
def min(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the minimum of all elements; with `dim` the minima along it and their positions, `(values, indices)`.

    With another tensor, return the smaller of each pair of elements.  All else is as in `max`.
    """

@overload
def min(input: Tensor, dim: _int, keepdim: _bool = False, *, out: tuple[Tensor, ...] | None = None) -> Selected: ...
@overload
def min(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def repeat_interleave(
    input: Tensor,
    repeats: Tensor | _int | Sequence[_int] | None = None,
    dim: _int | None = None,
    *,
    output_size: _int | None = None,
) -> Tensor:
    """Repeat each element (slice along `dim`), by a number or a tensor with one for each; flattened without `dim`.

    `repeat_interleave(repeats)` of an integer tensor alone returns indices: each position, repeated by its number.
    """

def tile(input: Tensor, *dims: _int | Sequence[_int]) -> Tensor:
    """Repeat the tensor as `repeat` does, but let a short `dims` count from the last dimension."""

def abs(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The absolute value; its derivative at 0 is 0."""

def absolute(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The absolute value; its derivative at 0 is 0."""

def add(input: Tensor | _float, other: Tensor | _float, *, alpha: _float = 1, out: Tensor | None = None) -> Tensor:
    """Add: input + alpha * other.  Raises RuntimeError for a float `alpha` with integer tensors.

    >>> import minigrad
    >>> minigrad.add(minigrad.tensor([1., 2.]), minigrad.tensor([[10.], [20.]]), alpha=2)
    tensor([[21., 22.],
            [41., 42.]])
    """

def addcdiv(
    input: Tensor | _float, tensor1: Tensor, tensor2: Tensor, *, value: Tensor | _float = 1, out: Tensor | None = None
) -> Tensor:
    """Return input + value * tensor1 / tensor2.  Raises RuntimeError if both tensors of the quotient are integers."""

def addcmul(
    input: Tensor | _float, tensor1: Tensor, tensor2: Tensor, *, value: Tensor | _float = 1, out: Tensor | None = None
) -> Tensor:
    """Return input + value * tensor1 * tensor2; `value` loses its fraction if all are integers."""

def copysign(input: Tensor | _float, other: Tensor | _float, *, out: Tensor | None = None) -> Tensor:
    """The absolute value of input with the sign of other, even of a zero.  At input = 0 the derivative is 0."""

def lerp(input: Tensor | _float, end: Tensor, weight: Tensor | _float, *, out: Tensor | None = None) -> Tensor:
    """Interpolate between `input` and `end`: input + weight * (end - input).  Raises RuntimeError for different dtypes.

    >>> import minigrad
    >>> minigrad.lerp(minigrad.tensor([0., 10.]), minigrad.tensor([1., 20.]), 0.25)
    tensor([ 0.2500, 12.5000])
    """

def mul(input: Tensor | _float, other: Tensor | _float, *, out: Tensor | None = None) -> Tensor:
    """Product of two tensors, element by element."""

def multiply(input: Tensor | _float, other: Tensor | _float, *, out: Tensor | None = None) -> Tensor:
    """Product of two tensors, element by element."""

def nan_to_num(
    input: Tensor,
    nan: _float = 0.0,
    posinf: _float | None = None,
    neginf: _float | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Replace NaN and infinities: by 0 and the largest and smallest number of the dtype, or by given numbers."""

def neg(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The negative."""

def negative(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The negative."""

def positive(input: Tensor) -> Tensor:
    """Return `+x`: x itself.  Raises RuntimeError for bools."""

def pow(input: Tensor | _float, exponent: Tensor | _float, *, out: Tensor | None = None) -> Tensor:
    """x to the power of y.  At x = 0 the partial with respect to y is 0; with respect to x it is 0 where y = 0, as in PyTorch.

    Raises RuntimeError for integers to the power of a negative Python integer.
    """

def reciprocal(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """1 / x."""

def sgn(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The sign, -1, 0 or 1; PyTorch's sgn differs from sign only for complex numbers."""

def sign(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """1, 0 or -1 (0 for NaN).  Its derivative is 0."""

def square(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the square; for bools it is an integer."""

def sub(input: Tensor | _float, other: Tensor | _float, *, alpha: _float = 1, out: Tensor | None = None) -> Tensor:
    """Subtract: input - alpha * other.  Raises RuntimeError for bools, and for a float `alpha` with integers."""

def subtract(input: Tensor | _float, other: Tensor | _float, *, alpha: _float = 1, out: Tensor | None = None) -> Tensor:
    """Subtract: input - alpha * other.  Raises RuntimeError for bools, and for a float `alpha` with integers."""

def prod(
    input: Tensor,
    dim: _int | Sequence[_int] | None = None,
    keepdim: _bool = False,
    *,
    dtype: dtype | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Return the product of all elements, or over one dimension; integers and bools are multiplied as int64.

    Derivatives of every order are right at zeros too: they are products of the other elements, never quotients.
    """

@overload
def median(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the median (the lower one of an even number); with `dim`, medians and positions along it: `(values, indices)`.

    NaN if an element is NaN, or if there are none.  Raises IndexError for a dimension of size 0.

    >>> import minigrad
    >>> minigrad.median(minigrad.tensor([4., 1., 3., 2.]))
    tensor(2.)
    """

@overload
def median(input: Tensor, dim: _int, keepdim: _bool = False, *, out: tuple[Tensor, ...] | None = None) -> Selected: ...
def mode(input: Tensor, dim: _int = -1, keepdim: _bool = False, *, out: tuple[Tensor, ...] | None = None) -> Selected:
    """Return the most frequent values along a dimension, and their positions: `(values, indices)`.

    Of equally frequent values it is the smallest.  Raises IndexError for a dimension of size 0.
    """

@overload
def nanmedian(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the median of the elements that are not NaN, otherwise like `median`."""

@overload
def nanmedian(
    input: Tensor, dim: _int, keepdim: _bool = False, *, out: tuple[Tensor, ...] | None = None
) -> Selected: ...
def nanquantile(
    input: Tensor,
    q: Tensor | _float | Sequence[_float],
    dim: _int | None = None,
    keepdim: _bool = False,
    *,
    interpolation: str = "linear",
    out: Tensor | None = None,
) -> Tensor:
    """Return the q-quantiles of the elements that are not NaN, otherwise like `quantile`."""

def quantile(
    input: Tensor,
    q: Tensor | _float | Sequence[_float],
    dim: _int | None = None,
    keepdim: _bool = False,
    *,
    interpolation: str = "linear",
    out: Tensor | None = None,
) -> Tensor:
    """Return the q-quantiles (0 <= q <= 1) of all elements or along a dimension; several q add a dimension in front.

    Between two elements `interpolation` decides: linear, lower, higher, midpoint, nearest.  NaN if an element is NaN.
    Raises RuntimeError for integers, empty tensors, and q out of range or of another dtype.

    >>> import minigrad
    >>> minigrad.quantile(minigrad.tensor([1., 2., 3., 4.]), 0.5)
    tensor(2.5000)
    """

def bernoulli(
    input: Tensor, p: _float | None = None, *, generator: Generator | None = None, out: Tensor | None = None
) -> Tensor:
    """Draw 0 or 1 for each element of `input`, 1 with the probability in that element, or with probability p everywhere.

    Its gradient is zero.  Raises RuntimeError for probabilities outside [0, 1].
    """

def binomial(count: Tensor, prob: Tensor, generator: Generator | None = None) -> Tensor:
    """Draw numbers of successes in `count` trials that succeed with the probability `prob`; the two are broadcast.

    Raises ValueError for counts that are not floating point, RuntimeError for two dtypes, negative counts and
    probabilities outside [0, 1].

    >>> import minigrad
    >>> minigrad.binomial(minigrad.tensor([3.0, 8.0]), minigrad.tensor([0.0, 1.0]))
    tensor([0., 8.])
    """

def multinomial(
    input: Tensor,
    num_samples: _int,
    replacement: _bool = False,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Draw `num_samples` positions in each row of `input`, with its elements as weights, as int64.

    Raises RuntimeError for weights that are negative, infinite or all zero, and for more samples than a row has
    positions (unless `replacement`).
    """

def normal(
    mean: Tensor | _float = 0.0,
    std: Tensor | _float = 1.0,
    size: _int | Sequence[_int] | None = None,
    *,
    generator: Generator | None = None,
    dtype: dtype | None = None,
    device: device | str | _int | None = None,
    layout: layout | None = None,
    requires_grad: _bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """Draw normal numbers with the given mean and standard deviation; pass `mean`, `std` or both as tensors, or a `size`.

    Gradients of mean and std are zero (write mean + std * randn_like(std) for gradients).
    """

def poisson(input: Tensor, generator: Generator | None = None) -> Tensor:
    """Draw random counts with the means in `input`.  Its gradient is zero."""

def rand(
    *args: _int | Sequence[_int],
    size: _int | Sequence[_int] | None = None,
    generator: Generator | None = None,
    dtype: dtype | None = None,
    device: device | str | _int | None = None,
    layout: layout | None = None,
    requires_grad: _bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """Return random numbers, uniform in [0, 1)."""

def rand_like(
    input: Tensor,
    *,
    generator: Generator | None = None,
    dtype: dtype | None = None,
    device: device | str | _int | None = None,
    memory_format: memory_format | None = None,
    layout: layout | None = None,
    requires_grad: _bool = False,
) -> Tensor:
    """Return random numbers, uniform in [0, 1), in input's shape and dtype."""

def randint(
    low: Tensor | _float | None = None,
    high: Tensor | _int | Sequence[_int] | None = None,
    size: _int | Sequence[_int] | None = None,
    *,
    generator: Generator | None = None,
    dtype: dtype | None = None,
    device: device | str | _int | None = None,
    layout: layout | None = None,
    requires_grad: _bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """Return random integers in [low, high): `randint(high, size)` or `randint(low, high, size)`."""

def randint_like(
    input: Tensor,
    low: Tensor | _float | None = None,
    high: Tensor | _int | Sequence[_int] | None = None,
    *,
    generator: Generator | None = None,
    dtype: dtype | None = None,
    device: device | str | _int | None = None,
    memory_format: memory_format | None = None,
    layout: layout | None = None,
    requires_grad: _bool = False,
) -> Tensor:
    """Return random integers below `low`, or in [low, high), in input's shape and dtype."""

def randn(
    *args: _int | Sequence[_int],
    size: _int | Sequence[_int] | None = None,
    generator: Generator | None = None,
    dtype: dtype | None = None,
    device: device | str | _int | None = None,
    layout: layout | None = None,
    requires_grad: _bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """Return random numbers, normal with mean 0 and variance 1."""

def randn_like(
    input: Tensor,
    *,
    generator: Generator | None = None,
    dtype: dtype | None = None,
    device: device | str | _int | None = None,
    memory_format: memory_format | None = None,
    layout: layout | None = None,
    requires_grad: _bool = False,
) -> Tensor:
    """Return random numbers, normal with mean 0 and variance 1, in input's shape and dtype."""

def randperm(
    n: _int,
    *,
    generator: Generator | None = None,
    dtype: dtype | None = None,
    device: device | str | _int | None = None,
    layout: layout | None = None,
    requires_grad: _bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """Return the numbers 0 to n - 1 in random order."""

def pinverse(input: Tensor, rcond: _float = 1e-15) -> Tensor:
    """Return the pseudo-inverse (see linalg.pinv)."""

def all(
    input: Tensor, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, out: Tensor | None = None
) -> Tensor:
    """Return True if no element is zero, of all or over the dimensions `dim`, as bool (uint8 stays uint8)."""

def any(
    input: Tensor, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, out: Tensor | None = None
) -> Tensor:
    """Return True if any element is not zero, of all or over the dimensions `dim`, as bool (uint8 stays uint8)."""

def count_nonzero(input: Tensor, dim: _int | Sequence[_int] | None = None) -> Tensor:
    """Return the number of elements that are not zero, in all or over the dimensions `dim`, as int64."""

def mean(
    input: Tensor,
    dim: _int | Sequence[_int] | None = None,
    keepdim: _bool = False,
    *,
    dtype: dtype | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Return the mean of all elements, or over the dimensions `dim`; NaN for no elements.

    Raises RuntimeError for integers and bools, unless `dtype` is a floating-point one.

    >>> import minigrad
    >>> minigrad.mean(minigrad.tensor([[1., 2.], [3., 4.]]), dim=1)
    tensor([1.5000, 3.5000])
    """

def nanmean(
    input: Tensor,
    dim: _int | Sequence[_int] | None = None,
    keepdim: _bool = False,
    *,
    dtype: dtype | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Return the mean of the elements that are not NaN, of all or over the dimensions `dim`; NaN if all are NaN."""

def nansum(
    input: Tensor,
    dim: _int | Sequence[_int] | None = None,
    keepdim: _bool = False,
    *,
    dtype: dtype | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Return the sum of the elements that are not NaN, of all or over the dimensions `dim`.

    >>> import minigrad
    >>> minigrad.nansum(minigrad.tensor([1., float("nan"), 2.]))
    tensor(3.)
    """

def sum(
    input: Tensor,
    dim: _int | Sequence[_int] | None = None,
    keepdim: _bool = False,
    *,
    dtype: dtype | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Return the sum of all elements, or over the dimensions `dim`; integers and bools are summed as int64.

    >>> import minigrad
    >>> minigrad.sum(minigrad.tensor([[1, 2], [3, 4]]), dim=0)
    tensor([4, 6])
    """

def diagonal_scatter(input: Tensor, src: Tensor, offset: _int = 0, dim1: _int = 0, dim2: _int = 1) -> Tensor:
    """Return a copy of `input` with a diagonal of two dimensions replaced by `src`.

    Raises RuntimeError if `src` does not have the diagonal's shape.

    >>> import minigrad
    >>> minigrad.diagonal_scatter(minigrad.zeros(2, 2), minigrad.ones(2))
    tensor([[1., 0.],
            [0., 1.]])
    """

def select_scatter(input: Tensor, src: Tensor, dim: _int, index: _int) -> Tensor:
    """Return a copy of `input` with its slice at one index of a dimension replaced by `src`.

    Raises RuntimeError if `src` does not have the slice's shape, IndexError for an index out of range.

    >>> import minigrad
    >>> minigrad.select_scatter(minigrad.zeros(2, 2), minigrad.ones(2), 0, 1)
    tensor([[0., 0.],
            [1., 1.]])
    """

def slice_scatter(
    input: Tensor, src: Tensor, dim: _int = 0, start: _int | None = None, end: _int | None = None, step: _int = 1
) -> Tensor:
    """Return a copy of `input` with its slice from `start` to `end` along a dimension replaced by `src`.

    Raises RuntimeError if `src` does not have the slice's shape, and for a step below 1, IndexError for an
    input without dimensions.

    >>> import minigrad
    >>> minigrad.slice_scatter(minigrad.zeros(4), minigrad.ones(2), start=1, end=3)
    tensor([0., 1., 1., 0.])
    """

def ceil(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The smallest integer that is not below x."""

def div(
    input: Tensor | _float, other: Tensor | _float, *, rounding_mode: str | None = None, out: Tensor | None = None
) -> Tensor:
    """Return the quotient, a float for integers too; with `rounding_mode` "floor" or "trunc" rounded, in the operands' dtype.

    Raises RuntimeError for other rounding modes, and for a rounded integer division by 0.

    >>> import minigrad
    >>> minigrad.div(minigrad.tensor([7, -7]), 2, rounding_mode="trunc")
    tensor([ 3, -3])
    """

def divide(
    input: Tensor | _float, other: Tensor | _float, *, rounding_mode: str | None = None, out: Tensor | None = None
) -> Tensor:
    """Return the quotient, a float for integers too; with `rounding_mode` "floor" or "trunc" rounded, in the operands' dtype.

    Raises RuntimeError for other rounding modes, and for a rounded integer division by 0.

    >>> import minigrad
    >>> minigrad.div(minigrad.tensor([7, -7]), 2, rounding_mode="trunc")
    tensor([ 3, -3])
    """

def fix(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """x rounded towards zero."""

def floor(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The largest integer that is not above x."""

def floor_divide(input: Tensor | _float, other: Tensor | _float, *, out: Tensor | None = None) -> Tensor:
    """Return the quotient rounded down.  Raises RuntimeError for an integer division by 0, except on a GPU.

    >>> import minigrad
    >>> minigrad.tensor([7, -7]) // 2
    tensor([ 3, -4])
    """

def fmod(input: Tensor | _float, other: Tensor | _float, *, out: Tensor | None = None) -> Tensor:
    """Remainder of input after division rounded towards zero, with the sign of input, as in C."""

def frac(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The fractional part of x, with the sign of x."""

def heaviside(input: Tensor | _float, values: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the step from 0 to 1 at 0, where it is `values`.  Raises RuntimeError for two dtypes.

    >>> import minigrad
    >>> minigrad.heaviside(minigrad.tensor([-2., 0., 2.]), minigrad.tensor(0.5))
    tensor([0.0000, 0.5000, 1.0000])
    """

def remainder(input: Tensor | _float, other: Tensor | _float, *, out: Tensor | None = None) -> Tensor:
    """Remainder of input after division rounded down, with the sign of the divisor, as in Python."""

def true_divide(input: Tensor | _float, other: Tensor | _float, *, out: Tensor | None = None) -> Tensor:
    """Return the quotient, a float for integers too."""

def trunc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """x rounded towards zero."""

def cummax(input: Tensor, dim: _int, *, out: tuple[Tensor, ...] | None = None) -> Selected:
    """Return the running maxima along a dimension, `values`, and their positions, `indices`: the latest of equal ones.

    >>> import minigrad
    >>> minigrad.cummax(minigrad.tensor([1., 3., 2.]), 0).indices
    tensor([0, 1, 1])
    """

def cummin(input: Tensor, dim: _int, *, out: tuple[Tensor, ...] | None = None) -> Selected:
    """Return the running minima along a dimension, `values`, and their positions, `indices`: the latest of equal ones."""

def cumprod(input: Tensor, dim: _int, *, dtype: dtype | None = None, out: Tensor | None = None) -> Tensor:
    """Return the running products along a dimension; integers and bools are multiplied as int64.

    >>> import minigrad
    >>> minigrad.cumprod(minigrad.tensor([1., 2., 3.]), 0)
    tensor([1., 2., 6.])
    """

def cumsum(input: Tensor, dim: _int, *, dtype: dtype | None = None, out: Tensor | None = None) -> Tensor:
    """Return the running sums along a dimension; integers and bools are summed as int64.

    >>> import minigrad
    >>> minigrad.cumsum(minigrad.tensor([1., 2., 3.]), 0)
    tensor([1., 3., 6.])
    """

def cumulative_trapezoid(y: Tensor, x: Tensor | None = None, *, dx: _float | None = None, dim: _int = -1) -> Tensor:
    """Return the integrals from the first point to each of the others (see trapezoid)."""

def diff(
    input: Tensor,
    n: _int = 1,
    dim: _int = -1,
    prepend: Tensor | None = None,
    append: Tensor | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Return the n-th differences of neighbours along a dimension, after joining `prepend` before it and `append` after it.

    For bools the result is True where neighbours differ.  Raises RuntimeError for 0-d tensors and negative n.

    >>> import minigrad
    >>> minigrad.diff(minigrad.tensor([1, 4, 9]))
    tensor([3, 5])
    """

def logcumsumexp(input: Tensor, dim: _int, *, out: Tensor | None = None) -> Tensor:
    """Return log(cumsum(exp(input))) along a dimension, without overflow.

    Raises NotImplementedError for integers, as PyTorch does.
    """

def trapezoid(y: Tensor, x: Tensor | None = None, *, dx: _float | None = None, dim: _int = -1) -> Tensor:
    """Integrate over a dimension by the trapezoidal rule, for values y at points x, or at distances dx (default 1).

    x is a vector, or broadcast to y.  Raises RuntimeError for bools and for another number of points.

    >>> import minigrad
    >>> minigrad.trapezoid(minigrad.tensor([1., 2., 4.]), minigrad.tensor([0., 1., 3.]))
    tensor(7.5000)
    """

def trapz(y: Tensor, x: Tensor | None = None, *, dx: _float | None = None, dim: _int = -1) -> Tensor:
    """Integrate by the trapezoidal rule (see trapezoid)."""

def index_reduce(
    input: Tensor,
    dim: _int,
    index: Tensor,
    source: Tensor,
    reduce: str,
    *,
    include_self: _bool = True,
    out: Tensor | None = None,
) -> Tensor:
    """Combine the slices of `source` with `input` at the indices along `dim`, by "prod", "mean", "amax" or "amin".

    With include_self=False the old values do not take part.
    """

def scatter(
    input: Tensor,
    dim: _int,
    index: Tensor,
    src: Tensor | _float | None = None,
    *,
    value: Tensor | _float | None = None,
    reduce: str | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Write elements of `src`, or the number `value`, at `index` along `dim` of `input`.

    For dim=0 this is out[index[i, j], j] = src[i, j].  Of several elements with one index, one stays.
    `reduce` "add" or "multiply" combines them with the old value.  Raises RuntimeError for indices out of range.
    """

def scatter_add(input: Tensor, dim: _int, index: Tensor, src: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Add elements of `src` to `input` along `dim`; repeated indices add up.

    For dim=0 this is out[index[i, j], j] += src[i, j].
    """

def scatter_reduce(
    input: Tensor,
    dim: _int,
    index: Tensor,
    src: Tensor,
    reduce: str,
    *,
    include_self: _bool = True,
    out: Tensor | None = None,
) -> Tensor:
    """Combine elements of `src` with `input` at the indices along `dim`.

    `reduce` is "sum", "prod", "mean", "amax" or "amin".  With include_self=False the old values do not
    take part.
    """

def adjoint(input: Tensor) -> Tensor:
    """Swap the last two dimensions (minigrad has no complex numbers to conjugate)."""

def flatten(input: Tensor, start_dim: _int = 0, end_dim: _int = -1) -> Tensor:
    """Merge the dimensions from `start_dim` to `end_dim`; a 0-d tensor gets shape (1,)."""

def movedim(input: Tensor, source: _int | Sequence[_int], destination: _int | Sequence[_int]) -> Tensor:
    """Move the dimensions `source` to the positions `destination`; the others keep their order.  A view."""

def permute(input: Tensor, *dims: _int | Sequence[_int]) -> Tensor:
    """Return the dimensions in the given order, as a view."""

def ravel(input: Tensor) -> Tensor:
    """Return all elements in one dimension, contiguous: a view if the memory allows it, else a copy."""

def reshape(input: Tensor, *shape: _int | Sequence[_int]) -> Tensor:
    """Return the same elements in row-major order under another shape: a view if the memory allows it, else a copy.

    One size may be -1, to be computed.  Raises RuntimeError if the number of elements does not fit.

    >>> import minigrad
    >>> minigrad.arange(6).reshape(2, -1)
    tensor([[0, 1, 2],
            [3, 4, 5]])
    """

def squeeze(input: Tensor, dim: _int | Sequence[_int] | None = None) -> Tensor:
    """Remove dimensions of size 1, all or those in `dim`, as a view; dimensions of other sizes stay."""

def t(input: Tensor) -> Tensor:
    """Transpose a matrix; tensors of fewer dimensions stay unchanged.  A view."""

def transpose(input: Tensor, dim0: _int, dim1: _int) -> Tensor:
    """Swap two dimensions, as a view."""

def unflatten(input: Tensor, dim: _int, sizes: _int | Sequence[_int]) -> Tensor:
    """Split one dimension into several of the given sizes, one of which may be -1."""

def unsqueeze(input: Tensor, dim: _int) -> Tensor:
    """Add a dimension of size 1 at position `dim`, as a view."""

def moveaxis(input: Tensor, source: _int | Sequence[_int], destination: _int | Sequence[_int]) -> Tensor:
    """Move the dimensions `source` to the positions `destination`; the others keep their order.  A view."""

def swapaxes(input: Tensor, dim0: _int, dim1: _int) -> Tensor:
    """Swap two dimensions, as a view."""

def swapdims(input: Tensor, dim0: _int, dim1: _int) -> Tensor:
    """Swap two dimensions, as a view."""

def index_add(
    input: Tensor, dim: _int, index: Tensor, source: Tensor, *, alpha: _float = 1, out: Tensor | None = None
) -> Tensor:
    """Add alpha times the slices of `source` to `input` at the indices along `dim`; repeated indices add up."""

def index_copy(input: Tensor, dim: _int, index: Tensor, source: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Write the slices of `source` into `input` at the indices along `dim`."""

def index_fill(input: Tensor, dim: _int, index: Tensor, value: Tensor | _float) -> Tensor:
    """Write one value, a number or a 0-d tensor, into `input` at the indices along `dim`."""

def index_put(
    input: Tensor, indices: Sequence[Tensor | _int | slice | None], values: Tensor, accumulate: _bool = False
) -> Tensor:
    """Set input[indices] = values; with `accumulate` add them, where repeated indices add up."""

def index_select(input: Tensor, dim: _int, index: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the slices of `input` at the indices along `dim`, as a copy.  Raises IndexError for indices out of range."""

def put(input: Tensor, index: Tensor, source: Tensor, accumulate: _bool = False) -> Tensor:
    """Write the elements of `source` at `index` of the flattened `input`; with `accumulate` add them."""

def take(input: Tensor, index: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the elements at `index` of the flattened `input`, in the shape of `index`."""

def argsort(input: Tensor, dim: _int = -1, descending: _bool = False, stable: _bool = False) -> Tensor:
    """Return the indices that sort a dimension."""

def bincount(input: Tensor, weights: Tensor | None = None, minlength: _int = 0) -> Tensor:
    """Count each number from 0 on in a vector, or sum its weights; the result has at least `minlength` elements."""

def bucketize(
    input: Tensor | _float,
    boundaries: Tensor,
    *,
    out_int32: _bool = False,
    right: _bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """Return the index of each element's bucket between sorted `boundaries`."""

def histc(input: Tensor, bins: _int = 100, min: _float = 0, max: _float = 0, *, out: Tensor | None = None) -> Tensor:
    """Count the elements in each of `bins` equal parts of [min, max], or of the input's range if both are 0."""

def isin(
    elements: Tensor | _float,
    test_elements: Tensor | _float,
    *,
    assume_unique: _bool = False,
    invert: _bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """Return True where an element is one of `test_elements`; one of the two may be a number."""

def kthvalue(
    input: Tensor, k: _int, dim: _int = -1, keepdim: _bool = False, *, out: tuple[Tensor, ...] | None = None
) -> Selected:
    """Return (value, index) of the k-th smallest element of a dimension, counted from 1."""

def msort(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Sort the first dimension."""

def searchsorted(
    sorted_sequence: Tensor,
    input: Tensor | _float,
    *,
    out_int32: _bool = False,
    right: _bool = False,
    side: str | None = None,
    sorter: Tensor | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Return the indices at which `input` belongs in a sorted sequence: before equal elements, or after them if `right`.

    A sequence of several dimensions has one row for each row of `input`.
    """

def sort(
    input: Tensor,
    dim: _int = -1,
    descending: _bool = False,
    stable: _bool = False,
    *,
    out: tuple[Tensor, ...] | None = None,
) -> Selected:
    """Return (values, indices) of a sorted dimension.  NaN counts as the largest; equal elements always keep their order.

    >>> import minigrad
    >>> values, indices = minigrad.sort(minigrad.tensor([2., 3., 1.]), descending=True)
    >>> values, indices
    (tensor([3., 2., 1.]), tensor([1, 0, 2]))
    """

def topk(
    input: Tensor,
    k: _int,
    dim: _int = -1,
    largest: _bool = True,
    sorted: _bool = True,
    *,
    out: tuple[Tensor, ...] | None = None,
) -> Selected:
    """Return (values, indices) of the k largest, or smallest, elements of a dimension, in order."""

@overload
def unique(
    input: Tensor,
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
    input: Tensor,
    sorted: _bool = True,
    return_counts: _bool = False,
    dim: _int | None = None,
    *,
    return_inverse: Literal[True],
) -> tuple[Tensor, ...]: ...
@overload
def unique(
    input: Tensor,
    sorted: _bool = True,
    return_inverse: _bool = False,
    dim: _int | None = None,
    *,
    return_counts: Literal[True],
) -> tuple[Tensor, ...]: ...
@overload
def unique(
    input: Tensor,
    sorted: _bool = True,
    return_inverse: _bool = False,
    return_counts: _bool = False,
    dim: _int | None = None,
) -> Any: ...
@overload
def unique_consecutive(
    input: Tensor,
    return_inverse: Literal[False] = False,
    return_counts: Literal[False] = False,
    dim: _int | None = None,
) -> Tensor:
    """Merge only equal neighbours, and keep the order; otherwise like `unique`."""

@overload
def unique_consecutive(
    input: Tensor, return_counts: _bool = False, dim: _int | None = None, *, return_inverse: Literal[True]
) -> tuple[Tensor, ...]: ...
@overload
def unique_consecutive(
    input: Tensor, return_inverse: _bool = False, dim: _int | None = None, *, return_counts: Literal[True]
) -> tuple[Tensor, ...]: ...
@overload
def unique_consecutive(
    input: Tensor, return_inverse: _bool = False, return_counts: _bool = False, dim: _int | None = None
) -> Any: ...
def logaddexp2(input: Tensor | _float, other: Tensor | _float, *, out: Tensor | None = None) -> Tensor:
    """log2(2**x + 2**y), without intermediate overflow."""

def corrcoef(input: Tensor) -> Tensor:
    """Return Pearson's correlations of variables, the rows, over observations: covariances over both standard deviations.

    >>> import minigrad
    >>> minigrad.corrcoef(minigrad.tensor([[0., 1., 2.], [4., 2., 0.]]))
    tensor([[ 1., -1.],
            [-1.,  1.]])
    """

def cov(
    input: Tensor, *, correction: _int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None
) -> Tensor:
    """Return the covariances of variables, the rows, over observations, the columns; for a vector its variance.

    `fweights` are integers, the number of times each observation counts, `aweights` its importance.  Squared distances from
    the mean are divided by the number of observations less `correction`.  Raises RuntimeError for more than two dimensions,
    bools, and weights of another dtype, of another number or below 0.

    >>> import minigrad
    >>> minigrad.cov(minigrad.tensor([[0., 1., 2.], [2., 1., 0.]]))
    tensor([[ 1., -1.],
            [-1.,  1.]])
    """

def std(
    input: Tensor,
    dim: _int | Sequence[_int] | None = None,
    unbiased: _bool | None = None,
    keepdim: _bool = False,
    *,
    correction: _float | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Return the standard deviation of all elements, or over the dimensions `dim`: the root of `var`, with its arguments."""

def std_mean(
    input: Tensor,
    dim: _int | Sequence[_int] | None = None,
    unbiased: _bool | None = None,
    keepdim: _bool = False,
    *,
    correction: _float | None = None,
) -> tuple[Tensor, Tensor]:
    """Return `(std, mean)` of all elements, or over the dimensions `dim`."""

def var(
    input: Tensor,
    dim: _int | Sequence[_int] | None = None,
    unbiased: _bool | None = None,
    keepdim: _bool = False,
    *,
    correction: _float | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Return the variance of all elements, or over the dimensions `dim`: squared distances from the mean over n - correction.

    `correction` defaults to 1 (Bessel's); `unbiased=False` means 0.  One element with correction 1 gives 0/0, NaN, and a
    warning.  Raises RuntimeError for integers.

    >>> import minigrad
    >>> minigrad.var(minigrad.tensor([1., 2., 3.])), minigrad.var(minigrad.tensor([1., 3.]), correction=0)
    (tensor(1.), tensor(1.))
    """

def var_mean(
    input: Tensor,
    dim: _int | Sequence[_int] | None = None,
    unbiased: _bool | None = None,
    keepdim: _bool = False,
    *,
    correction: _float | None = None,
) -> tuple[Tensor, Tensor]:
    """Return `(var, mean)` of all elements, or over the dimensions `dim`."""
