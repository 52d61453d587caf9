import argparse

import pandas as pd
import torch
from torch import nn

from models import StatefulForecaster


def windows(series, length, batch):
    n = len(series) // batch
    columns = series[: n * batch].view(batch, n, -1)
    for start in range(0, n - length - 1, length):
        yield columns[:, start : start + length], columns[:, start + length, :1]


def run_epoch(model, series, args, criterion, optimizer=None):
    model.reset()
    total, steps = 0.0, 0
    for x, y in windows(series, args.length, args.batch):
        pred = model(x.cuda())
        loss = criterion(pred, y.cuda())
        if optimizer is not None:
            optimizer.zero_grad()
            loss.backward(retain_graph=True)
            optimizer.step()
        total += loss.item()
        steps += 1
    return total / steps


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("csv")
    parser.add_argument("--length", type=int, default=48)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--epochs", type=int, default=20)
    args = parser.parse_args()
    data = torch.tensor(pd.read_csv(args.csv).values, dtype=torch.float32)
    split = int(len(data) * 0.8)
    model = StatefulForecaster(data.shape[1]).cuda()
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    criterion = nn.MSELoss()
    for epoch in range(args.epochs):
        model.train()
        loss = run_epoch(model, data[:split], args, criterion, optimizer)
        model.eval()
        with torch.no_grad():
            val = run_epoch(model, data[split:], args, criterion)
        print(f"{epoch}: train {loss:.4f} val {val:.4f}")


if __name__ == "__main__":
    main()
