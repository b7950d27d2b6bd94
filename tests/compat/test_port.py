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
        ("from torch.fft import rfft; rfft(x)", 1, "torch.fft.rfft"),
        ("import torch as t\ndef f():\n    return t.complex64", 3, "torch.complex64"),
        ("import torch.nn as nn\nnn.SyncBatchNorm(3)", 2, "torch.nn.SyncBatchNorm"),
        ("from torch import nn\nnn.SyncBatchNorm(3)", 2, "torch.nn.SyncBatchNorm"),
        ("from torch.sparse import mm; mm(x, y)", 1, "torch.sparse.mm"),
        ("import torch.nn.functional as F\nF.relu(x, inplce=True)", 2, "torch.nn.functional.relu"),
        ("from torchaudio import datasets\ndatasets.YESNO('.')", 2, "torchaudio.datasets.YESNO"),
        ("from torchaudio.datasets import YESNO\nsound = YESNO('.')", 2, "torchaudio.datasets.YESNO"),
        ("from torch.utils.benchmark import Timer, Fuzzer; Fuzzer()", 1, "torch.utils.benchmark.Fuzzer"),
        ("import torch.multiprocessing as mp\nmp.spawn(f)", 2, "torch.multiprocessing.spawn"),
        ("from torch.library import Library; Library()", 1, "torch.library.Library"),
        ("import torch\ny = x.apply_(f)", 2, "Tensor.apply_"),
        ("import torch\nx = y.is_set_to(z)", 2, "Tensor.is_set_to"),
        ("import torch; y = x.to_sparse()", 1, "Tensor.to_sparse"),
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
        "import sympy\nsympy.Matrix(m).to_dense()",
        "import numpy as np\nnp.fft.rfft(x)\nfrom .fft import rfft",
        "import torch\ntorch.float32.itemsize.bit_length()",
        "from torch import nn\nnn.Linear(1000000000, 1000000000)\nnn.Conv2d(c, 64, 3, groups=3)\nnn.Sequential(nn.ReLU())",
        "import torch\ntorch.optim.SGD(p, lr=0.1, momentum=0.9, foreach=True)",
        "import torchaudio",
        "import random, types\nfrom random import choice\nrandom.shuffle([choice('ab')])\ntypes.FunctionType",
    ],
)
def test_nothing_is_listed_where_all_is_there(text):
    assert found(text) == []


@pytest.mark.parametrize(
    "call",
    [
        "torch.sum(x, axis=1, keepdims=True)",
        "torch.cat([x, x], axis=1)",
        "torch.swapaxes(x, axis0=0, axis1=1)",
        "torch.div(x, 2, out=out)",
        "torch.eye(2, out=out)",
        "torch.zeros(2, pin_memory=True)",
        "x.mean(axis=0)",
    ],
)
def test_further_spellings_and_arguments_that_a_signature_does_not_show_are_known(call):
    assert found(f"import torch\nx = torch.ones(2, 3)\n{call}") == []


@pytest.mark.parametrize(
    "text",
    [
        "def f(data): return data.shape, data.sum()",
        "def f(x):\n    data = open(x)\n    return data.read()",
        "for data in loader: data.append(1)",
        "with open('x') as data: data.read()",
        "lambda data: data.shape",
        "def f():\n    data: dict\n    data.keys()",
        "def f():\n    global other\n    other.data",
        "[data.shape for data in batches]",
        "def f():\n    global data\n    data = {}\ndata.keys()",
        "class Table:\n    data = []\n    data.append(1)",
        "try: pass\nexcept ValueError as data: data.args",
        "match x:\n    case {'a': 1, **data}: data.keys()\n    case [*data]: data.append(1)",
    ],
)
def test_another_variable_with_the_name_of_a_module_is_not_the_module(text):
    assert found(f"from torch.utils import data\n{text}") == []


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("def f():\n    return data.fetch", 3),
        ("class Table:\n    data = []\n    def f(self): return data.fetch", 4),
        ("def f(data): return data\ndata.fetch", 3),
        ("def f():\n    def g(data): pass\n    return data.fetch", 4),
    ],
)
def test_the_module_is_seen_where_the_other_variable_is_not(text, line):
    assert found(f"from torch.utils import data\n{text}") == [(line, "torch.utils.data.fetch")]


