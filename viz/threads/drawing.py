"""The threads of a kernel and the elements that they access, recorded by a simulated launch.

There is a card for the threads and one for each array, with a board for reads and one for writes; a cell names the thread
that accesses the element.  Shared arrays have boards for each interval between two barriers.  Below them are the cost of a
warp's accesses and, in red, the faults: races and accesses outside an array.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, product
from math import prod
from pathlib import Path as File
from typing import TYPE_CHECKING

from minigrad.errors import error
from minigrad.kernels.cuda.watch import size

from ..cards.alt import listed
from ..formats import export, files, svg
from ..layout.picture import MARGIN, Picture
from ..layout.shapes import Group, Path, Text, outline
from ..layout.style import TEXTS
from ..text import wrap
from .grid import SIDE, Board, Card, Cell

if TYPE_CHECKING:
    from minigrad.kernels.cuda.watch import Access, Array, Launch

LINE = 16  # cells in a line of a board
BELOW = 14.0  # space below a card
MOST = 256  # the largest number of cells on a board, and of threads drawn
FEW = 4  # the largest number of races described
TINTS = ("input", "parameter", "fold", "function")  # names in style.LOOKS, used by blocks in turn
DONE = {"reads": "read", "updates": "updated", "writes": "written"}
WARP, SECTOR, BANK, BANKS = 32, 128, 4, 32  # threads of a warp; bytes of a transaction and of a bank's word; banks


def draw_threads(launch: Launch, array: str | None = None) -> Threads:
    """Draw which thread of a launch accesses which element, with races and accesses outside an array.

    Args:
        launch: one of the `launches` recorded by `minigrad.cuda.watch`.
        array: the name of one array to draw; the default is all.

    Returns:
        A drawing, which displays itself in a notebook and saves itself as .svg, .png, .pdf or .txt.

    Raises ValueError if the launch has no array of this name.

    >>> from minigrad.kernels.cuda.watch import Launch
    >>> draw_threads(Launch("idle", (2, 1, 1), (3, 1, 1), None)).alt()
    'Threads of the kernel idle, 2 blocks of 3 threads; 6 threads access no element; no races.'
    """
    names = [one.name for one in launch.arrays]
    if array is not None and array not in names:
        raise error(ValueError, "draw_threads", f"the kernel {launch.kernel} has no array named {array!r}",
                    f"pass one of {', '.join(names)}, or None for all")  # fmt: skip
    return Threads(launch, [one for one in launch.arrays if array in (None, one.name)])


class Threads:
    """The picture and the description of one launch.

    >>> from minigrad.kernels.cuda.watch import Launch
    >>> Threads(Launch("idle", (1, 1, 1), (4, 1, 1), None), []).svg().startswith("<svg")
    True
    """

    def __init__(self, launch: Launch, arrays: list[Array]):
        self.launch, self.arrays = launch, arrays

    @property
    def title(self) -> str:
        return f"{size(self.launch.grid, 'block')} of {size(self.launch.block, 'thread')}"

    def idle(self) -> int:
        """Return the number of threads that access no element."""
        busy = {(access.block, access.thread) for access in self.launch.accesses}
        busy |= {(miss.block, miss.thread) for miss in self.launch.outside}
        return prod(self.launch.grid) * prod(self.launch.block) - len(busy)

    def alt(self) -> str:
        """Return a one-sentence description of the picture."""
        parts = [f"Threads of the kernel {self.launch.kernel}, {self.title}"]
        for does, done in DONE.items():
            touched = dict.fromkeys(a.array.name for a in self.launch.accesses if a.does == does)
            parts += [f"{done}: {listed(touched)}"] if touched else []
        parts += [f"{n} thread{'s access' if n > 1 else ' accesses'} no element"] if (n := self.idle()) else []
        raced = dict.fromkeys(race.first.element for race in self.launch.races)
        parts.append(f"races for {listed(raced)}" if raced else "no races")
        return "; ".join([*parts, *map(str, self.launch.outside)]) + "."

    def pictures(self) -> dict[str, Picture]:
        """Return the one picture, in the form that viz.formats.svg and viz.formats.export expect."""
        return {"threads": picture(self)}

    def svg(self) -> str:
        """Return SVG text."""
        return svg.svg(self.pictures(), self.alt())

    def png(self, scale: float = 2.0) -> bytes:
        """Return a PNG with `scale` pixels per unit."""
        return export.png(self.pictures(), scale)

    def pdf(self) -> bytes:
        """Return a PDF of one page."""
        return export.pdf(self.pictures())

    def text(self) -> str:
        """Return a description of the launch."""
        lines = [f"  {line}" for array in self.arrays for line in coalescing(self.launch, array)]
        return "\n".join([str(self.launch), *lines]) + "\n"

    def save(self, path: str | File) -> File:
        """Write a file in the format of its suffix: .svg, .png, .pdf or .txt."""
        path = File(path)
        makers = {".svg": self.svg, ".png": self.png, ".pdf": self.pdf, ".txt": self.text}
        if path.suffix.lower() not in makers:
            problem = f"cannot draw threads as {path.suffix!r}"
            raise error(ValueError, "save", problem, f"use one of {', '.join(makers)}")
        made = makers[path.suffix.lower()]()
        return files.write(path, made if isinstance(made, bytes) else made.encode())

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict[str, str]:
        return {"image/svg+xml": self.svg(), "text/plain": self.text()}

    def __repr__(self) -> str:
        return f"<Threads of {self.launch.kernel}: {self.title}>"


# ---------------------------------------------------------------------- the boards
def boards(launch: Launch, array: Array) -> list[Board]:
    """Make boards for the reads, updates and writes of an array; for a shared one in the first block, per interval."""
    accesses = [access for access in launch.accesses if access.array == array]
    groups: dict[tuple, list[Access]] = {}
    for access in accesses:
        if not array.shared or access.block == accesses[0].block:
            groups.setdefault((access.interval if array.shared else 0, access.does), []).append(access)
    for miss in launch.outside:
        if miss.name == array.name and not array.shared:
            groups.setdefault((0, miss.does), [])
    found = []
    for (interval, does), some in groups.items():
        when = f"after barrier {interval}: " if interval else "at first: " if array.shared else ""
        found.append((matrix if len(array.shape) > 1 else row)(launch, array, does, some))  # the title follows
        found[-1].title = f"{when}{DONE[does]} by{found[-1].title}"
    return found


def row(launch: Launch, array: Array, does: str, accesses: list[Access]) -> Board:
    """Make the board of a 1-d array: each element with its threads, then the accesses beyond the end."""
    cells = elements(launch, array, ((i,) for i in range(min(own_shape(array)[0], MOST))), accesses)
    missed = [miss for miss in launch.outside if (miss.name, miss.does) == (array.name, does)]
    cells += [Cell(name(launch, m.block, m.thread), str(m.index[0]), "", True, str(m)) for m in missed]
    return Board(more(array, MOST), in_lines(cells, LINE))


def matrix(launch: Launch, array: Array, does: str, accesses: list[Access]) -> Board:
    """Make the board of an array of more dimensions, row by row."""
    *outer, inner = own_shape(array)
    wide = min(inner, LINE)
    rows = list(islice(indices(outer), MOST // LINE))
    cells = elements(launch, array, ((*index, j) for index in rows for j in range(wide)), accesses)
    for cell in cells[wide:]:
        cell.over = ""
    return Board(more(array, len(rows) * wide), in_lines(cells, wide), [", ".join(map(str, index)) for index in rows])


def elements(launch: Launch, array: Array, of: Iterable[tuple], accesses: list[Access]) -> list[Cell]:
    """Make the cells of these elements: each shows its thread, or the first of several and the number of the others."""
    by: dict[tuple, list[Access]] = {}
    for access in accesses:
        by.setdefault(access.index, []).append(access)
    raced = {one.index for race in launch.races for one in race[1:] if one.array == array}
    cells = []
    for index in of:
        who = list(dict.fromkeys((access.block, access.thread) for access in by.get(index, ())))
        cell = Cell([], str(index[-1]), red=index in raced)
        if who:
            cell.lines = name(launch, *who[0], len(who) - 1)
            cell.tint = tint_of(launch, who[0][0]) if len({block for block, _ in who}) == 1 else "constant"
            said = [f"{thread_name(launch, a)} {a.does} {a.element} in {a.place.short}" for a in by[index]]
            cell.tip = listed(dict.fromkeys(said))
        cells.append(cell)
    return cells


def more(array: Array, shown: int) -> str:
    """Return a note on the elements that are not shown."""
    left = prod(own_shape(array)) - shown
    return f" (and {left} more elements)" if left > 0 else ""


def own_shape(array: Array) -> tuple:
    """Return an array's shape with 1 for broadcast dimensions, whose elements share memory."""
    return tuple(min(n, 1) if step == 0 else n for n, step in zip(array.shape, array.strides))


