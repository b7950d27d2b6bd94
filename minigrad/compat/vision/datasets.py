"""The datasets of torchvision that courses use, read from their own files in `root`.

A file is used only if its digest, or the size that its header states, is right: pickles of strangers are not opened.  With
`download=True` missing files are fetched; without a network the error says which files belong where.  With
`MINIGRAD_DATA=digits` in the environment, the MNIST classes have the 1,797 digits of scikit-learn, enlarged, and need no files.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import pickle
import string
import sys
import tarfile
import urllib.request
import zipfile
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

import minigrad
from minigrad.utils.data import Dataset

from . import functional as F

IMAGES = (".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp")


class VisionDataset(Dataset):
    """Pairs of an image and its class; `transform` and `target_transform` are applied when a pair is read."""

    def __init__(self, root: Any = "", transform: Callable | None = None, target_transform: Callable | None = None):
        self.root, self.transform, self.target_transform = root, transform, target_transform

    def pair(self, image: Any, target: Any) -> tuple:
        """Return an image and its class, transformed."""
        image = image if self.transform is None else self.transform(image)
        return image, target if self.target_transform is None else self.target_transform(target)

    def extra_repr(self) -> str:
        return ""

    def __repr__(self) -> str:
        words = [f"Number of datapoints: {len(self)}", *([f"Root location: {self.root}"] if self.root else [])]
        words += self.extra_repr().splitlines()
        if self.transform or self.target_transform:
            words.append("StandardTransform")
        for title, one in (("Transform: ", self.transform), ("Target transform: ", self.target_transform)):
            words += (title + repr(one).replace("\n", "\n" + " " * len(title))).splitlines() if one else []
        return "\n".join([f"Dataset {type(self).__name__}", *(f"    {line}" for line in words)])


# ---------------------------------------------------------------- files
def right(path: Path, md5: str) -> bool:
    """Return True if there is a file with this digest."""
    return path.is_file() and hashlib.md5(path.read_bytes(), usedforsecurity=False).hexdigest() == md5


def fetched(path: Path, urls: Sequence[str], md5: str, download: bool) -> Path:
    """Return the path of a file with this digest; fetch it if that is asked for.  Raise RuntimeError if it cannot be had."""
    if right(path, md5):
        return path
    state = "is damaged" if path.exists() else "is missing"
    where = f"{path} {state}: it belongs there, from {' or '.join(urls)}"
    if not download:
        raise RuntimeError(f"Dataset not found. {where}. You can use download=True to download it")
    path.parent.mkdir(parents=True, exist_ok=True)
    failed: OSError | None = None
    for url in urls:
        try:
            urllib.request.urlretrieve(url, path, reporthook=progress(path.name))  # noqa: S310 - addresses from this file
        except OSError as e:
            failed = e
        else:
            print(file=sys.stderr)
            if right(path, md5):
                return path
    raise RuntimeError(f"{where}. It cannot be downloaded ({failed or 'its digest is wrong'}): put it there by hand")


def progress(name: str) -> Callable[[int, int, int], None]:
    """Return a function that shows how much of a file has been fetched."""

    def show(blocks: int, size: int, total: int) -> None:
        if sys.stderr.isatty():
            print(
                f"\r{name}: {min(blocks * size / max(total, 1), 1):4.0%} of {total / 1e6:.1f} MB",
                end="",
                file=sys.stderr,
            )

    return show


def numbers(data: bytes, name: str) -> np.ndarray:
    """Return the numbers of a file in the format IDX (http://yann.lecun.com/exdb/mnist): a header with the shape, and bytes."""
    dimensions = data[3] if len(data) > 4 and data[:3] == b"\0\0\x08" else 0
    shape = tuple(np.frombuffer(data[4 : 4 + 4 * dimensions], ">u4").tolist())
    if not dimensions or len(data) != 4 + 4 * dimensions + np.prod(shape, dtype=int):
        raise RuntimeError(f"{name} is damaged: it has {len(data):,} bytes, and its header states the shape {shape}")
    return np.frombuffer(data, np.uint8, offset=4 + 4 * dimensions).reshape(shape)


# ---------------------------------------------------------------- MNIST and its kin
class MNIST(VisionDataset):
    """Handwritten digits, grey images of 28 x 28 pixels: 60,000 to train, 10,000 to test."""

    mirrors = ("https://ossci-datasets.s3.amazonaws.com/mnist/", "http://yann.lecun.com/exdb/mnist/")
    digests = (
        "f68b3c2dcbeaaa9fbdd348bbdeb94873", "d53e105ee54ea40749a09fcbcd1e9432",
        "9fb629c4189551a2d022fa330f9573f3", "ec29112dd5afa0611ce80d1b7f02629c",
    )  # fmt: skip
    classes = [f"{i} - {word}" for i, word in enumerate("zero one two three four five six seven eight nine".split())]

    def __init__(
        self, root: Any, train: bool = True, transform: Any = None, target_transform: Any = None, download: bool = False
    ):
        super().__init__(root, transform, target_transform)
        self.train = train
        asked = os.environ.get("MINIGRAD_DATA", "")
        if asked not in ("", "digits"):
            raise ValueError(
                f"MINIGRAD_DATA={asked}: only digits is known, or no value for the files of {type(self).__name__}"
            )
        images, targets = digits(train) if asked else [self.read(kind, download) for kind in ("images", "labels")]
        self.data = minigrad.from_numpy(images.copy())
        self.targets = minigrad.from_numpy(targets.astype(np.int64))

    def read(self, kind: str, download: bool) -> np.ndarray:
        """Return the images or the labels, from the file or from its compressed form."""
        name = f"{'train' if self.train else 't10k'}-{kind}-idx{3 if kind == 'images' else 1}-ubyte"
        path = Path(self.raw_folder) / name
        if path.is_file():
            return numbers(path.read_bytes(), str(path))
        digest = self.digests[2 * (not self.train) + (kind == "labels")]
        packed = fetched(path.with_name(f"{name}.gz"), [f"{url}{name}.gz" for url in self.mirrors], digest, download)
        return numbers(gzip.decompress(packed.read_bytes()), str(packed))

    def __getitem__(self, index: int) -> tuple:
        return self.pair(Image.fromarray(self.data[index].numpy()), int(self.targets[index]))

    def __len__(self) -> int:
        return len(self.data)

    @property
    def raw_folder(self) -> str:
        """The folder of the files."""
        return str(Path(self.root) / type(self).__name__ / "raw")

    @property
    def class_to_idx(self) -> dict[str, int]:
        """The numbers of the classes."""
        return {name: i for i, name in enumerate(self.classes)}

    def extra_repr(self) -> str:
        return f"Split: {'Train' if self.train else 'Test'}"


class FashionMNIST(MNIST):
    """Clothes, in the form of MNIST (https://github.com/zalandoresearch/fashion-mnist)."""

    mirrors = ("http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",)
    digests = (
        "8d4fb7e6c68d591d4c3dfef9ec88bf0d", "25c81989df183df01b3e8a0aad5dffbe",
        "bef4ecab320f06d8554ea6380940ec79", "bb300cfdad3c16e7a12a480ee83cd310",
    )  # fmt: skip
    classes = ["T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"]


class KMNIST(MNIST):
    """Cursive Japanese characters, in the form of MNIST (https://github.com/rois-codh/kmnist)."""

    mirrors = ("http://codh.rois.ac.jp/kmnist/dataset/kmnist/",)
    digests = (
        "bdb82020997e1d708af4cf47b453dcf7", "e144d726b3acfaa3e44228e80efcd344",
        "5c965bf0a639b31b8f53240b1b52f4d7", "7320c461ea6c1c855c0b718fb2a4b134",
    )  # fmt: skip
    classes = "o ki su tsu na ha ma ya re wo".split()


class EMNIST(MNIST):
    """Handwritten letters and digits, in the form of MNIST; `split` chooses among six sets."""

    url, digest = "https://biometrics.nist.gov/cs_links/EMNIST/gzip.zip", "58c8d27c78d21e728a6bc7b3cc06412e"
    merged = {*string.digits, *string.ascii_letters} - {*"cijklmopsuvwxyz"}
    splits = {
        "byclass": sorted({*string.digits, *string.ascii_letters}), "bymerge": sorted(merged), "balanced": sorted(merged),
        "letters": ["N/A", *string.ascii_lowercase], "digits": [*string.digits], "mnist": [*string.digits],
    }  # fmt: skip

    def __init__(self, root: Any, split: str, **kwargs: Any):
        if split not in self.splits:
            raise ValueError(
                f"Unknown value '{split}' for argument split. Valid values are {{{', '.join(self.splits)}}}."
            )
        self.split, self.classes = split, self.splits[split]
        super().__init__(root, **kwargs)

    def read(self, kind: str, download: bool) -> np.ndarray:
        name = f"emnist-{self.split}-{'train' if self.train else 'test'}-{kind}-idx{3 if kind == 'images' else 1}-ubyte"
        path = Path(self.raw_folder) / name
        if path.is_file():
            return numbers(path.read_bytes(), str(path))
        if (packed := path.with_name(f"{name}.gz")).is_file():
            return numbers(gzip.decompress(packed.read_bytes()), str(packed))
        with zipfile.ZipFile(fetched(path.with_name("gzip.zip"), [self.url], self.digest, download)) as whole:
            return numbers(gzip.decompress(whole.read(f"gzip/{name}.gz")), name)


@cache
def digits(train: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return scikit-learn's digits, enlarged from 8 x 8 to 28 x 28 pixels: the first 1,500 to train, 297 to test."""
    from sklearn.datasets import load_digits

    if train:
        print(
            "minigrad: MINIGRAD_DATA=digits: 1,797 digits of scikit-learn, enlarged, stand in for MNIST",
            file=sys.stderr,
        )
    found = load_digits()
    part = slice(1500) if train else slice(1500, None)
    small = (found.images[part] * (255 / 16)).round().astype(np.uint8)
    images = [np.asarray(Image.fromarray(one).resize((28, 28), Image.Resampling.BICUBIC)) for one in small]
    return np.stack(images), found.target[part]


# ---------------------------------------------------------------- colour images
class CIFAR10(VisionDataset):
    """Colour images of 32 x 32 pixels in 10 classes: 50,000 to train, 10,000 to test."""

    base_folder, url = "cifar-10-batches-py", "https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz"
    digest, key = "c58f30108f718f92721af3b95e74349a", "labels"
    files = (("data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4", "data_batch_5"), ("test_batch",))
    meta, names = "batches.meta", "label_names"

    def __init__(
        self, root: Any, train: bool = True, transform: Any = None, target_transform: Any = None, download: bool = False
    ):
        super().__init__(root, transform, target_transform)
        self.train = train
        archive = fetched(Path(root) / self.url.rpartition("/")[2], [self.url], self.digest, download)
        with tarfile.open(archive) as whole:  # its digest is right, so its pickles are the known ones
            batches = [self.unpickled(whole, name) for name in self.files[not train]]
            self.classes = self.unpickled(whole, self.meta)[self.names]
        self.data = np.concatenate([one["data"] for one in batches]).reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
        self.targets = [target for one in batches for target in one[self.key]]
        self.class_to_idx = {name: i for i, name in enumerate(self.classes)}

    def unpickled(self, whole: tarfile.TarFile, name: str) -> dict:
        """Return the contents of a file in the archive."""
        file = whole.extractfile(f"{self.base_folder}/{name}")
        assert file is not None
        return pickle.load(file, encoding="latin1")  # noqa: S301

    def __getitem__(self, index: int) -> tuple:
        return self.pair(Image.fromarray(self.data[index]), self.targets[index])

    def __len__(self) -> int:
        return len(self.data)

    extra_repr = MNIST.extra_repr


class CIFAR100(CIFAR10):
    """Colour images of 32 x 32 pixels in 100 classes."""

    base_folder, url = "cifar-100-python", "https://www.cs.toronto.edu/~kriz/cifar-100-python.tar.gz"
    digest, key = "eb9058c3a382ffc7106e4002c42a8d85", "fine_labels"
    files, meta, names = (("train",), ("test",)), "meta", "fine_label_names"


class SVHN(VisionDataset):
    """House numbers, colour images of 32 x 32 pixels: the splits train, test and extra."""

    digests = {
        "train": "e26dedcc434d2e4c54c9b2d4a06d8373", "test": "eb5a983be6a315427106f1b164d9cef3",
        "extra": "a93ce644f1a588dc4d68dda5feec44a7",
    }  # fmt: skip

    def __init__(
        self,
        root: Any,
        split: str = "train",
        transform: Any = None,
        target_transform: Any = None,
        download: bool = False,
    ):
        from scipy.io import loadmat

        if split not in self.digests:
            raise ValueError(
                f"Unknown value '{split}' for argument split. Valid values are {{{', '.join(self.digests)}}}."
            )
        super().__init__(root, transform, target_transform)
        self.split, name = split, f"{split}_32x32.mat"
        urls = [f"http://ufldl.stanford.edu/housenumbers/{name}"]
        found = loadmat(fetched(Path(root) / name, urls, self.digests[split], download))
        self.data = np.ascontiguousarray(found["X"].transpose(3, 2, 0, 1))
        self.labels = found["y"].astype(np.int64).squeeze() % 10  # the files have 10 for the digit 0

    def __getitem__(self, index: int) -> tuple:
        return self.pair(Image.fromarray(self.data[index].transpose(1, 2, 0)), int(self.labels[index]))

    def __len__(self) -> int:
        return len(self.data)

    def extra_repr(self) -> str:
        return f"Split: {self.split.capitalize()}"


# ---------------------------------------------------------------- own images
def pil_loader(path: Any) -> Image.Image:
    """Return the image in a file, in colours."""
    with open(path, "rb") as file:
        return Image.open(file).convert("RGB")


class ImageFolder(VisionDataset):
    """Images in folders, one for each class: `root/cat/1.png`."""

    def __init__(
        self,
        root: Any,
        transform: Callable | None = None,
        target_transform: Callable | None = None,
        loader: Callable[[str], Any] = pil_loader,
        is_valid_file: Callable[[str], bool] | None = None,
        allow_empty: bool = False,
    ):
        super().__init__(root, transform, target_transform)
        self.loader = loader
        valid = is_valid_file or (lambda path: path.lower().endswith(IMAGES))
        self.classes = sorted(entry.name for entry in os.scandir(root) if entry.is_dir())
        if not self.classes:
            raise FileNotFoundError(f"Couldn't find any class folder in {root}.")
        self.class_to_idx = {name: i for i, name in enumerate(self.classes)}
        walked = {name: sorted(os.walk(Path(root) / name, followlinks=True)) for name in self.classes}
        paths = {
            name: [os.path.join(f, file) for f, _, files in walked[name] for file in sorted(files)] for name in walked
        }
        self.samples = self.imgs = [(p, self.class_to_idx[name]) for name in paths for p in paths[name] if valid(p)]
        self.targets = [target for _, target in self.samples]
        empty = [name for name, i in self.class_to_idx.items() if i not in set(self.targets)]
        if empty and not allow_empty:
            known = "" if is_valid_file else f" Supported extensions are: {', '.join(IMAGES)}"
            raise FileNotFoundError(f"Found no valid file for the classes {', '.join(empty)}.{known}")

    def __getitem__(self, index: int) -> tuple:
        path, target = self.samples[index]
        return self.pair(self.loader(path), target)

    def __len__(self) -> int:
        return len(self.samples)


class FakeData(VisionDataset):
    """Random images and classes, the same for the same index."""

    def __init__(
        self,
        size: int = 1000,
        image_size: tuple[int, int, int] = (3, 224, 224),
        num_classes: int = 10,
        transform: Callable | None = None,
        target_transform: Callable | None = None,
        random_offset: int = 0,
    ):
        super().__init__("", transform, target_transform)
        self.size, self.image_size, self.num_classes, self.random_offset = size, image_size, num_classes, random_offset

    def __getitem__(self, index: int) -> tuple:
        if not -self.size <= index < self.size:
            raise IndexError(f"{type(self).__name__} index out of range")
        state = minigrad.get_rng_state()
        minigrad.manual_seed(index + self.random_offset)
        image = minigrad.randn(*self.image_size)
        target = int(minigrad.randint(0, self.num_classes, size=(1,))[0])
        minigrad.set_rng_state(state)
        return self.pair(F.to_pil_image(image), target)

    def __len__(self) -> int:
        return self.size
