"""torchvision.models: ResNet and VGG with torchvision's names of layers and parameters, so its weight files fit.

Sources: He and others, "Deep residual learning for image recognition"; Simonyan and Zisserman, "Very deep convolutional
networks for large-scale image recognition".
Nothing is downloaded: `weights=` reads a file of torchvision where PyTorch keeps it, ~/.cache/torch/hub/checkpoints.
"""

from __future__ import annotations

import os
import sys
from enum import Enum
from pathlib import Path
from typing import Any

import minigrad
from minigrad import Tensor, nn
from minigrad.errors import error

SOURCE = "https://download.pytorch.org/models/"


class ResNet18_Weights(Enum):
    """The weight files of resnet18."""

    DEFAULT = IMAGENET1K_V1 = "resnet18-f37072fd.pth"


class ResNet34_Weights(Enum):
    """The weight files of resnet34."""

    DEFAULT = IMAGENET1K_V1 = "resnet34-b627a593.pth"


class ResNet50_Weights(Enum):
    """The weight files of resnet50."""

    IMAGENET1K_V1, IMAGENET1K_V2 = "resnet50-0676ba61.pth", "resnet50-11ad3fa6.pth"
    DEFAULT = IMAGENET1K_V2


class VGG16_Weights(Enum):
    """The weight files of vgg16."""

    DEFAULT = IMAGENET1K_V1 = "vgg16-397923af.pth"


class VGG19_Weights(Enum):
    """The weight files of vgg19."""

    DEFAULT = IMAGENET1K_V1 = "vgg19-dcbb9e9d.pth"


# ---------------------------------------------------------------- networks
class BasicBlock(nn.Module):
    """Two convolutions, and the input added to their output."""

    expansion = 1

    def __init__(self, inplanes: int, planes: int, stride: int = 1, downsample: Any = None):
        super().__init__()
        self.conv1, self.bn1 = conv(inplanes, planes, 3, stride), nn.BatchNorm2d(planes)
        self.relu = nn.ReLU(inplace=True)
        self.conv2, self.bn2 = conv(planes, planes, 3), nn.BatchNorm2d(planes)
        self.downsample, self.stride = downsample, stride

    def forward(self, x: Tensor) -> Tensor:
        out = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
        return self.relu(out + (x if self.downsample is None else self.downsample(x)))


class Bottleneck(nn.Module):
    """A convolution between two of one pixel, and the input added to their output."""

    expansion = 4

    def __init__(self, inplanes: int, planes: int, stride: int = 1, downsample: Any = None):
        super().__init__()
        self.conv1, self.bn1 = conv(inplanes, planes, 1), nn.BatchNorm2d(planes)
        self.conv2, self.bn2 = conv(planes, planes, 3, stride), nn.BatchNorm2d(planes)
        self.conv3, self.bn3 = conv(planes, 4 * planes, 1), nn.BatchNorm2d(4 * planes)
        self.relu = nn.ReLU(inplace=True)
        self.downsample, self.stride = downsample, stride

    def forward(self, x: Tensor) -> Tensor:
        out = self.relu(self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x))))))
        return self.relu(self.bn3(self.conv3(out)) + (x if self.downsample is None else self.downsample(x)))


def conv(inplanes: int, planes: int, size: int, stride: int = 1) -> nn.Conv2d:
    """Return a convolution without bias that keeps the size, up to the stride."""
    return nn.Conv2d(inplanes, planes, size, stride, size // 2, bias=False)


class ResNet(nn.Module):
    """Four stages of residual blocks: `layers` are their numbers."""

    def __init__(self, block: Any, layers: list[int], num_classes: int = 1000, zero_init_residual: bool = False):
        super().__init__()
        self.inplanes = 64
        self.conv1, self.bn1 = nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64)
        self.relu, self.maxpool = nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)
        self.layer1 = self._make_layer(block, 64, layers[0])
        self.layer2 = self._make_layer(block, 128, layers[1], 2)
        self.layer3 = self._make_layer(block, 256, layers[2], 2)
        self.layer4 = self._make_layer(block, 512, layers[3], 2)
        self.avgpool, self.fc = nn.AdaptiveAvgPool2d((1, 1)), nn.Linear(512 * block.expansion, num_classes)
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight, mode="fan_out", nonlinearity="relu")
            elif zero_init_residual and isinstance(m, (BasicBlock, Bottleneck)):
                nn.init.zeros_(m.bn2.weight if isinstance(m, BasicBlock) else m.bn3.weight)

    def _make_layer(self, block: Any, planes: int, blocks: int, stride: int = 1) -> nn.Sequential:
        """Return a stage; its first block changes size and channels."""
        wide, downsample = planes * block.expansion, None
        if stride != 1 or self.inplanes != wide:
            downsample = nn.Sequential(conv(self.inplanes, wide, 1, stride), nn.BatchNorm2d(wide))
        first, self.inplanes = block(self.inplanes, planes, stride, downsample), wide
        return nn.Sequential(first, *[block(wide, planes) for _ in range(1, blocks)])

    def forward(self, x: Tensor) -> Tensor:
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(self.avgpool(x).flatten(1))


