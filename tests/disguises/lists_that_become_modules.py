"""An attribute is a list at first and then the Sequential made of it; a list of modules is filled in a loop."""

import torch
from torch import nn


class Encoder(nn.Module):
    def __init__(self, depth):
        super().__init__()
        self.model = []
        self.model += [nn.Conv2d(3, 8, 3)]
        for _ in range(depth):
            self.model += [nn.Conv2d(8, 8, 3)]
        self.model = nn.Sequential(*self.model)

    def forward(self, x):
        return self.model(x)


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = Encoder(3)
        self.blocks = nn.ModuleList()
        for _ in range(4):
            self.blocks.append(nn.Conv2d(8, 8, 3))

    def encode(self, x):
        return self.encoder(x)

    def decode(self, x):
        for block in self.blocks:
            x = block(x)
        return x


class Trainer(nn.Module):
    def __init__(self):
        super().__init__()
        self.generator = Generator()
        self.critic = nn.Conv2d(8, 1, 3)
        self.critic_optimizer = torch.optim.Adam(self.critic.parameters())
        self.generator_optimizer = torch.optim.Adam(self.generator.parameters())

    def critic_step(self, x, real):
        self.critic_optimizer.zero_grad()
        code = self.generator.encode(x)  # expect: TML203
        fake = self.generator.decode(code)  # expect: TML203
        loss = self.critic(fake.detach()).mean() - self.critic(real).mean()
        loss.backward()
        self.critic_optimizer.step()

    def generator_step(self, x):
        self.generator_optimizer.zero_grad()
        loss = -self.critic(self.generator.decode(self.generator.encode(x))).mean()
        loss.backward()
        self.generator_optimizer.step()
