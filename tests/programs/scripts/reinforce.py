"""REINFORCE learns to balance a pole, with moves from a Categorical distribution, in double precision.

After PyTorch's example "reinforcement_learning/reinforce".
"""

import math
from collections import deque

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.distributions import Categorical


class Pole:
    """A pole on a cart, as control theory's textbooks have it; it has fallen beyond 12 degrees."""

    def reset(self):
        self.state = (torch.rand(4) * 0.1 - 0.05).tolist()
        return self.state

    def step(self, action):
        x, v, angle, w = self.state
        force = 10.0 if action == 1 else -10.0
        push = (force + 0.05 * w * w * math.sin(angle)) / 1.1
        turn = (9.8 * math.sin(angle) - math.cos(angle) * push) / (0.5 * (4 / 3 - 0.1 * math.cos(angle) ** 2 / 1.1))
        move = push - 0.05 * turn * math.cos(angle) / 1.1
        self.state = [x + 0.02 * v, v + 0.02 * move, angle + 0.02 * w, w + 0.02 * turn]
        return self.state, 1.0, abs(self.state[0]) > 2.4 or abs(self.state[2]) > 12 * math.pi / 180


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.affine1 = nn.Linear(4, 32)
        self.dropout = nn.Dropout(p=0.1)
        self.affine2 = nn.Linear(32, 2)
        self.saved_log_probs = []
        self.rewards = []

    def forward(self, x):
        x = F.relu(self.dropout(self.affine1(x)))
        return F.softmax(self.affine2(x), dim=1)

    def select_action(self, state):
        m = Categorical(self(torch.tensor(state).unsqueeze(0)))
        action = m.sample()
        self.saved_log_probs.append(m.log_prob(action))
        return action.item()


def finish_episode(policy, optimizer, gamma=0.99, eps=1e-8):
    R, policy_loss, returns = 0, [], deque()
    for r in policy.rewards[::-1]:
        R = r + gamma * R
        returns.appendleft(R)
    returns = torch.tensor(returns)
    returns = (returns - returns.mean()) / (returns.std() + eps)
    for log_prob, R in zip(policy.saved_log_probs, returns):
        policy_loss.append(-log_prob * R)
    optimizer.zero_grad()
    policy_loss = torch.cat(policy_loss).sum()
    policy_loss.backward()
    optimizer.step()
    del policy.rewards[:]
    del policy.saved_log_probs[:]
    return policy_loss.item()


def main():
    torch.manual_seed(543)
    torch.set_default_dtype(torch.float64)
    env, policy = Pole(), Policy()
    optimizer = optim.Adam(policy.parameters(), lr=1e-2)
    running = 10.0
    for episode in range(1, 25):
        state, lasted = env.reset(), 0
        for lasted in range(1, 100):  # noqa: B007
            state, reward, done = env.step(policy.select_action(state))
            policy.rewards.append(reward)
            if done:
                break
        running = 0.05 * lasted + 0.95 * running
        loss = finish_episode(policy, optimizer)
        if episode % 3 == 0:
            print(f"step {episode} lasted {lasted}, on average {running:.2f}, loss {loss:.6g}")


if __name__ == "__main__":
    main()
