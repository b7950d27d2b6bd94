"""Find faults: detect_anomaly, which records the user's line of every operation, and debug mode."""

from __future__ import annotations

from ..diagnose.debug import anomaly
from ..diagnose.debug import mode as debugging
from ..diagnose.observer import switch


def set_anomaly(on: bool, check_nan: bool) -> None:
    """Set the anomaly mode of this thread."""
    switch(debugging.on, on, check_nan)


class set_detect_anomaly:
    """Switch anomaly detection on or off, at once; as a context manager, until the end of the block.

    While it is on, an error in backward names the line of the forward operation.  With `check_nan`, the first backward that
    returns NaN raises RuntimeError, and so does a loss that is NaN; the error names the operation that made the first NaN.

    >>> import minigrad
    >>> with minigrad.autograd.set_detect_anomaly(True):
    ...     print(minigrad.is_anomaly_enabled())
    True
    """

    def __init__(self, mode: bool, check_nan: bool = True):
        self.old = anomaly.on, anomaly.nan
        set_anomaly(bool(mode), check_nan)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        set_anomaly(*self.old)


class detect_anomaly(set_detect_anomaly):
    """Find the operation whose backward raises or returns NaN.  It is slow: use it only to search for a fault.

    >>> import minigrad
    >>> x = minigrad.tensor([0.], requires_grad=True)
    >>> try:
    ...     with minigrad.autograd.detect_anomaly():
    ...         (minigrad.sqrt(x) * 0).backward()
    ... except RuntimeError as e:
    ...     print(str(e).partition(" (")[0])
    sqrt: its backward produces NaN
    """

    def __init__(self, check_nan: bool = True):
        self.old, self.check_nan = (False, True), check_nan

    def __enter__(self) -> None:
        super().__init__(True, self.check_nan)


class debug:
    """Turn on expensive checks and records of lines, at once; as a context manager, until the end of the block.

    While it is on, errors name the line at which each tensor was made and where a history ended.  It detects writes through
    `.data` or NumPy: to tensors saved for backward, to the arguments of a custom forward and to the gradients that a backward
    receives.  It warns about hooks that drop their results, gradients that are always 0, parameters that are disconnected
    from the loss, a column that broadcasts against a row of data, and integers that do not fit their dtype.  Operations take
    about ten times as long.
    MINIGRAD_DEBUG=1 in the environment turns it on for a whole program, in every thread.

    >>> import minigrad
    >>> x = minigrad.tensor([2.], requires_grad=True)
    >>> try:
    ...     with minigrad.debug():
    ...         y = x.exp()
    ...         y.data[0] = 0.
    ...         y.backward()
    ... except RuntimeError as e:
    ...     "has new values" in str(e)
    True
    """

    def __init__(self, mode: bool = True):
        self.old = debugging.on, anomaly.on, anomaly.nan
        switch(mode, mode, False)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        switch(*self.old)


def is_anomaly_enabled() -> bool:
    """Return True if anomaly detection is on in this thread.

    >>> import minigrad
    >>> with minigrad.autograd.detect_anomaly():
    ...     print(minigrad.is_anomaly_enabled())
    True
    """
    return anomaly.on


def is_anomaly_check_nan_enabled() -> bool:
    """Return True if anomaly detection also checks for NaN.

    >>> import minigrad
    >>> with minigrad.autograd.detect_anomaly(check_nan=False):
    ...     print(minigrad.is_anomaly_check_nan_enabled())
    False
    """
    return anomaly.nan
