"""Newton's method with Hessians by torch.func, and Hessian-vector products three ways.

After PyTorch's tutorial "Jacobians, Hessians, hvp, vhp, and more", in double precision.
"""

import torch
import torch.nn.functional as F
from sklearn.datasets import load_breast_cancer
from torch.func import grad, hessian, jacfwd, jacrev, jvp, vjp, vmap


def main():
    torch.manual_seed(0)
    data = load_breast_cancer()
    x = torch.tensor(data.data[:, :8])
    x = (x - x.mean(0)) / x.std(0)
    x = torch.cat([x, torch.ones(len(x), 1, dtype=x.dtype)], 1)
    y = torch.tensor(data.target, dtype=x.dtype)

    def objective(w):
        return F.binary_cross_entropy_with_logits(x @ w, y) + 1e-3 * w.pow(2).sum()

    def hvp_rev(f, w, v):
        _, vjp_fn = vjp(grad(f), w)
        return vjp_fn(v)[0]

    w = torch.zeros(9, dtype=x.dtype)
    v = torch.randn(9, dtype=x.dtype)
    for step in range(1, 8):
        print(f"step {step} loss {objective(w).item():.6g}")
        H = hessian(objective)(w)
        by_rows = vmap(vjp(grad(objective), w)[1])(torch.eye(9, dtype=x.dtype))[0]
        mixed = jacfwd(jacrev(objective))(w), jacrev(jacrev(objective))(w), by_rows
        assert all(torch.allclose(H, other) for other in mixed)
        forward_over_reverse = jvp(grad(objective), (w,), (v,))[1]
        functional = torch.autograd.functional.hvp(objective, w, v)[1]
        for product in (hvp_rev(objective, w, v), forward_over_reverse, functional):
            assert torch.allclose(product, H @ v)
        w = w - torch.linalg.solve(H, grad(objective)(w))
    print(f"norm of the gradient {grad(objective)(w).norm().item():.1e}")


if __name__ == "__main__":
    main()
