"""Define networks for images: perceptrons, convolutions, residual networks, autoencoders."""

from .model import classes, data, model


def conv_norm(nn, i, o, size=3, stride=1, groups=1):
    """Return a convolution that keeps the size, batch norm and ReLU."""
    conv = nn.Conv2d(i, o, size, stride, size // 2, groups=groups, bias=False)
    return nn.Sequential(conv, nn.BatchNorm2d(o), nn.ReLU())


def classified(lib, net, images, n_classes=10):
    """Return the module and its loss on labels."""
    labels = classes(lib, n_classes, images.shape[0])
    return net, lambda: lib.nn.functional.cross_entropy(net(images), labels)


@model("Adam", lr=1e-4)
def digits_mlp(lib):
    """A perceptron 64-128-64-10 on 64 digits of 8 x 8, by Adam."""
    nn = lib.nn
    net = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 10))
    return classified(lib, net, data(lib, 64, 64))


@model("SGD", lr=1e-3, momentum=0.9)
def lenet(lib):
    """LeNet-5 on 32 images of 28 x 28, by SGD with momentum."""
    nn = lib.nn
    features = (
        nn.Conv2d(1, 6, 5, padding=2),
        nn.Tanh(),
        nn.AvgPool2d(2),
        nn.Conv2d(6, 16, 5),
        nn.Tanh(),
        nn.AvgPool2d(2),
    )
    head = nn.Flatten(), nn.Linear(400, 120), nn.Tanh(), nn.Linear(120, 84), nn.Tanh(), nn.Linear(84, 10)
    return classified(lib, nn.Sequential(*features, *head), data(lib, 32, 1, 28, 28))


@model("SGD", lr=1e-3, momentum=0.9)
def vgg_small(lib):
    """Six convolutions with batch norm and pooling, 32 to 128 channels, on 8 images of 32 x 32, by SGD with momentum."""
    nn = lib.nn
    layers, last = [], 3
    for width in (32, 64, 128):
        layers += [conv_norm(nn, last, width), conv_norm(nn, width, width), nn.MaxPool2d(2)]
        last = width
    net = nn.Sequential(*layers, nn.Flatten(), nn.Linear(2048, 128), nn.ReLU(), nn.Linear(128, 10))
    return classified(lib, net, data(lib, 8, 3, 32, 32))


@model("SGD", tolerance=0.05, lr=1e-5, momentum=0.9, weight_decay=5e-4)  # among many ReLUs, some inputs are at the kink
def resnet18(lib):
    """ResNet-18 in the form for CIFAR, on 2 images of 32 x 32, by SGD with momentum."""
    nn = lib.nn

    class Block(nn.Module):
        def __init__(self, i, o, stride):
            super().__init__()
            self.conv1, self.bn1 = nn.Conv2d(i, o, 3, stride, 1, bias=False), nn.BatchNorm2d(o)
            self.conv2, self.bn2 = nn.Conv2d(o, o, 3, 1, 1, bias=False), nn.BatchNorm2d(o)
            self.shortcut = nn.Sequential()
            if stride != 1 or i != o:
                self.shortcut = nn.Sequential(nn.Conv2d(i, o, 1, stride, bias=False), nn.BatchNorm2d(o))

        def forward(self, x):
            out = lib.nn.functional.relu(self.bn1(self.conv1(x)))
            return lib.nn.functional.relu(self.bn2(self.conv2(out)) + self.shortcut(x))

    blocks, last = [], 64
    for width, stride in ((64, 1), (64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), (512, 1)):
        blocks.append(Block(last, width, stride))
        last = width
    net = nn.Sequential(conv_norm(nn, 3, 64), *blocks, nn.AvgPool2d(4), nn.Flatten(), nn.Linear(512, 10))
    return classified(lib, net, data(lib, 2, 3, 32, 32))


@model("Adam", lr=1e-4)
def mobilenet(lib):
    """Three inverted residual blocks of depthwise convolutions, on 8 images of 16 x 16, by Adam."""
    nn = lib.nn

    class Inverted(nn.Module):
        def __init__(self, width, wide):
            super().__init__()
            self.layers = nn.Sequential(conv_norm(nn, width, wide, 1), conv_norm(nn, wide, wide, groups=wide),
                                        nn.Conv2d(wide, width, 1, bias=False), nn.BatchNorm2d(width))  # fmt: skip

        def forward(self, x):
            return x + self.layers(x)

    blocks = [Inverted(16, 64) for _ in range(3)]
    net = nn.Sequential(conv_norm(nn, 3, 16), *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10))
    return classified(lib, net, data(lib, 8, 3, 16, 16))


@model("Adam", lr=1e-4)
def unet(lib):
    """A U-Net of two levels, 16 to 64 channels, on 4 images of 32 x 32, by Adam."""
    nn, F = lib.nn, lib.nn.functional

    class UNet(nn.Module):
        def __init__(self):
            super().__init__()
            both = lambda i, o: nn.Sequential(conv_norm(nn, i, o), conv_norm(nn, o, o))
            self.down1, self.down2, self.bottom = both(1, 16), both(16, 32), both(32, 64)
            self.up2, self.up1 = nn.ConvTranspose2d(64, 32, 2, 2), nn.ConvTranspose2d(32, 16, 2, 2)
            self.join2, self.join1, self.out = both(64, 32), both(32, 16), nn.Conv2d(16, 2, 1)

        def forward(self, x):
            one = self.down1(x)
            two = self.down2(F.max_pool2d(one, 2))
            x = self.bottom(F.max_pool2d(two, 2))
            x = self.join2(lib.cat([self.up2(x), two], 1))
            return self.out(self.join1(lib.cat([self.up1(x), one], 1)))

    net, images, labels = UNet(), data(lib, 4, 1, 32, 32), classes(lib, 2, 4, 32, 32)
    return net, lambda: F.cross_entropy(net(images), labels)


