"""Transforms of functions, with torch.func's names.  Each takes a function and returns one, and they compose freely.

A transform's layer (minigrad/layers) handles the single operations; this package handles arguments, trees and errors.
"""

from .forward import jvp, linearize
from .jacobian import hessian, jacfwd, jacrev
from .module_functions import functional_call, replace_all_batch_norm_modules_, stack_module_state
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
    "replace_all_batch_norm_modules_",
    "stack_module_state",
    "vjp",
    "vmap",
]
