import torch
import torch.nn.functional as F
from tqdm import tqdm

from metrics import Metric


def accuracy(output, target):
    return output.argmax(1).eq(target).cpu().float().mean()


def train(epoch, model, optimizer, loader, args, writer=None):
    model.train()
    train_loss = Metric("train_loss")
    train_accuracy = Metric("train_accuracy")
    with tqdm(total=len(loader), desc=f"Train Epoch #{epoch + 1}") as t:
        for data, target in loader:
            data, target = data.cuda(non_blocking=True), target.cuda(non_blocking=True)
            optimizer.zero_grad()
            output = model(data)
            loss = F.cross_entropy(output, target)
            loss.backward()
            optimizer.step()
            train_loss.update(loss)  # expect: TML102
            train_accuracy.update(accuracy(output, target))
            t.set_postfix({"loss": train_loss.avg.item(), "accuracy": 100.0 * train_accuracy.avg.item()})
            t.update(1)
    if writer:
        writer.add_scalar("train/loss", train_loss.avg, epoch)
