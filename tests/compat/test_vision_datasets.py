"""torchvision.datasets: files in their own formats, written here, and torchvision's names after as_torch()."""

import gzip
import hashlib
import io
import pickle
import sys
import tarfile
import zipfile

import numpy as np
import pytest
from PIL import Image
from scipy.io import savemat

import minigrad
from minigrad.compat.vision import datasets as D
from minigrad.compat.vision import transforms as T
from minigrad.utils.data import DataLoader, Subset
from viz.programs.libraries import is_module
from viz.programs.tensor_names import names_of_tensors


def pictures(count, *shape):
    """Return images of bytes by a closed form."""
    return (np.arange(count * int(np.prod(shape))) * 37 % 251).astype(np.uint8).reshape(count, *shape)


def idx(numbers):
    """Return the bytes of a file in the format IDX."""
    return (
        b"\0\0\x08"
        + bytes([numbers.ndim])
        + np.array(numbers.shape, ">u4").tobytes()
        + numbers.astype(np.uint8).tobytes()
    )


def md5(data):
    return hashlib.md5(data).hexdigest()


def mnist_files(train="train", test="t10k"):
    """Return the four files of MNIST by name: 5 images to train, 3 to test."""
    of = lambda kind, n: {
        f"{kind}-images-idx3-ubyte": idx(pictures(n, 28, 28)),
        f"{kind}-labels-idx1-ubyte": idx(np.arange(n)[::-1]),
    }
    return of(train, 5) | of(test, 3)


def written(folder, files):
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        (folder / name).write_bytes(data)


@pytest.fixture(autouse=True)
def real_data(monkeypatch):
    """Leave MINIGRAD_DATA of the shell out, and say again what stands in."""
    monkeypatch.delenv("MINIGRAD_DATA", raising=False)
    D.digits.cache_clear()


@pytest.fixture
def server(tmp_path, monkeypatch):
    """Return a folder that stands for the addresses of MNIST: `file:` is one, too."""
    packed = {f"{name}.gz": gzip.compress(data) for name, data in mnist_files().items()}
    written(tmp_path / "server", packed)
    monkeypatch.setattr(D.MNIST, "mirrors", [(tmp_path / "none").as_uri() + "/", (tmp_path / "server").as_uri() + "/"])
    monkeypatch.setattr(D.MNIST, "md5", " ".join(map(md5, packed.values())))
    return tmp_path / "server"


# ---------------------------------------------------------------- MNIST and its kin
@pytest.mark.parametrize("name", ["MNIST", "FashionMNIST", "KMNIST"])
@pytest.mark.parametrize("train", [True, False])
def test_images_and_classes_are_those_of_the_files(tmp_path, name, train):
    written(tmp_path / name / "raw", mnist_files())
    data = getattr(D, name)(tmp_path, train)
    image, target = data[1]
    assert len(data) == (5 if train else 3) and target == len(data) - 2 and type(target) is int
    assert image.mode == "L" and np.array_equal(image, pictures(5, 28, 28)[1])
    assert data.data.shape == (len(data), 28, 28) and data.data.dtype == minigrad.uint8
    assert data.targets.tolist() == [*range(len(data))][::-1] and len(data.class_to_idx) == 10
    assert repr(data).startswith(
        f"Dataset {name}\n    Number of datapoints: {len(data)}\n    Root location: {tmp_path}\n    Split: T"
    )


@pytest.mark.parametrize("train", [True, False])
def test_the_older_names_of_images_and_classes_warn_and_are_the_same(tmp_path, train):
    written(tmp_path / "MNIST" / "raw", mnist_files())
    found = D.MNIST(tmp_path, train)
    for old, new in {"data": "data", "labels": "targets"}.items():
        for part in ("train", "test"):
            with pytest.warns(UserWarning, match=f"{part}_{old} has been renamed {new}"):
                assert getattr(found, f"{part}_{old}") is getattr(found, new)


def test_both_transforms_are_applied_and_shown_as_torchvision_shows_them(tmp_path):
    written(tmp_path / "MNIST" / "raw", mnist_files())
    data = D.MNIST(
        tmp_path, transform=T.Compose([T.Resize(8), T.ToTensor()]), target_transform=T.Lambda(lambda y: y + 10)
    )
    image, target = data[0]
    assert image.shape == (1, 8, 8) and target == 14
    shown = """
    StandardTransform
Transform: Compose(
               Resize(size=8, interpolation=bilinear, max_size=None, antialias=True)
               ToTensor()
           )
Target transform: Lambda()"""
    assert repr(data).endswith(shown)


