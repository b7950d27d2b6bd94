"""Deep Q-learning finds a path through a grid, with a replay memory and a slow target network, in double precision.

After PyTorch's tutorial "Reinforcement learning (DQN)".
"""

import random
from collections import deque, namedtuple

import torch
import torch.nn as nn
import torch.optim as optim

Transition = namedtuple("Transition", ("state", "action", "next_state", "reward"))
SIZE, GOAL = 4, (3, 3)
MOVES = ((0, 1), (1, 0), (0, -1), (-1, 0))
BATCH_SIZE, GAMMA, TAU = 32, 0.95, 0.05


class Grid:
    """Walk from one corner to the other; each step costs a little, the goal ends the walk."""

    def reset(self):
        self.at = (0, 0)
        return self.observe()

    def observe(self):
        state = torch.zeros(1, SIZE * SIZE)
        state[0, self.at[0] * SIZE + self.at[1]] = 1.0
        return state

    def step(self, action):
        self.at = tuple(min(max(a + d, 0), SIZE - 1) for a, d in zip(self.at, MOVES[action]))
        done = self.at == GOAL
        return self.observe(), (1.0 if done else -0.05), done


class ReplayMemory:
    def __init__(self, capacity):
        self.memory = deque([], maxlen=capacity)

    def push(self, *args):
        self.memory.append(Transition(*args))

    def sample(self, batch_size):
        return random.sample(self.memory, batch_size)


def network():
    return nn.Sequential(nn.Linear(SIZE * SIZE, 32), nn.ReLU(), nn.Linear(32, len(MOVES)))


def optimize_model(policy_net, target_net, optimizer, memory):
    batch = Transition(*zip(*memory.sample(BATCH_SIZE)))
    non_final_mask = torch.tensor([s is not None for s in batch.next_state], dtype=torch.bool)
    non_final = torch.cat([s for s in batch.next_state if s is not None])
    values = policy_net(torch.cat(batch.state)).gather(1, torch.cat(batch.action))
    next_values = torch.zeros(BATCH_SIZE)
    with torch.no_grad():
        next_values[non_final_mask] = target_net(non_final).max(1).values
    expected = next_values * GAMMA + torch.cat(batch.reward)
    loss = nn.SmoothL1Loss()(values, expected.unsqueeze(1))
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_value_(policy_net.parameters(), 100)
    optimizer.step()
    return loss.item()


def main():
    random.seed(0)
    torch.manual_seed(0)
    torch.set_default_dtype(torch.float64)
    env, memory = Grid(), ReplayMemory(500)
    policy_net, target_net = network(), network()
    target_net.load_state_dict(policy_net.state_dict())
    optimizer = optim.AdamW(policy_net.parameters(), lr=5e-3, amsgrad=True)
    state, walk, lengths = env.reset(), 0, []
    for step in range(1, 301):
        if random.random() > 0.9 * 0.99**step:
            with torch.no_grad():
                action = policy_net(state).max(1).indices.view(1, 1)
        else:
            action = torch.tensor([[random.randrange(len(MOVES))]])
        observed, reward, done = env.step(action.item())
        memory.push(state, action, None if done else observed, torch.tensor([reward]))
        state, walk = observed, walk + 1
        if done:
            lengths.append(walk)
            state, walk = env.reset(), 0
        if step >= BATCH_SIZE:
            loss = optimize_model(policy_net, target_net, optimizer, memory)
            target, policy = target_net.state_dict(), policy_net.state_dict()
            for key in policy:
                target[key] = policy[key] * TAU + target[key] * (1 - TAU)
            target_net.load_state_dict(target)
        if step > BATCH_SIZE and step % 25 == 0:
            print(f"step {step} walks {len(lengths)} loss {loss:.6g}")
    print("lengths of the walks:", lengths)


if __name__ == "__main__":
    main()
