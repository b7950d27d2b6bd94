"""`import torch` gives minigrad while `as_torch()` holds, here and in imported modules, and afterwards what it gave before."""

import importlib
import subprocess
import sys
import textwrap

import pytest

import minigrad
from minigrad.compat.torch_modules import AbsentModule
from minigrad.diagnose.missing_names import NEED_TORCH, ROWS

USES = """
import torch
import torch.nn as nn
from torch.nn import functional as F
layer, relu, tensor = nn.Linear, F.relu, torch.tensor
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Yield a folder that modules are imported from."""
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    for name in [n for n in sys.modules if n.startswith("their_")]:
        del sys.modules[name]


def imported(text):
    """Return the names that an import statement binds, with minigrad in PyTorch's place."""
    names = {}
    with minigrad.as_torch():
        exec(text, names)
    return names


@pytest.mark.parametrize(
    ("text", "name", "meant"),
    [
        ("import torch", "torch.Tensor", "Tensor"),
        ("import torch.nn as nn", "nn.Linear", "nn.Linear"),
        ("import torch.nn.functional as F", "F.relu", "nn.functional.relu"),
        ("from torch import nn, optim", "optim.SGD", "optim.SGD"),
        ("from torch.autograd.function import Function", "Function", "autograd.Function"),
        ("from torch.autograd import Function, Variable", "Function", "autograd.Function"),
        ("from torch.nn.modules.module import Module", "Module", "nn.Module"),
        ("from torch.nn.parameter import Parameter", "Parameter", "nn.Parameter"),
        ("from torch.nn.modules.conv import Conv2d", "Conv2d", "nn.Conv2d"),
        ("from torch.optim.lr_scheduler import StepLR", "StepLR", "optim.lr_scheduler.StepLR"),
        ("from torch.optim.optimizer import Optimizer", "Optimizer", "optim.Optimizer"),
        ("from torch.optim.adamw import AdamW", "AdamW", "optim.AdamW"),
        ("from torch.func import vmap, grad", "grad", "func.grad"),
        ("import torch", "torch.nn.modules.batchnorm.BatchNorm2d", "nn.BatchNorm2d"),
        ("import torch", "torch._C._LinAlgError", "linalg.LinAlgError"),
        ("import torch.backends.cudnn as cudnn", "cudnn", "backends.cudnn"),
        ("from torch.nn.utils.clip_grad import clip_grad_norm_", "clip_grad_norm_", "nn.utils.clip_grad_norm_"),
        ("from torch.nn.utils.stateless import functional_call", "functional_call", "func.functional_call"),
        ("from torch.distributions.log_normal import *", "Normal", "distributions.Normal"),
        ("from torch.distributions.kl import kl_divergence as kl", "kl", "distributions.kl_divergence"),
        ("import torch.nn.grad", "torch.nn.grad.conv2d_input", "nn.grad.conv2d_input"),
        ("from torch.nn.parallel import DataParallel", "DataParallel", "nn.parallel.DataParallel"),
        (
            "from torch.nn.parallel import DistributedDataParallel as DDP",
            "DDP",
            "distributed.data_parallel.DistributedDataParallel",
        ),
        (
            "from torch.nn.parallel.distributed import DistributedDataParallel",
            "DistributedDataParallel",
            "nn.parallel.DistributedDataParallel",
        ),
        (
            "from torch.utils.data.distributed import DistributedSampler",
            "DistributedSampler",
            "utils.data.DistributedSampler",
        ),
        ("import torch.distributed as dist", "dist.GradBucket", "distributed.GradBucket"),
        ("from torch.utils.hooks import RemovableHandle", "RemovableHandle", "tensors.hooks.Handle"),
    ],
)
def test_names_are_minigrads(text, name, meant):
    assert eval(name, imported(text)) is eval(f"minigrad.{meant}")


@pytest.mark.parametrize("name", ["nn.utils.weight_norm", "nn.utils.spectral_norm", "autograd.gradcheck"])
def test_a_module_and_its_function_of_one_name_are_both_there(name):
    last = name.rpartition(".")[2]
    names = imported(f"import torch.{name}\nfrom torch.{name} import {last} as inside")
    assert eval(f"torch.{name}", names) is names["inside"] is eval(f"minigrad.{name}")


def test_switches_of_an_imported_backend_are_those_of_the_library():
    names = imported("import torch\nimport torch.backends.cudnn as cudnn")
    names["cudnn"].benchmark = True
    assert names["torch"].backends.cudnn.benchmark is minigrad.backends.cudnn.benchmark is True
    minigrad.backends.cudnn.benchmark = False


