"""A function that is given the loss runs its backward: what is kept beside it are numbers and nodes of the graph."""

import torch
from accelerate import Accelerator
from torch import nn
from transformers import AutoModel


class Scaler:
    def __init__(self):
        self.scaler = torch.cuda.amp.GradScaler()

    def __call__(self, loss, optimizer, parameters, clip=None, create_graph=False):
        self.scaler.scale(loss).backward(create_graph=create_graph)
        if clip is not None:
            self.scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(parameters, clip)
        self.scaler.step(optimizer)
        self.scaler.update()


def step(loss, optimizer):
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


class Trainer:
    def __init__(self, net, optimizer):
        self.net, self.optimizer, self.scaler = net, optimizer, Scaler()

    def update(self, loss):
        step(loss, self.optimizer)

    def scaled(self, loss):
        self.scaler(loss, self.optimizer, self.net.parameters())

    def train(self, loader):
        losses, scores = [], []
        for x, y in loader:
            loss = nn.functional.cross_entropy(self.net(x.cuda()), y.cuda())
            self.update(loss)
            losses.append(loss)
        for x, y in loader:
            loss = nn.functional.cross_entropy(self.net(x.cuda()), y.cuda())
            self.scaled(loss)
            scores.append(loss)
        return sum(losses).item() / len(losses), sum(scores).item()


def main(loader):
    net = nn.Linear(3, 3).cuda()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    losses = []
    for x, y in loader:
        loss = nn.functional.cross_entropy(net(x.cuda()), y.cuda())
        step(loss, optimizer)
        losses.append(loss)
    print(sum(losses).item())
    print(Trainer(net, optimizer).train(loader))


def copied_to_host(loader, optimizer):
    accelerator = Accelerator()
    model = AutoModel.from_pretrained("some/model")
    model.train()
    logits = []
    for batch in loader:
        outputs = model(**batch)
        logits.append(outputs.logits.to("cpu"))
        accelerator.backward(outputs.loss)
        optimizer.step()
    print(torch.cat(logits).std().item())


def train_one_epoch(model, criterion, loader, optimizer, loss_scaler):
    model.train()
    kept = []
    for samples, targets in loader:
        with torch.autocast("cuda"):
            outputs = model(samples.cuda(non_blocking=True))
        loss = criterion(outputs, targets.cuda()) / 4
        second = hasattr(optimizer, "is_second_order") and optimizer.is_second_order
        loss_scaler(loss, optimizer, model.parameters(), clip=1.0, create_graph=second)
        kept.append(loss)
    print(sum(kept).item())


def epochs(loader):
    model = nn.Linear(3, 3).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    scaler = Scaler()
    for _ in range(10):
        train_one_epoch(model, nn.CrossEntropyLoss(), loader, optimizer, scaler)
