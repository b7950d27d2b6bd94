"""NumPy's warnings are heard by functions that were given a scope for it, whatever they call."""

import numpy as np
import pytest

from minigrad.arrays.errstate import alarmed

CALLING_EACH_OTHER = """
def halved(x):
    return x if (x < 1).all() else inverse(x * 0.5)

def inverse(x):
    return halved(1 / x)
"""


def test_scoped_functions_may_call_each_other():
    scope = {"__name__": "minigrad.ops.example"}
    exec(CALLING_EACH_OTHER, scope)
    with np.errstate(all="warn"):
        assert alarmed(scope["halved"])(np.array([4.0])) == 0.5
        with pytest.raises(TypeError):  # which is how a warning shows there
            alarmed(scope["inverse"])(np.array([0.0]))
