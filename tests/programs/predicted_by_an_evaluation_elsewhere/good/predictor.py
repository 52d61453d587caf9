"""A wrapper whose `predict` is called by a file that does not import it."""

import math

import torch
from torch import nn


class Predictor(nn.Module):
    def __init__(self, words: int) -> None:
        super().__init__()
        self.model = nn.Sequential(nn.Embedding(words, 16), nn.Linear(16, words)).cuda()

    def scores(self, ids, labels):
        scores = []
        for one, label in zip(ids, labels):
            filled = []
            for place in range(len(label)):
                logits = self.model(one[None])
                filled.append(math.log(logits.softmax(dim=-1)[0, place, label[place]].item()))
            scores.append(sum(filled))
        return torch.tensor([scores])

    def helper(self, batch):
        ids, labels = batch
        scores = self.scores(ids, labels)
        return torch.argmax(scores, dim=1), scores

    def predict(self, batch):
        return self.helper(batch)
