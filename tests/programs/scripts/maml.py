"""A network learns to learn sines from five points in one step: gradients through gradient steps, vmapped over tasks.

After PyTorch's example "maml_omniglot" and torch.func's tutorial "Model ensembling", on Finn and others' sine waves.
"""

import math

import torch
import torch.nn.functional as F
from torch.func import functional_call, grad, vmap


def main():
    torch.manual_seed(0)
    net = torch.nn.Sequential(
        torch.nn.Linear(1, 32), torch.nn.Tanh(), torch.nn.Linear(32, 32), torch.nn.Tanh(), torch.nn.Linear(32, 1)
    )
    params = {name: p.detach().clone().requires_grad_() for name, p in net.named_parameters()}
    optimizer = torch.optim.Adam(params.values(), lr=3e-3)

    def task_loss(params, x, y):
        return F.mse_loss(functional_call(net, params, (x,)), y)

    def loss_after_a_step(params, x1, y1, x2, y2, alpha=0.1):
        grads = grad(task_loss)(params, x1, y1)
        adapted = {name: params[name] - alpha * grads[name] for name in params}
        return task_loss(adapted, x2, y2)

    def tasks(n, k):
        amplitude = 0.5 + 4 * torch.rand(n, 1, 1)
        phase = math.pi * torch.rand(n, 1, 1)
        x = 10 * torch.rand(n, 2 * k, 1) - 5
        y = amplitude * torch.sin(x + phase)
        return x[:, :k], y[:, :k], x[:, k:], y[:, k:]

    for step in range(1, 31):
        losses = vmap(loss_after_a_step, in_dims=(None, 0, 0, 0, 0))(params, *tasks(16, 5))
        loss = losses.mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 3 == 0:
            print(f"step {step} loss {loss.item():.6g}")


if __name__ == "__main__":
    main()
