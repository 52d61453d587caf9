from copy import deepcopy
from pathlib import Path

import torch
from torch import nn


class EMA(nn.Module):
    def __init__(self, model: nn.Module, beta: float):
        super().__init__()
        self.beta = beta
        self.ema_model = deepcopy(model).eval().requires_grad_(False)

    @torch.no_grad()
    def update(self, model: nn.Module):
        for avg, cur in zip(self.ema_model.parameters(), model.parameters()):
            avg.lerp_(cur, 1 - self.beta)


class PostHocEMA(nn.Module):
    def __init__(self, model: nn.Module, betas=(0.99, 0.999), checkpoint_every=1000, dtype=torch.float16, folder="ema"):
        super().__init__()
        self.online = model
        self.ema_models = nn.ModuleList(EMA(model, b) for b in betas)
        self.checkpoint_every = checkpoint_every
        self.checkpoint_dtype = dtype
        self.folder = Path(folder)
        self.register_buffer("step", torch.tensor(0))

    def update(self):
        self.step += 1
        for ema in self.ema_models:
            ema.update(self.online)
        if self.step.item() % self.checkpoint_every == 0:
            self.checkpoint()

    def checkpoint(self):
        step = self.step.item()
        for ind, ema_model in enumerate(self.ema_models):
            path = self.folder / f"{ind}.{step}.pt"
            pkg = deepcopy(ema_model).to(self.checkpoint_dtype).state_dict()  # expect: TML503
            torch.save(pkg, str(path))


def train(model, loader, device="cuda"):
    model = model.to(device)
    ema = PostHocEMA(model).to(device)
    opt = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    for x, y in loader:
        loss = nn.functional.mse_loss(model(x.to(device)), y.to(device))
        opt.zero_grad()
        loss.backward()
        opt.step()
        ema.update()
