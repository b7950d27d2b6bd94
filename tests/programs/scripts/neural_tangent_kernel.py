"""A wide network trains as its tangent kernel predicts: the kernel by jacrev and vmap, and the loss next to the prediction.

After PyTorch's tutorial "Neural tangent kernels", in double precision.
"""

import torch
from torch import nn
from torch.func import functional_call, jacrev, jvp, vjp, vmap


def empirical_ntk(fnet_single, params, x1, x2):
    jac1 = vmap(jacrev(fnet_single), (None, 0))(params, x1)
    jac2 = vmap(jacrev(fnet_single), (None, 0))(params, x2)
    pairs = [(jac1[name].flatten(2), jac2[name].flatten(2)) for name in params]
    return torch.stack([torch.einsum("Naf,Mbf->NMab", j1, j2) for j1, j2 in pairs]).sum(0)


def empirical_ntk_implicit(func, params, x1, x2):
    """Return the same kernel by vjp and jvp, without a Jacobian."""

    def get_ntk(x1, x2):
        output, vjp_fn = vjp(lambda params: func(params, x1), params)

        def get_ntk_slice(vec):
            return jvp(lambda params: func(params, x2), (params,), vjp_fn(vec))[1]

        return vmap(get_ntk_slice)(torch.eye(output.numel(), dtype=output.dtype))

    return vmap(vmap(get_ntk, (None, 0)), (0, None))(x1, x2)


def main():
    torch.manual_seed(0)
    torch.set_default_dtype(torch.float64)
    net = nn.Sequential(nn.Linear(2, 64), nn.Tanh(), nn.Linear(64, 1))
    x = torch.randn(10, 2)
    y = (x[:, :1] * x[:, 1:]).tanh()

    def fnet_single(params, x):
        return functional_call(net, params, (x.unsqueeze(0),)).squeeze(0)

    params = {k: v.detach() for k, v in net.named_parameters()}
    ntk = empirical_ntk(fnet_single, params, x, x)[:, :, 0, 0]
    implicit = empirical_ntk_implicit(fnet_single, params, x, x)[:, :, 0, 0]
    print("largest difference of the two kernels:", f"{(ntk - implicit).abs().max().item():.1e}")
    lr, residual = 0.02, net(x).detach() - y
    decay = torch.eye(10) - lr * ntk / 10 * 2
    optimizer = torch.optim.SGD(net.parameters(), lr=lr)
    for step in range(1, 81):
        loss = nn.functional.mse_loss(net(x), y)
        forecast = residual.pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        residual = decay @ residual
        if step % 8 == 0:
            print(f"step {step} forecast {forecast.item():.6g} loss {loss.item():.6g}")


if __name__ == "__main__":
    main()
