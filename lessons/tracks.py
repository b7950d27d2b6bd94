"""Tracks: orders in which to take the lessons, each for one aim.  A lesson may be in several.

TRACKS is the only place that states them.  The list at the terminal, the site and its navigation read it.
"""

import functools
from collections.abc import Iterable
from dataclasses import dataclass

from .catalogue import Lesson, lasting, lesson, steps

# name -> what a learner can do afterwards, and the numbers of the lessons in order
TRACKS: dict[str, tuple[str, tuple[int, ...]]] = {
    "Backprop": (
        "compute a gradient by hand, write the loop that does it, train a network, and find out why it does not learn",
        (1, 40, 42, 43, 31, 38, 34, 32),
    ),
    "Your own Function": (
        "give any operation a derivative, choose what it saves, and prove that the derivative is right",
        (2, 3, 7, 5, 6, 8, 9, 12, 10, 11, 13, 15, 16, 37, 48),
    ),
    "Transforms": (
        "differentiate and batch functions with `torch.func`, write rules for your own, and differentiate a solver",
        (5, 35, 17, 18, 49, 19, 44, 20, 21, 50, 45, 23, 24, 36, 39),
    ),
    "Kernels and speed": (
        "measure where the time goes, fuse operations into one kernel for the CPU or a GPU, and compile a training step",
        (25, 26, 29, 41, 30, 27, 28, 33),
    ),
    "The documents": (
        "find each example and each warning of the documents that define custom Functions, also in C++ and TypeScript",
        (2, 3, 17, 19, 44, 20, 18, 21, 50, 45, 46, 6, 14, 47, 22, 4),
    ),
}
BUILD = "Build it"
ABLE = "write an engine for automatic differentiation in about 400 lines, from scalars to vmap and one compiled kernel"


@dataclass(frozen=True)
class Track:
    """A track: its name, what a learner can do afterwards (a verb phrase), and its lessons in order.

    >>> tracks()[0].name, tracks()[0].lessons[0].title
    ('Backprop', 'Numbers that remember')
    """

    name: str
    able: str
    lessons: tuple[Lesson, ...]

    @property
    def lasting(self) -> str:
        """The sum of the lessons' times, in words."""
        return lasting(sum(one.minutes for one in self.lessons), sum(one.home for one in self.lessons))

    def before(self, one: Lesson) -> tuple[int, ...]:
        """Return the numbers of the lessons that a lesson of this track needs and that do not come before it in the track."""
        earlier = {each.number for each in self.lessons[: self.lessons.index(one)]}
        return tuple(number for number in one.needs if number not in earlier)


@functools.cache
def tracks() -> tuple[Track, ...]:
    """Return all tracks in order.

    >>> [track.name for track in tracks() if track.name != BUILD]
    ['Backprop', 'Your own Function', 'Transforms', 'Kernels and speed', 'The documents']
    """
    made = [Track(name, able, tuple(map(lesson, numbers))) for name, (able, numbers) in TRACKS.items()]
    return tuple(made[:-1] + [Track(BUILD, ABLE, steps())] * bool(steps()) + made[-1:])


def once(chosen: Iterable[Track]) -> dict[Track, list[Lesson]]:
    """Return the lessons of each track without those of an earlier one.

    >>> backprop, own = list(once(tracks()).values())[:2]
    >>> backprop[0].number, own[0].number, set(backprop) & set(own)
    (1, 2, set())
    """
    seen: set[str] = set()
    found = {}
    for track in chosen:
        found[track] = [one for one in track.lessons if one.name not in seen]
        seen.update(one.name for one in track.lessons)
    return found
