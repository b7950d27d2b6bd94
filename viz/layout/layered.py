"""A fast layered layout for large graphs.

Sugiyama's steps in their simplest form: ranks by the longest path, order within a rank by barycentres, then x by least
squares under that order (isotonic regression, Barlow et al.).  Edges over several ranks pass through small dummy nodes,
which keep their lane free of boxes.  Plain Python: 10,000 nodes take about two seconds.
"""

from collections import defaultdict
from collections.abc import Sequence
from itertools import accumulate

GAP, LANE, ROWS = 24.0, 10.0, 44.0  # between boxes, between lanes, between ranks
FAR = 40  # an edge across more ranks is drawn straight
SWEEPS = 4

Link = tuple[str, str, float, str, float]  # edge, tail, offset in the tail, head, offset in the head


def layered(
    boxes: dict[str, tuple[float, float]],
    links: list[Link],
    leaves: set[str],
    first: Sequence[str] = (),
    last: Sequence[str] = (),
):
    """Return the corners of boxes, the routes of links, and the total width and height.

    `first` and `last` stay in the first and in the last row.

    >>> corners, routes, width, height = layered({"a": (10, 10), "b": (10, 10)}, [("e", "a", 5, "b", 5)], {"a"})
    >>> corners["a"], corners["b"], routes["e"][0], routes["e"][-1]
    ((0.0, 0.0), (0.0, 54.0), (5.0, 10.0), (5.0, 54.0))
    """
    rank = ranks_of(boxes, links, leaves)
    rank |= dict.fromkeys(first, 0)
    rank |= dict.fromkeys(last, max(rank.values()))
    sizes = dict(boxes)
    lanes = stand_ins(rank, sizes, links)
    rows = rows_of(rank, max(rank.values()) + 1)
    joined = neighbours(links, lanes, leaves)
    order(rows, sizes, joined)
    x = across(rows, sizes, joined)
    left = min(x.values())
    heights = [max(sizes[key][1] for key in row) for row in rows]
    tops = list(accumulate((tall + ROWS for tall in heights[:-1]), initial=0.0))
    low = {key: tops[rank[key]] + heights[rank[key]] for key in sizes}  # boxes of a rank share their bottom line
    corners = {key: (x[key] - left, low[key] - boxes[key][1]) for key in boxes}
    routes = {}
    for key, tail, out, head, into in links:
        points = [(corners[tail][0] + out, low[tail])]
        for lane in lanes[key]:
            points += [(x[lane] - left, tops[rank[lane]]), (x[lane] - left, low[lane])]
        end = corners[head][0] + into  # vertical from the top of the rank, past taller neighbours
        routes[key] = curve([*points, (end, tops[rank[head]]), (end, corners[head][1])])
    return corners, routes, max(x[key] - left + sizes[key][0] for key in sizes), tops[-1] + heights[-1]


def ranks_of(boxes, links: list[Link], leaves: set[str]) -> dict[str, int]:
    """Rank operations by their longest path; a leaf is just above its first use."""
    above, below = defaultdict(list), defaultdict(list)
    for _, tail, _, head, _ in links:
        above[head].append(tail)
        below[tail].append(head)
    rank: dict[str, int] = {}
    for key in boxes:  # a graph lists each node after its inputs
        rank[key] = max((rank.get(tail, 0) + 1 for tail in above[key]), default=0)
    for key in leaves:
        rank[key] = min((rank[head] for head in below[key]), default=1) - 1
    return rank


def stand_ins(rank: dict[str, int], sizes: dict, links: list[Link]) -> dict[str, list[str]]:
    """Make dummy nodes for each link in the ranks it crosses, and add them to `rank` and `sizes`."""
    lanes: dict[str, list[str]] = {}
    for key, tail, _, head, _ in links:
        crossed = range(rank[tail] + 1, rank[head])
        lanes[key] = [f"{key}/{level}" for level in crossed] if len(crossed) <= FAR else []
        for lane, level in zip(lanes[key], crossed):
            rank[lane], sizes[lane] = level, (LANE, 0.0)
    return lanes