@pytest.mark.parametrize("split", D.EMNIST.splits)
def test_emnist_reads_each_split_from_files_or_from_its_archive(tmp_path, monkeypatch, split):
    files = mnist_files(f"emnist-{split}-train", f"emnist-{split}-test")
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, data in files.items():
            archive.writestr(f"gzip/{name}.gz", gzip.compress(data))
    monkeypatch.setattr(D.EMNIST, "md5", md5(packed.getvalue()))
    written(tmp_path / "a" / "EMNIST" / "raw", files)
    written(tmp_path / "b" / "EMNIST" / "raw", {"gzip.zip": packed.getvalue()})
    for folder in "ab":
        data = D.EMNIST(tmp_path / folder, split=split, train=False)
        assert len(data) == 3 and np.array_equal(data[2][0], pictures(3, 28, 28)[2])
    classes = {"byclass": 62, "bymerge": 47, "balanced": 47, "letters": 27, "digits": 10, "mnist": 10}
    assert len(data.classes) == classes[split]


@pytest.mark.parametrize(
    "damage", [lambda data: data[:-1], lambda data: data + b"0", lambda data: b"PK" + data[2:], lambda data: b""]
)
def test_a_file_whose_size_its_header_does_not_state_is_refused(tmp_path, damage):
    files = mnist_files()
    written(tmp_path / "MNIST" / "raw", files | {"train-images-idx3-ubyte": damage(files["train-images-idx3-ubyte"])})
    with pytest.raises(RuntimeError, match=r"train-images-idx3-ubyte is damaged: it has [\d,]+ bytes(?s:.*)delete it"):
        D.MNIST(tmp_path)


def test_images_without_labels_are_refused_with_both_numbers(tmp_path):
    files = mnist_files() | {"train-labels-idx1-ubyte": mnist_files()["t10k-labels-idx1-ubyte"]}
    written(tmp_path / "MNIST" / "raw", files)
    with pytest.raises(RuntimeError, match=r"MNIST: \S+ has 5 images and 3 labels(?s:.*)delete its files"):
        D.MNIST(tmp_path)


# ---------------------------------------------------------------- downloads
def test_a_download_goes_through_no_link(tmp_path, server):
    raw, own = tmp_path / "MNIST" / "raw", tmp_path / "own"
    own.write_text("mine")
    raw.mkdir(parents=True)
    for name in ("train-images-idx3-ubyte.gz", "train-images-idx3-ubyte.gz.part"):
        (raw / name).symlink_to(own)
    assert len(D.MNIST(tmp_path, download=True)) == 5
    assert own.read_text() == "mine" and (raw / "train-images-idx3-ubyte.gz.part").is_symlink()


def test_missing_files_are_fetched_once_and_from_the_mirror_that_has_them(tmp_path, server):
    assert len(D.MNIST(tmp_path, download=True)) == 5
    assert sorted(file.name for file in (tmp_path / "MNIST" / "raw").iterdir()) == sorted(
        file.name for file in server.iterdir()
    )
    for file in server.iterdir():
        file.unlink()
    assert len(D.MNIST(tmp_path, train=False, download=True)) == 3 == len(D.MNIST(tmp_path, train=False))


def test_without_a_network_the_error_says_which_files_belong_where(tmp_path, monkeypatch):
    monkeypatch.setattr(D.MNIST, "mirrors", [(tmp_path / "none").as_uri() + "/"])
    for download in (False, True):
        with pytest.raises(RuntimeError) as raised:
            D.MNIST(tmp_path, download=download)
        problem, place, fix = str(raised.value).split("\n")[:3]
        assert all(f"{name}.gz" in problem for name in mnist_files()) and str(tmp_path / "MNIST" / "raw") in problem
        assert __file__ in place and "put the files there by hand, from file:" in fix and "MINIGRAD_DATA=digits" in fix
        assert ("download=True" in fix) != download and (
            "none/train-images" in problem or "none/t10k" in problem
        ) == download
    assert not list(tmp_path.rglob("*ubyte*"))


def test_a_damaged_download_leaves_nothing_and_a_damaged_file_is_named(tmp_path, server):
    (server / "t10k-labels-idx1-ubyte.gz").write_bytes(b"<html>")
    with pytest.raises(
        RuntimeError, match="lacks t10k-labels-idx1-ubyte.gz .*t10k-labels-idx1-ubyte.gz: it has another digest"
    ):
        D.MNIST(tmp_path, download=True)
    raw = tmp_path / "MNIST" / "raw"
    assert len(list(raw.iterdir())) == 3
    (raw / "train-images-idx3-ubyte.gz").write_bytes(b"half")
    with pytest.raises(RuntimeError, match=r"lacks train-images-idx3-ubyte.gz \(damaged\), t10k-labels-idx1-ubyte.gz"):
        D.MNIST(tmp_path)


