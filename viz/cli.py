"""The command `minigrad`: `minigrad render prog.py:NAME` draws what a program computes, `minigrad doctor` looks at the
installation, and `minigrad warmup` compiles kernels ahead.

minigrad, Graphviz and Matplotlib are imported when a command needs them, so that help comes at once.  What goes wrong
in the user's program ends with 1 and the user's lines of the traceback; what is wrong with the command ends with 2;
either way nothing is written.
"""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import App, CycloptsError, Parameter

from .drawing import SUFFIXES, Drawing, MissingPass, draw
from .graph import PASSES
from .program import Failure, Usage, arguments, record_program


def _version() -> str:
    from minigrad import __version__

    return __version__


app = App(
    name="minigrad",
    help="Draw the forward, backward and jvp pass of a program, and look after its kernels.",
    help_format="plaintext",
    version=_version,
)


@app.command
def render(
    target: str,
    /,
    *,
    passes: Annotated[Literal["forward", "backward", "jvp", "all"], Parameter(name=["--pass", "-p"])] = "forward",
    output: Annotated[str | None, Parameter(name=["--output", "-o"], allow_leading_hyphen=True)] = None,
    args: Annotated[str | None, Parameter(name=["--args"], allow_leading_hyphen=True)] = None,
) -> None:
    """Draw a tensor that a program computes, or one of its functions.

    Parameters
    ----------
    target
        PROG.py:NAME. The program runs as a script does; NAME is a tensor or a function that it leaves behind.
    passes
        Which pass to draw; all puts the three side by side, on one layout.
    output
        File to write, in the format of its suffix: .svg .png .pdf .dot .gv, .html for the viewer, or
        .json for the record itself.
        - writes SVG to the standard output. Without it: NAME.svg.
    args
        The function's arguments, in Python, as in --args "tensor([1., 2.]), 3". They may use the program's names.
        Without it: the program's example_inputs.
    """
    file, name = _target(target)
    place, suffix = _place(output, name)
    with contextlib.redirect_stdout(sys.stderr) if place is None else contextlib.nullcontext():
        drawing = _draw(file, name, passes, args)
        made = drawing.rendered(suffix)
    if place is None:
        sys.stdout.buffer.write(made)
        sys.stdout.flush()
    else:
        try:
            place.write_bytes(made)
        except OSError as refused:
            raise Usage(f"{place} cannot be written: {refused.strerror}.") from refused
        print(f"wrote {place}")


@app.command
def doctor(*, json: Annotated[bool, Parameter(negative="")] = False) -> None:
    """Say what is there for minigrad to run with, and what to do about what is missing.

    Parameters
    ----------
    json
        Write the findings as JSON: a list of {name, found, advice}, advice being empty where nothing is wrong.
    """
    from .doctor import as_json, examine, show

    findings = examine()
    print(as_json(findings)) if json else show(findings)


@app.command
def warmup(*, everything: Annotated[bool, Parameter(name=["--all"], negative="")] = False) -> None:
    """Compile the common kernels now, for float32 and float64, so that no program has to wait for them.

    Parameters
    ----------
    everything
        Compile the kernels of all operations.
    """
    import time

    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    import minigrad  # noqa: F401  its operations are what is compiled
    from minigrad.kernels import cache
    from minigrad.kernels.warmup import jobs, tally

    start, todo = time.perf_counter(), jobs(everything)
    with Progress(TextColumn("{task.description:24}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()) as bar:
        task = bar.add_task("", total=len(todo))
        for name, compile_it in todo:
            bar.update(task, description=name)
            compile_it()
            bar.advance(task)
    made, kept = tally()
    place = cache.folder() or "no folder: there is no home, so nothing was kept"
    print(f"{made} kernels compiled, {kept} found, in {time.perf_counter() - start:.1f} s; cache: {place}")


def _target(target: str) -> tuple[Path, str]:
    """The file and the name of PROG.py:NAME."""
    file, colon, name = target.rpartition(":")
    if not colon or not name.isidentifier():
        raise Usage(f"{target!r} names nothing to draw. Write PROG.py:NAME, such as net.py:loss.")
    if not Path(file).is_file():
        raise Usage(f"there is no file {file}.")
    return Path(file), name


def _place(output: str | None, name: str) -> tuple[Path | None, str]:
    """Where to write (None: standard output) and the suffix of the format; both are checked before anything runs."""
    if output == "-":
        return None, ".svg"
    place = Path(output or f"{name}.svg")
    if place.suffix.lower() not in SUFFIXES:
        raise Usage(f"{place}: no format has the suffix {place.suffix!r}. Use one of {' '.join(SUFFIXES)}.")
    if not place.parent.is_dir():
        raise Usage(f"{place}: there is no folder {place.parent}.")
    return place, place.suffix


def _draw(file: Path, name: str, passes: str, args: str | None) -> Drawing:
    """Run the program and draw what it calls `name`."""
    wanted = PASSES if passes == "all" else (passes,)
    try:
        made, names = record_program(file, name, wanted)
        if not made:
            return draw(names[name], *arguments(names, args, name, file), passes=wanted, name=name)
        if args is not None:
            raise Usage(f"--args is for functions, and {name} is a tensor.")
        return draw(made, passes=wanted)
    except MissingPass as missing:
        raise Usage(f"{name} in {file}: {missing}") from missing
    except (Usage, Failure):
        raise
    except Exception as error:
        raise Failure.of(error) from error


def main(tokens: list[str] | None = None) -> None:
    """Run the command; the process ends with 0, 1 (the user's program failed) or 2 (the command is wrong)."""
    try:
        app(tokens, exit_on_error=False, result_action="return_value")
    except CycloptsError:  # it has said what is wrong
        sys.exit(2)
    except Usage as wrong:
        sys.exit(_say(f"minigrad: {wrong}", 2))
    except Failure as failed:
        sys.exit(_say(str(failed), 1))
    except BrokenPipeError:  # the reader of -o - has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)


def _say(words: str, code: int) -> int:
    print(words, file=sys.stderr)
    return code


if __name__ == "__main__":
    main()
