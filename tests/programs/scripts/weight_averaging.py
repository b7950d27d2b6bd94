"""Two averages of the weights, of late steps and exponential, with new batch statistics at the end.

After PyTorch's blog post "Stochastic weight averaging" and `torch.optim.swa_utils`.
"""

import torch
from sklearn.datasets import load_breast_cancer
from torch import nn
from torch.optim.swa_utils import SWALR, AveragedModel, get_ema_multi_avg_fn, update_bn
from torch.utils.data import DataLoader, TensorDataset


def main():
    torch.manual_seed(0)
    cancer = load_breast_cancer()
    x, y = torch.tensor(cancer.data, dtype=torch.float32), torch.tensor(cancer.target, dtype=torch.float32)
    x = (x - x.mean(0)) / x.std(0)
    loader = DataLoader(TensorDataset(x[:400], y[:400]), batch_size=50, shuffle=True)
    model = nn.Sequential(nn.Linear(30, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 1), nn.Flatten(0))
    loss_fn = nn.BCEWithLogitsLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.9)
    swa_model, swa_start = AveragedModel(model), 3
    ema_model = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.9), use_buffers=True)
    swa_scheduler = SWALR(optimizer, swa_lr=0.05, anneal_epochs=2)
    step = 0
    for epoch in range(6):
        for input, target in loader:
            optimizer.zero_grad()
            loss = loss_fn(model(input), target)
            loss.backward()
            optimizer.step()
            ema_model.update_parameters(model)
            step += 1
            if step % 6 == 0:
                print(f"step {step} lr {optimizer.param_groups[0]['lr']:.4g} loss {loss.item():.6g}")
        if epoch > swa_start:
            swa_model.update_parameters(model)
            swa_scheduler.step()
        else:
            scheduler.step()
    update_bn((input for input, _ in loader), swa_model)
    for name, averaged in (("last", model), ("average", swa_model), ("moving average", ema_model)):
        averaged.eval()
        with torch.no_grad():
            loss = loss_fn(averaged(x[400:]), y[400:])
        step += 1
        print(f"step {step} test of the {name} weights: loss {loss.item():.6g}")


if __name__ == "__main__":
    main()
