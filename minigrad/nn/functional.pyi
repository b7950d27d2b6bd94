"""Functions for neural networks, under torch.nn.functional's names."""

# `make contents` writes this file from the declarations in ops/.
from collections.abc import Sequence
from typing import Any, Literal, overload

from ..arrays.dtypes import dtype
from ..core.tensor import Tensor
from ..ops.nn.ctc import ctc_loss
from ..ops.nn.inplace_activation import celu_, elu_, hardtanh_, leaky_relu_, relu_, rrelu_, selu_, threshold_
from ..ops.nn.unpool import max_unpool1d, max_unpool2d, max_unpool3d

__all__ = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool2d",
    "adaptive_max_pool3d",
    "affine_grid",
    "alpha_dropout",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "batch_norm",
    "bilinear",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "celu",
    "celu_",
    "channel_shuffle",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "cosine_embedding_loss",
    "cosine_similarity",
    "cross_entropy",
    "ctc_loss",
    "dropout",
    "dropout1d",
    "dropout2d",
    "dropout3d",
    "elu",
    "elu_",
    "embedding",
    "embedding_bag",
    "feature_alpha_dropout",
    "fold",
    "gaussian_nll_loss",
    "gelu",
    "glu",
    "grid_sample",
    "group_norm",
    "gumbel_softmax",
    "hardshrink",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "hardtanh_",
    "hinge_embedding_loss",
    "huber_loss",
    "instance_norm",
    "interpolate",
    "kl_div",
    "l1_loss",
    "layer_norm",
    "leaky_relu",
    "leaky_relu_",
    "linear",
    "local_response_norm",
    "log_softmax",
    "logsigmoid",
    "margin_ranking_loss",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "max_unpool1d",
    "max_unpool2d",
    "max_unpool3d",
    "mish",
    "mse_loss",
    "multilabel_soft_margin_loss",
    "nll_loss",
    "normalize",
    "one_hot",
    "pad",
    "pairwise_distance",
    "pdist",
    "pixel_shuffle",
    "pixel_unshuffle",
    "poisson_nll_loss",
    "prelu",
    "relu",
    "relu6",
    "relu_",
    "rms_norm",
    "rrelu",
    "rrelu_",
    "scaled_dot_product_attention",
    "selu",
    "selu_",
    "sigmoid",
    "silu",
    "smooth_l1_loss",
    "soft_margin_loss",
    "softmax",
    "softmin",
    "softplus",
    "softshrink",
    "softsign",
    "tanh",
    "tanhshrink",
    "threshold",
    "threshold_",
    "triplet_margin_loss",
    "unfold",
    "upsample",
    "upsample_bilinear",
    "upsample_nearest",
]

def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False, *, out: Tensor | None = None) -> Tensor:
    """Return x where positive, else alpha * (exp(x / alpha) - 1).  Raises RuntimeError for alpha = 0."""

def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False, *, out: Tensor | None = None) -> Tensor:
    """Return x where positive, else alpha * (exp(x) - 1)."""

def gelu(input: Tensor, approximate: str = "none", *, out: Tensor | None = None) -> Tensor:
    """Return x times the probability that a standard normal variable is below x; approximate="tanh" estimates it.

    Raises RuntimeError for other values of `approximate`.

    >>> import minigrad
    >>> gelu(minigrad.tensor([-1., 0., 1.]))
    tensor([-0.1587,  0.0000,  0.8413])
    """

def glu(input: Tensor, dim: int = -1) -> Tensor:
    """Return the first half along `dim` times the sigmoid of the second.  Raises RuntimeError for an odd size.

    >>> import minigrad
    >>> glu(minigrad.tensor([1., 2., 0., 0.]))
    tensor([0.5000, 1.0000])
    """

def hardshrink(input: Tensor, lambd: float = 0.5, *, out: Tensor | None = None) -> Tensor:
    """x, but 0 where |x| <= lambd; the derivative there is 0."""

def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """x / 6 + 1/2 clamped to [0, 1]; the derivative at the bounds is 0."""

def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """x * hardsigmoid(x)."""

def hardtanh(
    input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False, *, out: Tensor | None = None
) -> Tensor:
    """Clamp x to [`min_val`, `max_val`].  Raises ValueError if min_val is greater."""

