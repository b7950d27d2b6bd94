"""`minigrad share`: print the link to a program's picture, which steps through its passes in any browser."""

from __future__ import annotations

import json as js
from typing import Annotated

from cyclopts import Parameter

import viz

from ..errors import Usage
from ..text import clean
from ..view import passes_of, requested_passes
from .common import (
    Args,
    AsTorch,
    Json,
    Pass,
    Target,
    Words,
    computing,
    print_notes,
    program_of,
    recorded,
    stdout_to_stderr,
)
from .diff_command import record_of
from .render_options import Directions, check_counts, names_in

DIRECTIONS = Directions()

EXAMPLES = """Examples:

  minigrad share net.py:loss                print a link; it contains the record
  minigrad share net.py:loss --depth 1      each module as one box: a shorter link
  minigrad share net.py:loss --with-source  with the text of the program
  minigrad share net.py:loss --embed        an iframe for slides and course pages
  minigrad share loss.json                  a record that render wrote
  minigrad share net.py:loss | xclip        only the link goes to the pipe"""

LONGEST = 32_000  # characters of a link: forums, mail and chat programs cut longer ones
SITES = "https://", "http://", "file:///"


def share(
    target: Target,
    /,
    *words: Words,
    passes: Pass = "all",
    args: Args = None,
    depth: Annotated[int | None, Parameter(name=["--depth"])] = None,
    open: Annotated[str | None, Parameter(name=["--open"])] = None,
    directions: Directions = DIRECTIONS,
    contents: Annotated[bool, Parameter(name=["--contents"], negative=["--no-contents"])] = True,
    with_source: Annotated[bool, Parameter(name=["--with-source"], negative="", show_default=False)] = False,
    site: str | None = None,
    embed: Annotated[bool, Parameter(name=["--embed"], negative="", show_default=False)] = False,
    as_torch: AsTorch = False,
    json: Json = False,
) -> None:
    """Print a link to the picture of a program's computation. The record is in the link: nothing is uploaded.

    Parameters
    ----------
    target
        PROG.py:NAME, as for render, or a record that render wrote (x.json).
    passes
        Pass to draw.
    depth
        Number of levels of modules (or functions) to keep; each deeper one becomes one box, and the link is shorter.
    open
        Custom Functions that show the operations of their methods, as for render.
    contents
        The contents of large tensors. Without them the link is shorter: it has no heat maps and histograms, and
        the numbers of the picture cannot be changed.
    with_source
        Add the text of the program. Otherwise the link has only its names and the labels of operations.
    site
        Address of the documentation site, which has the page play.html. Default: the variable MINIGRAD_SITE, then the
        address in minigrad/config.py.
    embed
        Print an iframe, for slides, course pages and forum posts.
    json
        Write {link, length, notes} as JSON.
    """
    check_counts(depth, None)
    page = page_of(site)
    with stdout_to_stderr():
        record, notes, there = everything(target, words, passes, args, directions, as_torch)
        drawing = viz.Drawing(record, there, notes, depth=depth, max_nodes=None, open=names_in(open))
        link = f"{page}#r={letters_of(drawing, with_source, contents)}"
    if len(link) > LONGEST:
        raise Usage(too_long(len(link), depth, contents, with_source))
    print_notes(notes)
    deliver(link, drawing.record["program"].get("name") or "program", embed, json, notes)


def page_of(site: str | None) -> str:
    """Return the address of the page play.html; raise Usage if there is no site."""
    from ..viewer.site import page_at
    from ..viewer.site import site as known

    found = known() if site is None else site
    if not found:
        raise Usage(
            "no site is known that has the page play.html. Give its address with --site https://..., or set the variable "
            "MINIGRAD_SITE. `make docs` in a checkout builds the site; its play.html also works as --site file:///..."
        )
    if not found.startswith(SITES) or "#" in found or any(one.isspace() for one in found):
        raise Usage(
            f"{found!r} is not the address of a site. Write one that begins with https://, http:// or file:///."
        )
    return page_at(found)


def everything(
    target: str, words: tuple[str, ...], passes: str, args: str | None, directions: Directions, as_torch: bool
) -> tuple[dict, list[str], tuple[str, ...]]:
    """Return the record of a target, notes for the user, and its passes."""
    if target.lower().endswith(".json"):
        if args is not None or words or any(one is not None for one in directions.given().values()):
            raise Usage(
                f"{target} is a record, which runs no more. Leave out --args, --grad, --tangent and further words."
            )
        record = record_of(target, args, as_torch)
        have, missing = passes_of(record)
        wanted = [one for one in requested_passes(passes) if one in have]
        if not wanted:
            raise Usage(f"{target} has no {passes} pass: it has {', '.join(have) or 'none'}.")
        return record, [], tuple(wanted)
    program, name = program_of(target, words, nameless=True)
    program.seeds = directions.given()
    with computing(as_torch, program):
        record, notes, there = recorded(program, name, passes, args)
    return record, notes, tuple(there)


def letters_of(drawing: viz.Drawing, source: bool, contents: bool) -> str:
    """Return the letters of a link."""
    from ..viewer import links

    graph = drawing.whole if drawing.depth is None else links.folded(drawing.graph)
    if graph.operations > links.MOST:
        fix = "Use --depth 1, or a smaller one" if drawing.depth != 0 else "Write a page: minigrad render ... -o x.html"
        raise Usage(f"a link has at most {links.MOST:,} operations, and this record {graph.operations:,}. {fix}.")
    return links.letters(links.shared_data(graph, drawing.open, source, contents))


def too_long(length: int, depth: int | None, contents: bool, source: bool) -> str:
    """Return the message about a link of this length, with the ways to a shorter one."""
    ways = [
        "--depth 1 makes one box of each module or function" if depth is None else f"use less than --depth {depth}",
        "--no-contents leaves out the contents of large tensors" if contents else "",
        "leave out --with-source" if source else "",
    ]
    return (
        f"the link would have {length:,} characters, more than the {LONGEST:,} that are allowed. Shorten it: "
        f"{'; '.join(way for way in ways if way)}. Or write a page and send the file: minigrad render ... -o x.html"
    )


def deliver(link: str, name: str, embed: bool, json: bool, notes: list[str]) -> None:
    """Print the link on a line of the standard output, and its length for people."""
    from ..viewer import links

    words = links.embedded(link, f"{name}: forward, backward and jvp") if embed else link
    if json:
        print(js.dumps({"link": link, "length": len(link), **({"embed": words} if embed else {}), "notes": notes}))
        return
    print(clean(words))
    print_notes([f"the link has {len(link):,} characters"])
