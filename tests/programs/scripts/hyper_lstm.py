"""An LSTM cell whose weights a smaller LSTM scales at each step, with einsum.

After labml's annotated implementation of "HyperNetworks".
"""

import torch
from torch import nn


class LSTMCell(nn.Module):
    """A cell with layer norm of its gates, written out."""

    def __init__(self, input_size: int, hidden_size: int, layer_norm: bool = False):
        super().__init__()
        self.hidden_lin = nn.Linear(hidden_size, 4 * hidden_size)
        self.input_lin = nn.Linear(input_size, 4 * hidden_size, bias=False)
        self.layer_norm = nn.ModuleList([nn.LayerNorm(hidden_size) if layer_norm else nn.Identity() for _ in range(4)])

    def forward(self, x: torch.Tensor, h: torch.Tensor, c: torch.Tensor):
        ifgo = (self.hidden_lin(h) + self.input_lin(x)).chunk(4, dim=-1)
        i, f, g, o = [norm(part) for norm, part in zip(self.layer_norm, ifgo)]
        c_next = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        return torch.sigmoid(o) * torch.tanh(c_next), c_next


class HyperLSTMCell(nn.Module):
    def __init__(self, input_size: int, hidden_size: int, hyper_size: int, n_z: int):
        super().__init__()
        self.hyper = LSTMCell(hidden_size + input_size, hyper_size, layer_norm=True)
        self.z_h = nn.Linear(hyper_size, 4 * n_z)
        self.z_x = nn.Linear(hyper_size, 4 * n_z)
        self.z_b = nn.Linear(hyper_size, 4 * n_z, bias=False)
        self.d_h = nn.ModuleList([nn.Linear(n_z, hidden_size, bias=False) for _ in range(4)])
        self.d_x = nn.ModuleList([nn.Linear(n_z, hidden_size, bias=False) for _ in range(4)])
        self.d_b = nn.ModuleList([nn.Linear(n_z, hidden_size) for _ in range(4)])
        self.w_h = nn.ParameterList([nn.Parameter(torch.zeros(hidden_size, hidden_size)) for _ in range(4)])
        self.w_x = nn.ParameterList([nn.Parameter(torch.zeros(hidden_size, input_size)) for _ in range(4)])
        for w in (*self.w_h, *self.w_x):
            nn.init.xavier_uniform_(w)
        self.layer_norm = nn.ModuleList([nn.LayerNorm(hidden_size) for _ in range(4)])
        self.layer_norm_c = nn.LayerNorm(hidden_size)

    def forward(self, x, h, c, h_hat, c_hat):
        h_hat, c_hat = self.hyper(torch.cat((h, x), dim=-1), h_hat, c_hat)
        z_h, z_x, z_b = (lin(h_hat).chunk(4, dim=-1) for lin in (self.z_h, self.z_x, self.z_b))
        ifgo = []
        for i in range(4):
            y = self.d_h[i](z_h[i]) * torch.einsum("ij,bj->bi", self.w_h[i], h)
            y = y + self.d_x[i](z_x[i]) * torch.einsum("ij,bj->bi", self.w_x[i], x) + self.d_b[i](z_b[i])
            ifgo.append(self.layer_norm[i](y))
        i, f, g, o = ifgo
        c_next = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        return torch.sigmoid(o) * torch.tanh(self.layer_norm_c(c_next)), c_next, h_hat, c_hat


def main():
    torch.manual_seed(0)
    cell, head = HyperLSTMCell(1, 16, 8, 4), nn.Linear(16, 1)
    optimizer = torch.optim.Adam([*cell.parameters(), *head.parameters()], lr=0.01)
    for step in range(1, 21):
        bits = torch.randint(0, 2, (32, 6)).float()
        state = [torch.zeros(32, n) for n in (16, 16, 8, 8)]
        logits = []
        for x in bits.unbind(1):
            state = cell(x[:, None], *state)
            logits.append(head(state[0])[:, 0])
        parity = bits.cumsum(1) % 2  # of the bits so far
        loss = nn.functional.binary_cross_entropy_with_logits(torch.stack(logits, 1), parity)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 2 == 0:
            print(f"step {step} loss {loss.item():.6g}")


if __name__ == "__main__":
    main()
