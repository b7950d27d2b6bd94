"""Products in bfloat16 with autocast, a gradient scaler, and accumulated gradients.

After PyTorch's recipe "Automatic mixed precision".
"""

import torch
from sklearn.datasets import load_wine


def make_model(in_size, out_size, num_layers):
    layers = []
    for _ in range(num_layers - 1):
        layers += [torch.nn.Linear(in_size, in_size), torch.nn.ReLU()]
    return torch.nn.Sequential(*layers, torch.nn.Linear(in_size, out_size))


def main():
    torch.manual_seed(0)
    wine = load_wine()
    x = torch.tensor(wine.data, dtype=torch.float32)
    x, y = (x - x.mean(0)) / x.std(0), torch.tensor(wine.target)
    net = make_model(13, 3, 3)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu")
    loss_fn = torch.nn.CrossEntropyLoss()
    accumulate = 2
    for step in range(1, 41):
        batch = torch.randint(0, len(y), (32,))
        with torch.autocast(device_type="cpu", dtype=torch.bfloat16):
            output = net(x[batch])
            assert output.dtype is torch.bfloat16
            loss = loss_fn(output, y[batch]) / accumulate
            assert loss.dtype is torch.float32
        scaler.scale(loss).backward()
        if step % accumulate == 0:
            scaler.unscale_(opt)
            torch.nn.utils.clip_grad_norm_(net.parameters(), max_norm=1.0)
            scaler.step(opt)
            scaler.update()
            opt.zero_grad()
        if step % 4 == 0:
            print(f"step {step} loss {loss.item() * accumulate:.6g}")


if __name__ == "__main__":
    main()