def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """x where positive, else negative_slope * x."""

def logsigmoid(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """log(sigmoid(x)), without overflow."""

def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """x * tanh(log(1 + exp(x))).  Source: Misra, Mish (2019)."""

def prelu(input: Tensor | float, weight: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return x where positive, else weight * x, with one weight, or one for each index of dimension 1.

    Raises RuntimeError for another number of weights, or weights of another dtype.
    """

def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """x where positive, else 0; the derivative at 0 is 0."""

def relu6(input: Tensor, inplace: bool = False, *, out: Tensor | None = None) -> Tensor:
    """Clamp x to [0, 6]."""

def selu(input: Tensor, inplace: bool = False, *, out: Tensor | None = None) -> Tensor:
    """Apply elu with the scale and alpha that keep activations at mean 0 and variance 1."""

def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """x * sigmoid(x), also called swish."""

def softplus(input: Tensor, beta: float = 1.0, threshold: float = 20.0, *, out: Tensor | None = None) -> Tensor:
    """log(1 + exp(beta * x)) / beta, a smooth relu; x itself where beta * x > threshold and both agree up to rounding."""

def softshrink(input: Tensor, lambd: float = 0.5, *, out: Tensor | None = None) -> Tensor:
    """Move x towards 0 by `lambd`; the result is 0 where |x| <= lambd.  Raises RuntimeError for a negative lambd."""

def softsign(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """x / (1 + |x|)."""

def tanhshrink(input: Tensor) -> Tensor:
    """Return x - tanh(x)."""

def threshold(
    input: Tensor, threshold: float, value: float, inplace: bool = False, *, out: Tensor | None = None
) -> Tensor:
    """Return x where above `threshold`, else `value`."""

def adaptive_avg_pool1d(input: Tensor, output_size: int | None | Sequence[int | None]) -> Tensor:
    """Average `output_size` even parts of (n, c, length) or (c, length); parts overlap if necessary."""

def adaptive_avg_pool2d(input: Tensor, output_size: int | None | Sequence[int | None]) -> Tensor:
    """Average even parts, `output_size` in each direction (None: one per element); see adaptive_avg_pool1d."""

def adaptive_avg_pool3d(input: Tensor, output_size: int | None | Sequence[int | None]) -> Tensor:
    """Average even parts of (n, c, depth, height, width), or without n; see adaptive_avg_pool2d."""

@overload
def adaptive_max_pool1d(
    input: Tensor, output_size: int | None | Sequence[int | None], return_indices: Literal[False] = False
) -> Tensor:
    """Return the maxima of `output_size` even parts of (n, c, length) or (c, length)."""

@overload
def adaptive_max_pool1d(
    input: Tensor, output_size: int | None | Sequence[int | None], *, return_indices: Literal[True]
) -> tuple[Tensor, Tensor]: ...
@overload
def adaptive_max_pool1d(
    input: Tensor, output_size: int | None | Sequence[int | None], return_indices: bool = False
) -> Any: ...
@overload
def adaptive_max_pool2d(
    input: Tensor, output_size: int | None | Sequence[int | None], return_indices: Literal[False] = False
) -> Tensor:
    """Return the maxima of even parts, `output_size` in each direction; with `return_indices` also their positions."""

@overload
def adaptive_max_pool2d(
    input: Tensor, output_size: int | None | Sequence[int | None], *, return_indices: Literal[True]
) -> tuple[Tensor, Tensor]: ...
@overload
def adaptive_max_pool2d(
    input: Tensor, output_size: int | None | Sequence[int | None], return_indices: bool = False
) -> Any: ...
@overload
def adaptive_max_pool3d(
    input: Tensor, output_size: int | None | Sequence[int | None], return_indices: Literal[False] = False
) -> Tensor:
    """Return the maxima of even parts of (n, c, depth, height, width), or without n; see adaptive_max_pool2d."""

@overload
def adaptive_max_pool3d(
    input: Tensor, output_size: int | None | Sequence[int | None], *, return_indices: Literal[True]
) -> tuple[Tensor, Tensor]: ...
@overload
def adaptive_max_pool3d(
    input: Tensor, output_size: int | None | Sequence[int | None], return_indices: bool = False
) -> Any: ...
def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    """Draw a random class for each row of logits: softmax((logits + noise) / tau), with Gumbel noise.

    With `hard` the result is one-hot, with the gradient of the soft result.
    Source: Jang, Gu, Poole, "Categorical reparameterization with Gumbel-softmax", 2017.
    """

def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """Return softmax(query @ key.mT * scale + mask) @ value: (..., l, e), (..., s, e) and (..., s, v) give (..., l, v).

    `scale` defaults to 1 / sqrt(e).  A boolean mask is True at positions that take part in attention; any other mask is added.
    With `is_causal` no position sees a later one.  A position that sees none gets zeros.  With `enable_gqa` several heads
    (dimension -3) of the query share one head of key and value.
    Raises RuntimeError for a mask with is_causal, and for heads that cannot be shared evenly.
    Source: Vaswani et al., "Attention is all you need", 2017.
    """

def fold(
    input: Tensor,
    output_size: int | Sequence[int],
    kernel_size: int | Sequence[int],
    dilation: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    stride: int | Sequence[int] = 1,
) -> Tensor:
    """Add up columns (n, c * elements of a window, windows) into (n, c, *output_size): the transpose of unfold."""

def unfold(
    input: Tensor,
    kernel_size: int | Sequence[int],
    dilation: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    stride: int | Sequence[int] = 1,
) -> Tensor:
    """Return all windows of `input` (n, c, height, width) as columns: (n, c * elements of a window, number of windows)."""

def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] | str = 0,
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
) -> Tensor:
    """Convolve `input` (n, c, length) or (c, length) with `weight` (out, c / groups, kernel); see conv2d."""

def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] | str = 0,
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
) -> Tensor:
    """Convolve `input` (n, c, height, width) or (c, height, width) with `weight` (out, c / groups, *kernel).

    `padding` is a number per dimension, 'valid' (none) or 'same' (the output as large as the input; needs stride 1).
    Raises RuntimeError if channels do not match or the kernel is larger than the padded input.

    >>> import minigrad
    >>> x = minigrad.tensor([[[[1., 2., 3.], [4., 5., 6.]]]])
    >>> minigrad.nn.functional.conv2d(x, minigrad.tensor([[[[1., 10.]]]]))
    tensor([[[[21., 32.],
              [54., 65.]]]])
    """

def conv3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] | str = 0,
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
) -> Tensor:
    """Convolve `input` (n, c, depth, height, width) with `weight` (out, c / groups, *kernel); see conv2d."""

def conv_transpose1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] | str = 0,
    output_padding: int | Sequence[int] = 0,
    groups: int = 1,
    dilation: int | Sequence[int] = 1,
) -> Tensor:
    """Apply a transposed convolution to (n, c, length) with `weight` (c, out / groups, kernel); see conv_transpose2d."""

def conv_transpose2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] | str = 0,
    output_padding: int | Sequence[int] = 0,
    groups: int = 1,
    dilation: int | Sequence[int] = 1,
) -> Tensor:
    """Apply a transposed convolution to `input` (n, c, height, width) with `weight` (c, out / groups, *kernel).

    This is the gradient of conv2d by its input.  The result exceeds the smallest possible output size by `output_padding`,
    which must be smaller than stride or dilation; RuntimeError otherwise.
    """

def conv_transpose3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] | str = 0,
    output_padding: int | Sequence[int] = 0,
    groups: int = 1,
    dilation: int | Sequence[int] = 1,
) -> Tensor:
    """Apply a transposed convolution to (n, c, depth, height, width); `weight` as in conv_transpose2d."""

def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """Return -log softmax(input) at the target.

    `input` is (n, c, ...) or (c,), logits; `target` is (n, ...), classes, or like input, probabilities.
    `weight` has one factor per class; the mean is weighted by them.  Targets equal to `ignore_index` add no loss;
    `label_smoothing` is the share of each target that is spread over all classes.
    Raises IndexError for classes out of range, ValueError if the batch sizes differ.

    >>> import minigrad
    >>> logits = minigrad.tensor([[0., 0.]])
    >>> cross_entropy(logits, minigrad.tensor([1]))
    tensor(0.6931)
    """

def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return -input at the target: input (n, c, ...) or (c,) of log-probabilities, target (n, ...) of classes.

    `weight`, `ignore_index` and errors as for cross_entropy.
    """

def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return 1 - cos where the target is 1, max(0, cos - margin) where it is -1, reduced."""

def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-08) -> Tensor:
    """Return the cosine of the angle between vectors along `dim`; norms are clamped to at least `eps`."""

def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return input where the target is 1, max(0, margin - input) where it is -1, else, as in PyTorch, their sum; reduced."""

def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return max(0, -target * (input1 - input2) + margin): it wants input1 larger for target 1, smaller for -1; reduced."""

def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-06,
    swap: bool = False,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return max(0, d(anchor, positive) - d(anchor, negative) + margin), reduced.

    With `swap` the distance of the negative is measured from the nearer of anchor and positive.
    """

def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Drop elements to SELU's negative limit and rescale, which keeps mean 0 and variance 1.

    Source: Klambauer et al., "Self-normalizing neural networks", 2017.
    """

def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Set each element to zero with probability `p` and divide the others by 1 - p, in training; otherwise do nothing.

    Raises ValueError if p is not a probability.  Source: Srivastava et al., "Dropout", 2014.
    """

def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Drop whole channels of (n, c, length) or (c, length).  Raises RuntimeError for other shapes."""

def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Drop whole channels of (n, c, height, width).

    The first two dimensions count as n and c in any shape, with a warning; a single image is no exception.
    """

def dropout3d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Drop whole channels of (n, c, depth, height, width) or (c, depth, height, width).

    In other shapes the first dimension counts as c, with a warning.
    """

def feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Apply alpha_dropout to whole channels of (n, c, ...).  Raises RuntimeError for fewer dimensions."""

def rrelu(
    input: Tensor,
    lower: float = 0.125,
    upper: float = 0.3333333333333333,
    training: bool = False,
    inplace: bool = False,
) -> Tensor:
    """Apply leaky_relu: in training with a random slope in [`lower`, `upper`] per negative element, else with their mean.

    Raises RuntimeError if `lower` is above `upper`.
    Source: Xu et al., "Empirical evaluation of rectified activations in convolutional network", 2015.
    """

def sigmoid(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """1 / (1 + exp(-x)): from 0 to 1, 1/2 at 0."""

def tanh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Hyperbolic tangent."""

def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """Return rows of `weight` (n, d) by the integers in `input`: (...) gives (..., d).  Row `padding_idx` gets no gradient.

    With `max_norm`, rows that are read are first scaled, in place and unrecorded, to at most this norm of order `norm_type`.
    With `scale_grad_by_freq`, the gradient of each row is divided by the number of its reads.
    Raises IndexError for indices outside the table, NotImplementedError for sparse=True.

    >>> import minigrad
    >>> embedding(minigrad.tensor([2, 0]), minigrad.tensor([[1.], [2.], [3.]]))
    tensor([[3.],
            [1.]])
    """

def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """Return for each bag of integers the "sum", "mean" or "max" (`mode`) of its rows of `weight` (n, d).

    The bags are the rows of `input` (bags, length), or the parts of `input` (length) that begin at `offsets`; with
    `include_last_offset` the last offset is the end of the last bag.  An empty bag gives zeros.  Row `padding_idx` takes no
    part.  `per_sample_weights`, of the shape of input, multiply the rows that are summed.  `max_norm` and
    `scale_grad_by_freq` act as in `embedding`; of equal maxima the first one gets the gradient.

    Raises ValueError and RuntimeError for arguments that do not fit, NotImplementedError for sparse=True.

    >>> import minigrad
    >>> table = minigrad.tensor([[1.], [10.], [100.]])
    >>> embedding_bag(minigrad.tensor([0, 1, 2, 2]), table, minigrad.tensor([0, 3]), mode="sum").tolist()
    [[111.0], [100.0]]
    """

def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return out[..., o] = sum over i and j of input1[..., i] * weight[o, i, j] * input2[..., j], plus bias[o]."""

def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return input @ weight.T + bias: (..., in) with weight (out, in) and bias (out,) gives (..., out).

    Raises RuntimeError if the last sizes of `input` and `weight` differ.

    >>> import minigrad
    >>> linear(minigrad.tensor([1., 2.]), minigrad.tensor([[3., 4.]]), minigrad.tensor([5.]))
    tensor([16.])
    """

def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return -(target * log(input) + (1 - target) * log(1 - input)), with logarithms clamped to at least -100, reduced.

    Raises ValueError if the shapes differ, RuntimeError for an input or a target outside [0, 1], and for a target of integers.
    """

def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """Return binary_cross_entropy of sigmoid(input), without overflow; `pos_weight` multiplies the term of positives."""

def gaussian_nll_loss(
    input: Tensor, target: Tensor, var: Tensor | float, full: bool = False, eps: float = 1e-06, reduction: str = "mean"
) -> Tensor:
    """Return -log of the normal density of `target` with mean `input` and variance `var` (clamped to at least eps).

    `full` adds the constant log(2 pi) / 2.  Raises ValueError for a negative variance, or if the shape of `var` is not the
    input's, the input's without the last dimension, or the input's with one size 1.
    """

def huber_loss(
    input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0, weight: Tensor | None = None
) -> Tensor:
    """Return d * d / 2 where d = |input - target| is below `delta`, and delta * (d - delta / 2) beyond, reduced."""

def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """Return target * (log(target) - input), for an input of log-probabilities, reduced.

    `log_target`: the target has logarithms too.  "batchmean" divides the sum by the first size: Kullback-Leibler divergence.
    """

def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """Return |input - target|, reduced; with `weight` the mean is weighted."""

def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """Return `(input - target) ** 2`, reduced; with `weight` the mean is weighted."""

def multilabel_soft_margin_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return the binary cross-entropy of sigmoid(input), averaged over classes (last dimension), with a `weight` per class."""

def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    size_average: bool | None = None,
    eps: float = 1e-08,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return -log of the Poisson probability of `target` for the mean exp(input), or the mean `input` without `log_input`.

    With `full`, the term that depends only on the target is added, by Stirling's approximation.
    """

def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    """Return d * d / (2 * beta) where d = |input - target| is below `beta`, and d - beta / 2 beyond, reduced."""

def soft_margin_loss(
    input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean"
) -> Tensor:
    """Return log(1 + exp(-target * input)), for targets 1 and -1, reduced."""

def one_hot(input: Tensor, num_classes: int = -1) -> Tensor:
    """Return a row of zeros with a one at its index for each class number: shape (*, num_classes), int64.

    `num_classes` defaults to the largest number plus one.  Raises RuntimeError for numbers out of range.
    """

def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-05,
) -> Tensor:
    """Normalise each channel (dimension 1) to mean 0 and variance 1; then map it affinely.

    In training, the statistics come from the batch, and the running ones move towards them, in place, by the fraction
    `momentum`; otherwise the running ones are used.  Raises ValueError in training for a single value per channel, and
    for an `eps` that is not positive.
    Source: Ioffe, Szegedy, "Batch normalization", 2015.
    """

def group_norm(
    input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-05
) -> Tensor:
    """Normalise each group of channels (dimension 1) of each example to mean 0 and variance 1; then map each channel affinely.

    Raises RuntimeError if the channels cannot be divided into the groups.
    Source: Wu, He, "Group normalization", 2018.
    """

def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-05,
) -> Tensor:
    """Normalise each channel of each example to mean 0 and variance 1; then map it affinely.

    Running statistics, if given, are updated as in batch_norm, with the means over the examples.
    """

def layer_norm(
    input: Tensor,
    normalized_shape: int | Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-05,
) -> Tensor:
    """Normalise the last dimensions, `normalized_shape`, to mean 0 and variance 1; then multiply by `weight` and add `bias`.

    Raises RuntimeError if the shape of `input` does not end in `normalized_shape`.
    Source: Ba, Kiros, Hinton, "Layer normalization", 2016.

    >>> import minigrad
    >>> layer_norm(minigrad.tensor([1., 3.]), (2,), eps=0.)
    tensor([-1.,  1.])
    """

def local_response_norm(input: Tensor, size: int, alpha: float = 0.0001, beta: float = 0.75, k: float = 1.0) -> Tensor:
    """Divide each channel by `(k + alpha * m) ** beta`, m the mean square of the `size` channels around it."""

def normalize(
    input: Tensor, p: float = 2.0, dim: int | Sequence[int] = 1, eps: float = 1e-12, *, out: Tensor | None = None
) -> Tensor:
    """Divide `input` by its p-norm along `dim`, clamped to at least `eps`."""

def rms_norm(
    input: Tensor, normalized_shape: int | Sequence[int], weight: Tensor | None = None, eps: float | None = None
) -> Tensor:
    """Divide by the root of the mean square over the last dimensions (`normalized_shape`); then multiply by `weight`.

    `eps` defaults to the dtype's machine epsilon, or float32's for half precision, which is computed in float32.
    Source: Zhang, Sennrich, "Root mean square layer normalization", 2019.
    """

def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-06, keepdim: bool = False) -> Tensor:
    """Return the p-norm of x1 - x2 + eps along the last dimension, after broadcasting: (..., d) to (...)."""

