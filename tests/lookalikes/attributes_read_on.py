"""A module's attribute whose part goes on into another attribute, which the loss is computed with."""

import torch
from torch import nn


class HeadSelector(nn.Module):
    def __init__(self, tasks, layers, heads, kept):
        super().__init__()
        self.kept = kept
        self.logits = nn.Parameter(torch.zeros(tasks, layers, heads))

    def subset(self, soft):
        values, places = torch.topk(soft, k=self.kept, dim=-1)
        return places.detach(), 1.0 - values.detach() + values

    def select(self, task_ids):
        self.subset_heads, self.subset_weights = self.subset(torch.sigmoid(self.logits))
        self.batch_heads = self.subset_heads[task_ids, :, :]
        self.batch_weights = self.subset_weights[task_ids, :, :]

    def forward(self, layer):
        return self.batch_heads[:, layer, :], self.batch_weights[:, layer, :]


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.selector = HeadSelector(1, 2, 3, 4)
        self.proj = nn.Linear(3, 3)

    def forward(self, x):
        self.selector.select(0)
        _, weights = self.selector(0)
        return self.proj(x) * weights
