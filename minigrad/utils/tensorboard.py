"""SummaryWriter: numbers, images and graphs of a training run, in files that TensorBoard reads; no package is needed.

A file is a sequence of records (TFRecord), each an Event as protocol buffer, which `message` writes from a dict of its fields.
Sources: TensorFlow's `event.proto`, `summary.proto` and `graph.proto`; RFC 3720 for the checksum CRC-32C.
"""

from __future__ import annotations

import math
import os
import socket
import struct
import time
from functools import cache
from io import BytesIO
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from ..core.tensor import Tensor
from ..diagnose.boundary import guard as _guard
from ..errors import error

__all__ = ["SummaryWriter"]

NUMBERS = count()  # of the files of this process


# ---------------------------------------------------------------------- protocol buffers
def varint(n: int) -> bytes:
    """Return a number in groups of seven bits, the lowest first.

    >>> varint(300).hex()
    'ac02'
    """
    n, groups = n % (1 << 64), bytearray()
    while n > 127:
        groups.append(n % 128 + 128)
        n //= 128
    return bytes([*groups, n])


def message(fields: dict) -> bytes:
    """Return a protocol buffer of field numbers and values, whose types say how they are written; a list repeats a field.

    >>> message({1: 300, 2: "ab", 3: {1: [1, 2]}, 4: np.float32(1.0)}).hex()
    '08ac02120261621a0408010802250000803f'
    """
    parts = []
    for field, values in fields.items():
        for x in values if isinstance(values, list) else [values]:
            if isinstance(x, int):
                kind, data = 0, varint(x)
            elif isinstance(x, (float, np.floating)):
                kind, data = (1, struct.pack("<d", x)) if isinstance(x, float) else (5, struct.pack("<f", x))
            else:
                text = message(x) if isinstance(x, dict) else x.encode() if isinstance(x, str) else x
                kind, data = 2, varint(len(text)) + text
            parts.append(varint(8 * field + kind) + data)
    return b"".join(parts)


@cache
def crc_table() -> list[int]:
    """Return the remainders of all bytes for CRC-32C."""
    table = list(range(256))
    for _ in range(8):
        table = [(c >> 1) ^ (0x82F63B78 * (c & 1)) for c in table]
    return table


def checksum(data: bytes) -> bytes:
    """Return the masked CRC-32C of a record's part.

    >>> checksum(b"123456789").hex()
    'e5b08ac7'
    """
    crc, table = 0xFFFFFFFF, crc_table()
    for byte in data:
        crc = table[(crc ^ byte) & 255] ^ (crc >> 8)
    crc ^= 0xFFFFFFFF
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


