"""Each layer learns by itself, from pictures with a right and with a wrong label painted in.

After PyTorch's example "mnist_forward_forward".
"""

import torch
import torch.nn as nn
from sklearn.datasets import load_digits
from torch.optim import Adam


def get_y_neg(y):
    """Another label for each."""
    return (y + torch.randint(1, 10, y.shape)) % 10


def overlay_y_on_x(x, y):
    x_ = x.clone()
    x_[:, :10] *= 0.0
    x_[range(x.shape[0]), y] = x.max()
    return x_


class Layer(nn.Linear):
    def __init__(self, in_features, out_features, threshold=2.0, lr=0.02):
        super().__init__(in_features, out_features)
        self.relu = torch.nn.ReLU()
        self.opt = Adam(self.parameters(), lr=lr)
        self.threshold = threshold

    def forward(self, x):
        x_direction = x / (x.norm(2, 1, keepdim=True) + 1e-4)
        return self.relu(torch.mm(x_direction, self.weight.T) + self.bias.unsqueeze(0))

    def train_once(self, x_pos, x_neg):
        g_pos = self.forward(x_pos).pow(2).mean(1)
        g_neg = self.forward(x_neg).pow(2).mean(1)
        loss = torch.log(1 + torch.exp(torch.cat([-g_pos + self.threshold, g_neg - self.threshold]))).mean()
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return self.forward(x_pos).detach(), self.forward(x_neg).detach(), loss.item()


class Net(torch.nn.Module):
    def __init__(self, dims):
        super().__init__()
        self.layers = nn.ModuleList(Layer(a, b) for a, b in zip(dims, dims[1:]))

    @torch.no_grad()
    def predict(self, x):
        goodness_per_label = []
        for label in range(10):
            h, goodness = overlay_y_on_x(x, label), 0
            for layer in self.layers:
                h = layer(h)
                goodness = goodness + h.pow(2).mean(1)
            goodness_per_label += [goodness.unsqueeze(1)]
        return torch.cat(goodness_per_label, 1).argmax(1)


def main():
    torch.manual_seed(1234)
    digits = load_digits()
    x = torch.tensor(digits.data / 16, dtype=torch.float32)
    x = torch.cat([torch.zeros(len(x), 10), x], 1)[:600]
    y = torch.tensor(digits.target)[:600]
    net = Net([74, 64, 64])
    x_pos, x_neg = overlay_y_on_x(x, y), overlay_y_on_x(x, get_y_neg(y))
    for step in range(1, 61):
        h_pos, h_neg, losses = x_pos, x_neg, []
        for layer in net.layers:
            h_pos, h_neg, loss = layer.train_once(h_pos, h_neg)
            losses.append(loss)
        if step % 6 == 0:
            print(f"step {step} first layer {losses[0]:.4f}, sum of the layers' loss {sum(losses):.6g}")
    print("train error:", 1.0 - net.predict(x).eq(y).float().mean().item())


if __name__ == "__main__":
    main()
