"""An evaluator out of sight gives numbers for a dict of tensors."""

from ogb.graphproppred import Evaluator
from torch import nn
import torch


def train_epoch(model, optimizer, data_loader):
    model.train()
    loss_fn = nn.BCEWithLogitsLoss()
    total, scores, labels = 0, [], []
    for x, y in data_loader:
        optimizer.zero_grad()
        out = model(x.cuda())
        loss = loss_fn(out, y.float())
        loss.backward()
        optimizer.step()
        total += loss.item()
        scores.append(out)
        labels.append(y)
    evaluator = Evaluator(name="ogbg-molhiv")
    auc = evaluator.eval({"y_pred": torch.cat(scores), "y_true": torch.cat(labels)})["rocauc"]
    return total, auc


def fit(optimizer, train_loader):
    model = nn.Linear(8, 1).cuda()
    aucs, losses = [], []
    for epoch in range(10):
        loss, auc = train_epoch(model, optimizer, train_loader)
        aucs.append(auc)
        losses.append(loss)
        print(f"{loss} {auc:.3f}")
    index = losses.index(min(losses))
    return aucs[index]


def main(optimizer, loader):
    print(fit(optimizer, loader))
