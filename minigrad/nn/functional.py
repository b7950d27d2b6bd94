"""Functions of neural networks, under torch.nn.functional's names."""

from ..ops.activation import (celu, elu, gelu, glu, hardshrink, hardsigmoid, hardswish, hardtanh, leaky_relu, logsigmoid, mish, prelu, relu,
                              relu6, selu, silu, softplus, softshrink, softsign, tanhshrink, threshold)  # fmt: skip
from ..ops.attention import gumbel_softmax, scaled_dot_product_attention
from ..ops.conv import conv1d, conv2d, conv3d, conv_transpose1d, conv_transpose2d, fold, unfold
from ..ops.cross_entropy import cross_entropy, nll_loss
from ..ops.elementary import sigmoid, tanh
from ..ops.linear import bilinear, linear
from ..ops.loss import (binary_cross_entropy, binary_cross_entropy_with_logits, cosine_embedding_loss, cosine_similarity, gaussian_nll_loss,
                        hinge_embedding_loss, huber_loss, kl_div, l1_loss, margin_ranking_loss, mse_loss, pairwise_distance,
                        poisson_nll_loss, smooth_l1_loss, triplet_margin_loss)  # fmt: skip
from ..ops.normalize import (alpha_dropout, batch_norm, dropout, dropout1d, dropout2d, embedding, group_norm, instance_norm, layer_norm,
                             local_response_norm, normalize, rms_norm)  # fmt: skip
from ..ops.masks import one_hot
from ..ops.pad import pad
from ..ops.pool import (adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_max_pool1d, adaptive_max_pool2d, avg_pool1d, avg_pool2d,
                        max_pool1d, max_pool2d)  # fmt: skip
from ..ops.resize import interpolate, pixel_shuffle, pixel_unshuffle
from ..ops.softmax import log_softmax, softmax, softmin
