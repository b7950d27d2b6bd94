"""minigrad: the autograd toolkit that shows its work."""

__version__ = "0.1.0"
from .core.tensor import Tensor, Size, device
from .core.dtypes import *
from .ops.pointwise import *
from .ops.shape import *
from .ops.memory import *
from .ops.reduce import *
from .ops.create import *
from .ops import methods as _m
_m.install()
from . import autograd
from .autograd import no_grad, enable_grad
