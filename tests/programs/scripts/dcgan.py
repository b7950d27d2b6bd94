"""Transposed convolutions generate digits of 8 x 8 pixels, against a discriminator of convolutions, in double precision.

After PyTorch's tutorial "DCGAN".
"""

import torch
import torch.nn as nn
import torch.optim as optim
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader

nz, ngf, ndf = 8, 8, 8


def weights_init(m):
    classname = m.__class__.__name__
    if classname.find("Conv") != -1:
        nn.init.normal_(m.weight.data, 0.0, 0.02)
    elif classname.find("BatchNorm") != -1:
        nn.init.normal_(m.weight.data, 1.0, 0.02)
        nn.init.constant_(m.bias.data, 0)


def generator():
    return nn.Sequential(
        nn.ConvTranspose2d(nz, ngf * 2, 2, 1, 0, bias=False),
        nn.BatchNorm2d(ngf * 2),
        nn.ReLU(True),
        nn.ConvTranspose2d(ngf * 2, ngf, 4, 2, 1, bias=False),
        nn.BatchNorm2d(ngf),
        nn.ReLU(True),
        nn.ConvTranspose2d(ngf, 1, 4, 2, 1, bias=False),
        nn.Tanh(),
    )


def discriminator():
    return nn.Sequential(
        nn.Conv2d(1, ndf, 4, 2, 1, bias=False),
        nn.LeakyReLU(0.2, inplace=True),
        nn.Conv2d(ndf, ndf * 2, 4, 2, 1, bias=False),
        nn.BatchNorm2d(ndf * 2),
        nn.LeakyReLU(0.2, inplace=True),
        nn.Conv2d(ndf * 2, 1, 2, 1, 0, bias=False),
        nn.Sigmoid(),
    )


def main():
    torch.manual_seed(999)
    torch.set_default_dtype(torch.float64)
    images = torch.tensor(load_digits(n_class=2).images[:, None] / 8 - 1)
    dataloader = DataLoader(images, batch_size=32, shuffle=True, drop_last=True)
    netG, netD = generator().apply(weights_init), discriminator().apply(weights_init)
    criterion = nn.BCELoss()
    optimizerD = optim.Adam(netD.parameters(), lr=2e-3, betas=(0.5, 0.999))
    optimizerG = optim.Adam(netG.parameters(), lr=2e-3, betas=(0.5, 0.999))
    step = 0
    for _ in range(3):
        for real in dataloader:
            noise = torch.randn(len(real), nz, 1, 1)
            fake = netG(noise)
            ones, zeros = torch.ones(len(real)), torch.zeros(len(real))
            netD.zero_grad()
            errD = criterion(netD(real).view(-1), ones) + criterion(netD(fake.detach()).view(-1), zeros)
            errD.backward()
            optimizerD.step()
            netG.zero_grad()
            errG = criterion(netD(fake).view(-1), ones)
            errG.backward()
            optimizerG.step()
            step += 1
            if step % 3 == 0:
                print(f"step {step} G {errG.item():.6g} D loss {errD.item():.6g}")


if __name__ == "__main__":
    main()
