"""Outputs that are all needed on the device at once: each of a second pass is compared with them."""

import torch
from torch import nn


def scaled(x):
    return nn.functional.normalize(x, dim=-1)


def similarity(a, b):
    return torch.mm(scaled(a), scaled(b).T)


class MegaBatch(nn.Module):
    def __init__(self, model, size):
        super().__init__()
        self.model = model.cuda()
        self.size = size

    def negatives(self, batches, anchors):
        found = []
        with torch.no_grad():
            self.model.eval()
            for batch in batches:
                found.append(self.model(batch["input"])["embedding"].detach())
            self.model.train()
        found = torch.cat(found, dim=0)
        for start in range(0, len(found), self.size):
            anchor = self.model(anchors[start : start + self.size])["embedding"]
            with torch.no_grad():
                scores = similarity(anchor, found)
                places = torch.max(scores, dim=1)[1]
            for place in places:
                print(place.item())
