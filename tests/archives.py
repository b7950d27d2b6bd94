"""Files of tensors, made by hand: some as `save` writes them, some that are damaged or made to deceive."""

import io
import pickle
import zipfile

from minigrad.serialization.pickle_writer import Memories, writer


class Says:
    """Stands in a file for a call of f(*args), and what is set on what comes out."""

    def __init__(self, f, *args, state=None):
        self.said = (f, args) if state is None else (f, args, state)

    def __reduce__(self):
        return self.said


def pickled(obj, protocol=2):
    """Return the pickle of an object, as `save` writes it; a Name in it is written as it is."""
    content = io.BytesIO()
    writer(Memories(), pickle)(content, protocol=protocol).dump(obj)
    return content.getvalue()


def packed(content, storages=(), byteorder=b"little", compression=zipfile.ZIP_STORED, more=()):
    """Return an archive of a pickle and of the bytes of storages, and of `more` pairs of a name and bytes."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as archive:
        archive.writestr("archive/data.pkl", content)
        archive.writestr("archive/byteorder", byteorder)
        for i, storage in enumerate(storages):
            archive.writestr(f"archive/data/{i}", storage)
        for name, storage in more:
            archive.writestr(name, storage)
    file.seek(0)
    return file
