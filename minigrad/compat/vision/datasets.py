"""The datasets of torchvision that courses use, read from their own files in `root`.

Files whose digest is known are read only if they have it, so no stranger's pickle is opened. With `download=True` missing
files are fetched. With `MINIGRAD_DATA=digits` in the environment, images in memory are the digits of scikit-learn, enlarged.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import pickle
import string
import sys
import tarfile
import warnings
import zipfile
from collections.abc import Callable
from functools import cache
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import numpy as np
from PIL import Image

import minigrad
from minigrad.diagnose.boundary import guard as _guard
from minigrad.errors import error
from minigrad.files import written
from minigrad.utils.data import Dataset

from .functional import to_pil_image

IMG_EXTENSIONS = (".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp")


class VisionDataset(Dataset):
    """Pairs of an image and its class, in `data` and `targets` or made by `__getitem__`, which calls `pair`."""

    def __init__(self, root: Any = None, transforms: Any = None, transform: Any = None, target_transform: Any = None):
        self.root = os.path.expanduser(root) if isinstance(root, str) else root
        self.transforms, self.transform, self.target_transform = transforms, transform, target_transform

    def pair(self, image: Any, target: Any) -> tuple:
        """Return an image and its class, transformed."""
        image = self.transform(image) if self.transform else image
        return image, self.target_transform(target) if self.target_transform else target

    def extra_repr(self) -> str:
        """Return further lines of the repr."""
        return ""

    def __repr__(self) -> str:
        lines = [f"Number of datapoints: {len(self)}"]  # type: ignore[arg-type]
        lines += [f"Root location: {self.root}"] if self.root is not None else []
        lines += self.extra_repr().splitlines()
        parts = {"Transform: ": self.transform, "Target transform: ": self.target_transform}
        shown = [head + repr(one).replace("\n", "\n" + " " * len(head)) for head, one in parts.items() if one]
        text = "\n    ".join([f"Dataset {type(self).__name__}", *lines, *(["StandardTransform"] if shown else [])])
        return "\n".join([text, *shown])  # as torchvision, which indents only the first line of the transforms


# ---------------------------------------------------------------- files
def has(path: Path, md5: str) -> bool:
    """Return True if there is a file with this digest."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest() == md5


def fetch(who: str, folder: Path, files: dict[str, str], mirrors: list[str], download: bool) -> None:
    """Make sure that a folder has files, given as name -> digest, or raise RuntimeError."""
    missing, failed = [name for name, md5 in files.items() if not has(folder / name, md5)], ""
    for name in missing if download else ():
        failed = failed or downloaded(folder / name, [mirror + name for mirror in mirrors], files[name])
    if left := [name for name in missing if not has(folder / name, files[name])]:
        lacking = ", ".join([name + " (damaged)" * (folder / name).exists() for name in left])
        fix = f"put the files there by hand, from {' or '.join(mirrors)}"
        fix += ", or set MINIGRAD_DATA=digits in the environment for scikit-learn's digits"
        fix = fix if download else f"You can use download=True to download it, or {fix}"
        raise error(RuntimeError, who, f"Dataset not found: {folder} lacks {lacking}{failed}", fix)


def downloaded(path: Path, urls: list[str], md5: str) -> str:
    """Download a file from the first address that has it, whole or not at all; return the reason if none has."""
    failed = ""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_symlink():  # what it leads to is not ours
        path.unlink()
    for url in urls:
        digest = hashlib.md5(usedforsecurity=False)
        try:
            with urlopen(url, timeout=30) as answer, written(path) as file:
                total = int(answer.headers["Content-Length"] or 0)
                while block := answer.read(1 << 18):
                    file.write(block)
                    digest.update(block)
                    if sys.stderr.isatty():
                        end = "\n" if file.tell() == total else ""
                        print(f"\r{path.name}: {file.tell():,} of {total:,} bytes", end=end, file=sys.stderr)
                if digest.hexdigest() != md5:
                    raise OSError("it has another digest")
            return ""
        except (OSError, HTTPException) as e:
            failed = f" ({url}: {e})"
    return failed


