"""Decoded text and token ids are host values."""

import torch
from torch import nn


class Tokenizer:
    def __init__(self, words):
        self.words = words

    def decode(self, ids):
        return " ".join(self.words[i] for i in ids)

    def batch_decode(self, rows):
        return [self.decode(row.tolist()) for row in rows]


@torch.no_grad()
def greedy(model, tokenizer, prompts):
    model.eval()
    texts = []
    for prompt in prompts:
        logits = model(prompt)
        ids = logits.argmax(-1).tolist()
        texts.append(tokenizer.decode(ids))
    return texts


def train_with_samples(model, optimizer, tokenizer, loader):
    log = []
    for tokens in loader:
        logits = model(tokens)
        loss = nn.functional.cross_entropy(logits[:-1], tokens[1:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        log.append(tokenizer.decode(logits.argmax(-1).tolist()))
        log.extend(tokenizer.batch_decode([logits.argmax(-1)]))
        log.append(f"loss {loss:.3f}")
    return log


if __name__ == "__main__":
    words = Tokenizer("red green blue".split())
    lm = nn.Sequential(nn.Embedding(3, 4), nn.Linear(4, 3))
    data = [torch.tensor([0, 1, 2])] * 2
    print(greedy(lm, words, data), train_with_samples(lm, torch.optim.SGD(lm.parameters(), lr=0.1), words, data))
