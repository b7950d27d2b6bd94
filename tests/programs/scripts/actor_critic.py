"""A ship learns to land: an actor draws thrusts from a normal distribution, a critic values states, in double precision.

After PyTorch's example "reinforcement_learning/actor_critic".
"""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Independent, Normal


class Lander:
    """Height and speed above the ground; thrust works against gravity, and costs."""

    def reset(self):
        self.height, self.speed = 1.0 + 0.2 * torch.rand(()).item(), 0.0
        return torch.tensor([self.height, self.speed])

    def step(self, thrust):
        self.speed += 0.1 * (min(max(thrust, 0.0), 2.0) - 1.0)
        self.height = max(self.height + 0.1 * self.speed, 0.0)
        reward = -abs(self.height) - 0.1 * thrust**2
        done = self.height == 0.0
        return torch.tensor([self.height, self.speed]), reward - (2 * abs(self.speed) if done else 0), done


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.affine1 = nn.Linear(2, 32)
        self.mean = nn.Linear(32, 1)
        self.log_std = nn.Parameter(torch.zeros(1))
        self.value_head = nn.Linear(32, 1)

    def forward(self, x):
        x = F.relu(self.affine1(x))
        return Independent(Normal(self.mean(x), self.log_std.exp()), 1), self.value_head(x)


def episode(env, model, longest=25):
    state, saved, rewards = env.reset(), [], []
    for _ in range(longest):
        policy, value = model(state)
        action = policy.sample()
        saved.append((policy.log_prob(action), value, policy.entropy()))
        state, reward, done = env.step(action.item())
        rewards.append(reward)
        if done:
            break
    return saved, rewards


def loss_of(saved, rewards, gamma=0.99):
    R, returns = 0.0, []
    for r in reversed(rewards):
        R = r + gamma * R
        returns.insert(0, R)
    returns = torch.tensor(returns)
    returns = (returns - returns.mean()) / (returns.std() + 1e-8)
    policy_losses, value_losses = [], []
    for (log_prob, value, entropy), R in zip(saved, returns):
        advantage = R - value.item()
        policy_losses.append(-log_prob * advantage - 0.01 * entropy)
        value_losses.append(F.smooth_l1_loss(value, torch.tensor([R])))
    return torch.stack(policy_losses).sum() + torch.stack(value_losses).sum()


def main():
    torch.manual_seed(0)
    torch.set_default_dtype(torch.float64)
    env, model = Lander(), ActorCritic()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for step in range(1, 31):
        saved, rewards = episode(env, model)
        loss = loss_of(saved, rewards)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 3 == 0:
            print(f"step {step} reward {sum(rewards):.3f} loss {loss.item():.6g}")


if __name__ == "__main__":
    main()
