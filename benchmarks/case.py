"""Define a case: one task, written once for minigrad and PyTorch, and again for each library with other names.

    @case(target("minigrad", "torch", 0.5))
    def chain(lib, compiled):
        \"\"\"The title.\"\"\"
        ...set up...
        return run

    @chain.jax
    def _(jax): ...

A program sets everything up and returns the function to time.  That function returns a tuple of results, which
`measure.agree` compares before timing.  `compiled` is the library's compile, or does nothing for eager contestants.  A case
with a size also receives `n`.
"""

from dataclasses import dataclass

from . import peers

TOLERANCE = 2e-4  # relative to the largest number of a result: float32, sums in another order


@dataclass(frozen=True)
class Target:
    """A goal: `ours` takes at most `ratio` of the time of the fastest of `theirs`."""

    ours: str
    theirs: tuple
    ratio: float


def ratio(best, ours, theirs):
    """Return our time over the fastest of theirs, from the best times by contestant; None if either is missing."""
    others = [best[name] for name in theirs if name in best]
    return best[ours] / min(others) if ours in best and others else None


def target(ours, theirs, ratio):
    """Return a target; `theirs` is one name or several."""
    return Target(ours, (theirs,) if isinstance(theirs, str) else tuple(theirs), ratio)


class Case:
    """A task with its versions for the libraries."""

    def __init__(self, program, targets, n, quick, compiles, breaks, tolerance):
        self.name, self.theme = program.__name__, program.__module__.rpartition(".")[2]
        self.text, self.targets, self.n, self.quick_n, self.compiles = program.__doc__, targets, n, quick or n, compiles
        self.breaks, self.tolerance = breaks, tolerance
        self.programs = {"shared": program}
        self.measures = {}  # yardsticks that no library computes: name -> program

    def version(self, style):
        """Return a decorator that adds the version for a library."""

        def add(program):
            self.programs[style] = program
            return program

        return add

    jax = property(lambda self: self.version("jax"))
    mygrad = property(lambda self: self.version("mygrad"))
    autograd = property(lambda self: self.version("autograd"))

    def yardstick(self, name):
        """Return a decorator that adds a program without a library, whose results are not compared: a yardstick."""

        def add(program):
            self.measures[name] = program
            return program

        return add

    def title(self, n=None):
        """Return the docstring with the size filled in."""
        return self.text.rstrip(".").replace("{n}", f"{n or self.n or 0:,}")

    def can_run(self, contestant):
        """Return True if this contestant can run the case."""
        return contestant.style in self.programs and (self.compiles or not contestant.compiled)

    def prepare(self, contestant, n=None):
        """Set the case up for a contestant and return the function to time."""
        lib = peers.load(contestant.library)
        args = [lib, peers.compiler(contestant, self.breaks)] if contestant.style == "shared" else [lib]
        size = [] if self.n is None else [n or self.n]
        return peers.waits(contestant, self.programs[contestant.style](*args, *size))


def case(*targets, n=None, quick=None, compiles=True, breaks=False, tolerance=TOLERANCE):
    """Return a decorator that makes a Case of the program for minigrad and PyTorch.

    `n` is its size, `quick` the size in a quick run.  With `breaks`, torch.compile may leave parts uncompiled.  `tolerance`
    is the largest difference of results, relative to their largest number; it is large if libraries draw their own numbers.
    """
    return lambda program: Case(program, targets, n, quick, compiles, breaks, tolerance)
