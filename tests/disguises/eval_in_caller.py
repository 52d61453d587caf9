"""`eval()` is called by the caller; the loop itself has no guard and an ordinary name."""

import torch
from torch import nn


class Segmenter(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Conv2d(3, 4, 3, padding=1)
        self.head = nn.Conv2d(4, 2, 1)

    def forward(self, x):
        return self.head(torch.relu(self.body(x)))


def overlap(lm, loader):
    hits = []
    for image, mask in loader:
        guess = lm(image)  # expect: TML201
        hits.append((guess.argmax(1) == mask).float().mean().item())
    return sum(hits) / len(hits)


class Report:
    def __init__(self, segmenter):
        self.segmenter = segmenter

    def areas(self, loader):
        return [self._area(image) for image, _ in loader]

    def _area(self, image):
        return self.segmenter(image).argmax(1).sum().item()  # expect: TML201


def main():
    segmenter = Segmenter()
    loader = [(torch.rand(1, 3, 8, 8), torch.zeros(1, 8, 8).long())] * 2
    segmenter.eval()
    print(overlap(segmenter, loader), Report(segmenter).areas(loader))


if __name__ == "__main__":
    main()
