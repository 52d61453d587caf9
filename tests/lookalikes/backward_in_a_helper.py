"""A function that is given the loss runs its backward: what is kept beside it are numbers and nodes of the graph."""
import torch
from accelerate import Accelerator
from torch import nn
from transformers import AutoModel


class Scaler:
    def __init__(self):
        self.scaler = torch.cuda.amp.GradScaler()

    def __call__(self, loss, optimizer, parameters, clip=None):
        self.scaler.scale(loss).backward()
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
