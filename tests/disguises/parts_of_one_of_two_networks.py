"""A network of one of two classes, whose parts are run apart: encoder and decoder are modules whichever it is."""

import torch
from torch import nn
from torchvision.utils import save_image


class Narrow(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(3, 4), nn.ReLU())
        self.decoder = nn.Sequential(nn.Linear(4, 3), nn.Sigmoid())

    def forward(self, x):
        return self.decoder(self.encoder(x))


class Wide(Narrow):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(3, 40), nn.ReLU())
        self.decoder = nn.Sequential(nn.Linear(40, 3), nn.Sigmoid())


def placed(module, cuda):
    return module.cuda() if cuda else module


class Solver:
    def __init__(self, args, loader):
        if args.model == "narrow":
            network = Narrow
        elif args.model == "wide":
            network = Wide
        else:
            raise NotImplementedError(args.model)
        self.loader = loader
        self.network = placed(network(), args.cuda)
        self.optimizer = torch.optim.Adam(self.network.parameters())

    def train(self):
        for x in self.loader:
            self.optimizer.zero_grad()
            torch.mean((self.network(x) - x) ** 2).backward()
            self.optimizer.step()
        self.traverse()

    def traverse(self):
        self.network.eval()
        encoder, decoder = self.network.encoder, self.network.decoder
        fixed = {"first": encoder(self.loader.dataset[0]), "last": encoder(self.loader.dataset[-1])}
        pictures = []
        for name in fixed.keys():
            for value in torch.arange(-3, 3, 0.5):
                code = fixed[name].clone()
                code[:, 0] = value
                pictures.append(decoder(code).data)  # expect: TML201
        save_image(torch.cat(pictures).cpu(), "traversal.png")
        self.network.train()
