import torch
from torch import nn


class Tokenizer:
    def encode(self, text: str) -> torch.Tensor:
        return torch.tensor([list(text.encode())])

    def decode(self, ids: list[int]) -> str:
        return bytes(i % 256 for i in ids).decode(errors="ignore")


class CausalLM(nn.Module):
    def __init__(self, vocab: int = 32000, dim: int = 2048):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.rnn = nn.GRU(dim, dim, num_layers=4, batch_first=True)
        self.head = nn.Linear(dim, vocab)

    @classmethod
    def from_checkpoint(cls, path: str) -> "CausalLM":
        model = cls()
        model.load_state_dict(torch.load(path, map_location="cpu"))
        return model

    def forward(self, ids, past=None):
        hidden, past = self.rnn(self.embed(ids), past)
        return self.head(hidden), past
