"""Transforms of functions, under torch.func's names: each takes a function and returns one, in any composition.

What a transform does to a single operation is its layer's matter (minigrad/layers); here are arguments, trees and errors.
"""

from .forward import jvp, linearize
from .jacobian import hessian, jacfwd, jacrev
from .module_functions import functional_call, stack_module_state
from .reverse import grad, grad_and_value, vjp
from .vmap import vmap

__all__ = [
    "functional_call",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "stack_module_state",
    "vjp",
    "vmap",
]