def test_progress_is_shown_on_a_terminal_alone(tmp_path, server, monkeypatch, capsys):
    D.MNIST(tmp_path / "a", download=True)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    D.MNIST(tmp_path / "b", download=True)
    size = (server / "train-images-idx3-ubyte.gz").stat().st_size
    assert f"\rtrain-images-idx3-ubyte.gz: {size:,} of {size:,} bytes\n" in capsys.readouterr().err


# ---------------------------------------------------------------- digits
def test_digits_stand_in_for_images_and_it_is_said_once(tmp_path, monkeypatch, capsys):
    sklearn = pytest.importorskip("sklearn.datasets")
    monkeypatch.setenv("MINIGRAD_DATA", "digits")
    train, test = D.MNIST(tmp_path, download=True), D.FashionMNIST(tmp_path, train=False)
    letters = D.EMNIST(tmp_path, "letters", train=False)
    assert (len(train), len(test), len(letters)) == (1500, 297, 297) and not list(tmp_path.iterdir())
    digits = sklearn.load_digits()
    assert train.targets.tolist() + test.targets.tolist() == digits.target.tolist()
    small = np.asarray(Image.fromarray(train.data[7].numpy()).resize((8, 8), Image.Resampling.BOX)) / 255 * 16
    assert np.corrcoef(small.ravel(), digits.images[7].ravel())[0, 1] > 0.95
    assert capsys.readouterr().err.count("scikit-learn's 1,797 digits stand in for images") == 1
    train.data[:] = 0
    assert D.MNIST(tmp_path).data.any()  # each dataset has its images to itself


def test_digits_take_the_form_of_colour_images(tmp_path, monkeypatch):
    monkeypatch.setenv("MINIGRAD_DATA", "digits")
    grey, small, large = D.MNIST(tmp_path), D.CIFAR10(tmp_path, train=False), D.CIFAR100(tmp_path, download=True)
    numbers = D.SVHN(tmp_path, "train")
    assert (small.data.shape, large.data.shape) == ((297, 32, 32, 3), (1500, 32, 32, 3))
    assert numbers.data.shape == (1500, 3, 32, 32) and numbers.labels.dtype == np.int64
    assert small.data.dtype == large.data.dtype == numbers.data.dtype == np.uint8
    assert (len(small.classes), len(large.classes), large.class_to_idx["class 99"]) == (10, 100, 99)
    assert large.targets == numbers.labels.tolist() == grey.targets.tolist() and type(small.targets[0]) is int
    image, target = large[7]
    assert image.mode == "RGB" and np.array_equal(image, numbers[7][0]) and target == grey[7][1]
    shrunk = np.asarray(image.convert("L").resize((28, 28)), float)
    assert np.corrcoef(shrunk.ravel(), np.asarray(grey[7][0], float).ravel())[0, 1] > 0.95


def test_repeated_digits_are_as_many_as_the_images_they_stand_for(tmp_path, monkeypatch):
    monkeypatch.setenv("MINIGRAD_DATA", "digits-repeated")
    data = D.CIFAR10(tmp_path, train=False)
    assert (len(data), len(D.MNIST(tmp_path, train=False)), len(D.MNIST(tmp_path))) == (10_000, 10_000, 60_000)
    assert np.array_equal(data.data[297 + 5], data.data[5]) and data.targets[297 : 2 * 297] == data.targets[:297]


def test_digits_without_scikit_learn_say_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setenv("MINIGRAD_DATA", "digits")
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    with pytest.raises(
        ModuleNotFoundError, match=r"(?s)scikit-learn, which is not installed.*pip install scikit-learn"
    ):
        D.MNIST(tmp_path)
    monkeypatch.setenv("MINIGRAD_DATA", "letters")
    with pytest.raises(
        ValueError, match=r"(?s)MINIGRAD_DATA=letters is unknown.*write MINIGRAD_DATA=digits, or digits-repeated"
    ):
        D.MNIST(tmp_path)


# ---------------------------------------------------------------- colour images
def cifar_files(cls):
    """Return the files of CIFAR by name, with two images in each."""
    files = {}
    for i, name in enumerate([*cls.to_train, *cls.to_test]):
        files[name] = pickle.dumps({"data": pictures(12, 3072)[2 * i : 2 * i + 2], cls.targets_key: [i, 9 - i]})
    return files | {next(iter(cls.meta)): pickle.dumps({cls.classes_key: [f"class {i}" for i in range(10)]})}