# ---------------------------------------------------------------------- the writer
class SummaryWriter:
    """Writes events into a folder for TensorBoard: `tensorboard --logdir runs` shows them, while the program runs, too.

    `log_dir` is the folder, by default runs/DATE_HOST plus `comment`.  `max_queue` and `flush_secs` change nothing, because
    each event is written at once; `purge_step` neither: earlier steps are kept.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, SummaryWriter(folder) as writer:
    ...     for step in range(3):
    ...         writer.add_scalar("loss", 1 / (1 + step), step)
    ...     print(len(os.listdir(folder)), "file")
    1 file
    """

    def __init__(
        self, log_dir: Any = None, comment: str = "", purge_step: int | None = None, max_queue: int = 10,
        flush_secs: int = 120, filename_suffix: str = "",
    ):  # fmt: skip
        default = f"runs/{time.strftime('%b%d_%H-%M-%S')}_{socket.gethostname()}{comment}"
        self.log_dir = str(log_dir or default)
        self._suffix, self._files = filename_suffix, {}
        self._open(self.log_dir)

    def add_scalar(
        self, tag: str, scalar_value: Any, global_step: int | None = None, walltime: float | None = None, **_: Any
    ) -> None:
        """Write a number, such as the loss of a step."""
        self._add(tag, {2: number(scalar_value)}, global_step, walltime)

    def add_scalars(
        self, main_tag: str, tag_scalar_dict: dict, global_step: int | None = None, walltime: float | None = None
    ) -> None:
        """Write several numbers for one chart, each into its own folder below `log_dir`."""
        for tag, value in tag_scalar_dict.items():
            folder = os.path.join(self.log_dir, f"{main_tag.replace('/', '_')}_{tag}")
            self._add(main_tag, {2: number(value)}, global_step, walltime, folder)

    def add_image(
        self, tag: str, img_tensor: Any, global_step: int | None = None, walltime: float | None = None,
        dataformats: str = "CHW",
    ) -> None:  # fmt: skip
        """Write an image: bytes, or numbers from 0 to 1, whose dimensions `dataformats` names (CHW, HWC or HW)."""
        self._add(tag, image_of(pixels_of(img_tensor, dataformats)), global_step, walltime)

    def add_images(
        self, tag: str, img_tensor: Any, global_step: int | None = None, walltime: float | None = None,
        dataformats: str = "NCHW",
    ) -> None:  # fmt: skip
        """Write a batch of images, side by side."""
        batch = np.moveaxis(array_of(img_tensor), dataformats.index("N"), 0)
        row = np.concatenate([pixels_of(one, dataformats.replace("N", "")) for one in batch], 1)
        self._add(tag, image_of(row), global_step, walltime)

    def add_figure(
        self, tag: str, figure: Any, global_step: int | None = None, close: bool = True, walltime: float | None = None
    ) -> None:
        """Write a figure of Matplotlib, and close it."""
        from matplotlib import pyplot

        file = BytesIO()
        figure.savefig(file, format="png")
        width, height = figure.canvas.get_width_height()
        self._add(tag, {4: {1: height, 2: width, 3: 3, 4: file.getvalue()}}, global_step, walltime)
        if close:
            pyplot.close(figure)

    def add_histogram(
        self, tag: str, values: Any, global_step: int | None = None, bins: Any = 64, walltime: float | None = None,
        max_bins: int | None = None,
    ) -> None:  # fmt: skip
        """Write the distribution of numbers, such as a layer's weights, in `bins` as for numpy.histogram."""
        x = array_of(values).astype(np.float64).reshape(-1)
        if not x.size or not np.isfinite(x).all():
            what = f"{tag}: {'no values' if not x.size else 'values that are not finite'}"
            raise error(ValueError, "add_histogram", what, "pass numbers: values[values.isfinite()]")
        counts, limits = np.histogram(x, "auto" if bins == "tensorflow" else bins)
        moments = [x.min(), x.max(), x.size, x.sum(), (x * x).sum()]
        fields = [*map(float, moments), *[a.astype("<f8").tobytes() for a in (limits[1:], counts)]]
        self._add(tag, {5: dict(enumerate(fields, 1))}, global_step, walltime)

    def add_text(
        self, tag: str, text_string: str, global_step: int | None = None, walltime: float | None = None
    ) -> None:
        """Write a text, as Markdown."""
        one_string = {1: 7, 2: {2: {1: 1}}, 8: text_string}
        self._add(f"{tag}/text_summary", {9: {1: {1: "text"}}, 8: one_string}, global_step, walltime)

    def add_graph(self, model: Any, input_to_model: Any = None, verbose: bool = False, **_: Any) -> None:
        """Write the graph of a module's operations on an input, or on several in a tuple."""
        from .. import record

        inputs = input_to_model if isinstance(input_to_model, (tuple, list)) else (input_to_model,)
        made = record(model, *inputs, passes=("forward",)).to_dict()
        names = {v["id"]: v["name"] or f"value_{v['id']}" for v in made["values"]}
        results = {i for op in made["ops"] for i in op["outputs"]}
        nodes = [{1: names[v["id"]], 2: v["kind"]} for v in made["values"] if v["id"] not in results]
        for op in made["ops"]:
            name = "/".join([*op["module"], f"{op['name']}_{op['id']}"])
            nodes.append({1: name, 2: op["name"], 3: [names[i] for i in op["inputs"] if isinstance(i, int)]})
            names |= dict.fromkeys(op["outputs"], name)
        self._write(self.log_dir, {4: {1: nodes, 4: {1: 22}}})

    def add_embedding(
        self, mat: Any, metadata: Any = None, label_img: Any = None, global_step: int | None = None, tag: str = "default",
        metadata_header: Any = None,
    ) -> None:  # fmt: skip
        """Write points, the rows of a matrix, for TensorBoard's projector, with a label and an image for each of them."""
        points = array_of(mat)
        for what, one in (("metadata", metadata), ("label_img", label_img)):
            if one is not None and len(one) != len(points):
                what = f"{what} has {len(one)} entries for {len(points)} points"
                raise error(ValueError, "add_embedding", what, "pass one for each row of mat")
        place = f"{global_step or 0:05}/{tag}"
        folder, name = Path(self.log_dir, place), f"{tag}:{global_step or 0:05}"
        folder.mkdir(parents=True, exist_ok=True)
        lines = [f'tensor_name: "{name}"', f'tensor_path: "{place}/tensors.tsv"']
        np.savetxt(folder / "tensors.tsv", points, "%.9g", delimiter="\t")
        if metadata is not None:
            rows = [*([metadata_header] if metadata_header else []), *metadata]
            text = ["\t".join(map(str, row)) if isinstance(row, (list, tuple)) else str(row) for row in rows]
            (folder / "metadata.tsv").write_text("\n".join(text) + "\n", encoding="utf-8")
            lines.append(f'metadata_path: "{place}/metadata.tsv"')
        if label_img is not None:
            (folder / "sprite.png").write_bytes(png_of(sprite(array_of(label_img))))
            height, width = label_img.shape[2:]
            lines.append(
                f'sprite {{ image_path: "{place}/sprite.png" single_image_dim: {width} single_image_dim: {height} }}'
            )
        with open(Path(self.log_dir, "projector_config.pbtxt"), "a", encoding="utf-8") as file:
            file.write(f"embeddings {{ {' '.join(lines)} }}\n")

    def get_logdir(self) -> str:
        """Return the folder."""
        return self.log_dir

    def flush(self) -> None:
        """Write what the files hold back."""
        for file in self._files.values():
            file.flush()

    def close(self) -> None:
        """Close the files; a later event opens new ones."""
        for file in self._files.values():
            file.close()
        self._files.clear()

    def __enter__(self) -> SummaryWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ------------------------------------------------------------------ files
    def _open(self, folder: str) -> Any:
        """Return the open file of a folder; it begins with the version of its format."""
        if folder not in self._files:
            Path(folder).mkdir(parents=True, exist_ok=True)
            name = f"events.out.tfevents.{int(time.time())}.{socket.gethostname()}.{os.getpid()}.{next(NUMBERS)}"
            self._files[folder] = open(Path(folder, name + self._suffix), "ab")  # noqa: SIM115  close() closes it
            self._write(folder, {3: "brain.Event:2"})
        return self._files[folder]

    def _add(self, tag: str, value: dict, step: int | None, at: float | None, folder: str = "") -> None:
        """Write a value of a summary."""
        self._write(folder or self.log_dir, {5: {1: {1: tag, **value}}}, step, at)

    def _write(self, folder: str, what: dict, step: int | None = None, at: float | None = None) -> None:
        """Write an event as a record: its length and itself, each with a checksum."""
        event = message({1: time.time() if at is None else float(at), **({2: int(step)} if step else {}), **what})
        length, file = struct.pack("<Q", len(event)), self._open(folder)
        file.write(length + checksum(length) + event + checksum(event))
        file.flush()


