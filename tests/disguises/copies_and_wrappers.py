"""`clone().detach()` and tensors made from tensors, spelt in other ways."""

import torch
import torch as th
import torch.nn.functional as F
from torch import nn, tensor


def snapshots(model):
    first = {name: p.clone().detach() for name, p in model.named_parameters()}  # expect: TML304
    second = [torch.clone(p).detach() for p in model.parameters()]  # expect: TML304
    third = model.weight.clone().detach().cpu()  # expect: TML304
    with torch.no_grad():
        model.weight.mul_(0.5)
    return len(first), len(second), third.norm().item()


def targets(model, x, y):
    with torch.no_grad():
        q = model(x)
    wanted = torch.tensor(q.amax(1))  # expect: TML305
    shifted = th.tensor(q + 1, dtype=torch.float32)  # expect: TML305
    again = tensor(q.mean())  # expect: TML305
    copied = torch.as_tensor(q).clone()  # expect: TML305  # allow: TML303
    return F.huber_loss(model(x).amax(1), wanted + shifted.amax() + again + copied.mean())


def labels(logits: torch.Tensor):
    return torch.tensor(logits).argmax(1).tolist()  # expect: TML305


if __name__ == "__main__":
    net = nn.Linear(4, 3)
    print(snapshots(net), labels(torch.randn(2, 4)))
    targets(net, torch.randn(5, 4), None).backward()
