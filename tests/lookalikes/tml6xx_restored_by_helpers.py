"""Helpers that restore and return little, callers that let go or go on reading, trainers that have worked before."""

import torch
from torch import nn
from trainers import Trainer


def resume(path, model):
    checkpoint = torch.load(path, map_location="cuda")
    model.load_state_dict(checkpoint["model"])
    return checkpoint["epoch"]


def resume_all(path, model):
    checkpoint = torch.load(path, map_location="cuda")
    model.load_state_dict(checkpoint["model"])
    return checkpoint


def run_epoch(model, loader, optimizer, seen=None):
    for x, y in loader:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x.cuda()), y.cuda()).backward()
        optimizer.step()


def only_the_epoch(path, loader):
    model = nn.Linear(3, 3).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(resume(path, model), 10):
        run_epoch(model, loader, optimizer)


def dropped_at_once(path, loader):
    model = nn.Linear(3, 3).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    resume_all(path, model)
    run_epoch(model, loader, optimizer)


def deleted(path, loader):
    model = nn.Linear(3, 3).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    found = resume_all(path, model)
    first = found["epoch"]
    del found
    for _ in range(first, 10):
        run_epoch(model, loader, optimizer)


def read_on(path, loader):
    model = nn.Linear(3, 3).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    found = resume_all(path, model)
    for _ in range(10):
        run_epoch(model, loader, optimizer)
    return (model.weight - found["model"]["weight"]).norm().item()


def loaded_behind_the_training(path, loader):
    model = nn.Linear(3, 3).cuda()
    trainer = Trainer(gpus=1)
    trainer.fit(model, loader)
    state = torch.load(path, map_location="cpu")
    model.load_state_dict(state)
    return model


def copied_and_deleted(path, weights, loader):
    optimizer = torch.optim.SGD(weights.values(), lr=0.1)
    saved = torch.load(path, map_location="cuda")
    for name, weight in weights.items():
        weight.data.copy_(saved["weights"][name])
    optimizer.load_state_dict(saved["optimizer"])
    del saved
    for x, y in loader:
        optimizer.zero_grad()
        nn.functional.cross_entropy(nn.functional.linear(x, weights["w"]), y).backward()
        optimizer.step()


def placed_later_with_its_wrapper(path, loader):
    model = nn.Linear(3, 3)
    model.load_state_dict(torch.load(path))
    replicas = nn.DataParallel(model).cuda()
    for x in loader:
        replicas(x).sum().backward()