def idx(data: bytes, name: object) -> np.ndarray:
    """Return the numbers of a file in the format IDX (http://yann.lecun.com/exdb/mnist): a header with the shape, and bytes."""
    n = data[3] if data[:3] == b"\0\0\x08" and len(data) > 4 else 0
    shape = tuple(np.frombuffer(data[4 : 4 + 4 * n], ">u4").tolist())
    if not n or len(data) != 4 + 4 * n + np.prod(shape, dtype=int):
        what = f"{name} is damaged: it has {len(data):,} bytes, and its header states the shape {shape}"
        raise error(RuntimeError, "datasets", what, "delete it, and pass download=True")
    return np.frombuffer(data, np.uint8, offset=4 + 4 * n).reshape(shape)


def choice(who: str, split: str, known: Any) -> str:
    """Return a split if it is known."""
    if split in known:
        return split
    raise error(ValueError, who, f"Unknown value '{split}' for argument split", f"choose from {', '.join(known)}")


# ---------------------------------------------------------------- images in memory
class InMemory(VisionDataset):
    """Images and their classes that `load` reads at once, or scikit-learn's digits instead."""

    side, lengths = 28, (60_000, 10_000)  # pixels, and the number of images to train and to test

    def __init__(
        self, root: Any, train: bool = True, transform: Any = None, target_transform: Any = None, download: bool = False
    ):
        super().__init__(root, None, transform, target_transform)
        self.train = train
        if (wish := os.environ.get("MINIGRAD_DATA", "")) not in ("", "digits", "digits-repeated"):
            fix = "write MINIGRAD_DATA=digits, or digits-repeated for the dataset's own number of images"
            raise error(ValueError, "datasets", f"MINIGRAD_DATA={wish} is unknown", fix)
        length = self.lengths[not train] if wish == "digits-repeated" else 0
        self.data, self.targets = self.stored(*digits(train, self.side, length)) if wish else self.load(download)
        if len(self.data) != len(self.targets):
            what = f"{root} has {len(self.data):,} images and {len(self.targets):,} labels"
            raise error(RuntimeError, type(self).__name__, what, "delete its files, and pass download=True")

    def load(self, download: bool) -> tuple:
        """Return images and classes from their files."""
        raise NotImplementedError

    def stored(self, images: np.ndarray, targets: np.ndarray) -> tuple:
        """Return grey images and their classes in the form of `data` and `targets`."""
        raise NotImplementedError

    def __getitem__(self, index: int) -> tuple:
        return self.pair(Image.fromarray(np.asarray(self.data[index])), int(self.targets[index]))

    def __len__(self) -> int:
        return len(self.data)

    def extra_repr(self) -> str:
        return f"Split: {'Train' if self.train else 'Test'}"


def renamed(old: str, new: str) -> property:
    """Return an attribute under its name before torchvision 0.2.2, which warns as torchvision's does."""

    def read(self: Any) -> Any:
        warnings.warn(f"{old} has been renamed {new}", stacklevel=2)
        return getattr(self, new)

    return property(read, doc=f"The older name of `{new}`.")


