"""A small network learns from the soft predictions of a large one.

After PyTorch's tutorial "Knowledge distillation" and Hinton and others' "Distilling the knowledge in a neural network".
"""

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset


class DeepNN(nn.Module):
    def __init__(self, num_classes=10):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, kernel_size=3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(kernel_size=2, stride=2),
            nn.Conv2d(16, 32, kernel_size=3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(kernel_size=2, stride=2),
        )
        self.classifier = nn.Sequential(nn.Linear(128, 64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, num_classes))

    def forward(self, x):
        x = torch.flatten(self.features(x), 1)
        return self.classifier(x)


class LightNN(nn.Module):
    def __init__(self, num_classes=10):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, 4, kernel_size=3, padding=1), nn.ReLU(), nn.MaxPool2d(4))
        self.classifier = nn.Linear(16, num_classes)

    def forward(self, x):
        return self.classifier(torch.flatten(self.features(x), 1))


def distilled(student_logits, teacher_logits, labels, T=2.0, soft_weight=0.25, hard_weight=0.75):
    soft_targets = F.softmax(teacher_logits / T, dim=-1)
    soft_prob = F.log_softmax(student_logits / T, dim=-1)
    soft = torch.sum(soft_targets * (soft_targets.log() - soft_prob)) / soft_prob.size()[0] * (T**2)
    divergence = F.kl_div(soft_prob, soft_targets, reduction="batchmean") * (T**2)
    assert torch.allclose(soft, divergence, atol=1e-4)
    return soft_weight * divergence + hard_weight * F.cross_entropy(student_logits, labels)


def train(model, loader, step, loss_of):
    optimizer = optim.Adam(model.parameters(), lr=5e-3)
    model.train()
    for _ in range(2):
        for inputs, labels in loader:
            optimizer.zero_grad()
            loss = loss_of(model(inputs), inputs, labels)
            loss.backward()
            optimizer.step()
            step += 1
            if step % 4 == 0:
                print(f"step {step} {type(model).__name__} loss {loss.item():.6g}")
    return step


def main():
    torch.manual_seed(42)
    digits = load_digits()
    images = torch.tensor(digits.images[:640, None] / 16, dtype=torch.float32)
    loader = DataLoader(TensorDataset(images, torch.tensor(digits.target[:640])), batch_size=64, shuffle=True)
    teacher, student = DeepNN(), LightNN()
    step = train(teacher, loader, 0, lambda out, x, y: F.cross_entropy(out, y))
    teacher.eval()

    def loss_of(logits, inputs, labels):
        with torch.no_grad():
            teacher_logits = teacher(inputs)
        return distilled(logits, teacher_logits, labels)

    train(student, loader, step, loss_of)
    print("parameters", sum(p.numel() for p in teacher.parameters()), sum(p.numel() for p in student.parameters()))


if __name__ == "__main__":
    main()
