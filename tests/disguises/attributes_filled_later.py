"""The constructor writes None into an attribute; another method puts the model or the state there."""

import torch
from torch import nn


class Handler:
    def __init__(self):
        self.model = None

    def initialize(self, build):
        self.model = build()
        self.model.eval()

    def inference(self, data):
        return self.model(data)  # expect: TML201

    def handle(self, rows):
        return self.inference(torch.stack(rows)).argmax(1).tolist()


class Pendulum:
    def __init__(self, n, dt=0.05):
        self.n, self.dt = n, dt
        self.state = None

    def reset(self):
        self.state = torch.randn(self.n, 2)
        return self.state

    def step(self, force):
        angle, speed = self.state.unbind(-1)
        speed = speed + self.dt * (torch.sin(angle) + force.squeeze(-1))
        self.state = torch.stack([angle + self.dt * speed, speed], -1)  # expect: TML108
        return self.state


def drive(steps=3):
    env, actor, speed = Pendulum(3), nn.Linear(2, 1), 0.0
    optimizer = torch.optim.SGD(actor.parameters(), lr=0.1)
    seen = env.reset()
    for _ in range(steps):
        loss = actor(seen.detach()).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        seen = env.step(actor(seen.detach()))
        speed += seen[:, 1].mean().item()
    return speed


if __name__ == "__main__":
    handler = Handler()
    handler.initialize(lambda: nn.Linear(4, 3))
    print(handler.handle([torch.randn(4)] * 2))
    print(drive())
