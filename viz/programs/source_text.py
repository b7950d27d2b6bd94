"""Read the text of a user's program, or say what else it is; notebook_cells.py reads notebooks."""

from importlib.util import decode_source
from pathlib import Path

from ..errors import Usage
from ..formats.files import nearest


def text_of(file: str) -> bytes:
    """Return the bytes of a program's file."""
    place = Path(file)
    try:
        if not place.exists():
            same_folder = [path.name for path in place.parent.glob("*.py")]
            raise Usage(f"the file {file} does not exist. {nearest(place.name, same_folder)}".rstrip())
        if not place.is_file():  # a pipe can be read only once, and linecache reads the lines again later
            kind = "a folder" if place.is_dir() else "not a file"
            raise Usage(f"{file} is {kind}. Name a file, or - for the standard input.")
        if place.suffix == ".json":  # it may also be valid Python
            raise Usage(f"{file} is not a Python program, but JSON, such as a record. Name a .py file or a notebook.")
        return place.read_bytes()
    except OSError as refused:  # such as a name that is too long
        raise Usage(f"cannot read {file}: {refused.strerror}.") from refused


def python_text(file: str, text: bytes) -> str:
    """Decode a program, as UTF-8 or in the encoding that it declares."""
    if b"\0" in text:
        raise Usage(f"{file} is not a Python program: it contains null bytes.")
    try:
        return decode_source(text)
    except (SyntaxError, ValueError, LookupError) as wrong:  # LookupError: its coding line names no text encoding
        raise Usage(f"{file} is not a Python program: {wrong}. Save it as UTF-8.") from wrong
