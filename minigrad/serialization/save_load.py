"""save and load: the content of a file, and the choice of a reader for it."""

from __future__ import annotations

import io
import pickle
import sys
from collections.abc import Callable
from typing import IO, Any

from ..errors import MinigradError, error
from ..files import written
from ..ops.copy import on_device
from .allowlist import safe_names
from .pickle_reader import PickleReader, is_known, names_in
from .pickle_writer import Memories, writer
from .rebuild import Damaged, NotHere, Storages, Unknown
from .trusted import read_trusted
from .zip_archive import Archive, ArchiveWriter, opened

OLD_FORMAT = b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19."  # the pickle of 0x1950A86A20F9469CFC6C
FAULTS = (ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError, EOFError)


def save(
    obj: Any,
    f: Any,
    pickle_module: Any = pickle,
    pickle_protocol: int = 2,
    _use_new_zipfile_serialization: bool = True,
) -> None:
    """Write an object to `f`, a path or a file open for writing, in the format of PyTorch's files.

    Tensors that share memory share it again after loading; results of operations become leaves. `torch.load` reads objects made
    of tensors, parameters, numbers, strings and containers. Modules are written whole as well, but only minigrad reads them. An
    existing file is replaced after everything has been written, so a failure leaves it intact. Raises RuntimeError for tensors
    that use the same memory with different dtypes.

    >>> import io
    >>> import minigrad
    >>> file = io.BytesIO()
    >>> minigrad.save({"w": minigrad.tensor([1., 2.])}, file)
    >>> start = file.seek(0)
    >>> minigrad.load(file)
    {'w': tensor([1., 2.])}
    """
    if not _use_new_zipfile_serialization:
        what = "minigrad writes only the zip format, not the one from before PyTorch 1.6"
        raise error(NotImplementedError, "save", what, "leave _use_new_zipfile_serialization=True")
    memories, content = Memories(), io.BytesIO()
    writer(memories, pickle_module)(content, protocol=pickle_protocol).dump(obj)
    with written(f) as file, ArchiveWriter(file) as archive:
        archive.add("data.pkl", content.getbuffer())
        archive.add("byteorder", sys.byteorder.encode())
        for number, storage in enumerate(memories.storages):
            archive.add(f"data/{number}", storage.cpu()._array.view("u1"))
        archive.add("version", b"3\n")


def load(
    f: Any,
    map_location: Any = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    **pickle_load_args: Any,
) -> Any:
    """Read an object that `save` or `torch.save` wrote to `f`, a path or a file open for reading.

    Tensors go to the device that they were on, or to `map_location`: a device, a dictionary from devices to devices, or a
    function of the memory and its device's name. With `mmap`, their memory stays in the file until it is used; in-place
    changes do not reach the file.

    No code from the file runs, and anything but tensors, numbers, strings, lists, dicts and the like raises
    pickle.UnpicklingError. `weights_only=False`, for files from people you trust, runs the pickle and so reads everything;
    PyTorch's modules become minigrad's. `pickle_module` and `pickle_load_args` configure that.

    >>> import minigrad
    >>> import io
    >>> file = io.BytesIO()
    >>> minigrad.save({"weight": minigrad.ones(2)}, file)
    >>> _ = file.seek(0)
    >>> minigrad.load(file)
    {'weight': tensor([1., 1.])}
    """
    if weights_only is None:
        weights_only = pickle_module is None
    if weights_only and pickle_module is not None:
        what = "can not safely load weights when an explicit pickle_module is given: it runs code from the file"
        raise error(RuntimeError, "load", what, "omit pickle_module, or pass weights_only=False if you trust the file")
    if map_location is not None and not isinstance(map_location, dict) and not callable(map_location):
        on_device(map_location)
    if mmap and hasattr(f, "read"):
        raise error(ValueError, "load", "f must be a file path in order to use the mmap argument", "pass the path")

    def read(file: IO[bytes]) -> Any:
        archive = archive_in(file, bool(mmap))
        content, storages = io.BytesIO(archive.content("data.pkl")), Storages(archive.storage, map_location)
        if weights_only:
            return PickleReader(storages).read(content)
        return read_trusted(content, storages, pickle_module or pickle, pickle_load_args)

    with opened(f) as file:
        return guarded(lambda: read(file), not weights_only)


def archive_in(file: IO[bytes], mapped: bool = False) -> Archive:
    """Return the zip archive in a file; raise an error for a file that is at its end or has no positions."""
    try:
        begin = file.tell()
        start = file.read(len(OLD_FORMAT))
        file.seek(begin)
    except (AttributeError, OSError) as e:
        fix = "read it into a buffer first: load(io.BytesIO(f.read()))"
        raise error(AttributeError, "load", "you can only load from a file that is seekable", fix) from e
    if not start:
        what = f"the file ends at its current position, byte {begin}"
        raise error(
            pickle.UnpicklingError, "load", what, "go back to its beginning: f.seek(0)" if begin else "write it again"
        )
    if start == OLD_FORMAT:
        raise NotHere("the format from before PyTorch 1.6")
    if start[:4] != b"PK\3\4":
        raise Damaged(f"a beginning, {start!r}, that is not a zip archive's")
    return Archive(file, mapped)


def guarded(read: Callable, trusted: bool = False) -> Any:
    """Return the result of `read`; turn errors from a damaged file into one kind of error, with a fix."""
    kind, who = pickle.UnpicklingError, "load"
    try:
        return read()
    except NotHere as e:
        fix = "load it in PyTorch, convert it, as in x.float(), and save it again"
        raise error(kind, who, f"the file has {e}, which minigrad does not have", fix) from None
    except Unknown as e:
        fix = "pass weights_only=False if you trust the author of the file: reading it may run any code; "
        fix += "if you trust only that class, call minigrad.serialization.add_safe_globals([it])"
        raise error(kind, who, f"the file has {e}", fix) from None
    except FAULTS as e:
        if isinstance(e, MinigradError) or trusted and not isinstance(e, Damaged):
            raise
        reason = f"has {e}" if isinstance(e, Damaged) else f"cannot be read ({type(e).__name__}: {e})"
        what = f"the file {reason}: it is damaged, or `save` did not write it"
        raise error(kind, who, what, "write it again with minigrad.save or torch.save") from e


def get_unsafe_globals_in_checkpoint(f: Any) -> list[str]:
    """Return the names in a file that make `load` reject it, without loading it.

    >>> import fractions, io, minigrad
    >>> file = io.BytesIO()
    >>> minigrad.save([fractions.Fraction(1, 2)], file)
    >>> _ = file.seek(0)
    >>> minigrad.serialization.get_unsafe_globals_in_checkpoint(file)
    ['fractions.Fraction']
    """
    with opened(f) as file:
        content = guarded(lambda: archive_in(file).content("data.pkl"))
        names = guarded(lambda: dict.fromkeys(names_in(content)))
    return [str(name) for name in names if not is_known(name) and name not in safe_names()]
