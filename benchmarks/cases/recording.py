"""Measure the cost of recording: programs of other themes with and without one.

Each runs several times in a recording, like a program of more than one line; starting and ending a recording takes 3 us.
"""

from .. import peers
from ..case import case, target
from .functions import custom_combined_backward
from .networks import cnn_step, network_step
from .small import backward, chain, small_backward, small_forward, three

PASSES = ("forward", "backward")


def recording(original, times):
    """Return the case of a program that runs several times."""

    def program(lib, compiled):
        size = [] if original.n is None else [original.n]
        run = original.programs["shared"](lib, compiled, *size)

        def repeated():
            for _ in range(times):
                result = run()
            return result

        return repeated

    program.__name__ = f"recording_{original.name}"
    program.__doc__ = f"{original.title()}; {times} times, without a recording and recorded."
    made = case(target("recorded", "minigrad", 2.0), compiles=False)(program)

    @made.yardstick("recorded")
    def _(n):
        lib = peers.load("minigrad")
        run = program(lib, lambda f: f)

        def recorded():
            with lib.record(passes=PASSES):
                return run()

        return recorded

    return made


@case(compiles=False)
def seven(lib, compiled):
    """Seven operations on 3 elements, with backward."""
    x, y, z = three(lib, True)

    def run():
        o = x * y + z
        return backward((lib.sin(o) * o + lib.exp(-o)).sum(), x, y, z)

    return run


@case(compiles=False)
def large(lib, compiled):
    """sin(x) * y + z on a million elements, with backward."""
    x, y, z = three(lib, True, 1_000_000)
    return lambda: backward((lib.sin(x) * y + z).sum(), x, y, z)


RECORDING = tuple(
    [
        recording(original, times)
        for original, times in (
            (small_forward, 100),
            (small_backward, 100),
            (seven, 50),
            (chain, 1),
            (custom_combined_backward, 50),
            (network_step, 10),
            (cnn_step, 1),
            (large, 1),
        )
    ]
)
