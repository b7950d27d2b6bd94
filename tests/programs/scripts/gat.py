"""Attention among neighbours predicts the groups of a graph, with a list of edges instead of a matrix.

After PyTorch's example "gat" and implementations with scatter_add.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


def made_graph(n=48, n_classes=3):
    labels = torch.arange(n) % n_classes
    probability = torch.where(labels[:, None] == labels, 0.3, 0.04)
    edges = (torch.rand(n, n) < probability) | torch.eye(n, dtype=torch.bool)
    features = F.one_hot(labels, n_classes).float() + torch.randn(n, n_classes)
    return features, edges.nonzero().t(), labels


class GraphAttentionLayer(nn.Module):
    def __init__(self, in_features, out_features, n_heads, concat=True, dropout=0.1, leaky_relu_slope=0.2):
        super().__init__()
        self.n_heads, self.concat, self.dropout = n_heads, concat, dropout
        self.n_hidden = out_features // n_heads if concat else out_features
        self.W = nn.Parameter(torch.empty(size=(in_features, self.n_hidden * n_heads)))
        self.a = nn.Parameter(torch.empty(size=(n_heads, 2 * self.n_hidden)))
        self.leakyrelu = nn.LeakyReLU(leaky_relu_slope)
        nn.init.xavier_normal_(self.W)
        nn.init.xavier_normal_(self.a)

    def forward(self, h, edge_index):
        source, target = edge_index
        n = h.shape[0]
        h = torch.mm(h, self.W).view(n, self.n_heads, self.n_hidden)
        scores = self.leakyrelu((torch.cat([h[source], h[target]], -1) * self.a).sum(-1))
        index = target.unsqueeze(-1).expand_as(scores)
        largest = scores.new_full((n, self.n_heads), -torch.inf).scatter_reduce(0, index, scores.detach(), "amax")
        weights = (scores - largest[target]).exp()
        total = weights.new_zeros(n, self.n_heads).scatter_add(0, index, weights)
        weights = F.dropout(weights / total[target], self.dropout, self.training)
        out = torch.zeros_like(h).index_add(0, target, weights.unsqueeze(-1) * h[source])
        return F.elu(out.flatten(1)) if self.concat else out.mean(1)


class GAT(nn.Module):
    def __init__(self, in_features, n_hidden, n_heads, n_classes):
        super().__init__()
        self.gat1 = GraphAttentionLayer(in_features, n_hidden, n_heads)
        self.gat2 = GraphAttentionLayer(n_hidden, n_classes, 1, concat=False)

    def forward(self, x, edge_index):
        return F.log_softmax(self.gat2(self.gat1(x, edge_index), edge_index), dim=1)


def main():
    torch.manual_seed(13)
    features, edge_index, labels = made_graph()
    train = torch.arange(len(labels)) < 24
    net = GAT(features.shape[1], 16, 4, 3)
    optimizer = torch.optim.Adam(net.parameters(), lr=0.02, weight_decay=5e-4)
    for step in range(1, 61):
        net.train()
        optimizer.zero_grad()
        loss = F.nll_loss(net(features, edge_index)[train], labels[train])
        loss.backward()
        optimizer.step()
        if step % 6 == 0:
            print(f"step {step} loss {loss.item():.6g}")
    net.eval()
    right = (net(features, edge_index).argmax(1) == labels)[~train]
    print(f"accuracy of the others {right.float().mean().item():.2f}")


if __name__ == "__main__":
    main()