@pytest.mark.parametrize("cls", [D.CIFAR10, D.CIFAR100])
@pytest.mark.parametrize("packed", [False, True])
def test_cifar_reads_its_folder_or_unpacks_its_archive(tmp_path, monkeypatch, cls, packed):
    files = cifar_files(cls)
    for names in ("to_train", "to_test", "meta"):
        monkeypatch.setattr(cls, names, {name: md5(files[name]) for name in getattr(cls, names)})
    if packed:
        (name,) = cls.archive
        with tarfile.open(tmp_path / name, "w:gz") as archive:
            for file, data in files.items():
                info = tarfile.TarInfo(f"{cls.base_folder}/{file}")
                info.size = len(data)
                archive.addfile(info, io.BytesIO(data))
        monkeypatch.setattr(cls, "archive", {name: md5((tmp_path / name).read_bytes())})
    else:
        written(tmp_path / cls.base_folder, files)
    train, test = cls(tmp_path), cls(tmp_path, train=False)
    batches = len(cls.to_train)
    assert (len(train), len(test)) == (2 * batches, 2) and test.targets == [batches, 9 - batches]
    image, target = test[1]
    expected = pictures(12, 3072)[2 * batches + 1].reshape(3, 32, 32).transpose(1, 2, 0)
    assert image.mode == "RGB" and np.array_equal(image, expected) and target == 9 - batches
    assert train.data.shape == (2 * batches, 32, 32, 3) and train.class_to_idx["class 3"] == 3


def test_a_pickle_that_is_not_the_known_one_is_never_opened(tmp_path):
    class Opened:
        def __reduce__(self):
            return pytest.fail, ("a stranger's pickle was opened",)

    written(tmp_path / "cifar-10-batches-py", dict.fromkeys(cifar_files(D.CIFAR10), pickle.dumps(Opened())))
    with pytest.raises(RuntimeError, match=r"(?s)lacks cifar-10-python.tar.gz.*www.cs.toronto.edu"):
        D.CIFAR10(tmp_path)


def test_svhn_has_zero_for_its_tenth_class(tmp_path, monkeypatch):
    savemat(tmp_path / "test_32x32.mat", {"X": pictures(32, 32, 3, 4), "y": np.array([[1], [10], [9], [10]])})
    monkeypatch.setitem(D.SVHN.md5, "test", md5((tmp_path / "test_32x32.mat").read_bytes()))
    data = D.SVHN(tmp_path, split="test")
    assert data.labels.tolist() == [1, 0, 9, 0] and data.data.shape == (4, 3, 32, 32) and "Split: test" in repr(data)
    assert np.array_equal(data[2][0], pictures(32, 32, 3, 4)[..., 2]) and data[2][1] == 9


@pytest.mark.parametrize("cls", [D.SVHN, D.EMNIST])
def test_an_unknown_split_is_refused_with_the_known_ones(tmp_path, cls):
    with pytest.raises(ValueError, match=r"(?s)Unknown value 'val' for argument split.*choose from .*(extra|letters)"):
        cls(tmp_path, split="val")


# ---------------------------------------------------------------- own images
@pytest.fixture
def folders(tmp_path):
    for i, name in enumerate(["bees/2.png", "bees/1.JPG", "ants/sub/3.bmp", "ants/notes.txt"]):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(pictures(4, 5, 6)[i]).save(tmp_path / name, "png")
    return tmp_path


def test_a_folder_is_a_class_and_other_files_are_left_out(folders):
    data = D.ImageFolder(str(folders), transform=T.ToTensor())
    assert data.classes == ["ants", "bees"] and data.class_to_idx == {"ants": 0, "bees": 1}
    assert [(path[len(str(folders)) + 1 :], i) for path, i in data.samples] == [
        ("ants/sub/3.bmp", 0),
        ("bees/1.JPG", 1),
        ("bees/2.png", 1),
    ]
    image, target = data[2]
    assert image.shape == (3, 5, 6) and target == 1 and data.targets == [0, 1, 1] and data.imgs is data.samples
    assert np.allclose(image[0].numpy() * 255, pictures(4, 5, 6)[0])
    by_name = D.ImageFolder(folders, loader=str, is_valid_file=lambda path: path.endswith("txt"), allow_empty=True)
    assert [str(one)[-9:] for one, _ in by_name] == ["notes.txt"]


