"""SummaryWriter: numbers, images and graphs of a training run, in files that TensorBoard reads.

The writer is that of the library tensorboardX; here tensors become arrays, and a graph comes from minigrad's record.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from ..config import install
from ..core.tensor import Tensor
from ..diagnose.boundary import guard as _guard
from ..errors import error
from ..func.tree import tree_map

try:
    import tensorboardX
    from tensorboardX.proto import graph_pb2, node_def_pb2, versions_pb2
except ImportError as e:
    fix = f"install it: {install('tensorboard')}"
    raise error(ImportError, "minigrad.utils.tensorboard", "the library tensorboardX is not installed", fix) from e

__all__ = ["SummaryWriter"]
Graph: Any = graph_pb2.GraphDef  # type: ignore[attr-defined]  protobuf makes the classes when it is loaded
Node: Any = node_def_pb2.NodeDef  # type: ignore[attr-defined]
Version: Any = versions_pb2.VersionDef  # type: ignore[attr-defined]

FIXES = {
    "add_scalar": "pass one number, such as loss.item()",
    "add_histogram": "pass finite numbers: values[values.isfinite()]",
    "add_image": "name each dimension: dataformats='CHW', 'HWC' or 'HW'",
    "add_embedding": "pass a label and an image for each row of mat",
}
UNUSED = ("new_style", "double_precision")  # arguments of PyTorch's writer about how numbers are stored


def with_arrays(name: str) -> Callable:
    """Return a method of tensorboardX's writer that takes tensors, also in lists and dicts."""
    method = getattr(tensorboardX.SummaryWriter, name)

    @wraps(method)
    def write(self: Any, *args: Any, **options: Any) -> Any:
        options = {key: value for key, value in options.items() if key not in UNUSED}
        try:
            return method(self, *tree_map(array, args), **tree_map(array, options))
        except (AssertionError, NotImplementedError, TypeError, ValueError) as e:
            fix = FIXES.get(name, "pass what the method's documentation names")
            raise error(ValueError, name, f"{args[0] if args else ''!r}: {e}", fix) from e

    return write


def array(value: Any) -> Any:
    """Return a tensor as an array, anything else as it is."""
    return value.detach().cpu().numpy() if isinstance(value, Tensor) else value


class SummaryWriter(tensorboardX.SummaryWriter):
    """Writes events into a folder for TensorBoard: `tensorboard --logdir runs` shows them.

    Its methods are those of tensorboardX: add_scalar, add_scalars, add_image, add_images, add_figure, add_histogram,
    add_text, add_embedding, add_hparams, add_audio, add_video, add_pr_curve, add_mesh. They raise ValueError for values that
    cannot be written. `log_dir` is the folder, by default runs/DATE_HOST plus `comment`.

    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder, SummaryWriter(folder) as writer:
    ...     for step in range(3):
    ...         writer.add_scalar("loss", 1 / (1 + step), step)
    ...     print(len(os.listdir(folder)), "file")
    1 file
    """

    log_dir = property(lambda self: str(self.logdir))
    get_logdir = lambda self: self.log_dir

    def add_graph(self, model: Any, input_to_model: Any = None, *_: Any, **more: Any) -> None:  # type: ignore[override]
        """Write the graph of a module's operations on an input, or on several in a tuple."""
        from .. import record

        inputs = input_to_model if isinstance(input_to_model, (tuple, list)) else (input_to_model,)
        made = record(model, *inputs, passes=("forward",)).to_dict()
        names = {v["id"]: v["name"] or f"value_{v['id']}" for v in made["values"]}
        results = {i for op in made["ops"] for i in op["outputs"]}
        nodes = [Node(name=names[v["id"]], op=v["kind"]) for v in made["values"] if v["id"] not in results]
        for op in made["ops"]:
            name = "/".join([*op["module"], f"{op['name']}_{op['id']}"])
            nodes.append(Node(name=name, op=op["name"], input=[names[i] for i in op["inputs"] if isinstance(i, int)]))
            names |= dict.fromkeys(op["outputs"], name)
        self._get_file_writer().add_onnx_graph(Graph(node=nodes, versions=Version(producer=22)))


for _name in [name for name in dir(tensorboardX.SummaryWriter) if name.startswith("add_") and name != "add_graph"]:
    setattr(SummaryWriter, _name, with_arrays(_name))
_guard(__name__)
