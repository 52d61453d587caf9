"""An object keeps the handles of its hooks and could remove them; a loop makes one object after the other and never asks
any of them to."""

import torch
from torch import nn


class Watching:
    def __init__(self, model, layer):
        self.model = model
        self.parts = dict(model.named_modules())
        self.seen = None
        self.handles = []
        self.handles.append(self.parts[layer].register_forward_hook(self._see))  # expect: TML106

    def _see(self, module, inputs, output):
        self.seen = output.data

    def remove(self):
        for handle in self.handles:
            handle.remove()
        self.handles.clear()


class Map(Watching):
    def __init__(self, model, layer, scale=1.0):
        super().__init__(model, layer)
        self.scale = scale

    @torch.no_grad()
    def __call__(self, image, label):
        scores = self.model(image)
        return self.seen.mul(self.scale).mean().item() * scores[0, label].item()


def explain(images):
    model = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2)).eval()
    found = []
    for image in images:
        extractor = Map(model, "1")
        found.append(extractor(image, 0))
    return found


if __name__ == "__main__":
    print(explain([torch.randn(1, 4)] * 3))
