"""A cache of keys and values is the point of generation; gradients are off."""

import torch
from torch import nn


class Layer(nn.Module):
    def __init__(self, width=8, longest=16):
        super().__init__()
        self.qkv = nn.Linear(width, 3 * width)
        self.register_buffer("keys", torch.zeros(1, longest, width), persistent=False)
        self.register_buffer("values", torch.zeros(1, longest, width), persistent=False)
        self.filled = 0

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, -1)
        if not self.training:
            end = self.filled + x.size(1)
            self.keys[:, self.filled : end] = k.detach()
            self.values[:, self.filled : end] = v.detach()
            self.filled = end
            k, v = self.keys[:, :end], self.values[:, :end]
        return nn.functional.scaled_dot_product_attention(q, k, v)

    def reset(self):
        self.filled = 0


@torch.inference_mode()
def generate(layer, embed, head, token, steps=4):
    layer.eval()
    layer.reset()
    tokens = [token.item()]
    for _ in range(steps):
        logits = head(layer(embed(token)))
        token = logits[:, -1].argmax(-1, keepdim=True)
        tokens.append(token.item())
    layer.reset()
    return tokens


def train_step(layer, embed, head, optimizer, tokens):
    layer.train()
    logits = head(layer(embed(tokens[:, :-1])))
    loss = nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


if __name__ == "__main__":
    block, table, top = Layer(), nn.Embedding(5, 8), nn.Linear(8, 5)
    print(train_step(block, table, top, torch.optim.SGD(block.parameters(), lr=0.1), torch.zeros(2, 4).long()))
    print(generate(block, table, top, torch.zeros(1, 1).long()))
