"""A generator learns to place points on a ring, against a discriminator, in double precision.

After Goodfellow and others' "Generative adversarial nets" as PyTorch's examples write it.
"""

import math

import torch
import torch.nn as nn


def ring(n):
    angle = torch.rand(n) * 2 * math.pi
    return torch.stack([angle.cos(), angle.sin()], 1) + 0.05 * torch.randn(n, 2)


def network(n_in, n_out):
    return nn.Sequential(
        nn.Linear(n_in, 32), nn.LeakyReLU(0.2, inplace=True), nn.Linear(32, 32), nn.LeakyReLU(0.2), nn.Linear(32, n_out)
    )


def main():
    torch.manual_seed(0)
    torch.set_default_dtype(torch.float64)
    netG, netD = network(4, 2), network(2, 1)
    criterion = nn.BCEWithLogitsLoss()
    optimizerD = torch.optim.Adam(netD.parameters(), lr=2e-3, betas=(0.5, 0.999))
    optimizerG = torch.optim.Adam(netG.parameters(), lr=2e-3, betas=(0.5, 0.999))
    real_label, fake_label = 1.0, 0.0
    for step in range(1, 101):
        netD.zero_grad()
        label = torch.full((64,), real_label)
        errD_real = criterion(netD(ring(64)).view(-1), label)
        errD_real.backward()
        fake = netG(torch.randn(64, 4))
        label.fill_(fake_label)
        errD_fake = criterion(netD(fake.detach()).view(-1), label)
        errD_fake.backward()
        optimizerD.step()

        netG.zero_grad()
        label.fill_(real_label)
        errG = criterion(netD(fake).view(-1), label)
        errG.backward()
        optimizerG.step()
        if step % 10 == 0:
            print(f"step {step} D {(errD_real + errD_fake).item():.6g} G loss {errG.item():.6g}")


if __name__ == "__main__":
    main()
