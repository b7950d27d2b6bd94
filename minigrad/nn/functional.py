"""Functions for neural networks, under torch.nn.functional's names."""
# ruff: noqa: F401, I001  (a table of contents imports the names that it lists)

from ..ops.nn.activation import (
    celu,
    elu,
    gelu,
    glu,
    hardshrink,
    hardsigmoid,
    hardswish,
    hardtanh,
    leaky_relu,
    logsigmoid,
    mish,
    prelu,
    relu,
    relu6,
    selu,
    silu,
    softplus,
    softshrink,
    softsign,
    tanhshrink,
    threshold,
)
from ..ops.nn.adaptive_pool import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
    adaptive_max_pool1d,
    adaptive_max_pool2d,
    adaptive_max_pool3d,
)
from ..ops.nn.attention import gumbel_softmax, scaled_dot_product_attention
from ..ops.nn.unfold_fold import fold, unfold
from ..ops.nn.conv import conv1d, conv2d, conv3d
from ..ops.nn.conv_transpose import conv_transpose1d, conv_transpose2d, conv_transpose3d
from ..ops.nn.ctc import ctc_loss
from ..ops.nn.cross_entropy import cross_entropy, nll_loss
from ..ops.nn.similarity import (
    cosine_embedding_loss,
    cosine_similarity,
    hinge_embedding_loss,
    margin_ranking_loss,
    triplet_margin_loss,
)
from ..ops.nn.dropout import (
    alpha_dropout,
    dropout,
    dropout1d,
    dropout2d,
    dropout3d,
    feature_alpha_dropout,
    rrelu,
)
from ..ops.elementary import sigmoid, tanh
from ..ops.nn.embedding import embedding
from ..ops.nn.embedding_bag import embedding_bag
from ..ops.nn.linear import bilinear, linear
from ..ops.nn.loss import (
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    gaussian_nll_loss,
    huber_loss,
    kl_div,
    l1_loss,
    mse_loss,
    multilabel_soft_margin_loss,
    poisson_nll_loss,
    smooth_l1_loss,
    soft_margin_loss,
)
from ..ops.masks import one_hot
from ..ops.nn.normalize import (
    batch_norm,
    group_norm,
    instance_norm,
    layer_norm,
    local_response_norm,
    normalize,
    rms_norm,
)
from ..ops.norms import pairwise_distance
from ..ops.pad import pad
from ..ops.nn.pool import avg_pool1d, avg_pool2d, avg_pool3d, max_pool1d, max_pool2d, max_pool3d
from ..ops.nn.unpool import max_unpool1d, max_unpool2d, max_unpool3d
from ..ops.nn.grid_sampling import affine_grid, grid_sample
from ..ops.nn.resize import (
    channel_shuffle,
    interpolate,
    pixel_shuffle,
    pixel_unshuffle,
    upsample,
    upsample_bilinear,
    upsample_nearest,
)
from ..ops.nn.softmax import log_softmax, softmax, softmin
from ..ops.nn.inplace_activation import celu_, elu_, hardtanh_, leaky_relu_, relu_, rrelu_, selu_, threshold_
from ..ops.distances import pdist