def test_safetensors_for_torch_are_minigrads():
    pytest.importorskip("safetensors")
    assert imported("from safetensors.torch import save_file")["save_file"] is minigrad.utils.safetensors.save_file
    assert "safetensors.torch" not in sys.modules


def test_star_imports_work():
    assert imported("from torch.nn import *")["Conv2d"] is minigrad.nn.Conv2d


def test_base_classes_of_layers_have_the_names_that_programs_use():
    names = imported("import torch.nn as nn\nfrom torch.nn.modules.utils import _pair, _triple")
    assert isinstance(minigrad.nn.BatchNorm2d(2), names["nn"].modules.batchnorm._BatchNorm)
    assert isinstance(minigrad.nn.Conv1d(2, 2, 1), names["nn"].modules.conv._ConvNd)
    assert (names["_pair"](3), names["_triple"]((1, 2, 3))) == ((3, 3), (1, 2, 3))


def test_the_version_is_the_one_whose_semantics_are_implemented():
    torch = imported("import torch")["torch"]
    assert torch.__version__ == torch.version.__version__ == "2.13.0+minigrad" != minigrad.__version__
    assert torch.version.cuda is None


def test_texts_say_torch_inside_and_minigrad_outside():
    x = minigrad.ones(2, dtype=minigrad.float64)
    things = lambda: [repr(x), repr(x.shape), x.type(), str(x.dtype), repr(x.max(0)), repr(minigrad.Generator())]
    with minigrad.as_torch():
        assert all("torch." in text and "minigrad" not in text for text in things())
    assert all("minigrad." in text and "torch" not in text for text in things())


def test_a_call_holds_until_it_is_closed():
    standing_in = minigrad.as_torch()
    try:
        assert importlib.import_module("torch").Tensor is minigrad.Tensor
        with minigrad.as_torch():  # once more inside
            pass
        assert minigrad.ones(1).shape.__repr__() == "torch.Size([1])"
    finally:
        standing_in.close()
    standing_in.close()  # nothing is left to take back
    assert sys.modules.get("torch") is None or sys.modules["torch"].Tensor is not minigrad.Tensor


def test_an_error_inside_takes_it_back():
    with pytest.raises(KeyError), minigrad.as_torch():
        raise KeyError
    assert not any(type(finder).__module__ == "minigrad.compat.as_torch" for finder in sys.meta_path)
    assert repr(minigrad.float32) == "minigrad.float32"


def test_modules_that_import_torch_get_minigrad_and_are_forgotten_afterwards(folder):
    (folder / "their_net.py").write_text(USES)
    (folder / "their_numbers.py").write_text("import numpy\n")
    with minigrad.as_torch():
        their_net, numbers = importlib.import_module("their_net"), importlib.import_module("their_numbers")
        assert (their_net.layer, their_net.relu) == (minigrad.nn.Linear, minigrad.nn.functional.relu)
    assert "their_net" not in sys.modules and sys.modules["their_numbers"] is numbers


# a library called torch, instead of the real one
REAL = """
import sys
sys.path.insert(0, {folder!r})
import torch, their_net, their_package.layers
assert torch.real and their_net.layer == "real"
import minigrad
theirs = lambda: {{name for name in sys.modules if name.startswith(("torch", "their"))}}
before = theirs()
with minigrad.as_torch():
    import torch as ours, their_net as net, their_package.layers as layers
    assert net is not their_net and net.layer is layers.layer is minigrad.nn.Linear
    import torch.nn
    assert torch.nn.Linear is minigrad.nn.Linear
import torch, their_net as again
assert torch.real and again is their_net and sys.modules["torch.nn"].real
assert before == theirs()
"""


