"""Each input uses one of several experts, and a loss spreads inputs evenly among them.

After labml's annotated "Switch transformer".
"""

import torch
from torch import nn


class SwitchFeedForward(nn.Module):
    def __init__(self, *, capacity_factor: float, n_experts: int, d_model: int, d_ff: int):
        super().__init__()
        self.capacity_factor, self.n_experts = capacity_factor, n_experts
        self.experts = nn.ModuleList(
            [nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model)) for _ in range(n_experts)]
        )
        self.switch = nn.Linear(d_model, n_experts)
        self.softmax = nn.Softmax(dim=-1)

    def forward(self, x: torch.Tensor):
        route_prob = self.softmax(self.switch(x))
        route_prob_max, routes = torch.max(route_prob, dim=-1)
        indexes_list = [torch.eq(routes, i).nonzero(as_tuple=True)[0] for i in range(self.n_experts)]
        final_output = x.new_zeros(x.shape)
        capacity = int(self.capacity_factor * len(x) / self.n_experts)
        counts = x.new_tensor([len(indexes) for indexes in indexes_list])
        dropped = []
        for i, indexes in enumerate(indexes_list):
            if len(indexes) > capacity:
                dropped.append(indexes[capacity:])
                indexes_list[i] = indexes[:capacity]
        expert_output = [self.experts[i](x[indexes_list[i], :]) for i in range(self.n_experts)]
        for i in range(self.n_experts):
            final_output[indexes_list[i], :] = expert_output[i]
        if dropped:
            dropped = torch.cat(dropped)
            final_output[dropped, :] = x[dropped, :]
        final_output = final_output * route_prob_max.view(-1, 1)
        return final_output, counts, route_prob.sum(0), len(dropped)


def main():
    torch.manual_seed(0)
    model = SwitchFeedForward(capacity_factor=1.2, n_experts=4, d_model=4, d_ff=16)
    head = nn.Linear(4, 1)
    optimizer = torch.optim.Adam([*model.parameters(), *head.parameters()], lr=0.01)
    for step in range(1, 61):
        x = torch.randn(128, 4)
        y = torch.where(x[:, :1] > 0, x[:, 1:2] * x[:, 2:3], x[:, 1:2].abs() - x[:, 3:4])
        out, counts, route_prob, n_dropped = model(x)
        balancing = model.n_experts * ((counts / len(x)) * (route_prob / len(x))).sum()
        loss = nn.functional.huber_loss(head(x + out), y) + 0.01 * balancing
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 6 == 0:
            print(f"step {step} dropped {n_dropped} loss {loss.item():.6g}")


if __name__ == "__main__":
    main()
