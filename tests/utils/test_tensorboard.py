"""utils.tensorboard: the files are read back here by the format's own rules, without the code that writes them."""

import struct
from pathlib import Path

import numpy as np
import pytest

import minigrad
from minigrad import nn
from minigrad.utils.tensorboard import SummaryWriter, checksum

PNG = b"\x89PNG"


def fields(data):
    """Return the fields of a protocol buffer: number -> values."""
    found, at = {}, 0

    def number():
        nonlocal at
        value, shift = 0, 0
        while True:
            byte, at, shift = data[at], at + 1, shift + 7
            value |= (byte & 127) << shift - 7
            if byte < 128:
                return value

    while at < len(data):
        key = number()
        if key % 8 == 0:
            value = number()
        else:
            size = {1: 8, 5: 4}.get(key % 8) or number()
            value, at = data[at : at + size], at + size
        found.setdefault(key // 8, []).append(value)
    return found


def events(folder):
    """Return the events of all files in a folder."""
    found = []
    for path in sorted(Path(folder).rglob("events.out.tfevents.*")):
        data = path.read_bytes()
        while data:
            (size,) = struct.unpack("<Q", data[:8])
            event = data[12 : 12 + size]
            assert data[8:12] == checksum(data[:8]) and data[12 + size : 16 + size] == checksum(event)
            found.append(fields(event))
            data = data[16 + size :]
    return found


def values(folder):
    """Return (tag, step, fields) of all values of summaries."""
    found = [(e, fields(v)) for e in events(folder) if 5 in e for v in fields(e[5][0])[1]]
    return [(v[1][0].decode(), e.get(2, [0])[0], v) for e, v in found]


def test_numbers_are_written_with_tag_step_and_time(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        writer.add_scalar("loss", minigrad.tensor(0.5, requires_grad=True), 300, walltime=2.0)
        writer.add_scalar("loss", np.float64(0.25), 0)
        writer.add_scalar("count", 7)
    first, *_ = events(tmp_path)
    assert first[3] == [b"brain.Event:2"]
    found = [(tag, step, struct.unpack("<f", v[2][0])[0]) for tag, step, v in values(tmp_path)]
    assert found == [("loss", 300, 0.5), ("loss", 0, 0.25), ("count", 0, 7.0)]
    assert struct.unpack("<d", events(tmp_path)[1][1][0]) == (2.0,)


def test_numbers_can_be_read_while_the_file_is_open(tmp_path):
    writer = SummaryWriter(str(tmp_path))
    writer.add_scalar("a", 1.0, 1)
    assert len(values(tmp_path)) == 1
    writer.close()
    writer.add_scalar("a", 2.0, 2)  # opens a new file
    writer.close()
    assert len(values(tmp_path)) == 2 and len(list(tmp_path.iterdir())) == 2


def test_several_numbers_of_one_chart_go_to_folders(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        writer.add_scalars("loss/epoch", {"train": 1.0, "test": 2.0}, 3)
    assert sorted(p.name for p in tmp_path.iterdir() if p.is_dir()) == ["loss_epoch_test", "loss_epoch_train"]
    assert [(tag, step) for tag, step, _ in values(tmp_path)] == [("loss/epoch", 3)] * 2


def test_without_a_folder_it_is_one_below_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with SummaryWriter(comment="_wide") as writer:
        assert writer.get_logdir() == writer.log_dir
    assert Path(writer.log_dir).parent == Path("runs") and writer.log_dir.endswith("_wide") and events(tmp_path)


@pytest.mark.parametrize(
    ("shape", "order", "size"),
    [((3, 4, 5), "CHW", (4, 5)), ((4, 5, 3), "HWC", (4, 5)), ((4, 5), "HW", (4, 5)), ((1, 2, 6), "CHW", (2, 6))],
)
def test_images_are_written_as_png(tmp_path, shape, order, size):
    with SummaryWriter(tmp_path) as writer:
        writer.add_image("picture", minigrad.rand(*shape), 1, dataformats=order)
        writer.add_image("picture", np.zeros(shape, np.uint8), 2, dataformats=order)
    for _, _, v in values(tmp_path):
        made = fields(v[4][0])
        assert (made[1][0], made[2][0]) == size and made[4][0].startswith(PNG)


def test_batches_of_images_stand_side_by_side(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        writer.add_images("batch", minigrad.rand(3, 1, 4, 5))
    made = fields(values(tmp_path)[0][2][4][0])
    assert (made[1][0], made[2][0]) == (4, 15)


def test_figures_are_written_and_closed(tmp_path):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    figure = pyplot.figure(figsize=(2, 1), dpi=50)
    with SummaryWriter(tmp_path) as writer:
        writer.add_figure("plot", figure)
    made = fields(values(tmp_path)[0][2][4][0])
    assert (
        (made[1][0], made[2][0]) == (50, 100) and made[4][0].startswith(PNG) and not pyplot.fignum_exists(figure.number)
    )


def test_a_histogram_has_moments_and_counts(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        writer.add_histogram("weights", minigrad.tensor([1.0, 2.0, 2.0, 4.0]), 1, bins=3)
        writer.add_histogram("weights", [1, 2, 3], bins="tensorflow")
    made = fields(values(tmp_path)[0][2][5][0])
    assert [struct.unpack("<d", made[k][0])[0] for k in range(1, 6)] == [1.0, 4.0, 4.0, 9.0, 25.0]
    assert np.frombuffer(made[6][0]).tolist() == [2.0, 3.0, 4.0] and np.frombuffer(made[7][0]).tolist() == [
        1.0,
        2.0,
        1.0,
    ]


def test_text_goes_to_the_plugin_for_text(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        writer.add_text("notes", "**first** run", 1)
    tag, _, v = values(tmp_path)[0]
    assert tag == "notes/text_summary" and fields(fields(v[9][0])[1][0])[1] == [b"text"]
    assert fields(v[8][0])[8] == [b"**first** run"]


def test_a_graph_has_a_node_for_each_input_parameter_and_operation(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        writer.add_graph(nn.Sequential(nn.Linear(2, 3), nn.ReLU()), minigrad.ones(1, 2))
    (graph,) = [e[4][0] for e in events(tmp_path) if 4 in e]
    nodes = [fields(one) for one in fields(graph)[1]]
    kinds = [one[2][0].decode() for one in nodes]
    assert kinds == ["input", "parameter", "parameter", "linear", "relu"]
    names = {one[1][0] for one in nodes}
    assert len(names) == 5 and all(name in names for one in nodes for name in one.get(3, []))


def test_points_of_the_projector_have_labels_and_images(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        writer.add_embedding(minigrad.eye(3), ["a", "b", "c"], minigrad.rand(3, 1, 4, 5), global_step=2)
        with pytest.raises(ValueError, match="metadata has 2 entries for 3 points"):
            writer.add_embedding(minigrad.eye(3), ["a", "b"])
    folder = tmp_path / "00002" / "default"
    assert (folder / "tensors.tsv").read_text().splitlines()[1] == "0\t1\t0"
    assert (folder / "metadata.tsv").read_text() == "a\nb\nc\n"
    header = (folder / "sprite.png").read_bytes()
    assert header.startswith(PNG) and struct.unpack(">II", header[16:24]) == (10, 8)
    says = (tmp_path / "projector_config.pbtxt").read_text()
    assert 'tensor_path: "00002/default/tensors.tsv"' in says and "single_image_dim: 5 single_image_dim: 4" in says


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
    nodes = [fields(one) for e in events(tmp_path) if 4 in e for one in fields(e[4][0])[1]]
    names = [one[1][0] for one in nodes]
    assert len(set(names)) == len(names) and all(name in names for one in nodes for name in one.get(3, []))
    assert {b"conv2d", b"batch_norm", b"relu"} <= {one[2][0] for one in nodes}


@pytest.mark.parametrize(
    ("write", "says"),
    [
        (lambda w: w.add_scalar("a", minigrad.ones(2)), "expected one number, but got 2 of them"),
        (lambda w: w.add_scalar("a", "high"), "expected one number, but got 'high'"),
        (lambda w: w.add_image("a", minigrad.ones(4, 4)), r"shape \(4, 4\), but dataformats='CHW' names 3 dimensions"),
        (lambda w: w.add_histogram("a", minigrad.tensor([float("nan")])), "a: values that are not finite"),
        (lambda w: w.add_histogram("a", []), "a: no values"),
    ],
)
def test_wrong_values_are_named(tmp_path, write, says):
    with SummaryWriter(tmp_path) as writer, pytest.raises(ValueError, match=says):
        write(writer)