def rows_of(rank: dict[str, int], many: int) -> list[list[str]]:
    """Return `many` rows with their boxes and dummy nodes."""
    rows: list[list[str]] = [[] for _ in range(many)]
    for key, level in rank.items():
        rows[level].append(key)
    return rows


def neighbours(links: list[Link], lanes: dict[str, list[str]], leaves: set[str]):
    """Return the neighbours of each box and dummy node, above and below: (other, own offset, other's offset, weight)."""
    up, down = defaultdict(list), defaultdict(list)
    for key, tail, out, head, into in links:
        path = [(tail, out), *((lane, LANE / 2) for lane in lanes[key]), (head, into)]
        strong = 1.0 if tail in leaves else 5.0  # keeps the main line straight, with leaves beside it
        for (a, off_a), (b, off_b) in zip(path, path[1:]):
            down[a].append((b, off_a, off_b, strong))
            up[b].append((a, off_b, off_a, strong))
    return up, down


def order(rows: list[list[str]], sizes: dict, joined) -> None:
    """Sort each rank by the mean position of its neighbours' ports, downwards and upwards in turn."""
    place = {key: i + 0.5 for row in rows for i, key in enumerate(row)}
    for sweep in range(SWEEPS):
        near = joined[sweep % 2]
        for row in rows if sweep % 2 == 0 else reversed(rows):
            wish = {
                key: sum(place[n] + off / sizes[n][0] - 0.5 for n, _, off, _ in near[key]) / len(near[key])
                if near[key]
                else place[key]
                for key in row
            }
            row.sort(key=wish.__getitem__)
            place.update((key, i + 0.5) for i, key in enumerate(row))


def across(rows: list[list[str]], sizes: dict, joined) -> dict[str, float]:
    """Return the left side of each box, as near to its neighbours as the order allows."""
    x: dict[str, float] = {}
    for row in rows:
        side = 0.0
        for key in row:
            x[key] = side
            side += sizes[key][0] + GAP
    for sweep in range(2 * SWEEPS):
        near = joined[sweep % 2]
        for row in rows if sweep % 2 == 0 else reversed(rows):
            ties = {key: near[key] or [(key, 0.0, 0.0, 0.1)] for key in row}  # without neighbours: stay
            weights = [sum(strong for *_, strong in ties[key]) for key in row]
            wishes = [
                sum(strong * (x[n] + off - own) for n, own, off, strong in ties[key]) / weight
                for key, weight in zip(row, weights)
            ]
            x.update(zip(row, _apart(wishes, [sizes[key][0] + GAP for key in row], weights)))
    return x


def _apart(wishes: list[float], widths: list[float], weights: list[float]) -> list[float]:
    """Return the positions nearest to the wishes (least squares) that keep order and distance: pool adjacent violators.

    >>> _apart([0.0, 0.0], [10.0, 10.0], [1.0, 1.0])
    [-5.0, 5.0]
    """
    starts = list(accumulate(widths[:-1], initial=0.0))
    pools: list[list[float]] = []  # [sum of weighted wishes, weight, number of boxes]
    for wish, start, weight in zip(wishes, starts, weights):
        pools.append([weight * (wish - start), weight, 1])
        while len(pools) > 1 and pools[-2][0] / pools[-2][1] >= pools[-1][0] / pools[-1][1]:
            total, heavy, count = pools.pop()
            pools[-1] = [pools[-1][0] + total, pools[-1][1] + heavy, pools[-1][2] + count]
    bases = [total / heavy for total, heavy, count in pools for _ in range(int(count))]
    return [base + start for base, start in zip(bases, starts)]


def curve(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return cubic pieces through the points, vertical at each."""
    curve = [points[0]]
    for (x0, y0), (x1, y1) in zip(points, points[1:]):
        middle = (y0 + y1) / 2
        curve += [(x0, middle), (x1, middle), (x1, y1)]
    return curve
