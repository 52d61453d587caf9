"""The first token of a sequence is a whole vector a row; a column of class scores would be one number."""

import torch
from torch import nn


@torch.no_grad()
def embed(encoder, batches, device):
    rows = []
    for tokens in batches:
        rows.append(encoder(tokens.to(device))[:, 0].clone())  # expect: TML401
    return torch.cat(rows).cpu().numpy()


if __name__ == "__main__":
    device = "cuda" if torch.cuda.is_available() else "cpu"
    encoder = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).to(device).eval()
    print(embed(encoder, [torch.randn(2, 5, 8)] * 2, device).shape)
