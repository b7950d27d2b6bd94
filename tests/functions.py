"""Custom Functions of lambdas, for tests."""

import minigrad


def custom(name, torch=minigrad, **members):
    """Return a custom Function with these static methods and attributes; None leaves one out."""
    own = {k: staticmethod(m) if callable(m) else m for k, m in members.items() if m is not None}
    return type(name, (torch.autograd.Function,), own)
