"""A picture with the content of one picture and the style of another: Gram matrices of a network's features.

After PyTorch's tutorial "Neural transfer using PyTorch", with a network of random weights.
"""

import copy

import torch
import torch.nn as nn
import torch.nn.functional as F


class ContentLoss(nn.Module):
    def __init__(self, target):
        super().__init__()
        self.target = target.detach()

    def forward(self, input):
        self.loss = F.mse_loss(input, self.target)
        return input


def gram_matrix(input):
    a, b, c, d = input.size()
    features = input.view(a * b, c * d)
    G = torch.mm(features, features.t())
    return G.div(a * b * c * d)


class StyleLoss(nn.Module):
    def __init__(self, target_feature):
        super().__init__()
        self.target = gram_matrix(target_feature).detach()

    def forward(self, input):
        self.loss = F.mse_loss(gram_matrix(input), self.target)
        return input


def with_losses(cnn, style_img, content_img):
    cnn = copy.deepcopy(cnn)
    content_losses, style_losses, i = [], [], 0
    model = nn.Sequential()
    for layer in cnn.children():
        if isinstance(layer, nn.Conv2d):
            i += 1
            name = f"conv_{i}"
        elif isinstance(layer, nn.ReLU):
            name, layer = f"relu_{i}", nn.ReLU(inplace=False)
        else:
            name = f"pool_{i}"
        model.add_module(name, layer)
        if name == "conv_2":
            content_losses.append(ContentLoss(model(content_img)))
            model.add_module(f"content_loss_{i}", content_losses[-1])
        if name.startswith("conv"):
            style_losses.append(StyleLoss(model(style_img)))
            model.add_module(f"style_loss_{i}", style_losses[-1])
    return model.eval().requires_grad_(False), style_losses, content_losses


def main():
    torch.manual_seed(0)
    torch.set_default_dtype(torch.float64)
    cnn = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3, padding=1), nn.ReLU()
    )  # fmt: skip
    line = torch.linspace(0, 1, 24)
    content = torch.stack([line[:, None] * line, (line[:, None] - line).abs(), 1 - line[:, None] * line])[None]
    style = ((line * 40).sin()[:, None] * (line * 25).cos())[None, None].repeat(1, 3, 1, 1) / 2 + 0.5
    model, style_losses, content_losses = with_losses(cnn, style, content)
    input_img = content.clone().requires_grad_(True)
    optimizer = torch.optim.Adam([input_img], lr=0.02)
    for step in range(1, 41):
        with torch.no_grad():
            input_img.clamp_(0, 1)
        optimizer.zero_grad()
        model(input_img)
        style_score = sum(sl.loss for sl in style_losses) * 1e4
        content_score = sum(cl.loss for cl in content_losses)
        loss = style_score + content_score
        loss.backward()
        optimizer.step()
        if step % 5 == 0:
            print(f"step {step} style {style_score.item():.4g} loss {loss.item():.6g}")


if __name__ == "__main__":
    main()
