"""What programs ask of a GPU before they use one: there is none in this version."""

__all__ = [
    "device_count",
    "is_available",
]


def is_available() -> bool:
    """Whether tensors can be on a GPU.

    >>> import minigrad
    >>> minigrad.device("cuda" if minigrad.cuda.is_available() else "cpu")
    device(type='cpu')
    """
    return False


def device_count() -> int:
    """The number of GPUs.

    >>> import minigrad
    >>> minigrad.cuda.device_count()
    0
    """
    return 0