def test_a_class_without_images_is_named(folders):
    (folders / "wasps").mkdir()
    with pytest.raises(FileNotFoundError, match="no valid file for the classes wasps in "):
        D.ImageFolder(folders)
    with pytest.raises(FileNotFoundError, match=r"(?s)no class folder in .*cat.*1.png"):
        D.ImageFolder(folders / "wasps")


def test_fake_images_are_the_same_for_the_same_index_and_leave_the_generator_alone():
    data = D.FakeData(5, (3, 4, 6), num_classes=7)
    minigrad.manual_seed(0)
    expected = minigrad.rand(2).tolist()
    minigrad.manual_seed(0)
    (image, target), found = data[3], minigrad.rand(2).tolist()
    assert found == expected and image.size == (6, 4) and 0 <= target < 7
    assert np.array_equal(data[3][0], image) and not np.array_equal(data[2][0], image)
    assert np.array_equal(D.FakeData(5, (3, 4, 6), random_offset=1)[2][0], image) and len(list(data)) == 5


# ---------------------------------------------------------------- in programs
@pytest.mark.parametrize("workers", [0, 2])
def test_loaders_subsets_and_pickles_take_datasets(folders, workers):
    data = D.ImageFolder(folders, transform=T.Compose([T.Resize((4, 4)), T.RandomHorizontalFlip(0.0), T.ToTensor()]))
    part = Subset(pickle.loads(pickle.dumps(data)), [0, 2])
    (images, targets), *more = DataLoader(part, batch_size=2, num_workers=workers)
    assert images.shape == (2, 3, 4, 4) and targets.tolist() == [0, 1] and not more


PROGRAM = """
import torch, torchvision
import torchvision.transforms as transforms
import torchvision.transforms.functional as TF
from torchvision import datasets, models, utils
from torchvision.datasets.folder import ImageFolder
from torchvision.io import read_video
from torchvision.models import densenet121
from torchvision.transforms import *
from torchvision.transforms import GaussianBlur, InterpolationMode, v2
from torchvision.utils import make_grid, save_image
"""


def run(text):
    """Return the names of a program that imports torchvision; another torchvision does not matter."""
    names = {"__name__": "program"}
    with minigrad.as_torch():
        exec(compile(PROGRAM + text, __file__, "exec"), names)
    return names


def test_programs_import_torchvision_by_all_of_its_names():
    names = run("version, same = torchvision.__version__, transforms.functional.pad is TF.pad is v2.functional.pad")
    assert names["version"] == "0.28.0+minigrad" and names["same"]
    assert names["Compose"] is names["v2"].Compose is T.Compose and names["datasets"].MNIST is D.MNIST
    assert names["InterpolationMode"] is T.InterpolationMode and names["ImageFolder"] is D.ImageFolder
    assert "F" not in names and "math" not in names and "inspect" not in names  # what a star brings is torchvision's
    assert not any(name.startswith("torchvision") for name in sys.modules)


def test_torchvision_that_is_loaded_comes_back(tmp_path, monkeypatch):
    (tmp_path / "torchvision").mkdir()
    (tmp_path / "torchvision" / "__init__.py").write_text("real = True\n")
    monkeypatch.syspath_prepend(tmp_path)
    import torchvision  # type: ignore[import-not-found]

    assert torchvision.real and run("")["torchvision"].__version__ == "0.28.0+minigrad"
    assert sys.modules.pop("torchvision") is torchvision


@pytest.mark.parametrize(
    ("text", "fix"),
    [
        ("models.densenet121(weights=None)", "resnet50, vgg16 or vgg19, or write the network as a Module"),
        ("transforms.GaussianBlur(3)", "use Pillow, or operations on tensors"),
        ("read_video('x.png')", "use Pillow, or operations on tensors"),
    ],
)
def test_other_names_can_be_imported_and_are_refused_when_they_are_used(text, fix):
    with pytest.raises(ModuleNotFoundError) as raised:
        run(text)
    assert "minigrad has no torchvision." in str(raised.value) and fix in str(raised.value)
    assert f"{__file__}:{PROGRAM.count(chr(10)) + 1}" in str(raised.value)


def test_names_that_are_not_there_are_neither_models_nor_optimizers():
    names = run(
        "net = torch.nn.Linear(2, 3)\noptimizer = torch.optim.Adam(net.parameters())\nloss = net(torch.ones(2)).sum()"
    )
    names["loss"].backward()
    names["optimizer"].step()
    named = set(names_of_tensors(names).values())
    assert {"loss", "net.weight", "net.weight.exp_avg"} <= named and not is_module(names["densenet121"])
