"""A network learns to satisfy Burgers' equation: second derivatives by autograd, then LBFGS.

After jayroxis' PINNs, of Raissi and others' "Physics-informed neural networks".
"""

import math

import torch
from torch import nn
from torch.autograd import grad


class DNN(nn.Module):
    def __init__(self, layers):
        super().__init__()
        parts = []
        for a, b in zip(layers[:-2], layers[1:-1]):
            parts += [nn.Linear(a, b), nn.Tanh()]
        self.layers = nn.Sequential(*parts, nn.Linear(layers[-2], layers[-1]))

    def forward(self, x, t):
        return self.layers(torch.cat([x, t], dim=1))


class PhysicsInformedNN:
    def __init__(self, n_inside=150, n_border=30):
        self.nu, self.iter = 0.1, 0
        self.dnn = DNN([2, 16, 16, 1])
        self.x = (2 * torch.rand(n_inside, 1) - 1).requires_grad_(True)
        self.t = torch.rand(n_inside, 1).requires_grad_(True)
        start = 2 * torch.rand(n_border, 1) - 1
        side, when = torch.sign(torch.rand(n_border, 1) - 0.5), torch.rand(n_border, 1)
        self.x_u, self.t_u = torch.cat([start, side]), torch.cat([torch.zeros_like(start), when])
        self.u = torch.cat([-torch.sin(math.pi * start), torch.zeros_like(side)])

    def net_f(self):
        u = self.dnn(self.x, self.t)
        ones = torch.ones_like(u)
        u_t = grad(u, self.t, grad_outputs=ones, retain_graph=True, create_graph=True)[0]
        u_x = grad(u, self.x, grad_outputs=ones, retain_graph=True, create_graph=True)[0]
        u_xx = grad(u_x, self.x, grad_outputs=torch.ones_like(u_x), retain_graph=True, create_graph=True)[0]
        return u_t + u * u_x - self.nu * u_xx

    def loss_func(self):
        self.optimizer.zero_grad()
        loss_u = torch.mean((self.u - self.dnn(self.x_u, self.t_u)) ** 2)
        loss_f = torch.mean(self.net_f() ** 2)
        loss = loss_u + loss_f
        loss.backward()
        self.iter += 1
        if self.iter % 5 == 0:
            print(f"step {self.iter} equation {loss_f.item():.4g} loss {loss.item():.6g}")
        return loss

    def train(self):
        self.optimizer = torch.optim.Adam(self.dnn.parameters(), lr=5e-3)
        for _ in range(25):
            self.optimizer.step(self.loss_func)
        self.optimizer = torch.optim.LBFGS(
            self.dnn.parameters(), lr=1.0, max_iter=20, history_size=50, line_search_fn="strong_wolfe"
        )
        self.optimizer.step(self.loss_func)


def main():
    torch.manual_seed(1234)
    torch.set_default_dtype(torch.float64)
    PhysicsInformedNN().train()


if __name__ == "__main__":
    main()
