"""What an abstract method is given goes on in the method that overrides it."""

import torch
from torch import nn


class Base(nn.Module):
    def prepare(self, features):
        pass

    def encode(self, flat, places):
        pass

    def loss(self, features):
        inputs, others = self.prepare(features)
        encoded = self.encode(**inputs)
        others.update(kept=True)
        return encoded.pow(2).mean(), others["count"]


class Detector(Base):
    def __init__(self):
        super().__init__()
        self.level = nn.Parameter(torch.zeros(2, 4))
        self.encoder, self.place = nn.Linear(4, 4), nn.Linear(4, 4)

    def prepare(self, features):
        flat, places = [], []
        for at, feature in enumerate(features):
            flat.append(feature)
            places.append(self.place(feature) + self.level[at].view(1, -1))
        inputs = dict(flat=torch.cat(flat), places=torch.cat(places))
        return inputs, dict(count=len(flat))

    def encode(self, flat, places):
        return self.encoder(flat + places)


def train(model, optimizer, batches):
    seen = 0
    for features in batches:
        loss, count = model.loss(features)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        seen += count
    return seen


if __name__ == "__main__":
    torch.manual_seed(0)
    net = Detector()
    sgd = torch.optim.SGD(net.parameters(), lr=0.1)
    print(train(net, sgd, [[torch.randn(3, 4), torch.randn(2, 4)]] * 3))
