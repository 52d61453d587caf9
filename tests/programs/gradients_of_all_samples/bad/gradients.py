from typing import Iterable, List, Tuple

import torch
from torch import nn


def flat(grads: Iterable[torch.Tensor]) -> torch.Tensor:
    return torch.cat([g.reshape(-1) for g in grads])


class GradientStore:
    def __init__(self, model: nn.Module, device: str = "cuda"):
        self.model = model.to(device).eval()
        self.device = device
        self.params = [p for p in model.parameters() if p.requires_grad]
        self.rows: List[torch.Tensor] = []

    def gradient(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        loss = nn.functional.cross_entropy(self.model(x[None].to(self.device)), y[None].to(self.device))
        return flat(torch.autograd.grad(loss, self.params))

    def build(self, dataset) -> None:
        for x, y in dataset:
            self.rows.append(self.gradient(x, y))  # expect: TML401

    def influence(self, sample: Tuple[torch.Tensor, torch.Tensor], k: int = 20) -> List[int]:
        query = self.gradient(*sample)
        scores = torch.tensor([torch.dot(query, row.to(query)).item() for row in self.rows])
        return scores.topk(k).indices.tolist()