class MNIST(InMemory):
    """Handwritten digits, grey images of 28 x 28 pixels: 60,000 to train, 10,000 to test."""

    mirrors = ["https://ossci-datasets.s3.amazonaws.com/mnist/", "http://yann.lecun.com/exdb/mnist/"]
    md5 = """f68b3c2dcbeaaa9fbdd348bbdeb94873 d53e105ee54ea40749a09fcbcd1e9432
    9fb629c4189551a2d022fa330f9573f3 ec29112dd5afa0611ce80d1b7f02629c"""  # images and labels to train, and to test
    classes = [f"{i} - {word}" for i, word in enumerate("zero one two three four five six seven eight nine".split())]

    @property
    def class_to_idx(self) -> dict[str, int]:
        """The numbers of the classes."""
        return {name: i for i, name in enumerate(self.classes)}

    train_data, test_data = renamed("train_data", "data"), renamed("test_data", "data")
    train_labels, test_labels = renamed("train_labels", "targets"), renamed("test_labels", "targets")

    @property
    def raw_folder(self) -> str:
        """The folder of the files."""
        return os.path.join(self.root, type(self).__name__, "raw")

    def load(self, download: bool) -> tuple:
        """Return images and classes from their files."""
        return self.stored(*self.read(Path(self.raw_folder), download))

    def stored(self, images: np.ndarray, targets: np.ndarray) -> tuple:
        """Return images and classes as tensors."""
        return minigrad.tensor(images), minigrad.tensor(targets, dtype=minigrad.int64)

    def read(self, folder: Path, download: bool) -> list[np.ndarray]:
        """Return images and classes from their files, compressed or not."""
        names = [f"{kind}-{of}-ubyte" for kind in ("train", "t10k") for of in ("images-idx3", "labels-idx1")]
        packed = {f"{name}.gz": md5 for name, md5 in zip(names, self.md5.split()) if not (folder / name).is_file()}
        fetch(type(self).__name__, folder, packed, self.mirrors, download)
        wanted = [folder / name for name in (names[:2] if self.train else names[2:])]
        unpacked = lambda path: gzip.decompress(path.with_name(f"{path.name}.gz").read_bytes())
        return [idx(path.read_bytes() if path.is_file() else unpacked(path), path) for path in wanted]


class FashionMNIST(MNIST):
    """Clothes, in the form of MNIST (https://github.com/zalandoresearch/fashion-mnist)."""

    mirrors = ["http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/"]
    md5 = """8d4fb7e6c68d591d4c3dfef9ec88bf0d 25c81989df183df01b3e8a0aad5dffbe
    bef4ecab320f06d8554ea6380940ec79 bb300cfdad3c16e7a12a480ee83cd310"""
    classes = ["T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"]


class KMNIST(MNIST):
    """Cursive Japanese characters, in the form of MNIST (https://github.com/rois-codh/kmnist)."""

    mirrors = ["http://codh.rois.ac.jp/kmnist/dataset/kmnist/"]
    md5 = """bdb82020997e1d708af4cf47b453dcf7 e144d726b3acfaa3e44228e80efcd344
    5c965bf0a639b31b8f53240b1b52f4d7 7320c461ea6c1c855c0b718fb2a4b134"""
    classes = "o ki su tsu na ha ma ya re wo".split()


class EMNIST(MNIST):
    """Handwritten letters and digits, in the form of MNIST; `split` chooses among six sets."""

    mirrors, md5 = ["https://biometrics.nist.gov/cs_links/EMNIST/"], "58c8d27c78d21e728a6bc7b3cc06412e"
    merged = sorted({*string.digits, *string.ascii_letters} - {*"cijklmopsuvwxyz"})
    splits = {"byclass": sorted(string.digits + string.ascii_letters), "bymerge": merged, "balanced": merged}
    splits |= {"letters": ["N/A", *string.ascii_lowercase], "digits": [*string.digits], "mnist": [*string.digits]}

    def __init__(self, root: Any, split: str, **kwargs: Any):
        self.split, self.classes = split, self.splits[choice("EMNIST", split, self.splits)]
        super().__init__(root, **kwargs)

    def read(self, folder: Path, download: bool) -> list[np.ndarray]:
        """Return images and classes from their files, or from the archive beside them."""
        start = f"emnist-{self.split}-{'train' if self.train else 'test'}"
        names = [f"{start}-images-idx3-ubyte", f"{start}-labels-idx1-ubyte"]
        if all((folder / name).is_file() for name in names):
            return [idx((folder / name).read_bytes(), folder / name) for name in names]
        fetch("EMNIST", folder, {"gzip.zip": self.md5}, self.mirrors, download)
        with zipfile.ZipFile(folder / "gzip.zip") as whole:
            return [idx(gzip.decompress(whole.read(f"gzip/{name}.gz")), name) for name in names]