def indices(shape: Sequence[int]) -> Iterator[tuple]:
    """Yield every index of an array; the last dimension varies fastest."""
    return product(*map(range, shape))


def in_lines(cells: list[Cell], wide: int) -> list[list[Cell]]:
    """Split cells into lines."""
    return [cells[i : i + wide] for i in range(0, len(cells), wide)]


def name(launch: Launch, block: tuple, thread: tuple, more: int = 0) -> list[str]:
    """Name a thread (`2.7` is thread 7 of block 2) and count the others; numbers of several dimensions take two lines."""
    one, two = numbers(block, launch.grid), numbers(thread, launch.block)
    last = f" +{more}" * bool(more)
    return [one, two + last] if "," in one + two else [f"{one}.{two}{last}"]


def numbers(index: tuple, sizes: tuple) -> str:
    """Format an index without the trailing dimensions that a grid or block does not have.

    >>> numbers((3, 0, 0), (8, 1, 1)), numbers((3, 0, 0), (8, 2, 1))
    ('3', '3,0')
    """
    last = max((i for i, n in enumerate(sizes, 1) if n > 1), default=1)
    return ",".join(map(str, index[:last]))


def tint_of(launch: Launch, block: tuple) -> str:
    """Return the tint of a block; neighbours in x, y and z differ."""
    return TINTS[(block[0] + 2 * block[1] + block[2]) % len(TINTS)]


