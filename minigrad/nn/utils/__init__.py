"""What is done to the parameters of modules and to their inputs, under torch.nn.utils' names."""

from . import rnn
from .clipping import (
    clip_grad_norm_,
    clip_grad_value_,
    clip_grads_with_norm_,
    get_total_norm,
    parameters_to_vector,
    vector_to_parameters,
)
