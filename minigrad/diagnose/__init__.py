"""Find, explain and report mistakes: one file for each kind.

`install` fills the slots of core/events.py; core raises and warns through report.py.
"""

from ..arrays.errstate import Heard
from ..core.events import slots
from ..core.frames import OFF, ON
from ..core.tensor import Tensor
from ..kernels import fallback
from . import (
    arguments,
    captured_tensors,
    ctx,
    debug,
    detached,
    first_backward,
    gradient_hooks,
    inplace_writes,
    leaves,
    misspelt_names,
    nan,
    nan_losses,
    observer,
    report,
    transforms,
    user_methods,
)


def install() -> None:
    """Fill the slots for core's errors and warnings, calls of users' methods, shared memory and NaN."""
    slots.problem, slots.notice = report.problem, report.notice
    slots.call_method, slots.defined = user_methods.call_method, user_methods.guard_forward
    slots.run_forward = captured_tensors.run_forward
    slots.lent, slots.origins = observer.lent, debug.made
    slots.lent_array, Heard.by = observer.lent_array, nan.noticed
    slots.backward_begins, slots.again = first_backward.backward_begins, fallback.again
    misspelt_names.install(Tensor)
    if debug.ALWAYS:
        ON.observers = OFF.observers = (observer.WATCHER,)
        ON.eager_ok = OFF.eager_ok = False
