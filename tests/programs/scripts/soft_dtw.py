"""A curve between two others that run at different speeds: soft dynamic time warping as a custom Function.

After Maghoumi's pytorch-softdtw-cuda and Cuturi and Blondel's "Soft-DTW".
"""

import numpy as np
import torch
from torch.autograd import Function


def compute_softdtw(D, gamma):
    B, N, M = D.shape
    R = np.full((B, N + 2, M + 2), np.inf)
    R[:, 0, 0] = 0
    for j in range(1, M + 1):
        for i in range(1, N + 1):
            r = np.stack([R[:, i - 1, j - 1], R[:, i - 1, j], R[:, i, j - 1]]) / -gamma
            rmax = r.max(0)
            R[:, i, j] = D[:, i - 1, j - 1] - gamma * (np.log(np.exp(r - rmax).sum(0)) + rmax)
    return R


def compute_softdtw_backward(D_, R, gamma):
    B, N, M = D_.shape
    D, E = np.zeros((B, N + 2, M + 2)), np.zeros((B, N + 2, M + 2))
    E[:, -1, -1] = 1
    D[:, 1 : N + 1, 1 : M + 1] = D_
    R[:, :, -1] = -np.inf
    R[:, -1, :] = -np.inf
    R[:, -1, -1] = R[:, -2, -2]
    for j in range(M, 0, -1):
        for i in range(N, 0, -1):
            a = np.exp((R[:, i + 1, j] - R[:, i, j] - D[:, i + 1, j]) / gamma)
            b = np.exp((R[:, i, j + 1] - R[:, i, j] - D[:, i, j + 1]) / gamma)
            c = np.exp((R[:, i + 1, j + 1] - R[:, i, j] - D[:, i + 1, j + 1]) / gamma)
            E[:, i, j] = E[:, i + 1, j] * a + E[:, i, j + 1] * b + E[:, i + 1, j + 1] * c
    return E[:, 1 : N + 1, 1 : M + 1]


class _SoftDTW(Function):
    @staticmethod
    def forward(ctx, D, gamma):
        gamma = torch.Tensor([gamma]).to(D.dtype)
        R = torch.Tensor(compute_softdtw(D.detach().cpu().numpy(), gamma.item())).to(D.dtype)
        ctx.save_for_backward(D, R, gamma)
        return R[:, -2, -2]

    @staticmethod
    def backward(ctx, grad_output):
        D, R, gamma = ctx.saved_tensors
        E = compute_softdtw_backward(D.detach().cpu().numpy(), R.detach().cpu().numpy(), gamma.item())
        E = torch.Tensor(E).to(grad_output.dtype)
        return grad_output.view(-1, 1, 1).expand_as(E) * E, None


class SoftDTW(torch.nn.Module):
    def __init__(self, gamma=1.0, normalize=False):
        super().__init__()
        self.gamma, self.normalize = gamma, normalize
        self.func_dtw = _SoftDTW.apply

    def calc_distance_matrix(self, x, y):
        n, m, d = x.size(1), y.size(1), x.size(2)
        x = x.unsqueeze(2).expand(-1, n, m, d)
        y = y.unsqueeze(1).expand(-1, n, m, d)
        return torch.pow(x - y, 2).sum(3)

    def forward(self, x, y):
        dtw = lambda a, b: self.func_dtw(self.calc_distance_matrix(a, b), self.gamma)
        return dtw(x, y) - 0.5 * (dtw(x, x) + dtw(y, y)) if self.normalize else dtw(x, y)


def main():
    torch.manual_seed(0)
    time = torch.linspace(0, 1, 14)
    series = torch.stack([torch.sin(6 * time), torch.sin(6 * time**1.5), torch.sin(6 * time**0.7)]).unsqueeze(-1)
    middle = torch.nn.Parameter(0.1 * torch.randn(1, 14, 1))
    criterion = SoftDTW(gamma=0.1)
    optimizer = torch.optim.Adam([middle], lr=0.1)
    for step in range(1, 25):
        optimizer.zero_grad()
        loss = criterion(middle.expand(3, -1, -1), series).mean()
        loss.backward()
        optimizer.step()
        if step % 3 == 0:
            print(f"step {step} loss {loss.item():.6g}")


if __name__ == "__main__":
    main()