@model("Adam", lr=1e-4)
def autoencoder(lib):
    """An autoencoder 784-128-32-128-784 on 64 images, by Adam."""
    nn, images = lib.nn, data(lib, 64, 784).sigmoid()
    down = nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 32), nn.ReLU()
    net = nn.Sequential(*down, nn.Linear(32, 128), nn.ReLU(), nn.Linear(128, 784), nn.Sigmoid())
    return net, lambda: nn.functional.mse_loss(net(images), images)


@model("Adam", lr=1e-4)
def vae(lib):
    """A variational autoencoder 784-400-20-400-784 on 32 images, by Adam."""
    nn, F = lib.nn, lib.nn.functional
    images, noise = data(lib, 32, 784).sigmoid(), data(lib, 32, 20, seed=3)

    class VAE(nn.Module):
        def __init__(self):
            super().__init__()
            self.into, self.mean, self.logvar = nn.Linear(784, 400), nn.Linear(400, 20), nn.Linear(400, 20)
            self.back, self.out = nn.Linear(20, 400), nn.Linear(400, 784)

        def forward(self, x):
            h = F.relu(self.into(x))
            mean, logvar = self.mean(h), self.logvar(h)
            z = mean + noise * lib.exp(0.5 * logvar)
            return lib.sigmoid(self.out(F.relu(self.back(z)))), mean, logvar

    net = VAE()

    def loss():
        shown, mean, logvar = net(images)
        divergence = -0.5 * lib.sum(1 + logvar - mean.pow(2) - logvar.exp())
        return F.binary_cross_entropy(shown, images, reduction="sum") + divergence

    return net, loss


@model("Adam", lr=1e-4, betas=(0.5, 0.999))
def dcgan(lib):
    """Generator and discriminator of a DCGAN, 16 to 64 channels, on 8 images of 32 x 32, by Adam."""
    nn, F = lib.nn, lib.nn.functional
    up = lambda i, o, stride=2, pad=1: (
        nn.ConvTranspose2d(i, o, 4, stride, pad, bias=False),
        nn.BatchNorm2d(o),
        nn.ReLU(),
    )
    down = lambda i, o: (nn.Conv2d(i, o, 4, 2, 1, bias=False), nn.BatchNorm2d(o), nn.LeakyReLU(0.2))
    last = nn.ConvTranspose2d(16, 3, 4, 2, 1, bias=False), nn.Tanh()
    generator = nn.Sequential(*up(32, 64, 1, 0), *up(64, 32), *up(32, 16), *last)
    judge = nn.Sequential(*down(3, 16), *down(16, 32), *down(32, 64), nn.Conv2d(64, 1, 4), nn.Flatten(0))
    real, noise = data(lib, 8, 3, 32, 32), data(lib, 8, 32, 1, 1, seed=3)
    ones, zeros = lib.ones(8), lib.zeros(8)

    def loss():
        fake, say = generator(noise), F.binary_cross_entropy_with_logits
        return say(judge(real), ones) + say(judge(fake.detach()), zeros) + say(judge(fake), ones)

    return nn.ModuleList([generator, judge]), loss


@model("Adam", lr=1e-4)
def siamese(lib):
    """A siamese network of two convolutions with a contrastive loss, on 16 pairs of 28 x 28, by Adam."""
    nn, F = lib.nn, lib.nn.functional
    convs = nn.Conv2d(1, 8, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 16, 3), nn.ReLU(), nn.MaxPool2d(2)
    net = nn.Sequential(*convs, nn.Flatten(), nn.Linear(400, 64), nn.ReLU(), nn.Linear(64, 16))
    one, other = data(lib, 16, 1, 28, 28), data(lib, 16, 1, 28, 28, seed=3)
    same = classes(lib, 2, 16).float()

    def loss():
        d = F.pairwise_distance(net(one), net(other))
        return (same * d.pow(2) + (1 - same) * lib.clamp(2.0 - d, min=0).pow(2)).mean()

    return net, loss


@model("AdamW", lr=1e-4)
def mixer(lib):
    """An MLP-Mixer of four blocks, 16 patches of 64 numbers, on 16 images of 32 x 32, by AdamW."""
    nn = lib.nn
    mlp = lambda n, hidden: nn.Sequential(nn.Linear(n, hidden), nn.GELU(), nn.Linear(hidden, n))

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm1, self.norm2, self.tokens, self.channels = (
                nn.LayerNorm(64),
                nn.LayerNorm(64),
                mlp(16, 32),
                mlp(64, 256),
            )

        def forward(self, x):
            x = x + self.tokens(self.norm1(x).transpose(1, 2)).transpose(1, 2)
            return x + self.channels(self.norm2(x))

    class Mixer(nn.Module):
        def __init__(self):
            super().__init__()
            self.patches, self.blocks = nn.Conv2d(3, 64, 8, 8), nn.Sequential(*[Block() for _ in range(4)])
            self.norm, self.head = nn.LayerNorm(64), nn.Linear(64, 10)

        def forward(self, x):
            x = self.blocks(self.patches(x).flatten(2).transpose(1, 2))
            return self.head(self.norm(x).mean(1))

    return classified(lib, Mixer(), data(lib, 16, 3, 32, 32))
