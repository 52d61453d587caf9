import copy

import torch
from torch import nn

from dpo import DPOConfig, dpo_loss_batch


class TinyGPT(nn.Module):
    def __init__(self, vocab: int = 50257, dim: int = 256, layers: int = 4):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        layer = nn.TransformerEncoderLayer(dim, 4, 4 * dim, batch_first=True)
        self.blocks = nn.TransformerEncoder(layer, layers)
        self.out = nn.Linear(dim, vocab, bias=False)

    def forward(self, ids):
        return self.out(self.blocks(self.embed(ids)))


def train_model_dpo(policy_model, reference_model, loader, optimizer, cfg: DPOConfig):
    tracking = {"train_losses": []}
    for _ in range(cfg.epochs):
        policy_model.train()
        for batch in loader:
            optimizer.zero_grad()
            loss = dpo_loss_batch(batch, policy_model, reference_model, cfg.beta)
            loss.backward()
            optimizer.step()
            tracking["train_losses"].append(loss.item())
    return tracking


def main(loader):
    cfg = DPOConfig()
    policy = TinyGPT().cuda()
    policy.load_state_dict(torch.load("sft.pt", map_location="cpu"))
    reference = copy.deepcopy(policy)
    reference.eval()  # expect: TML506
    optimizer = torch.optim.AdamW(policy.parameters(), lr=cfg.lr, fused=True)
    return train_model_dpo(policy, reference, loader, optimizer, cfg)
