"""minigrad: the autograd toolkit that shows its work.

(Table of contents follows; while operations are being added, every operation of the table is exported.)
"""

__version__ = "0.1.0"

import importlib as _importlib
import pathlib as _pathlib

from .core.dtypes import (bool_ as bool, can_cast, dtype, finfo, float32, float64, get_default_dtype, iinfo, int8, int16, int32, int64,
                          promote_types, set_default_dtype, uint8)
from .core.device import Size, device
from .core.tensor import Tensor
double, float, int, long, short = float64, float32, int32, int64, int16
for _p in sorted(_pathlib.Path(__file__).parent.joinpath("ops").glob("*.py")):
    if _p.stem != "__init__":
        try:
            _importlib.import_module(f"minigrad.ops.{_p.stem}")
        except Exception as _e:
            print("SKIPPED", _p.stem, repr(_e)[:200])
from .ops import about, create, data as _data, generator as _generator, methods as _methods, random, registry as _registry
_methods.install()
for _name, _entry in _registry.TABLE.items():
    if not _entry.torch or _entry.torch.startswith("Tensor.") is False and "." not in _entry.torch:
        globals().setdefault(_name, _entry.function)
from .core.printing import get_printoptions, printoptions, set_printoptions
for _m in (about, create, _data, _generator, random):
    for _name in dir(_m):
        if not _name.startswith("_"):
            globals().setdefault(_name, getattr(_m, _name))
from . import autograd
from .autograd import enable_grad, inference_mode, is_grad_enabled, no_grad, set_grad_enabled
from .trace import Record, record
try:
    from . import func
    from .func import vmap
except Exception as _e:
    print("SKIPPED func", _e)
for _n in ("nn", "optim", "linalg", "testing"):
    try:
        globals()[_n] = _importlib.import_module("minigrad." + _n)
    except Exception as _e:
        print("SKIPPED", _n, repr(_e)[:150])
from .core.printing import get_printoptions, printoptions, set_printoptions
from .autograd import is_anomaly_check_nan_enabled, is_anomaly_enabled, is_inference_mode_enabled