@cache
def digits(train: bool, side: int, length: int) -> tuple[np.ndarray, np.ndarray]:
    """Return scikit-learn's digits with `side` pixels for 8: the first 1,500 to train, 297 to test, or `length`, in turn."""
    try:
        from sklearn.datasets import load_digits
    except ModuleNotFoundError:
        what = "MINIGRAD_DATA=digits takes its digits from scikit-learn, which is not installed"
        raise error(ModuleNotFoundError, "datasets", what, "pip install scikit-learn") from None
    if digits.cache_info().misses == 1:
        print("minigrad: scikit-learn's 1,797 digits stand in for images (MINIGRAD_DATA=digits)", file=sys.stderr)
    found: Any = load_digits()
    part = slice(1500) if train else slice(1500, None)
    small = [Image.fromarray((one * (255 / 16)).round().astype(np.uint8)) for one in found.images[part]]
    images = np.stack([np.asarray(one.resize((side, side), Image.Resampling.BICUBIC)) for one in small])
    chosen = np.arange(length or len(images)) % len(images)
    return images[chosen], found.target[part][chosen]


class CIFAR10(InMemory):
    """Colour images of 32 x 32 pixels in 10 classes: 50,000 to train, 10,000 to test."""

    side, lengths, num_classes = 32, (50_000, 10_000), 10
    base_folder, archive = "cifar-10-batches-py", {"cifar-10-python.tar.gz": "c58f30108f718f92721af3b95e74349a"}
    to_train = {
        "data_batch_1": "c99cafc152244af753f735de768cd75f",
        "data_batch_2": "d4bba439e000b95fd0a9bffe97cbabec",
        "data_batch_3": "54ebc095f3ab1f0389bbae665268c751",
        "data_batch_4": "634d18415352ddfa80567beed471001a",
        "data_batch_5": "482c414d41f54cd18b22e5b47cb7c3cb",
    }
    to_test = {"test_batch": "40351d587109b95175f43aff81a1287e"}
    meta = {"batches.meta": "5ff9c542aee3614f3951f8cda6e48888"}
    targets_key, classes_key = "labels", "label_names"

    def load(self, download: bool) -> tuple:
        """Return images and classes from the files in `base_folder`, which come from the archive beside it."""
        root, files = Path(self.root), (self.to_train if self.train else self.to_test) | self.meta
        if not all(has(root / self.base_folder / file, md5) for file, md5 in files.items()):
            fetch(type(self).__name__, root, self.archive, ["https://www.cs.toronto.edu/~kriz/"], download)
            with tarfile.open(root / next(iter(self.archive))) as whole:
                whole.extractall(root, filter="data")
        read = lambda file: pickle.loads((root / self.base_folder / file).read_bytes(), encoding="latin1")
        *batches, meta = map(read, files)
        self.name_classes(meta[self.classes_key])
        data = np.concatenate([one["data"] for one in batches]).reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
        return data, [target for one in batches for target in one[self.targets_key]]

    def stored(self, images: np.ndarray, targets: np.ndarray) -> tuple:
        """Return images in three channels, and a list of classes."""
        self.name_classes([f"class {i}" for i in range(self.num_classes)])
        return images[..., None].repeat(3, axis=3), targets.tolist()

    def name_classes(self, names: list[str]) -> None:
        """Set the names of the classes, and their numbers."""
        self.classes, self.class_to_idx = names, {name: i for i, name in enumerate(names)}


class CIFAR100(CIFAR10):
    """Colour images of 32 x 32 pixels in 100 classes."""

    num_classes = 100
    base_folder, archive = "cifar-100-python", {"cifar-100-python.tar.gz": "eb9058c3a382ffc7106e4002c42a8d85"}
    to_train, to_test = {"train": "16019d7e3df5f24257cddd939b257f8d"}, {"test": "f0ef6b0ae62326f3e7ffdfab6717acfc"}
    meta, targets_key, classes_key = {"meta": "7973b15100ade9c7d40fb424638fde48"}, "fine_labels", "fine_label_names"


