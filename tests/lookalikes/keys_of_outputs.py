"""The keys of a dict of outputs are texts: what is made of them keeps no graph."""

import torch
from torch import nn


class Trainer:
    def __init__(self, teacher, network):
        self.teacher, self.network = teacher.cuda(), network.cuda()
        self.optimizer = torch.optim.Adam([*self.teacher.parameters(), *self.network.parameters()])
        self.loss = nn.MSELoss()

    def train(self, loader):
        for x, y in loader:
            outputs, loss = self.step(x.cuda(), y.cuda())
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            print(len(outputs))

    def step(self, x, y):
        single, outputs = {}, {}
        single.update(self.teacher(x))
        loss = self.loss(single["depth", 0], y)
        for key in list(single.keys()):
            renamed = list(key)
            if renamed[0] in ["depth", "disp"]:
                renamed[0] = "single_" + key[0]
                outputs[tuple(renamed)] = single[key]
        outputs.update(self.network(x))
        return outputs, loss + self.loss(outputs["depth", 0], y)
