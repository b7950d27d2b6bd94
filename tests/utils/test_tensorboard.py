"""utils.tensorboard: tensors are written as what they hold, and a module's graph as what it computes."""

import struct
from pathlib import Path

import numpy as np
import pytest

import minigrad
from minigrad import nn

pytest.importorskip("tensorboardX")
from tensorboardX.proto.event_pb2 import Event  # noqa: E402
from tensorboardX.proto.graph_pb2 import GraphDef  # noqa: E402

from minigrad.utils.tensorboard import SummaryWriter  # noqa: E402


def events(folder):
    """Return the events of all files in a folder: a file is a sequence of a length, its checksum, an event, its checksum."""
    found = []
    for path in sorted(Path(folder).rglob("events.out.tfevents.*")):
        data = path.read_bytes()
        while data:
            (size,) = struct.unpack("<Q", data[:8])
            found.append(Event.FromString(data[12 : 12 + size]))
            data = data[16 + size :]
    return found


def values(folder):
    """Return (tag, step, value) of all values of summaries."""
    return [(v.tag, e.step, v) for e in events(folder) for v in e.summary.value]


def test_numbers_are_written_with_tag_step_and_time(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        writer.add_scalar("loss", minigrad.tensor(0.5, requires_grad=True), 300, walltime=2.0, new_style=True)
        writer.add_scalar(tag="loss", scalar_value=np.float64(0.25), global_step=0)
        writer.add_scalar("count", 7)
    first, second, *_ = events(tmp_path)
    assert first.file_version == "brain.Event:2" and second.wall_time == 2.0
    found = [(tag, step, v.simple_value) for tag, step, v in values(tmp_path)]
    assert found == [("loss", 300, 0.5), ("loss", 0, 0.25), ("count", 0, 7.0)]


def test_several_numbers_of_one_chart_go_to_folders(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        writer.add_scalars("loss/epoch", {"train": minigrad.tensor(1.0), "test": 2.0}, 3)
    assert sorted((v.simple_value, step) for _, step, v in values(tmp_path)) == [(1.0, 3), (2.0, 3)]
    assert len([p for p in tmp_path.rglob("*") if p.is_dir() and list(p.glob("events*"))]) == 2


@pytest.mark.parametrize(
    ("shape", "order", "size"),
    [((3, 4, 5), "CHW", (4, 5)), ((4, 5, 3), "HWC", (4, 5)), ((4, 5), "HW", (4, 5)), ((1, 2, 6), "CHW", (2, 6))],
)
def test_images_are_written_as_png(tmp_path, shape, order, size):
    with SummaryWriter(tmp_path) as writer:
        writer.add_image("picture", minigrad.rand(*shape), 1, dataformats=order)
        writer.add_images("batch", minigrad.rand(3, 1, 4, 5))
    (_, _, one), (_, _, batch) = values(tmp_path)
    assert (one.image.height, one.image.width) == size and one.image.encoded_image_string.startswith(b"\x89PNG")
    assert batch.image.height * batch.image.width >= 3 * 4 * 5


def test_figures_are_written_and_closed(tmp_path):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    figure = pyplot.figure(figsize=(2, 1), dpi=50)
    with SummaryWriter(tmp_path) as writer:
        writer.add_figure("plot", figure)
    ((_, _, v),) = values(tmp_path)
    assert (v.image.height, v.image.width) == (50, 100) and not pyplot.fignum_exists(figure.number)


def test_a_histogram_has_moments_and_counts(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        writer.add_histogram("weights", minigrad.tensor([1.0, 2.0, 2.0, 4.0]), 1)
    ((_, _, v),) = values(tmp_path)
    assert (v.histo.min, v.histo.max, v.histo.num, v.histo.sum, v.histo.sum_squares) == (1.0, 4.0, 4.0, 9.0, 25.0)
    assert sum(v.histo.bucket) == 4


def test_points_of_the_projector_have_labels_and_images(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        writer.add_embedding(minigrad.eye(3), ["a", "b", "c"], minigrad.rand(3, 1, 4, 4), global_step=2)
    (table,) = tmp_path.rglob("tensors.tsv")
    assert [[float(x) for x in line.split()] for line in table.read_text().splitlines()][1] == [0.0, 1.0, 0.0]
    assert (table.parent / "metadata.tsv").read_text().split() == ["a", "b", "c"]


def test_a_graph_of_a_network_with_buffers_numbers_and_shapes_hangs_together(tmp_path):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.norm = nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2)
            self.scale = minigrad.tensor([2.0])

        def forward(self, x, y):
            return (self.norm(self.conv(x)).relu().view(-1, 2 * 4) * self.scale + 1).sum() ** 2 + y

    with SummaryWriter(tmp_path) as writer:
        writer.add_graph(Net(), (minigrad.rand(2, 1, 4, 4), minigrad.ones(())))
    (found,) = [GraphDef.FromString(e.graph_def).node for e in events(tmp_path) if e.graph_def]
    names = [one.name for one in found]
    assert len(set(names)) == len(names) and all(name in names for one in found for name in one.input)
    assert {"conv2d", "batch_norm", "relu"} <= {one.op for one in found}


@pytest.mark.parametrize(
    ("write", "says"),
    [
        (lambda w: w.add_scalar("a", minigrad.ones(2)), "'a': scalar should be 0D\n.*\n *To fix: pass one number"),
        (lambda w: w.add_image("a", minigrad.ones(4, 4)), "dataformats='CHW', 'HWC' or 'HW'"),
        (lambda w: w.add_histogram("a", minigrad.ones(0)), "no element"),
        (lambda w: w.add_embedding(minigrad.eye(3), ["a", "b"]), "#labels"),
    ],
)
def test_wrong_values_are_named(tmp_path, write, says):
    with SummaryWriter(tmp_path) as writer, pytest.raises(ValueError, match=says):
        write(writer)