@pytest.mark.parametrize(
    "text",
    [
        "try:\n    from torch.sparse import mm\nexcept ImportError:\n    mm = None\nif mm: mm(x, y)",
        "try:\n    torch.fft.rfft(x)\nexcept AttributeError:\n    pass",
        "if hasattr(torch, 'fft'):\n    torch.fft.rfft(x)",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from torch.sparse import mm",
    ],
)
def test_names_that_the_program_expects_to_be_missing_are_not_listed(text):
    assert found(f"import torch\n{text}") == []


@pytest.mark.parametrize(
    "text",
    [
        "isinstance(x, YESNO)",
        "def f(x: YESNO | None) -> YESNO: pass",
        "type(x) == YESNO",
        "x: YESNO = 1",
    ],
)
def test_a_name_that_is_only_compared_with_or_annotated_is_not_listed(text):
    assert found(f"from torchaudio.datasets import YESNO\n{text}") == []
    assert found("from torchaudio.datasets import YESNO\nYESNO() == x") == [(2, "torchaudio.datasets.YESNO")]


def test_a_try_that_expects_other_errors_hides_nothing():
    assert found("import torch\ntry:\n    torch.fft.rfft(x)\nexcept ValueError:\n    pass") == [(3, "torch.fft.rfft")]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("x = torch.ones(2)\n(2 * x.t())[0].no_such", "Tensor.no_such"),
        (
            "class Net:\n    def __init__(self): self.x = torch.ones(2)\n    def f(self): self.x.no_such",
            "Tensor.no_such",
        ),
        ("o = torch.optim.SGD(p)\no.parm_groups", "torch.optim.SGD.parm_groups"),
        ("torch.utils.data.DataLoader(d).no_such", "torch.utils.data.DataLoader.no_such"),
        ("c = torch.nn.Conv2d(1, 2, 3)\nc._no_such", "torch.nn.Conv2d._no_such"),
        (
            "class F(torch.autograd.Function):\n    @staticmethod\n    def backward(ctx, g): ctx.saved",
            "torch.autograd.function.FunctionCtx.saved",
        ),
        ("x = torch.ones(2)\nx.sum(axsi=1)", "Tensor.sum"),
    ],
)
def test_attributes_that_an_object_lacks_are_listed(text, name):
    assert [found for _, found in found(f"import torch\n{text}")] == [name]


@pytest.mark.parametrize(
    "text",
    [
        "x = torch.ones(2)\nx = numpy.array(x)\nx.no_such",  # two values
        "x, y = torch.ones(2), torch.ones(2)\nx.T.no_such if x is None else 1\nf(x).no_such",
        "x = torch.ones(2)\nx.mine = 1\nx.mine",
        "x = torch.ones(2)\nsetattr(x, 'mine', 1)\nx.mine",
        "c = torch.nn.Sequential()\nc.add_module(f'conv{1}', d)\nc.conv1.weight",
        "o = torch.optim.SGD(p)\no.param_groups[0]['lr'], o.state",
        "l = torch.utils.data.DataLoader(d)\nl.dataset, l.batch_size",
        "def f(p: torch.Tensor): return p.mine",
        "class F(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n        ctx.n = 1\n        ctx.n",
        "d = torch.distributions.Normal(0, 1)\nd.loc, d.scale, d.mean",
    ],
)
def test_attributes_that_an_object_has_or_may_have_are_not_listed(text):
    assert found(f"import torch\n{text}") == []


def test_attributes_that_another_module_of_the_program_sets_are_known():
    here, there = ast.parse("import torch\nx = torch.ones(2)\nx.mine"), ast.parse("def f(x): x.mine = 1")
    assert needs(here, [here, there]) == [] and len(needs(here)) == 1


def test_a_misspelt_attribute_or_argument_is_answered_with_the_right_one():
    text = "import torch\no = torch.optim.SGD(p, momentun=1)\no.parm_groups"
    assert [need.instead for need in needs(ast.parse(text))] == ["write momentum=", "use .param_groups"]


def test_a_name_of_a_star_import_is_looked_up_there():
    assert found("from torch.nn import *\nConv2d(4, 6, 3, groups=3)") == [(2, "torch.nn.Conv2d")]


def test_long_expressions_and_long_chains_of_variables_are_read():
    chain = "\n".join(f"z{i + 1} = z{i} + z{i}" for i in range(80))  # 2**80 terms
    text = f"import torch\nz0 = torch.ones(1)\n{chain}\nz80.no_such\ny = {' + '.join(['z0'] * 900)}"
    assert [name for _, name in found(text)] == ["Tensor.no_such"]


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
