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


class LetGo:
    def __init__(self):
        self.model, self.first, self.second = nn.Linear(4, 4).cuda(), None, None

    def resume(self, path):
        self.first = torch.load(path, map_location="cpu")
        self.model.load_state_dict(self.first["model"])
        self.first = None

    def resume_from(self, path):
        self.second = torch.load(path, map_location="cpu")
        self.model.load_state_dict(self.second["model"])

    def free(self):
        self.second = None


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
