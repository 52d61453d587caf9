"""A controller that is no module has a method called `forward`, which other methods call by its name."""

import torch
import torch.nn.functional as F
from torch import nn


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc, self.rnn, self.out = nn.Linear(16, 64), nn.GRUCell(64, 64), nn.Linear(64, 6)

    def forward(self, x, state):
        state = self.rnn(F.relu(self.fc(x)), state)
        return self.out(state), state


class Controller:
    def __init__(self, agents):
        self.agents, self.agent = agents, Agent()
        self.states = None

    def begin(self):
        self.states = torch.zeros(self.agents, 64)

    def forward(self, seen):
        outs, self.states = self.agent(seen, self.states)  # expect: TML107
        return outs

    def act(self, seen):
        return self.forward(seen).argmax(-1)  # allow: TML201


def play(controller, steps):
    controller.begin()
    seen = torch.randn(controller.agents, 16)
    return [controller.act(seen).float().mean().item() for _ in range(steps)]


if __name__ == "__main__":
    print(play(Controller(5), 25))
