"""Base classes of layers, and an error, under the underscored names that PyTorch programs nevertheless use."""

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
required = object()  # old optimizers use it as the default of required arguments
