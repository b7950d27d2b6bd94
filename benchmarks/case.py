"""What a case is: one piece of work, once for minigrad and PyTorch, and once more for each library with other names.

    @case(target("minigrad", "torch", 0.5))
    def chain(lib, compiled):
        \"\"\"The title.\"\"\"
        ...set up...
        return run

    @chain.jax
    def _(jax): ...

A program sets everything up and returns the function to be timed, which returns a tuple of results: `measure.agree`
compares them before any time is taken.  `compiled` is the library's compile, or does nothing for eager contestants.  A case
with a size is called with `n` as well.
"""

from dataclasses import dataclass

from . import peers

TOLERANCE = 2e-4  # of the largest number of a result: float32, sums in another order


@dataclass(frozen=True)
class Target:
    """What we want to reach: `ours` takes at most `ratio` of the time of the quickest of `theirs`."""

    ours: str
    theirs: tuple
    ratio: float


def ratio(best, ours, theirs):
    """Our time over the quickest of theirs, from the best times by contestant; None without both."""
    others = [best[name] for name in theirs if name in best]
    return best[ours] / min(others) if ours in best and others else None


def target(ours, theirs, ratio):
    """A target; theirs is a name or several."""
    return Target(ours, (theirs,) if isinstance(theirs, str) else tuple(theirs), ratio)


class Case:
    """A piece of work with its versions."""

    def __init__(self, program, targets, n, quick, compiles, breaks, tolerance):
        self.name, self.theme = program.__name__, program.__module__.rpartition(".")[2]
        self.text, self.targets, self.n, self.quick_n, self.compiles = program.__doc__, targets, n, quick or n, compiles
        self.breaks, self.tolerance = breaks, tolerance
        self.programs = {"shared": program}
        self.measures = {}  # what no library does, but is worth knowing beside: a name -> a program

    def version(self, style):
        """A decorator for the version of a library."""

        def add(program):
            self.programs[style] = program
            return program

        return add

    jax = property(lambda self: self.version("jax"))
    mygrad = property(lambda self: self.version("mygrad"))
    autograd = property(lambda self: self.version("autograd"))

    def beside(self, name):
        """A decorator for a program without a library, whose results are not compared: a yardstick."""

        def add(program):
            self.measures[name] = program
            return program

        return add

    def title(self, n=None):
        """The docstring, with the size in its place."""
        return self.text.rstrip(".").replace("{n}", f"{n or self.n or 0:,}")

    def able(self, contestant):
        """Whether this contestant can do it."""
        return contestant.style in self.programs and (self.compiles or not contestant.compiled)

    def prepare(self, contestant, n=None):
        """Set up for a contestant: the function to be timed."""
        lib = peers.load(contestant.library)
        args = [lib, peers.compiler(contestant, self.breaks)] if contestant.style == "shared" else [lib]
        size = [] if self.n is None else [n or self.n]
        return peers.waits(contestant, self.programs[contestant.style](*args, *size))


def case(*targets, n=None, quick=None, compiles=True, breaks=False, tolerance=TOLERANCE):
    """A decorator: the program for minigrad and PyTorch becomes a Case.

    n is its size, quick that of a quick run.  With `breaks` torch.compile may leave out what it cannot compile.  `tolerance`
    says how much results may differ, by the largest number in each; it is large where each library draws its own numbers.
    """
    return lambda program: Case(program, targets, n, quick, compiles, breaks, tolerance)
