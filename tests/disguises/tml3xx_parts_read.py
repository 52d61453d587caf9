"""Full results of which a part is read, in other spellings."""

import torch
from torch import nn


def by_index(x, k):
    return x.argsort(descending=True)[:k]  # expect: TML322


def by_pair(x, k):
    return torch.sort(x, dim=-1)[0][..., :k]  # expect: TML322


def collected_then_averaged(model: nn.Module, batches):
    rows = []
    with torch.no_grad():
        for x in batches:
            rows.append(model(x))
    return torch.stack(rows, dim=0).sum(0)  # expect: TML322


@torch.no_grad()
def embedded(model, ids, mask):
    states = model(ids, attention_mask=mask, output_hidden_states=True)["hidden_states"][-1]  # expect: TML322
    return states.mean(1)
