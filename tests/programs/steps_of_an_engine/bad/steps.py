import torch


def prepare_batch(batch, device):
    x, y = batch
    return x.to(device, non_blocking=True), y.to(device, non_blocking=True)


def train_step(model, optimizer, criterion, device, engine, batch):
    model.train()
    x, y = prepare_batch(batch, device)
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()
    return loss.item()


def eval_step(model, device, engine, batch):
    model.eval()
    x, y = prepare_batch(batch, device)
    y_pred = model(x)  # expect: TML201
    return y_pred, y
