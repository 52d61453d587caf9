from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Iterable, Iterator, List, Optional, Union

import torch
from torch import Tensor, nn


def batched(texts: List[str], size: int) -> Iterator[List[str]]:
    for start in range(0, len(texts), size):
        yield texts[start : start + size]


class Encoder:
    def __init__(self, model: nn.Module, tokenizer, cuda_device: int = 0, sphereize: bool = False):
        self._model = model
        self._tokenizer = tokenizer
        self._cuda_device = cuda_device
        self.sphereize = sphereize
        self._model.to(self.device).eval()

    @cached_property
    def device(self) -> torch.device:
        return torch.device("cpu" if self._cuda_device < 0 else f"cuda:{self._cuda_device}")

    def _embed(self, texts: List[str]) -> Tensor:
        inputs = self._tokenizer(texts, padding=True, return_tensors="pt").to(self.device)
        hidden = self._model(**inputs).last_hidden_state
        mask = inputs["attention_mask"].unsqueeze(-1)
        return (hidden * mask).sum(1) / mask.sum(1).clamp(min=1)

    @torch.no_grad()
    def __call__(self, inputs: Union[str, Path, Iterable[str]], batch_size: Optional[int] = None):
        texts = Path(inputs).read_text().splitlines() if isinstance(inputs, (str, Path)) else list(inputs)
        embeddings: List[Tensor] = []
        for batch in batched(texts, batch_size or 32):
            emb = self._embed(batch)
            embeddings.append(emb)  # expect: TML401
        stacked = torch.cat(embeddings)
        if self.sphereize:
            stacked = stacked - stacked.mean(0)
        return stacked.cpu().numpy()
