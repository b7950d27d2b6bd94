"""Vectors of users and items predict missing ratings, with clipping and early stopping.

After spotlight's and "Dive into deep learning"'s matrix factorization.
"""

import copy

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split


class MF(nn.Module):
    def __init__(self, num_factors, num_users, num_items):
        super().__init__()
        self.P, self.Q = nn.Embedding(num_users, num_factors), nn.Embedding(num_items, num_factors)
        self.user_bias, self.item_bias = nn.Embedding(num_users, 1), nn.Embedding(num_items, 1)
        for table in (self.P, self.Q):
            nn.init.normal_(table.weight, std=0.1)
        for table in (self.user_bias, self.item_bias):
            nn.init.zeros_(table.weight)
        self.mean = nn.Parameter(torch.tensor(3.0))

    def forward(self, user_id, item_id):
        b_u, b_i = self.user_bias(user_id), self.item_bias(item_id)
        return self.mean + (self.P(user_id) * self.Q(item_id)).sum(1) + b_u.flatten() + b_i.flatten()


def made_ratings(users=50, items=40, n=1500):
    tastes, kinds = torch.randn(users, 2), torch.randn(items, 2)
    user, item = torch.randint(users, (n,)), torch.randint(items, (n,))
    rating = 3 + (tastes[user] * kinds[item]).sum(1) + 0.3 * torch.randn(n)
    return user, item, rating.round().clamp(1, 5)


def main():
    torch.manual_seed(0)
    data = TensorDataset(*made_ratings())
    train, valid = random_split(data, [0.8, 0.2], generator=torch.Generator().manual_seed(1))
    model = MF(4, 50, 40)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.03, weight_decay=0.1)
    step, best, patience = 0, (float("inf"), None), 2
    for _ in range(10):
        model.train()
        for user, item, rating in DataLoader(train, batch_size=100, shuffle=True):
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(user, item), rating)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            step += 1
        model.eval()
        with torch.no_grad():
            user, item, rating = next(iter(DataLoader(valid, batch_size=len(valid))))
            rmse = nn.functional.mse_loss(model(user, item), rating).sqrt().item()
        print(f"step {step} RMSE of the others {rmse:.4f} loss {loss.item():.6g}")
        if rmse < best[0]:
            best, patience = (rmse, copy.deepcopy(model.state_dict())), 2
        else:
            patience -= 1
            if not patience:
                break
    model.load_state_dict(best[1])


if __name__ == "__main__":
    main()
