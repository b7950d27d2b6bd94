"""Graph convolutions predict the groups of a club that splits up, from friendships and a few labels.

After PyTorch's example "gcn".
"""

import argparse

import torch
import torch.nn.functional as F
from torch import nn
from torch.optim import Adam


def made_graph(n=60, n_classes=3):
    """Return groups whose members know each other more often than others."""
    labels = torch.arange(n) % n_classes
    probability = torch.where(labels[:, None] == labels, 0.3, 0.03)
    adjacency = torch.bernoulli(probability).triu(1)
    adjacency = adjacency + adjacency.T + torch.eye(n)
    degree = adjacency.sum(1).pow(-0.5)
    features = F.one_hot(labels, n_classes).float() + 2 * torch.randn(n, n_classes)
    return features, degree[:, None] * adjacency * degree, labels


class GraphConv(nn.Module):
    def __init__(self, input_dim, output_dim, use_bias=False):
        super().__init__()
        self.kernel = nn.Parameter(torch.Tensor(input_dim, output_dim))
        nn.init.xavier_normal_(self.kernel)
        self.bias = None
        if use_bias:
            self.bias = nn.Parameter(torch.Tensor(output_dim))
            nn.init.zeros_(self.bias)

    def forward(self, input_tensor, adj_mat):
        support = torch.mm(input_tensor, self.kernel)
        output = torch.mm(adj_mat, support)
        return output if self.bias is None else output + self.bias


class GCN(nn.Module):
    def __init__(self, input_dim, hidden_dim, output_dim, use_bias=True, dropout_p=0.1):
        super().__init__()
        self.gc1 = GraphConv(input_dim, hidden_dim, use_bias=use_bias)
        self.gc2 = GraphConv(hidden_dim, output_dim, use_bias=use_bias)
        self.dropout = nn.Dropout(dropout_p)

    def forward(self, input_tensor, adj_mat):
        x = self.dropout(F.relu(self.gc1(input_tensor, adj_mat)))
        return F.log_softmax(self.gc2(x, adj_mat), dim=1)


def main():
    parser = argparse.ArgumentParser(description="Graph convolutional network")
    parser.add_argument("--epochs", type=int, default=100)
    parser.add_argument("--lr", type=float, default=0.01)
    parser.add_argument("--l2", type=float, default=5e-4)
    args = parser.parse_args()
    torch.manual_seed(42)
    features, adj_mat, labels = made_graph()
    idx = torch.randperm(len(labels))
    idx_test, idx_train = idx[:40], idx[40:]
    gcn = GCN(features.shape[1], 16, int(labels.max()) + 1)
    optimizer = Adam(gcn.parameters(), lr=args.lr, weight_decay=args.l2)
    criterion = nn.NLLLoss()
    for step in range(1, args.epochs + 1):
        gcn.train()
        optimizer.zero_grad()
        loss = criterion(gcn(features, adj_mat)[idx_train], labels[idx_train])
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            print(f"step {step} loss {loss.item():.6g}")
    gcn.eval()
    with torch.no_grad():
        right = gcn(features, adj_mat)[idx_test].argmax(1) == labels[idx_test]
    print(f"accuracy of the others {right.float().mean():.2f}")


if __name__ == "__main__":
    main()
