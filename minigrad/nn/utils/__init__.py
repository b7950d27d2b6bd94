"""Utilities for parameters and inputs of modules, under torch.nn.utils' names.

PyTorch's older weight_norm and spectral_norm are deprecated: here the names mean the functions in parametrizations.
"""

from ...diagnose.missing_names import explained as _explained
from . import convert_parameters, parametrizations, parametrize, rnn
from .clipping import clip_grad_norm_, clip_grad_value_, clip_grads_with_norm_, get_total_norm
from .convert_parameters import parameters_to_vector, vector_to_parameters
from .parametrizations import spectral_norm, weight_norm

__getattr__ = _explained(__name__)
