"""Tangents in plain code, by forward_ad, which works for both forms of a Function and without func."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from .case import Case, weights


def duals(case: Case, directions: dict[int, np.ndarray] | None) -> list:
    """Return fresh arguments with tangents, inside a dual level; None gives each wanted argument one."""
    make = case.library.module.autograd.forward_ad.make_dual
    if directions is None:
        directions = {i: weights(case.arrays[i].shape, i) for i in case.wanted}
    return [
        make(x, case.library.tensor(directions[i].astype(case.arrays[i].dtype))) if i in directions else x
        for i, x in enumerate(case.inputs(()))
    ]


def pushed(
    case: Case, directions: dict[int, np.ndarray] | None = None, places: Iterable[int] = (), function: Any = None
) -> list[np.ndarray]:
    """Return the tangents of the outputs at `places`, or zeros.  `function` may be a probed one."""
    forward_ad = case.library.module.autograd.forward_ad
    with forward_ad.dual_level():
        outs = case.apply(duals(case, directions), function)
        found = []
        for k in places:
            primal, tangent = forward_ad.unpack_dual(outs[k])
            shape = tuple(primal.shape)
            found.append(np.zeros(shape) if tangent is None else case.library.array(tangent))
    return found
