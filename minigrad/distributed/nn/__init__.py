"""Collectives as differentiable functions (`minigrad.distributed.nn.functional`)."""

from ...diagnose.boundary import guard as _guard
from . import functional
from .functional import (
    all_gather,
    all_reduce,
    all_to_all,
    all_to_all_single,
    broadcast,
    gather,
    recv,
    reduce,
    reduce_scatter,
    scatter,
    send,
)

_guard(__name__)
