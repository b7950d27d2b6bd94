"""Base classes of layers, and an error, by the names with an underscore that programs for PyTorch use all the same."""

from .. import nn
from ..linalg import LinAlgError
from ..nn import convolution, losses, normalization
from ..tensors.hooks import Handle

_LinAlgError = LinAlgError
_ConvNd, _ConvTransposeNd = convolution.Convolution, convolution.TransposedConvolution
_Loss, _WeightedLoss = losses.Loss, losses.Weighted
_BatchNorm, _InstanceNorm, _NormBase = normalization.BatchNorm, normalization.InstanceNorm, normalization.ChannelNorm
NonDynamicallyQuantizableLinear = nn.Linear
RemovableHandle = Handle
required = object()  # old optimizers give it as the default of an argument that has none