class SVHN(InMemory):
    """House numbers, colour images of 32 x 32 pixels, channels first in `data`: the splits train, test and extra."""

    side, lengths = 32, (73_257, 26_032)
    md5 = {
        "train": "e26dedcc434d2e4c54c9b2d4a06d8373",
        "test": "eb5a983be6a315427106f1b164d9cef3",
        "extra": "a93ce644f1a588dc4d68dda5feec44a7",
    }

    def __init__(self, root: Any, split: str = "train", *args: Any, **kwargs: Any):
        self.split = choice("SVHN", split, self.md5)
        super().__init__(root, split == "train", *args, **kwargs)
        self.labels = self.targets

    def load(self, download: bool) -> tuple:
        """Return images and classes from a file of MATLAB."""
        from scipy.io import loadmat

        folder, name = Path(self.root), f"{self.split}_32x32.mat"
        fetch("SVHN", folder, {name: self.md5[self.split]}, ["http://ufldl.stanford.edu/housenumbers/"], download)
        found = loadmat(folder / name)
        return found["X"].transpose(3, 2, 0, 1), found["y"].squeeze().astype(np.int64) % 10  # 10 stands for the digit 0

    def stored(self, images: np.ndarray, targets: np.ndarray) -> tuple:
        """Return images with three channels first, and classes as an array."""
        return images[:, None].repeat(3, axis=1), targets.astype(np.int64)

    def __getitem__(self, index: int) -> tuple:
        return self.pair(Image.fromarray(self.data[index].transpose(1, 2, 0)), int(self.labels[index]))

    def extra_repr(self) -> str:
        return f"Split: {self.split}"


# ---------------------------------------------------------------- your own images, and none
def pil_loader(path: Any) -> Image.Image:
    """Return the image in a file, in colours."""
    with open(path, "rb") as file:
        return Image.open(file).convert("RGB")


class ImageFolder(VisionDataset):
    """Images in folders, one for each class: `root/cat/1.png`."""

    def __init__(self, root: Any, transform: Any = None, target_transform: Any = None, loader: Callable = pil_loader,
                 is_valid_file: Callable | None = None, allow_empty: bool = False):  # fmt: skip
        super().__init__(root, None, transform, target_transform)
        self.loader, valid = loader, is_valid_file or (lambda path: path.lower().endswith(IMG_EXTENSIONS))
        self.classes = sorted(entry.name for entry in os.scandir(self.root) if entry.is_dir())
        self.class_to_idx = {name: i for i, name in enumerate(self.classes)}
        walked = lambda name: sorted(os.walk(os.path.join(self.root, name), followlinks=True))
        paths = lambda name: [os.path.join(folder, file) for folder, _, files in walked(name) for file in sorted(files)]
        self.samples = [(p, i) for name, i in self.class_to_idx.items() for p in paths(name) if valid(p)]
        self.imgs = self.samples
        self.targets = [target for _, target in self.samples]
        empty = [name for name, i in self.class_to_idx.items() if i not in self.targets]
        if not self.classes or empty and not allow_empty:
            what = f"valid file for the classes {', '.join(empty)}" if empty else "class folder"
            fix = f"put the images of each class into a folder, such as {Path(self.root) / 'cat' / '1.png'}"
            raise error(FileNotFoundError, "ImageFolder", f"Found no {what} in {self.root}", fix)

    def __getitem__(self, index: int) -> tuple:
        path, target = self.samples[index]
        return self.pair(self.loader(path), target)

    def __len__(self) -> int:
        return len(self.samples)


class FakeData(VisionDataset):
    """Random images and classes, the same for the same index."""

    def __init__(self, size: int = 1000, image_size: tuple = (3, 224, 224), num_classes: int = 10, transform: Any = None,
                 target_transform: Any = None, random_offset: int = 0):  # fmt: skip
        super().__init__(None, None, transform, target_transform)
        self.size, self.image_size, self.num_classes, self.random_offset = size, image_size, num_classes, random_offset

    def __getitem__(self, index: int) -> tuple:
        if index >= self.size:
            raise IndexError(f"FakeData index out of range: {index} of {self.size}")
        state = minigrad.get_rng_state()
        minigrad.manual_seed(index + self.random_offset)
        image, target = minigrad.randn(*self.image_size), minigrad.randint(0, self.num_classes, size=(1,))
        minigrad.set_rng_state(state)
        return self.pair(to_pil_image(image), int(target.item()))

    def __len__(self) -> int:
        return self.size


_guard(__name__)
