"""A program is read for what it needs that is not there, with lines, and never run."""

import ast

import pytest

from minigrad.compat.port import needs


def found(text):
    return [(need.line, need.name) for need in needs(ast.parse(text))]


@pytest.mark.parametrize(
    ("text", "line", "name"),
    [
        ("import torch\nx = torch.fft.rfft(y)", 2, "torch.fft.rfft"),
        ("import torch.fft", 1, "torch.fft"),
        ("import torch as t\ndef f():\n    return t.complex64", 3, "torch.complex64"),
        ("import torch.nn as nn\nnn.SyncBatchNorm(3)", 2, "torch.nn.SyncBatchNorm"),
        ("from torch import nn\nnn.SyncBatchNorm(3)", 2, "torch.nn.SyncBatchNorm"),
        ("from torch.sparse import mm", 1, "torch.sparse.mm"),
        ("import torch.nn.functional as F\nF.relu(x, inplce=True)", 2, "torch.nn.functional.relu"),
        ("from torchvision import datasets", 1, "torchvision.datasets"),
        ("from torch.profiler import profile, schedule", 1, "torch.profiler.schedule"),
        ("import torch.multiprocessing as mp\nmp.spawn(f)", 2, "torch.multiprocessing.spawn"),
        ("from torch.futures import Future", 1, "torch.futures.Future"),
        ("import torch\ny = x.apply_(f)", 2, "Tensor.apply_"),
        ("import torch\nx = torch.range(1, 2)", 2, "torch.range"),
        ("y = x.to_sparse()", 1, "Tensor.to_sparse"),
        ("import torch\ntorch.nn.Linaer(1, 2)", 2, "torch.nn.Linaer"),
        ("from torch import nn\nnn.Conv2d(1000000000, 64,\n  3, groups=3)", 2, "torch.nn.Conv2d"),
    ],
)
def test_what_is_not_there_is_listed_with_its_line(text, line, name):
    assert found(text) == [(line, name)]


@pytest.mark.parametrize(
    "text",
    [
        "import torch\nfrom torch import nn, optim\nimport torch.nn.functional as F\nF.relu(nn.Linear(1, 2)(torch.ones(3, 1)))",
        "from torch.autograd import Function\nfrom torch.nn import *\nfrom torch.optim.lr_scheduler import StepLR",
        "import torch\ntorch.backends.cudnn.benchmark = True\ntorch.cuda.amp.autocast(enabled=False)",
        "import torch\ntorch.version.cuda\ntorch.version.hip",
        "d = {}\nd.values()\nx.indices()",
        "import numpy as np\nnp.fft.rfft(x)\nfrom .fft import rfft",
        "import torch\ntorch.float32.itemsize.bit_length()",
        "from torch import nn\nnn.Linear(1000000000, 1000000000)\nnn.Conv2d(c, 64, 3, groups=3)\nnn.Sequential(nn.ReLU())",
        "import torch\ntorch.optim.SGD(p, lr=0.1, momentum=0.9, foreach=True)",
    ],
)
def test_nothing_is_listed_where_all_is_there(text):
    assert found(text) == []


def test_a_name_is_listed_once_for_a_line_and_says_what_to_write():
    listed = needs(ast.parse("import torch\ntorch.fft.fft(torch.fft.fft(x))"))
    assert [str(need) for need in listed] == [
        "torch.fft.fft: minigrad has no complex numbers and Fourier transforms. "
        "Instead: keep the real and the imaginary part as two tensors"
    ]


def test_arguments_that_a_function_does_not_take_are_told_with_those_it_takes():
    (need,) = needs(ast.parse("import torch\ntorch.nn.Linear(1, 2, biass=False)"))
    assert "biass" in need.what and "bias" in need.instead


def test_what_a_layer_refuses_is_told_in_its_words():
    (need,) = needs(ast.parse("import torch\ntorch.nn.Conv2d(4, 6, 3, groups=3)"))
    assert "in_channels" in need.what and need.instead
    (need,) = needs(ast.parse("import torch\ntorch.nn.Linear(4)"))
    assert "out_features" in need.what and "call it as Linear(in_features" in need.instead
