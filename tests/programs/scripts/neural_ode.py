"""An ordinary differential equation learns a spiral; the backward pass solves another one backwards in time.

After rtqichen's torchdiffeq (`odeint_adjoint`, `ode_demo.py`).
"""

import torch
import torch.nn as nn


class ODEFunc(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 24), nn.Tanh(), nn.Linear(24, 2))
        for m in self.net.modules():
            if isinstance(m, nn.Linear):
                nn.init.normal_(m.weight, mean=0, std=0.1)
                nn.init.constant_(m.bias, val=0)

    def forward(self, t, y):
        return self.net(y**3)


def rk4_step(f, t, y, dt):
    k1 = f(t, y)
    k2 = f(t + dt / 2, tuple(a + dt / 2 * k for a, k in zip(y, k1)))
    k3 = f(t + dt / 2, tuple(a + dt / 2 * k for a, k in zip(y, k2)))
    k4 = f(t + dt, tuple(a + dt * k for a, k in zip(y, k3)))
    return tuple(a + dt / 6 * (p + 2 * q + 2 * r + s) for a, p, q, r, s in zip(y, k1, k2, k3, k4))


class OdeintAdjointMethod(torch.autograd.Function):
    @staticmethod
    def forward(ctx, func, y0, t, *params):
        with torch.no_grad():
            ys = [y0]
            for a, b in zip(t[:-1], t[1:]):
                ys.append(rk4_step(lambda t, y: (func(t, y[0]),), a, (ys[-1],), b - a)[0])
            y = torch.stack(ys)
        ctx.func = func
        ctx.save_for_backward(t, y, *params)
        return y

    @staticmethod
    def backward(ctx, grad_y):
        func = ctx.func
        t, y, *params = ctx.saved_tensors

        def augmented_dynamics(s, state):
            y, adj_y = state[0], state[1]
            with torch.enable_grad():
                y = y.detach().requires_grad_(True)
                out = func(s, y)
                vjps = torch.autograd.grad(out, (y, *params), -adj_y, allow_unused=True)
            return (out.detach(), *vjps)

        with torch.no_grad():
            adj_y, adj_params = grad_y[-1], [torch.zeros_like(p) for p in params]
            for i in range(len(t) - 1, 0, -1):
                state = rk4_step(augmented_dynamics, t[i], (y[i], adj_y, *adj_params), t[i - 1] - t[i])
                adj_y, adj_params = state[1] + grad_y[i - 1], list(state[2:])
        return None, adj_y, None, *adj_params


def odeint_adjoint(func, y0, t):
    return OdeintAdjointMethod.apply(func, y0, t, *func.parameters())


def main():
    torch.manual_seed(0)
    t = torch.linspace(0.0, 4.0, 33)
    true_A = torch.tensor([[-0.1, 2.0], [-2.0, -0.1]])
    ys = [torch.tensor([[2.0, 0.0]])]
    for a, b in zip(t[:-1], t[1:]):
        ys.append(rk4_step(lambda s, y: (torch.mm(y[0] ** 3, true_A),), a, (ys[-1],), b - a)[0])
    true_y = torch.stack(ys)
    func = ODEFunc()
    optimizer = torch.optim.RMSprop(func.parameters(), lr=5e-3)
    for step in range(1, 25):
        s = torch.randperm(28)[:8]
        batch_y = torch.stack([true_y[s + i] for i in range(5)], dim=0)
        optimizer.zero_grad()
        pred_y = odeint_adjoint(func, true_y[s], t[:5])
        loss = torch.mean(torch.abs(pred_y - batch_y))
        loss.backward()
        optimizer.step()
        if step % 3 == 0:
            print(f"step {step} loss {loss.item():.6g}")


if __name__ == "__main__":
    main()