class VGG(nn.Module):
    """Convolutions and pools, then three linear layers."""

    def __init__(self, features: nn.Module, num_classes: int = 1000, dropout: float = 0.5):
        super().__init__()
        self.features, self.avgpool = features, nn.AdaptiveAvgPool2d((7, 7))
        self.classifier = nn.Sequential(
            *(nn.Linear(512 * 7 * 7, 4096), nn.ReLU(True), nn.Dropout(dropout)),
            *(nn.Linear(4096, 4096), nn.ReLU(True), nn.Dropout(dropout), nn.Linear(4096, num_classes)),
        )
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight, mode="fan_out", nonlinearity="relu")
            elif isinstance(m, nn.Linear):
                nn.init.normal_(m.weight, 0, 0.01)
            if isinstance(m, (nn.Conv2d, nn.Linear)):
                nn.init.zeros_(m.bias)

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(self.avgpool(self.features(x)).flatten(1))


def vgg(name: str, each: int, weights: Any, pretrained: bool, options: dict) -> VGG:
    """Return a VGG whose last three stages have `each` convolutions."""
    layers, channels = [], 3
    for wide, convolutions in zip((64, 128, 256, 512, 512), (2, 2, each, each, each)):
        for _ in range(convolutions):
            layers += [nn.Conv2d(channels, wide, 3, padding=1), nn.ReLU(inplace=True)]
            channels = wide
        layers.append(nn.MaxPool2d(2, 2))
    return loaded(name, VGG(nn.Sequential(*layers), **options), weights, pretrained)


# ---------------------------------------------------------------- by name
def resnet18(weights: Any = None, progress: bool = True, pretrained: bool = False, **options: Any) -> ResNet:
    """Return the ResNet of 18 layers; `num_classes` is 1000 by default.

    >>> tuple(resnet18(num_classes=4)(minigrad.ones(2, 3, 32, 32)).shape)
    (2, 4)
    """
    return loaded("ResNet18", ResNet(BasicBlock, [2, 2, 2, 2], **options), weights, pretrained)


def resnet34(weights: Any = None, progress: bool = True, pretrained: bool = False, **options: Any) -> ResNet:
    """Return the ResNet of 34 layers."""
    return loaded("ResNet34", ResNet(BasicBlock, [3, 4, 6, 3], **options), weights, pretrained)


def resnet50(weights: Any = None, progress: bool = True, pretrained: bool = False, **options: Any) -> ResNet:
    """Return the ResNet of 50 layers."""
    return loaded("ResNet50", ResNet(Bottleneck, [3, 4, 6, 3], **options), weights, pretrained)


def vgg16(weights: Any = None, progress: bool = True, pretrained: bool = False, **options: Any) -> VGG:
    """Return the VGG of 16 layers."""
    return vgg("VGG16", 3, weights, pretrained, options)


def vgg19(weights: Any = None, progress: bool = True, pretrained: bool = False, **options: Any) -> VGG:
    """Return the VGG of 19 layers."""
    return vgg("VGG19", 4, weights, pretrained, options)


def loaded(name: str, network: Any, weights: Any, pretrained: bool) -> Any:
    """Return a network, with the numbers of a weight file where the caller asks for them."""
    if not (weights or pretrained):
        return network
    known: Any = globals()[f"{name}_Weights"]
    if isinstance(weights, str) and weights not in known.__members__:
        fix = f"choose from {', '.join(known.__members__)}"
        raise error(ValueError, name.lower(), f"Unknown value '{weights}' for argument weights", fix)
    chosen: Any = weights if isinstance(weights, known) else known[weights] if weights else known.IMAGENET1K_V1
    home = os.environ.get("TORCH_HOME") or Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser() / "torch"
    path = Path(home, "hub", "checkpoints", chosen.value)
    if path.is_file():
        network.load_state_dict(minigrad.load(path))
    elif os.environ.get("MINIGRAD_DATA"):
        print(f"minigrad: random weights stand in for {chosen.value} (MINIGRAD_DATA)", file=sys.stderr)
    else:
        what = f"there is no {path}, and minigrad downloads no weights"
        fix = f"pass weights=None for random weights, or put the file there by hand, from {SOURCE}{chosen.value}"
        raise error(RuntimeError, name.lower(), what, f"{fix}, or set MINIGRAD_DATA=digits for random weights")
    return network
