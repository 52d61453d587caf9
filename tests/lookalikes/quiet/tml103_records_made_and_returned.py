"""Results are put on an object that the function makes and gives back; nothing of them stays behind."""

import torch
import torch.nn as nn


class Instances:
    def __init__(self, size):
        self.size = size


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.score = nn.Linear(16, 32), nn.Linear(32, 4)

    def forward(self, images):
        logits = [self.score(self.body(image)) for image in images]
        if self.training:
            return torch.stack(logits).mean()
        return self.inference(logits)

    def inference(self, logits):
        results = []
        for per_image in logits:
            results.append(self.one_image(per_image, len(per_image)))
        return results

    def one_image(self, logits, size):
        found = Instances(size)
        found.scores = logits.sigmoid()
        return found