def pad(input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Tensor:
    """Pad `input` at its ends by `pad`: (left, right, top, bottom, ...), from the last dimension on.

    The new elements are `value` (0), or by mode "reflect", "replicate" or "circular" elements of `input`.  Negative numbers
    crop.
    """

def avg_pool1d(
    input: Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """Return the mean of each window of (n, c, length) or (c, length); see avg_pool2d."""

def avg_pool2d(
    input: Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """Return the mean of each window of (n, c, height, width) or (c, height, width).

    `stride` defaults to the kernel's size.  The divisor counts padding too, unless `count_include_pad` is False;
    `divisor_override` replaces it.
    """

def avg_pool3d(
    input: Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """Return the mean of each window of (n, c, depth, height, width), or without n; see avg_pool2d."""

@overload
def max_pool1d(
    input: Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    ceil_mode: bool = False,
    return_indices: Literal[False] = False,
) -> Tensor:
    """Return the largest element of each window of (n, c, length) or (c, length); see max_pool2d."""

@overload
def max_pool1d(
    input: Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    ceil_mode: bool = False,
    *,
    return_indices: Literal[True],
) -> tuple[Tensor, Tensor]: ...
@overload
def max_pool1d(
    input: Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any: ...
@overload
def max_pool2d(
    input: Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    ceil_mode: bool = False,
    return_indices: Literal[False] = False,
) -> Tensor:
    """Return the largest element of each window of (n, c, height, width) or (c, height, width).

    `stride` defaults to the kernel's size.  With `return_indices` also return the positions of these elements, as indices
    into the flattened last two dimensions.  Raises RuntimeError if the padding exceeds half a window.

    >>> import minigrad
    >>> max_pool2d(minigrad.tensor([[[1., 2.], [4., 3.]]]), 2)
    tensor([[[4.]]])
    """

@overload
def max_pool2d(
    input: Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    ceil_mode: bool = False,
    *,
    return_indices: Literal[True],
) -> tuple[Tensor, Tensor]: ...
@overload
def max_pool2d(
    input: Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any: ...
@overload
def max_pool3d(
    input: Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    ceil_mode: bool = False,
    return_indices: Literal[False] = False,
) -> Tensor:
    """Return the largest element of each window of (n, c, depth, height, width), or without n; see max_pool2d."""

@overload
def max_pool3d(
    input: Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    ceil_mode: bool = False,
    *,
    return_indices: Literal[True],
) -> tuple[Tensor, Tensor]: ...
@overload
def max_pool3d(
    input: Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any: ...
def affine_grid(theta: Tensor, size: int | Sequence[int], align_corners: bool | None = None) -> Tensor:
    """Return the input coordinates of each point of an output of `size` under affine maps: the grid for grid_sample.

    `theta` is (n, 2, 3) for a size (n, c, h, w), or (n, 3, 4) for (n, c, d, h, w); the result is (n, h, w, 2) or
    (n, d, h, w, 3).  Coordinates range from -1 to 1, x first: to the centres of the corner elements with `align_corners`,
    else to their outer edges.  Raises NotImplementedError for a size of other length, ValueError for other shapes and sizes
    below 1, RuntimeError for another n.
    """

def grid_sample(
    input: Tensor, grid: Tensor, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: bool | None = None
) -> Tensor:
    """Return the values of `input`, (n, c, h, w) or (n, c, d, h, w), at the points of `grid`, (n, ..., 2) or (n, ..., 3).

    Coordinates range from -1 to 1, x first: to the centres of the corner elements with `align_corners`, else to their outer
    edges.  `mode` is "bilinear", which weighs all neighbours of a volume too, "nearest" or, for images, "bicubic" (Keys,
    a = -0.75).  `padding_mode` defines values outside: "zeros", "border" repeats the edge, "reflection" mirrors at it.
    Raises ValueError for other words, RuntimeError for shapes that do not fit together.
    """

def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """Reorder the channels of (n, groups * c, ...) as 0, c, 2 c, ..., 1, c + 1, ...: the first of each group comes first.

    Source: Zhang et al., "ShuffleNet", 2017.
    """

def interpolate(
    input: Tensor,
    size: int | Sequence[int] | None = None,
    scale_factor: Tensor | float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """Resize the dimensions behind the first two of (n, c, ...) to `size`, or by `scale_factor`.

    `mode` is "nearest", "nearest-exact", "linear" (3 dimensions), "bilinear" or "bicubic" (4), "trilinear" (5) or
    "area".  With `align_corners` the centres of the corner elements keep their places, else the outer edges do.
    "bilinear" and "bicubic" round bytes (uint8); with `antialias` they average all old elements below a new one, as Pillow
    does.  Raises NotImplementedError for a mode that does not support the number of dimensions or integers; ValueError for
    antialias with other modes, and unless exactly one of `size` and `scale_factor` is given; RuntimeError for sizes of 0.
    Source of bicubic: Keys, "Cubic convolution interpolation for digital image processing", 1981, with a = -0.75.
    """

def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """Rearrange (..., c * r * r, h, w) to (..., c, h * r, w * r), for r = `upscale_factor`."""

def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """Rearrange (..., c, h * r, w * r) to (..., c * r * r, h, w), for r = `downscale_factor`: the inverse of pixel_shuffle."""

def upsample(
    input: Tensor,
    size: int | Sequence[int] | None = None,
    scale_factor: Tensor | float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> Tensor:
    """Resize; PyTorch's older name of interpolate."""

def upsample_bilinear(
    input: Tensor, size: int | Sequence[int] | None = None, scale_factor: Tensor | float | Sequence[float] | None = None
) -> Tensor:
    """Resize images bilinearly; PyTorch's older name of interpolate with mode="bilinear" and align_corners=True."""

def upsample_nearest(
    input: Tensor, size: int | Sequence[int] | None = None, scale_factor: Tensor | float | Sequence[float] | None = None
) -> Tensor:
    """Resize by repeating the nearest element; PyTorch's older name of interpolate with mode="nearest"."""

def log_softmax(
    input: Tensor, dim: int | None = None, dtype: dtype | None = None, *, out: Tensor | None = None
) -> Tensor:
    """Return the logarithm of softmax, computed without softmax itself: finite even where softmax underflows to 0.

    `dtype` converts the input first.  Without `dim`, a warning names the dimension used.  Raises NotImplementedError for
    integers without `dtype`.

    >>> import minigrad
    >>> minigrad.log_softmax(minigrad.tensor([0., 1000.]), 0)
    tensor([-1000.,     0.])
    """

def softmax(input: Tensor, dim: int | None = None, dtype: dtype | None = None, *, out: Tensor | None = None) -> Tensor:
    """Return exp(input) divided by its sum along a dimension: positive numbers that sum to 1.

    `dtype` converts the input first.  Without `dim`, a warning names the dimension used.  Raises NotImplementedError for
    integers without `dtype`.

    >>> import minigrad
    >>> minigrad.softmax(minigrad.tensor([0., 0., 1000.]), 0)
    tensor([0., 0., 1.])
    """

def softmin(input: Tensor, dim: int | None = None, dtype: dtype | None = None) -> Tensor:
    """Return the softmax of -input: the smallest element gets the largest share."""

def pdist(input: Tensor, p: float = 2.0) -> Tensor:
    """Return the p-norms of the differences of all pairs of rows i < j, (0, 1), (0, 2), ..., (1, 2), ...: a vector.

    Raises RuntimeError if `input` is not a matrix of floating-point numbers, and for negative p.

    >>> import minigrad
    >>> minigrad.pdist(minigrad.tensor([[0., 0.], [3., 4.], [3., 0.]]))
    tensor([5., 3., 4.])
    """
