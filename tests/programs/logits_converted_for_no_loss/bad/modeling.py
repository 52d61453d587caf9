from dataclasses import dataclass
from typing import Optional

import torch
from torch import nn


@dataclass
class CausalLMOutput:
    loss: Optional[torch.Tensor]
    logits: torch.Tensor


@dataclass
class TinyConfig:
    vocab_size: int = 128256
    hidden_size: int = 1024
    layers: int = 8
    heads: int = 16


class Decoder(nn.Module):
    def __init__(self, config: TinyConfig):
        super().__init__()
        self.embed_tokens = nn.Embedding(config.vocab_size, config.hidden_size)
        block = nn.TransformerEncoderLayer(config.hidden_size, config.heads, 4 * config.hidden_size, batch_first=True)
        self.layers = nn.TransformerEncoder(block, config.layers)

    def forward(self, input_ids):
        mask = nn.Transformer.generate_square_subsequent_mask(input_ids.shape[1], device=input_ids.device)
        return self.layers(self.embed_tokens(input_ids), mask=mask, is_causal=True)


class TinyForCausalLM(nn.Module):
    def __init__(self, config: TinyConfig):
        super().__init__()
        self.config = config
        self.model = Decoder(config)
        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size, bias=False)

    def forward(self, input_ids, labels: Optional[torch.Tensor] = None) -> CausalLMOutput:
        hidden_states = self.model(input_ids)
        logits = self.lm_head(hidden_states)
        logits = logits.float()  # expect: TML311
        loss = None
        if labels is not None:
            shift = nn.functional.pad(labels, (0, 1), value=-100)[:, 1:]
            loss = nn.functional.cross_entropy(logits.view(-1, self.config.vocab_size), shift.reshape(-1))
        return CausalLMOutput(loss=loss, logits=logits)


@torch.no_grad()
def score(path: str, ids: torch.Tensor) -> list[int]:
    model = TinyForCausalLM(TinyConfig()).to("cuda", torch.bfloat16).eval()
    model.load_state_dict(torch.load(path, map_location="cpu"))
    return model(ids.cuda()).logits[:, -1].argmax(-1).tolist()
