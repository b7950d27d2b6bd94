"""torchvision.models: the layers' names and sizes are torchvision's; weights are read from a file, never fetched."""

import pytest

import minigrad
from minigrad.compat.vision import models


@pytest.mark.parametrize(
    ("make", "parameters", "tensors"),
    [(models.resnet18, 11_689_512, 122), (models.resnet34, 21_797_672, 218), (models.resnet50, 25_557_032, 320)],
)
def test_resnets_have_torchvisions_parameters(make, parameters, tensors):
    with minigrad.device("meta"):
        state, net = None, make()
        state = net.state_dict()
    assert sum(p.numel() for p in net.parameters()) == parameters and len(state) == tensors
    assert {"conv1.weight", "bn1.running_mean", "layer2.0.downsample.1.bias", "layer4.1.bn2.weight", "fc.bias"} <= set(
        state
    )


@pytest.mark.parametrize(("make", "parameters"), [(models.vgg16, 138_357_544), (models.vgg19, 143_667_240)])
def test_vggs_have_torchvisions_parameters(make, parameters):
    with minigrad.device("meta"):
        net = make()
    assert sum(p.numel() for p in net.parameters()) == parameters
    assert {"features.0.weight", "features.28.bias", "classifier.6.weight"} <= set(net.state_dict())


def test_a_resnet_trains_and_its_last_layer_can_be_exchanged():
    net = models.resnet18(weights=None, num_classes=5)
    assert net.fc.in_features == 512 and isinstance(net.layer1[0], models.BasicBlock)
    net.fc = minigrad.nn.Linear(net.fc.in_features, 2)
    out = net(minigrad.randn(2, 3, 32, 32))
    out.sum().backward()
    assert out.shape == (2, 2) and net.conv1.weight.grad.shape == (64, 3, 7, 7)


def test_the_last_norm_of_each_block_can_begin_with_zeros():
    net = models.resnet18(zero_init_residual=True, num_classes=2)
    assert not net.layer3[1].bn2.weight.any() and net.layer3[1].bn1.weight.all()


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    monkeypatch.delenv("MINIGRAD_DATA", raising=False)
    (tmp_path / "hub" / "checkpoints").mkdir(parents=True)
    return tmp_path / "hub" / "checkpoints"


@pytest.mark.parametrize(
    "options", [{"weights": models.ResNet18_Weights.DEFAULT}, {"weights": "IMAGENET1K_V1"}, {"pretrained": True}]
)
def test_weights_are_read_from_the_file_that_pytorch_keeps(home, options):
    made = models.resnet18()
    minigrad.save(made.state_dict(), home / "resnet18-f37072fd.pth")
    assert (models.resnet18(**options).fc.weight == made.fc.weight).all()


def test_missing_weights_are_not_fetched_and_the_file_is_named(home, monkeypatch, capsys):
    says = r"(?s)resnet18: there is no .*resnet18-f37072fd.pth, and minigrad downloads no weights.*weights=None"
    with pytest.raises(RuntimeError, match=says):
        models.resnet18(weights="DEFAULT")
    monkeypatch.setenv("MINIGRAD_DATA", "digits")
    assert models.resnet18(weights="DEFAULT").fc.out_features == 1000
    assert "random weights stand in for resnet18-f37072fd.pth" in capsys.readouterr().err


def test_unknown_weights_are_named():
    with pytest.raises(ValueError, match="(?s)Unknown value 'BEST' for argument weights.*IMAGENET1K_V1"):
        models.resnet50(weights="BEST")


def test_programs_import_them_from_torchvision():
    with minigrad.as_torch():
        from torchvision.models import ResNet18_Weights, resnet18, vgg16  # noqa: F401
        from torchvision.models.resnet import BasicBlock
    assert resnet18 is models.resnet18 and BasicBlock is models.BasicBlock
