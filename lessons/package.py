"""A wheel of minigrad for a class, without the solutions of the exercises.

It hides what `lessons.solution` and the instructor's notebooks show.  It cannot hide the numbers that a check compares with,
nor the formulas in checks of programs: they run on the student's machine.
"""

import ast
import base64
import hashlib
import re
import zipfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

PACKAGES = ("minigrad", "viz", "lessons")
NAME, LABEL = "minigrad-viz", "class"
TASKS = ("number", "numbers", "choice", "code")  # of the bank: functions whose third argument is the solution
ROOT = Path(__file__).parent.parent
WHEEL = "Wheel-Version: 1.0\nGenerator: minigrad\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


def write(folder: Path, solutions: bool = True) -> Path:
    """Write a wheel of the installed minigrad into a folder and return its path; raise LookupError if it is not installed.

    Without `solutions`, its version has the label "class", so that pip does not take it for the released one.
    """
    try:
        found = metadata.distribution(NAME)
    except metadata.PackageNotFoundError:
        raise LookupError(f"{NAME} is not installed: only its files are here") from None
    version = found.version + f"{'.' if '+' in found.version else '+'}{LABEL}" * (not solutions)
    stem = f"{NAME.replace('-', '_')}-{version}"
    about = re.sub(
        r"^Version: .*$", f"Version: {version}", found.read_text("METADATA") or "", count=1, flags=re.MULTILINE
    )
    info = {"METADATA": about, "WHEEL": WHEEL, "entry_points.txt": found.read_text("entry_points.txt") or ""}
    files = {name: data for name, data in contents(solutions)}
    files |= {f"{stem}.dist-info/{name}": text.encode() for name, text in info.items()}
    files[f"{stem}.dist-info/RECORD"] = record(files, f"{stem}.dist-info/RECORD").encode()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{stem}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, data in files.items():
            wheel.writestr(name, data)
    return path


def contents(solutions: bool) -> Iterator[tuple[str, bytes]]:
    """Yield the names and the bytes of the files of the packages."""
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*")):
            name = path.relative_to(ROOT)
            if path.is_file() and "__pycache__" not in name.parts and (solutions or "solutions" not in name.parts):
                data = path.read_bytes()
                yield name.as_posix(), data if solutions or name.parts[:2] != ("lessons", "bank") else unsolved(data)


def unsolved(source: bytes) -> bytes:
    """Return a file of the bank with empty solutions.

    >>> unsolved(b'x = number("Add.", 2, "two = 1 + 1", "why")')
    b'x = number("Add.", 2, "", "why")'
    """
    lines = source.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    places = []
    for call in ast.walk(ast.parse(source)):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in TASKS:
            named = [one.value for one in call.keywords if one.arg == "solution"]
            for one in named or call.args[2:3]:
                first = starts[one.lineno - 1] + one.col_offset
                places.append((first, starts[(one.end_lineno or 0) - 1] + (one.end_col_offset or 0)))
    for first, last in sorted(places, reverse=True):
        source = source[:first] + b'""' + source[last:]
    return source


def record(files: dict[str, bytes], own: str) -> str:
    """Return the list of files with their hashes that a wheel contains."""
    rows = []
    for name, data in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        rows.append(f"{name},sha256={digest},{len(data)}\n")
    return "".join([*rows, f"{own},,\n"])
