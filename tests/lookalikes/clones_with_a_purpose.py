"""A clone before a conversion that may give the tensor itself: what it gives is written, or a part is kept without the
whole. A clone that the graph saves, of an attribute that another method writes."""

from torch import nn
import torch
import torch.nn.functional as F


def collate(examples, device):
    ids = torch.tensor([e["ids"] for e in examples])
    batch = {"input_ids": ids}
    mask = batch["input_ids"].clone().long()
    mask[:, :] = 0
    for i, e in enumerate(examples):
        mask[i, : len(e["mask"])] = e["mask"]
    batch["mask"] = mask
    return batch


def logps(per_token, attention_mask, lens):
    loss_masks = attention_mask.clone().bool()
    for mask, source_len in zip(loss_masks, lens):
        mask[:source_len] = False
    return (per_token * loss_masks[:, 1:]).sum(-1)


@torch.no_grad()
def crop(model, rank, dtype):
    for module in model.modules():
        module.eigens.U = module.eigens.U[:, :rank].clone().to(dtype)


class Noisy(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.mu = nn.Parameter(torch.zeros(o, i))
        self.mu_b = nn.Parameter(torch.zeros(o))
        self.sigma_b = nn.Parameter(torch.zeros(o))
        self.eps_q = nn.Parameter(torch.zeros(o), requires_grad=False)

    def f(self, x):
        x = torch.randn(x.size(0), device=x.device)
        return x.sign().mul_(x.abs().sqrt_())

    def sample(self):
        self.eps_q.copy_(self.f(self.eps_q))

    def forward(self, x):
        bias = self.mu_b + self.sigma_b * self.eps_q.clone()
        return F.linear(x, self.mu, bias)
