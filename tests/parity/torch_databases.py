"""PyTorch's own databases of test inputs, which its test suite uses."""

import sys
import types
import unittest


def common(name):
    """Return torch.testing._internal.common_<name>.  It imports expecttest, of which it needs nothing here."""
    if "expecttest" not in sys.modules:
        try:
            import expecttest  # noqa: F401
        except ImportError:
            sys.modules["expecttest"] = types.ModuleType("expecttest")
            sys.modules["expecttest"].TestCase = unittest.TestCase
    return __import__(f"torch.testing._internal.common_{name}", fromlist=["*"])
