"""Checkpoints and data that are held or moved where a look at one line does not show it."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset, TensorDataset


class Runner:
    def __init__(self, path):
        self.model = nn.Linear(4, 4).cuda()
        self.resumed = torch.load(path, map_location="cuda")  # expect: TML602, TML601
        self.model.load_state_dict(self.resumed["model"])

    def run(self, x):
        return self.model(x.cuda())


class Resumed:
    def __init__(self):
        self.model, self.checkpoint = nn.Linear(4, 4).cuda(), None

    def resume(self, path):
        self.checkpoint = torch.load(path, map_location="cuda")  # expect: TML602, TML601
        self.model.load_state_dict(self.checkpoint["model"])


def partly_restored(path, loader):
    net = nn.Linear(4, 4).cuda()
    found = torch.load(path, map_location="cuda")  # expect: TML602, TML601
    own = net.state_dict()
    own.update({k: v for k, v in found.items() if k in own})
    net.load_state_dict(own)
    for x in loader:
        net(x.cuda()).mean().backward()


def read_weights(path, device):
    return torch.load(path, map_location=device)  # expect: TML601


def restored_by_the_caller(path):
    net = nn.Linear(4, 4).to("cuda")
    net.load_state_dict(read_weights(path, "cuda"))
    return net


def read_by_a_helper(path, loader):
    device = torch.device("cuda:{:d}".format(0))
    net = nn.Linear(4, 4).to(device)
    found = read_weights(path, device)  # expect: TML602
    net.load_state_dict(found["net"])
    epoch = found["epoch"] + 1
    for x in loader:
        net(x.to(device)).mean().backward()
    return epoch


def collated(dataset):
    return DataLoader(dataset, num_workers=4, collate_fn=lambda rows: torch.stack(rows).cuda())  # expect: TML603


def served_from_the_device(x, y):
    return DataLoader(TensorDataset(x.to("cuda"), y.to("cuda")), batch_size=64)  # expect: TML604, TML604


def cut_into_batches(model, x, y, optimizer):
    x, y = x.cuda(), y.cuda()  # expect: TML604, TML604
    for i in range(0, len(x), 64):
        F.mse_loss(model(x[i : i + 64]), y[i : i + 64]).backward()
        optimizer.step()


class Pairs(Dataset):
    def __init__(self, path):
        with open(path, encoding="utf-8") as lines:
            self.rows = [line.split("\t") for line in lines]  # expect: TML605

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return self.encoded(index)

    def encoded(self, index):
        first, second = self.pair(index)
        return torch.tensor([len(first), len(second)])

    def pair(self, index):
        return self.rows[index][0], self.rows[index][1]
