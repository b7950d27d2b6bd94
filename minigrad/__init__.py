"""minigrad: the autograd toolkit that shows its work.

This file is the table of contents: it lists every public name with the file that defines it.  `import minigrad as torch` runs
programs written for PyTorch's autograd; names, arguments and semantics are PyTorch's.

Where to read on: core/tensor.py and core/function.py for tensors and operations, core/engine.py for reverse
mode, ops/base/families.py for the declaration of an operation, layers/ for the transforms, record/ for recordings of programs.
"""

import gc as _gc
import math as _math
from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

__version__ = "0.1.0"

_collects = _gc.isenabled()
_gc.disable()  # an import makes no garbage, but the search for it would take a quarter of the time

# ---------------------------------------------------------------------- differentiation, transforms, networks, records
from . import autograd, cuda, func, linalg, nn, optim, return_types
from . import diagnose as _diagnose
from . import fast as _fast
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
from .compile import compile
from .compile.eager_kernels import install as _install_kernels
from .core.tensor import Tensor
from .diagnose.boundary import guard as _guard
from .display import draw_at_exit as _draw_at_exit
from .display import install as _install_display
from .display import load_ipython_extension
from .errors import InternalError, MinigradError, MinigradWarning, silence
from .errors import install as _install_traceback
from .explain import explain, explain_shape
from .func import vmap
from .kernels.buffer_pool import empty_pool, get_pool_limit, set_pool_limit
from .kernels.buffer_pool import install as _install_pool
from .kernels.threads import get_num_threads, set_num_threads
from .nn.functional import (
    adaptive_avg_pool1d,
    alpha_dropout,
    avg_pool1d,
    batch_norm,
    bilinear,
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
    hinge_embedding_loss,
    instance_norm,
    kl_div,
    layer_norm,
    margin_ranking_loss,
    max_pool1d,
    max_pool2d,
    max_pool3d,
    pairwise_distance,
    pixel_shuffle,
    pixel_unshuffle,
    poisson_nll_loss,
    relu_,
    rms_norm,
    rrelu,
    rrelu_,
    selu_,
    threshold_,
    triplet_margin_loss,
)
from .ops import generator as random
from .ops import tensor_methods as _methods
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
from .record import Record, record, record_of
from .record import install as _install_records
from .tensors.printing import get_printoptions, printoptions, set_printoptions

# ---------------------------------------------------------------------- operations: docs/operations.md has the table
# `make contents` writes these imports from the declarations in ops/.
# isort: off
# fmt: off
from .ops.as_strided import as_strided
from .ops.broadcast import atleast_1d, atleast_2d, atleast_3d, broadcast_shapes, broadcast_tensors, broadcast_to
from .ops.chains import chain_matmul, matrix_exp, matrix_power
from .ops.compare import (
    allclose, clamp, clamp_max, clamp_min, clip, eq, equal, fmax, fmin, ge, greater, greater_equal, gt, isclose,
    isfinite, isinf, isnan, isneginf, isposinf, le, less, less_equal, lt, maximum, minimum, ne, not_equal, signbit,
    where,
)
from .ops.copy import clone
from .ops.create import (
    arange, empty, empty_like, empty_strided, eye, full, full_like, linspace, logspace, ones, ones_like, range,
    tril_indices, triu_indices, zeros, zeros_like,
)
from .ops.decompositions import cholesky, qr, svd
from .ops.determinants import det, logdet, slogdet
from .ops.diagonal import diag, diag_embed, diagflat, diagonal, trace, tril, triu
from .ops.distances import pdist, renorm
from .ops.einsum import einsum, inner, kron, tensordot
from .ops.elementary import (
    acos, acosh, arccos, arccosh, arcsin, arcsinh, arctan, arctan2, arctanh, asin, asinh, atan, atan2, atanh, cos,
    cosh, deg2rad, digamma, erf, erfc, exp, exp2, expm1, hypot, lgamma, log, log10, log1p, log2, logaddexp, polygamma,
    rad2deg, rsqrt, sigmoid, sin, sinc, sinh, sqrt, tan, tanh, xlogy,
)
from .ops.flip import flip, fliplr, flipud, roll, rot90
from .ops.gather import gather, take_along_dim
from .ops.grids import cartesian_prod, combinations, gradient, meshgrid, unravel_index, vander
from .ops.inverses import erfinv, float_power, logit
from .ops.join import (
    block_diag, cat, chunk, column_stack, dstack, hstack, narrow, select, split, split_with_sizes, stack, tensor_split,
    unbind, vstack,
)
from .ops.join import cat as concat
from .ops.join import cat as concatenate
from .ops.join import vstack as row_stack
from .ops.linalg import cholesky_inverse, cholesky_solve, inverse, triangular_solve
from .ops.logic import (
    bitwise_and, bitwise_left_shift, bitwise_not, bitwise_or, bitwise_right_shift, bitwise_xor, gcd, isreal, lcm,
    logical_and, logical_not, logical_or, logical_xor,
)
from .ops.lu import lu_unpack
from .ops.masks import argwhere, masked_fill, masked_scatter, masked_select, nonzero
from .ops.matmul import addbmm, addmm, addmv, addr, baddbmm, bmm, cross, dot, matmul, mm, mv, outer, vdot
from .ops.matmul import outer as ger
from .ops.nn.activation import celu, hardshrink, prelu, relu, selu, threshold
from .ops.nn.dropout import feature_dropout
from .ops.nn.softmax import log_softmax, logsumexp, softmax
from .ops.norms import cdist, dist, norm
from .ops.order import amax, amin, aminmax, argmax, argmin, max, min
from .ops.pad import repeat_interleave, tile
from .ops.pointwise import (
    abs, absolute, add, addcdiv, addcmul, copysign, lerp, mul, multiply, nan_to_num, neg, negative, positive, pow,
    reciprocal, sgn, sign, square, sub, subtract,
)
from .ops.prod import prod
from .ops.quantiles import median, mode, nanmedian, nanquantile, quantile
from .ops.random import (
    bernoulli, binomial, multinomial, normal, poisson, rand, rand_like, randint, randint_like, randn, randn_like,
    randperm,
)
from .ops.rank import pinverse
from .ops.reduce import all, any, count_nonzero, mean, nanmean, nansum, sum
from .ops.replaced_parts import diagonal_scatter, select_scatter, slice_scatter
from .ops.rounding import (
    ceil, div, divide, fix, floor, floor_divide, fmod, frac, heaviside, remainder, round, true_divide, trunc,
)
from .ops.scan import cummax, cummin, cumprod, cumsum, cumulative_trapezoid, diff, logcumsumexp, trapezoid, trapz
from .ops.scattering import index_reduce, scatter, scatter_add, scatter_reduce
from .ops.shape import adjoint, flatten, movedim, permute, ravel, reshape, squeeze, t, transpose, unflatten, unsqueeze
from .ops.shape import movedim as moveaxis
from .ops.shape import transpose as swapaxes
from .ops.shape import transpose as swapdims
from .ops.slices import index_add, index_copy, index_fill, index_put, index_select, put, take
from .ops.sort import (
    argsort, bincount, bucketize, histc, isin, kthvalue, msort, searchsorted, sort, topk, unique, unique_consecutive,
)
from .ops.special_functions import i0, logaddexp2, mvlgamma
from .ops.statistics import corrcoef, cov, std, std_mean, var, var_mean
# fmt: on
# isort: on

