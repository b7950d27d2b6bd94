"""Hooks on saved tensors store them in half precision or on disk, or count them.

After PyTorch's tutorial "Hooks for autograd saved tensors".
"""

import os
import tempfile
import uuid

import torch
from sklearn.datasets import load_diabetes
from torch import nn


class SelfDeletingTempFile:
    def __init__(self, folder):
        self.name = os.path.join(folder, str(uuid.uuid4()))

    def __del__(self):
        if os.path.exists(self.name):
            os.remove(self.name)


class SaveToDisk(nn.Module):
    def __init__(self, module, folder, threshold=256):
        super().__init__()
        self.module, self.folder, self.threshold = module, folder, threshold

    def pack(self, tensor):
        if tensor.numel() < self.threshold:
            return tensor
        file = SelfDeletingTempFile(self.folder)
        torch.save(tensor, file.name)
        return file

    def unpack(self, packed):
        return packed if isinstance(packed, torch.Tensor) else torch.load(packed.name)

    def forward(self, x):
        with torch.autograd.graph.saved_tensors_hooks(self.pack, self.unpack):
            return self.module(x)


def main():
    torch.manual_seed(0)
    diabetes = load_diabetes(scaled=False)
    x, y = (torch.tensor(t, dtype=torch.float32) for t in (diabetes.data, diabetes.target[:, None]))
    x, y = (x - x.mean(0)) / x.std(0), (y - y.mean()) / y.std()
    sizes = []

    def count(tensor):
        sizes.append(tensor.numel() * tensor.element_size())
        return tensor

    with tempfile.TemporaryDirectory() as folder:
        hidden = SaveToDisk(nn.Sequential(nn.Linear(10, 16), nn.Tanh()), folder)
        last = nn.Linear(16, 1)
        optimizer = torch.optim.Adam([*hidden.parameters(), *last.parameters()], lr=0.02)
        for step in range(1, 31):
            h = hidden(x)
            with torch.autograd.graph.saved_tensors_hooks(lambda t: t.half(), lambda t: t.float()):
                h = torch.sigmoid(h) + h
            with torch.autograd.graph.saved_tensors_hooks(count, lambda t: t), torch.autograd.graph.save_on_cpu():
                loss = nn.functional.mse_loss(last(h), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if step % 3 == 0:
                print(f"step {step} loss {loss.item():.6g}")
        del h, loss
        print("left on disk:", os.listdir(folder), "bytes counted:", sum(sizes))


if __name__ == "__main__":
    main()
