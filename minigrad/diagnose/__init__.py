"""Find, explain and report mistakes: one file for each theme.

`install` plugs them into minigrad/events.py; core raises and warns through report.py.
"""

from ..core.frames import OFF, ON
from ..core.tensor import Tensor
from ..errors import EXPLAIN
from ..events import events, services
from . import (
    arguments,
    ctx,
    debug,
    detached,
    first_backward,
    gradient_hooks,
    inplace_writes,
    leaves,
    missing_names,
    nan,
    nan_losses,
    observer,
    python_errors,
    report,
    slips,
    transforms,
    user_methods,
)


def install() -> None:
    """Take over the services for errors, warnings and calls of users' methods, and observe the process."""
    services.provide(problem=report.problem, notice=report.notice, call_method=user_methods.call_method)
    events.add(observer.DIAGNOSIS)
    missing_names.install(Tensor)
    EXPLAIN.append(python_errors.note)
    python_errors.install()
    if debug.ALWAYS:
        ON.observers = OFF.observers = (observer.WATCHER,)
        ON.eager_ok = OFF.eager_ok = False