inf, nan, pi, e = _math.inf, _math.nan, _math.pi, _math.e
newaxis = None

_methods.install()  # operations as methods and operators of Tensor
_diagnose.install()  # errors and warnings with explanations; debug mode
_fast.install()  # write out operations at their first call
_install_display()  # let notebooks draw tensors and their graphs
_install_records()  # let recordings observe a tensor before it gets another array
_install_kernels()  # let eager operations use the compiler's fused kernels
_install_pool()
_install_traceback()
_guard(  # let errors of Python name the public function and its argument
    *(autograd, autograd.forward_ad, autograd.function, autograd.functional, autograd.graph, autograd.profiler),
    *(cuda, func, nn, nn.functional, nn.grad, nn.init, nn.utils, nn.utils.rnn, nn.utils.parametrize),
    *(nn.utils.parametrizations, optim, optim.lr_scheduler, optim.swa_utils, random, __name__),
)
_draw_at_exit()  # with MINIGRAD_VIZ=1

if _collects:
    if not _gc.get_freeze_count():  # the program has frozen nothing, which must remain frozen
        _gc.freeze()
        _gc.unfreeze()  # all that was made counts as old now, and the next two collections need not search it
    _gc.enable()


# ---------------------------------------------------------------------- around the engine: imported at first use
if _TYPE_CHECKING:
    from . import testing
    from .serialization import load, save

_AROUND = {name: name for name in "compat distributed distributions profiler testing utils".split()} | {
    "amp": "compat.amp",
    "library": "compat.library",
    "special": "compat.special",
}
_FUNCTIONS = {"load": "serialization", "save": "serialization", "as_torch": "compat.as_torch"}
_PLACEHOLDERS = "accelerator backends compiler jit multiprocessing onnx version".split()  # compat/placeholders.py
nn.parallel.plugged["DistributedDataParallel"] = lambda: (
    _import_module(f"{__name__}.distributed.data_parallel").DistributedDataParallel
)


def __dir__() -> list:
    """Return all names, including those imported at first use, for completion in notebooks."""
    return sorted({*globals(), *_AROUND, *_FUNCTIONS, *_PLACEHOLDERS})


def __getattr__(name: str) -> _Any:
    """Import a part of the library around the engine at its first use; for an unknown name, raise with a replacement."""
    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name in _AROUND:
        return _import_module(f"{__name__}.{_AROUND[name]}")
    if name in _FUNCTIONS:
        return getattr(_import_module(f"{__name__}.{_FUNCTIONS[name]}"), name)
    placeholders = _import_module(f"{__name__}.compat.placeholders")
    if name in _PLACEHOLDERS:
        return placeholders.module(name)
    return placeholders.top_level(name)
