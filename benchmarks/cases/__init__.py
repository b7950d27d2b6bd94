"""List the cases by theme; case.py defines a case."""

from ..models import MODELS
from .functions import custom_apply, custom_backward, custom_combined_apply, custom_combined_backward
from .networks import attention_step, cnn_step, large_network_step, network_step
from .pointwise import pointwise
from .recording import RECORDING
from .recurrent import rnn_forward, rnn_gradient
from .rows import cross_entropy, layer_norm, softmax
from .small import chain, draws, small_backward, small_forward, small_forward_untracked, small_grad
from .training import custom_step, digits_adam, digits_dropout, digits_sgd, transformer_step
from .transforms import func_grad, func_grad_of_grad, hessian, hessian_of_network, per_sample_gradients

CASES = (
    small_forward,
    small_forward_untracked,
    small_backward,
    small_grad,
    chain,
    draws,
    custom_apply,
    custom_backward,
    custom_combined_apply,
    custom_combined_backward,
    network_step,
    large_network_step,
    cnn_step,
    attention_step,
    digits_sgd,
    digits_adam,
    digits_dropout,
    custom_step,
    transformer_step,
    *MODELS,
    rnn_forward,
    rnn_gradient,
    func_grad,
    func_grad_of_grad,
    per_sample_gradients,
    hessian,
    hessian_of_network,
    pointwise,
    softmax,
    layer_norm,
    cross_entropy,
    *RECORDING,
)