def test_a_library_called_torch_that_is_loaded_comes_back(folder):
    (folder / "torch" / "nn").mkdir(parents=True)
    (folder / "their_package").mkdir()
    (folder / "torch" / "__init__.py").write_text("real, tensor = True, 'real'\nfrom . import nn\n")
    (folder / "torch" / "nn" / "__init__.py").write_text("real, Linear = True, 'real'\nfrom . import functional\n")
    (folder / "torch" / "nn" / "functional.py").write_text("relu = 'real'\n")
    (folder / "their_net.py").write_text(USES)
    (folder / "their_package" / "__init__.py").write_text("")
    (folder / "their_package" / "layers.py").write_text(USES)
    done = subprocess.run([sys.executable, "-c", REAL.format(folder=str(folder))], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("text", "kind", "says"),
    [
        ("import torch.fft\ntorch.fft.rfft(1)", NotImplementedError, "complex numbers"),
        ("from torch import sparse_csr_tensor\nsparse_csr_tensor()", NotImplementedError, "sparse tensors"),
        ("from torch.distributed.fsdp import FSDP\nFSDP(1)", NotImplementedError, "distributed.nn.functional"),
        ("from torch.distributed.optim import Zero\nZero()", NotImplementedError, "DistributedDataParallel"),
        ("import torch.distributed.checkpoint as d\nd.save()", NotImplementedError, "torch.save"),
        ("from torch.distributed.algorithms.join import Join\nJoin()", NotImplementedError, "DistributedSampler"),
        ("from torch.distributed import new_subgroups as n\nn()", NotImplementedError, "distributed.new_group"),
        ("from torch.distributed import send_object_list as s\ns()", NotImplementedError, "broadcast_object_list"),
        ("import torch; torch.complex64", AttributeError, "complex numbers"),
        ("import torch; torch.nn.utils.prune.identity", AttributeError, "multiply the weight by a mask"),
        ("from torch.nn import Linaer", ImportError, "torch.nn.Linear"),
        ("import torch; torch.relux", AttributeError, "torch.relu"),
        ("import torchvision; torchvision.models.alexnet()", ModuleNotFoundError, "write the network"),
        ("from torchvision import transforms as T; T.RandomErasing()", ModuleNotFoundError, "use Pillow"),
        (
            "import torchaudio\nclass Sound(torchaudio.datasets.YESNO): pass\nSound()",
            ModuleNotFoundError,
            "scipy.io.wavfile",
        ),
        ("from functorch import make_fx\nmake_fx()", ModuleNotFoundError, "use torch.func"),
        ("from torch.fx import Tracer\nclass T(Tracer): pass\nT()", NotImplementedError, "minigrad.record"),
        ("from torch.optim.sgd import sgd, SGD\nSGD\nsgd([], [], [])", NotImplementedError, "make the optimizer"),
        ("import torch.optim.adam as adam; adam.adam", AttributeError, "make the optimizer"),
        ("import torch; torch.nn.functional.convolution", AttributeError, "docs/howto/port.md"),
        ("from torch._C import Value\nfor v in Value: pass", NotImplementedError, "docs/howto/port.md"),
        ("import torch; torch.sigmoidal_thing_of_no_name", AttributeError, "docs/howto/port.md"),
    ],
)
def test_a_name_that_is_not_there_says_what_to_write_instead(text, kind, says):
    names = {"__name__": "program"}
    with minigrad.as_torch(), pytest.raises(kind) as raised:
        exec(compile(text, __file__, "exec"), names)
    assert (
        says in str(raised.value)
        and "minigrad has no" in str(raised.value)
        or "needs PyTorch itself" in str(raised.value)
    )
    assert f"at {__file__}:{1 + text.count(chr(10))}" in str(raised.value)


@pytest.mark.parametrize(
    "use",
    "URL['train'] = 'x'|del URL['train']|'x' in URL|len(URL)|int(URL)|float(URL)|[1][URL]|-URL|URL ** 2|torch.ones(2) * URL"
    "|URL @ torch.ones(2)|1 + URL|URL / 2|with URL: pass".split("|"),
)
def test_any_use_of_a_name_that_is_not_there_says_so(use):
    text = f"import torch\nfrom torchtext.datasets import URL\nassert URL\n{use}"
    with minigrad.as_torch(), pytest.raises(ModuleNotFoundError, match="torchtext needs PyTorch itself") as raised:
        exec(compile(text, __file__, "exec"), {"__name__": "program"})
    assert "read text with Python" in str(raised.value)


NAMED = """
import torch
from typing import List, Optional
from torch._C import Value
from torch.fx import GraphModule, Node
from torch.nn import Module, SyncBatchNorm
from torch.serialization import MAP_LOCATION
import torch.fx.experimental.proxy_tensor as proxies

class Traced(Module, GraphModule): ...
class Powers(torch.nn.LPPool2d): ...

COMPLEX = {torch.complex64, torch.complex128}
REAL = {torch.complex64: torch.float32}

def f(a: Optional[Node], b: List[Value], c: "int | Node" = None, d: MAP_LOCATION = None) -> torch.fx.Graph | int: ...

x = torch.ones(2)
answers = [
    isinstance(x, GraphModule), isinstance(x, (Node, torch.Tensor)), issubclass(Module, SyncBatchNorm),
    isinstance(x, torch.nn.LPPool1d), isinstance(x, (torch.Tensor, torch.nn.SyncBatchNorm)), x.dtype == torch.complex64,
    x.layout in (torch.sparse_coo, torch.strided), x.dtype in COMPLEX,
]
"""


