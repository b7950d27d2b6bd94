"""SimCLR: two views of a picture move closer than views of other pictures; then a linear classifier, in double precision.

After sthalles' SimCLR.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits


def view(images):
    """Apply a random shift, flip of contrast, and noise."""
    dx, dy = torch.randint(-1, 2, (2,)).tolist()
    images = torch.roll(images, (dx, dy), dims=(2, 3))
    scale = 0.8 + 0.4 * torch.rand(len(images), 1, 1, 1)
    return images * scale + 0.1 * torch.randn_like(images)


class Encoder(nn.Module):
    def __init__(self, out_dim=16):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 16, 3), nn.ReLU(), nn.Flatten()
        )
        self.projection = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, out_dim))

    def forward(self, x):
        return self.projection(self.backbone(x))


def info_nce_loss(features, n_views=2, temperature=0.5):
    n = len(features) // n_views
    labels = torch.cat([torch.arange(n) for _ in range(n_views)], dim=0)
    labels = (labels.unsqueeze(0) == labels.unsqueeze(1)).float()
    features = F.normalize(features, dim=1)
    similarity_matrix = torch.matmul(features, features.T)
    mask = torch.eye(labels.shape[0], dtype=torch.bool)
    labels = labels[~mask].view(labels.shape[0], -1)
    similarity_matrix = similarity_matrix[~mask].view(similarity_matrix.shape[0], -1)
    positives = similarity_matrix[labels.bool()].view(labels.shape[0], -1)
    negatives = similarity_matrix[~labels.bool()].view(similarity_matrix.shape[0], -1)
    logits = torch.cat([positives, negatives], dim=1) / temperature
    return F.cross_entropy(logits, torch.zeros(logits.shape[0], dtype=torch.long))


def main():
    torch.manual_seed(0)
    torch.set_default_dtype(torch.float64)
    digits = load_digits()
    images, labels = torch.tensor(digits.images[:, None] / 16, dtype=torch.float64), torch.tensor(digits.target)
    model = Encoder()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3, weight_decay=1e-4)
    for step in range(1, 21):
        batch = images[torch.randperm(len(images))[:48]]
        loss = info_nce_loss(model(torch.cat([view(batch), view(batch)])))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 4 == 0:
            print(f"step {step} loss {loss.item():.6g}")
    with torch.no_grad():
        features = model.backbone(images)
    probe = nn.Linear(64, 10)
    optimizer = torch.optim.Rprop(probe.parameters(), lr=0.01)
    for step in range(21, 51):
        loss = F.cross_entropy(probe(features[:1000]), labels[:1000])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 6 == 0:
            print(f"step {step} linear, loss {loss.item():.6g}")


if __name__ == "__main__":
    main()
