"""A name is bound to one result with a graph and then to another without: an attribute is read from each. What is read
where grad is off from a result that was made before keeps its graph."""

from torch import nn
import torch


def train(model, optimizer, train_loader, eval_loader, accelerator):
    model.train()
    for batch in train_loader:
        outputs = model(**batch)
        loss = outputs.loss
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
    model.eval()
    losses = []
    for step, batch in enumerate(eval_loader):
        with torch.no_grad():
            outputs = model(**batch)

        loss = outputs.loss
        losses.append(loss.repeat(4))
    return torch.cat(losses).mean().item()


class NoiseModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(1))

    def forward(self, loss):
        return loss * self.scale


def train(accelerator, train_model, loader, optimizer, eval_loader, metric):
    noise_model = NoiseModel()
    noise_model.eval()
    for epoch in range(3):
        train_model.train()
        noise_model.train()
        for batch in loader:
            outputs = train_model(**batch)
            with torch.no_grad():
                noise = noise_model(outputs.loss)
            loss = outputs.loss + noise
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
        train_model.eval()
        for batch in eval_loader:
            with torch.no_grad():
                outputs = train_model(**batch)
            metric.add_batch(predictions=outputs.logits.argmax(dim=-1), references=batch["labels"])