def test_a_name_that_minigrad_lacks_may_be_imported_compared_and_derived_from(folder):
    (folder / "their_names.py").write_text(NAMED)
    with minigrad.as_torch() as torch:
        names = vars(importlib.import_module("their_names"))
        assert names["answers"] == [False, True, False, False, True, False, True, False]
        with pytest.raises(NotImplementedError, match=r"LPPool2d: minigrad has no pools of powers"):
            names["Powers"](2)
        assert repr(names["Node"]) == "<torch.fx.Node, which minigrad has no graphs of a program to rewrite or export>"
        assert "torch.fx" in sys.modules and not hasattr(torch, "complex64")
    assert not any(isinstance(module, AbsentModule) for module in list(sys.modules.values()))
    with minigrad.as_torch() as torch:
        assert not hasattr(torch, "fx") and not hasattr(torch._C, "Value")


def test_a_misspelt_name_that_is_compared_with_raises():
    x = minigrad.ones(2)
    with minigrad.as_torch() as torch:
        with pytest.raises(AttributeError, match=r"use torch\.float32"):
            assert x.dtype == torch.flaot32
        with pytest.raises(AttributeError, match=r"minigrad has no no_such_type"):
            assert isinstance(x, torch.no_such_type)


def test_an_import_in_a_try_fails_so_that_the_programs_alternative_runs(folder):
    (folder / "their_choices.py").write_text(
        """
try:
    from torch.fx import wrap
except ImportError:
    wrap = None
try:
    import torch.utils.cpp_extension as board
except (ModuleNotFoundError, OSError):
    board = None
try:
    from torch.nn import SyncBatchNorm
except KeyError:
    SyncBatchNorm = None
"""
    )
    with minigrad.as_torch():
        names = vars(importlib.import_module("their_choices"))
    assert names["wrap"] is names["board"] is None is not names["SyncBatchNorm"]


def test_packages_that_need_pytorch_can_be_imported_and_named():
    text = """
import torchaudio.transforms.functional as TF
from torchaudio import models, transforms as T
from torchaudio.datasets import YESNO

def augment(image: T.Compose, resize=T.Resize) -> models.ResNet: ...
"""
    names = imported(text)
    assert not isinstance(3, names["YESNO"]) and "torchaudio.datasets.YESNO" in repr(names["YESNO"])
    assert not any(name.startswith("torchaudio") for name in sys.modules)


def test_the_same_holds_without_as_torch():
    with pytest.raises(AttributeError, match="complex numbers"):
        minigrad.fft  # noqa: B018
    with pytest.raises(AttributeError, match=r"use minigrad\.relu"):
        minigrad.reluu  # noqa: B018


def test_programs_may_ask_whether_a_name_is_there():
    with minigrad.as_torch() as torch:
        assert not hasattr(torch, "fft") and hasattr(torch, "nn") and not hasattr(torch.nn, "SyncBatchNorm")
        assert getattr(torch, "sparse_csr_tensor", None) is None


@pytest.mark.parametrize("name", sorted(ROWS))
def test_what_the_table_says_is_not_there_is_not_there(name):
    found = minigrad
    for part in name.split("."):
        found = getattr(found, part, None) if found is not None else None
    assert found is None


def test_remedies_are_orders_that_name_something_to_write():
    for fix in [row.instead for row in ROWS.values()] + list(NEED_TORCH.values()):
        assert fix[0].islower() and not fix.endswith(".") and len(fix.split()) > 1


def test_operations_in_place_are_functions_too():
    with minigrad.as_torch() as torch:
        x = torch.tensor([-1.0, 4.0])
        assert torch.relu_(x) is x and torch.sqrt_(x).tolist() == [0.0, 2.0]


def test_a_program_that_torch_users_write_trains(tmp_path):
    program = textwrap.dedent("""
        import torch
        import torch.nn as nn
        import torch.nn.functional as F
        import torch.optim as optim

        torch.backends.cudnn.deterministic = True
        torch.use_deterministic_algorithms(True)
        device = torch.accelerator.current_accelerator().type if torch.accelerator.is_available() else "cpu"

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.net = nn.DataParallel(nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1)))

            @torch.jit.export
            def forward(self, x):
                if not torch.jit.is_scripting():
                    x = x.to(memory_format=torch.contiguous_format)
                return self.net(x)

        torch.manual_seed(0)
        x = torch.randn(64, 2).to(device)
        y = (x[:, :1] * x[:, 1:]).detach()
        model = torch.jit.script(Net().to(device))
        scaler = torch.cuda.amp.GradScaler(enabled=False)
        optimizer = optim.Adam(model.parameters(), lr=0.02)
        losses = []
        for _ in range(60):
            with torch.autocast(device_type=device, dtype=torch.bfloat16, enabled=False):
                loss = F.mse_loss(model(x), y)
            optimizer.zero_grad(set_to_none=True)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            losses.append(loss.item())
        assert losses[-1] < 0.5 * losses[0]
    """)
    imported(program)