# ---------------------------------------------------------------------- values
def array_of(values: Any) -> np.ndarray:
    """Return a tensor, an array or numbers as an array."""
    return values.detach().cpu().numpy() if isinstance(values, Tensor) else np.asarray(values)


def number(value: Any) -> np.float32:
    """Return a number of 32 bits.  Raises ValueError for anything else."""
    x = array_of(value)
    if x.size != 1 or x.dtype.kind not in "biuf":
        what = f"expected one number, but got {f'{x.size} of them' if x.dtype.kind in 'biuf' else repr(value)}"
        raise error(ValueError, "add_scalar", what, "pass a number, such as loss.item()")
    return np.float32(x.reshape(()))


def pixels_of(picture: Any, order: str) -> np.ndarray:
    """Return an image as bytes of shape (height, width, channels)."""
    x = array_of(picture)
    if x.ndim != len(order):
        what = f"the image has shape {tuple(x.shape)}, but dataformats={order!r} names {len(order)} dimensions"
        raise error(ValueError, "add_image", what, "pass dataformats='CHW', 'HWC' or 'HW'")
    x = x[..., None] if "C" not in order else np.moveaxis(x, [order.index(c) for c in "HWC"], [0, 1, 2])
    x = x if x.dtype == np.uint8 else (np.clip(x, 0, 1) * 255).astype(np.uint8)
    return np.broadcast_to(x, (*x.shape[:2], 3)) if x.shape[2] == 1 else x


def png_of(pixels: np.ndarray) -> bytes:
    """Return an image as PNG."""
    from PIL import Image

    file = BytesIO()
    Image.fromarray(np.ascontiguousarray(pixels)).save(file, format="png")
    return file.getvalue()


def image_of(pixels: np.ndarray) -> dict:
    """Return the value of an image."""
    return {4: {1: pixels.shape[0], 2: pixels.shape[1], 3: 3, 4: png_of(pixels)}}


def sprite(batch: np.ndarray) -> np.ndarray:
    """Return images of shape (number, channels, height, width) as one square of them."""
    side = math.ceil(len(batch) ** 0.5)
    full = np.concatenate([batch, np.zeros((side * side - len(batch), *batch.shape[1:]), batch.dtype)])
    return np.concatenate([np.concatenate([pixels_of(one, "CHW") for one in row], 1) for row in np.split(full, side)])


_guard(__name__)
