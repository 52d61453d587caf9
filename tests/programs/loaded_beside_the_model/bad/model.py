import torch
from torch import nn


class MapStream(nn.Module):
    def __init__(self, dim: int, depth: int, sdpa: bool):
        super().__init__()
        self.embed = nn.Conv2d(3, dim, 16, 16)
        self.blocks = nn.ModuleList(nn.TransformerEncoderLayer(dim, 16, 4 * dim, batch_first=True) for _ in range(depth))
        self.pose = nn.Linear(dim, 7)
        self.sdpa = sdpa

    def step(self, frame: torch.Tensor) -> torch.Tensor:
        tokens = self.embed(frame[None]).flatten(2).mT
        for block in self.blocks:
            tokens = block(tokens)
        return self.pose(tokens.mean(1))
