"""Private training: vmap of grad gives each example's gradient, which is clipped, summed, and gets noise.

After PyTorch's tutorial "Per-sample-gradients".
"""

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch.func import functional_call, grad, vmap


class SimpleCNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, 1)
        self.conv2 = nn.Conv2d(8, 16, 3, 1)
        self.fc1 = nn.Linear(64, 10)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return F.log_softmax(self.fc1(torch.flatten(x, 1)), dim=1)


def main():
    torch.manual_seed(0)
    digits = load_digits()
    images, labels = torch.tensor(digits.images[:, None] / 16, dtype=torch.float32), torch.tensor(digits.target)
    model = SimpleCNN()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)

    def compute_loss(params, buffers, sample, target):
        predictions = functional_call(model, (params, buffers), (sample.unsqueeze(0),))
        return F.nll_loss(predictions, target.unsqueeze(0))

    ft_compute_sample_grad = vmap(grad(compute_loss), in_dims=(None, None, 0, 0))
    for step in range(1, 17):
        batch = torch.randint(0, len(labels), (32,))
        params = {k: v.detach() for k, v in model.named_parameters()}
        buffers = {k: v.detach() for k, v in model.named_buffers()}
        per_sample = ft_compute_sample_grad(params, buffers, images[batch], labels[batch])
        norms = torch.stack([g.flatten(1).norm(dim=1) for g in per_sample.values()]).norm(dim=0)
        scale = (1.0 / (norms + 1e-6)).clamp(max=1.0)
        for name, p in model.named_parameters():
            clipped = torch.einsum("b,b...->...", scale, per_sample[name])
            p.grad = (clipped + 0.1 * torch.randn_like(p)) / len(batch)
        optimizer.step()
        if step % 2 == 0:
            with torch.no_grad():
                loss = F.nll_loss(model(images[:256]), labels[:256])
            print(f"step {step} norm {norms.mean():.3f} loss {loss.item():.6g}")


if __name__ == "__main__":
    main()
