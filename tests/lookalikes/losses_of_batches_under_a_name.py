"""Losses of the batches, read from the outputs by name: a number each."""

import torch


def evaluate(model, eval_loader, device):
    model.eval()
    losses = []
    for batch in eval_loader:
        batch = {k: v.to(device) for k, v in batch.items()}
        with torch.no_grad():
            outputs = model(**batch)
        loss = outputs.loss
        losses.append(loss.repeat(4))
    return torch.cat(losses).mean().item()


def evaluate2(model, eval_loader, device):
    model.eval()
    losses = []
    for batch in eval_loader:
        batch = {k: v.to(device) for k, v in batch.items()}
        with torch.no_grad():
            outputs = model(**batch)
        losses.append(outputs.loss)
    return torch.stack(losses).mean().item()
