"""A Wasserstein critic with slope one, by the gradient of a gradient, in double precision.

After caogang's wgan-gp.
"""

import torch
from torch import autograd, nn


def calc_gradient_penalty(netD, real, fake, weight=1.0):
    alpha = torch.rand(len(real), 1).expand(real.size())
    interpolates = (alpha * real + (1 - alpha) * fake).requires_grad_(True)
    scores = netD(interpolates)
    (gradients,) = autograd.grad(
        outputs=scores, inputs=interpolates, grad_outputs=torch.ones(scores.size()), create_graph=True
    )
    return ((gradients.norm(2, dim=1) - 1) ** 2).mean() * weight


def corners(n):
    centers = torch.tensor([(1, 1), (-1, 1), (-1, -1), (1, -1)], dtype=torch.get_default_dtype())
    return centers[torch.randint(4, (n,))] + 0.1 * torch.randn(n, 2)


def main():
    torch.manual_seed(1)
    torch.set_default_dtype(torch.float64)
    netG = nn.Sequential(nn.Linear(2, 24), nn.ReLU(True), nn.Linear(24, 24), nn.ReLU(True), nn.Linear(24, 2))
    netD = nn.Sequential(nn.Linear(2, 24), nn.Softplus(), nn.Linear(24, 24), nn.Softplus(), nn.Linear(24, 1))
    optimizerD = torch.optim.Adam(netD.parameters(), lr=5e-3, betas=(0.5, 0.9))
    optimizerG = torch.optim.Adam(netG.parameters(), lr=5e-3, betas=(0.5, 0.9))
    for step in range(1, 31):
        for p in netD.parameters():
            p.requires_grad = True
        for _ in range(3):
            real = corners(64)
            netD.zero_grad()
            with torch.no_grad():
                fake = netG(torch.randn(64, 2))
            loss = netD(fake).mean() - netD(real).mean() + calc_gradient_penalty(netD, real, fake)
            loss.backward()
            optimizerD.step()
        for p in netD.parameters():
            p.requires_grad = False
        netG.zero_grad()
        (-netD(netG(torch.randn(64, 2))).mean()).backward()
        optimizerG.step()
        if step % 3 == 0:
            print(f"step {step} loss {loss.item():.6g}")


if __name__ == "__main__":
    main()