def blocks(launch: Launch) -> list[Board]:
    """Make boards of the threads of the first blocks; idle threads are dashed."""
    missed = {(miss.block, miss.thread) for miss in launch.outside}
    busy = missed | {(access.block, access.thread) for access in launch.accesses}
    wide = launch.block[0] if launch.block[1] > 1 else LINE
    most = max(1, MOST // prod(launch.block))
    found = []
    for z, y, x in islice(indices(launch.grid[::-1]), most):
        block, cells = (x, y, z), []
        for k, j, i in indices(launch.block[::-1]):
            who = block, (i, j, k)
            tint = tint_of(launch, block) if who in busy else ""
            cells.append(Cell([numbers(who[1], launch.block)], "", tint, who in missed))
        found.append(Board(f"block {numbers(block, launch.grid)}", in_lines(cells, wide)))
    left = prod(launch.grid) - most
    found[-1].title += f" (and {left} more blocks)" if left > 0 else ""
    return found


# ---------------------------------------------------------------------- sentences
def coalescing(launch: Launch, array: Array) -> list[str]:
    """Describe how the first warp's reads, updates and writes of an array coalesce."""
    found = []
    for does in DONE:
        accesses = [a for a in launch.accesses if a.array == array and a.does == does]
        at_once = [a for a in accesses if instruction(a) == instruction(accesses[0])]
        lanes = {a.number: a for a in reversed(at_once)}  # the first access of each thread
        if len(lanes) > 1:
            found.append(sentence(array, does, [lanes[number] for number in sorted(lanes)]))
    return found


def instruction(access: Access) -> tuple:
    """Return a key that is equal for accesses that a warp's threads make at once."""
    return access.block, access.number // WARP, access.interval, access.place


def sentence(array: Array, does: str, lanes: list[Access]) -> str:
    """Describe one instruction of a warp: the pattern of its addresses, and its cost."""
    places = [sum(i * step for i, step in zip(a.index, array.strides)) for a in lanes]
    low = sum(min(0, (n - 1) * step) for n, step in zip(array.shape, array.strides))
    places = [place - low for place in places]  # bytes from the array's beginning
    found = sorted({place // array.dtype.itemsize for place in places})
    steps = [b - a for a, b in zip(found, found[1:])]
    runs = 1 + sum(step != 1 for step in steps)
    pattern = f"{len(found)} elements of {array.name}"
    if len(found) == 1:
        pattern = f"one element of {array.name}"
    elif runs == 1:
        pattern = f"{len(found)} neighbouring elements of {array.name}"
    elif len(set(steps)) == 1:
        pattern += f", {steps[0]} apart"
    elif runs <= len(found) / 2:
        pattern += f" in {runs} runs of neighbours"
    else:
        pattern += ", scattered"
    if array.shared:
        words = {place // BANK for place in places}
        ways = max(sum(word % BANKS == bank for word in words) for bank in range(BANKS))
        cost = "no two in one bank" if ways == 1 else f"one bank serves {ways} of them in turn"
    else:
        n = len({place // SECTOR for place in places})
        cost = f"{n} transaction{'s' * (n > 1)} of {SECTOR} bytes"
    return f"{len(lanes)} threads of warp {lanes[0].number // WARP} {does[:-1]} {pattern}: {cost}"


def faults(launch: Launch) -> list[str]:
    """Describe the faults: races, accesses outside an array, and the launch's notes."""
    found = []
    for race in launch.races[:FEW]:
        one, two = (f"{thread_name(launch, a)} {a.does} it in {a.place.short}" for a in race[1:])
        code = race.second.place.code
        found.append(f"race for {race.first.element}: {one}, {two}, with no barrier between" + f": {code}" * bool(code))
    more = len(launch.races) - FEW
    found += [f"and {more} more races"] if more > 0 else []
    return found + [f"outside: {miss}" for miss in launch.outside] + list(launch.notes)


def thread_name(launch: Launch, who: Access) -> str:
    """Name a thread in words."""
    return f"thread {numbers(who.thread, launch.block)} of block {numbers(who.block, launch.grid)}"


# ---------------------------------------------------------------------- the page
def picture(drawing: Threads) -> Picture:
    """Draw heading, cards, faults and legend, one below the other."""
    launch, idle = drawing.launch, drawing.idle()
    notes = [f"{idle} thread{'s access' if idle > 1 else ' accesses'} no element"] if idle else []
    cards = [Card("threads", "Threads", "dashed: accesses no element" * bool(idle), "op", blocks(launch), notes)]
    for array in drawing.arrays:
        kind = "one per block, the first is shown: " * array.shared + f"{array.dtype}{list(array.shape)}"
        own = list(own_shape(array))
        kind += f", broadcast from {own}" * (own != list(array.shape))
        look = "fold" if array.shared else "op"
        cards.append(
            Card(f"array-{array.name}", array.name, kind, look, boards(launch, array), coalescing(launch, array))
        )
    words = [Text(MARGIN, MARGIN + 14, f"Threads of {launch.kernel}", "title"),
             Text(MARGIN, MARGIN + 33, drawing.title, "note")]  # fmt: skip
    items, y = [Group("", "heading", words)], MARGIN + 52
    width = max(card.width for card in cards)
    for card in cards:
        group, high = card.drawn(width)
        group.shift = (MARGIN, y)
        items.append(group)
        y += high + BELOW
    if lines := [line for fault in faults(launch) for line in wrap(fault, 120, 3)]:
        step = TEXTS["sum"].height
        texts = [Text(SIDE, 20 + i * step, line, "sum") for i, line in enumerate(lines)]
        high = 20 + len(lines) * step
        paper = Path(outline(0, 0, width, high, [6] * 4, "round"), "gradient")
        items.append(Group("", "faults", [paper, *texts], shift=(MARGIN, y)))
        y += high + BELOW
    items.append(Group("", "legend", [Text(MARGIN, y + 10, legend(launch), "note")]))
    return Picture(round(width + 2 * MARGIN), round(y + 14 + MARGIN), items)


def legend(launch: Launch) -> str:
    """Explain the signs, with one thread as the example."""
    block, thread = (tuple(min(i, n - 1) for i, n in enumerate(sizes, 1)) for sizes in (launch.grid, launch.block))
    sign = " over ".join(name(launch, block, thread))
    example = f"{sign}: thread {numbers(thread, launch.block)} of block {numbers(block, launch.grid)}"
    return (
        f"{example} · +2: two more threads · a tint for each block, grey for several · red: race, or outside the array"
    )
