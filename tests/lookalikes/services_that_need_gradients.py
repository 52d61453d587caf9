"""Objects that load their model in a method of their own and put it into eval mode: they explain, attack, distil, are
part of a loss, or run without grad."""

import threading
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def forward(self, x):
        return self.fc(x)


class Explain:
    def initialize(self, ctx):
        model = Model()
        model.load_state_dict(torch.load(ctx.path, map_location="cpu"))
        model.eval()
        self.model = model
        self.method = ctx.method

    def inference(self, x):
        with torch.inference_mode():
            return self.model(x).argmax(-1)

    def explain(self, x):
        x.requires_grad_(True)
        out = self.model(x)
        out[:, out.argmax(-1)].sum().backward()
        return x.grad.abs()


class Attack:
    def load(self):
        self.net = Model()
        self.net.eval()

    def fgsm(self, x, y, eps):
        x = x.detach().clone()
        x.requires_grad = True
        loss = nn.functional.cross_entropy(self.net(x), y)
        grad = torch.autograd.grad(loss, x)[0]
        return (x + eps * grad.sign()).detach()


class Distill:
    def setup(self):
        teacher = Model()
        teacher.eval()
        for p in teacher.parameters():
            p.requires_grad_(False)
        self.teacher = teacher
        self.student = Model()

    def loss(self, x):
        return nn.functional.mse_loss(self.student(x), self.teacher(x))


class Guarded:
    def __init__(self):
        self.lock = threading.Lock()
        self.load()

    def load(self):
        net = Model()
        net.eval()
        self.net = net

    @torch.inference_mode()
    def __call__(self, x):
        return self.predict(x)

    def predict(self, x):
        with self.lock:
            return self.net(x).softmax(-1).tolist()


class Loss:
    def prepare(self):
        net = Model()
        net.eval()
        self.net = net

    def __call__(self, a, b):
        return nn.functional.l1_loss(self.net(a), self.net(b))


class Scripted:
    def load(self, path):
        net = torch.jit.load(path)
        net.eval()
        self.net = torch.jit.freeze(net)

    def predict(self, x):
        with torch.no_grad():
            return self.net(x)


def train(loader, model: nn.Module, opt):
    loss = Loss()
    loss.prepare()
    for x, y in loader:
        opt.zero_grad()
        loss(model(x), y).backward()
        opt.step()


def distill(loader):
    d = Distill()
    d.setup()
    opt = torch.optim.Adam(d.student.parameters())
    for x in loader:
        opt.zero_grad()
        d.loss(x).backward()
        opt.step()
