from __future__ import annotations

import torch

from trainer import Trainer


class PytorchTrainer(Trainer):
    def __init__(self, model: torch.nn.Module, loss_function, epochs: int, learning_rate: float = 1e-3, device: int = -1, **kw):
        super().__init__(model, loss_function, epochs, **kw)
        self.device = torch.device("cpu" if device < 0 else f"cuda:{device}")
        self.model.to(self.device)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=learning_rate, fused=True)

    def training_step(self, batch):
        x, y = batch
        y_hat = self.model(x.to(self.device))
        loss = self.loss_function(y_hat, y.to(self.device))
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return y_hat.detach().cpu(), loss.item()


def accuracy(y_hat, y):
    return (y_hat.argmax(1).cpu() == y.argmax(1)).float().mean()


def run(model, dataset):
    trainer = PytorchTrainer(model, torch.nn.BCEWithLogitsLoss(), epochs=30, device=0, evaluate={"acc": accuracy})
    trainer.fit(dataset)
    return trainer.train_results
