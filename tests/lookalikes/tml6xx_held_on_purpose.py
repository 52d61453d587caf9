"""Checkpoints that are read again, and batches that are cut."""

import torch
from torch import nn
from torch.utils.data import DataLoader


class Runner:
    def __init__(self, path):
        self.model = nn.Linear(4, 4).cuda()
        self.resumed = torch.load(path, map_location="cuda")
        self.model.load_state_dict(self.resumed["model"])

    def optimizer(self):
        optimizer = torch.optim.Adam(self.model.parameters())
        optimizer.load_state_dict(self.resumed["optimizer"])
        return optimizer


def micro_batches(model, x, optimizer):
    x = x.cuda()
    for part in range(0, len(x), 8):
        model(x[part : part + 8]).mean().backward()
    optimizer.step()


def collated(dataset):
    return DataLoader(dataset, num_workers=4, collate_fn=lambda rows: torch.stack(rows))


def moved_behind_the_loader(dataset, model):
    move = lambda batch: batch.cuda()  # noqa: E731
    for batch in DataLoader(dataset, num_workers=4):
        model(move(batch))
