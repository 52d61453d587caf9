"""Objects that keep the handles of their hooks: asked to remove them, left by `with`, or one for each model."""

import torch
from torch import nn


class Watching:
    def __init__(self, model, layer):
        self.model = model
        self.seen = None
        self.handle = dict(model.named_modules())[layer].register_forward_hook(self._see)

    def _see(self, module, inputs, output):
        self.seen = output.data

    def remove(self):
        self.handle.remove()

    @torch.no_grad()
    def mean(self, image):
        self.model(image)
        return self.seen.mean().item()


class Entered:
    def __init__(self, model, layer):
        self.seen = []
        self.handle = dict(model.named_modules())[layer].register_forward_hook(self._see)

    def _see(self, module, inputs, output):
        self.seen.append(output.mean().item())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.handle.remove()


class Once:
    def __init__(self, model, layer):
        self.model = model
        self.seen = None
        self.handle = dict(model.named_modules())[layer].register_forward_hook(self._see)

    def _see(self, module, inputs, output):
        self.seen = output.data

    @torch.no_grad()
    def mean(self, image):
        self.model(image)
        found = self.seen.mean().item()
        self.close()
        return found

    def close(self):
        self.handle.remove()


class Single:
    def __init__(self, model, layer):
        self.model = model
        self.seen = None
        self.handle = dict(model.named_modules())[layer].register_forward_hook(self._see)

    def _see(self, module, inputs, output):
        self.seen = output.data

    def remove(self):
        self.handle.remove()

    @torch.no_grad()
    def mean(self, image):
        self.model(image)
        return self.seen.mean().item()


def explain(images):
    model = nn.Sequential(nn.Linear(4, 3), nn.ReLU()).eval()
    found = []
    for image in images:
        watching = Watching(model, "1")
        found.append(watching.mean(image))
        watching.remove()
        with Entered(model, "1") as entered, torch.no_grad():
            model(image)
        found += entered.seen
        once = Once(model, "1")
        found.append(once.mean(image))
    return found


def compare(widths, image):
    found = []
    for width in widths:
        model = nn.Sequential(nn.Linear(4, width), nn.ReLU()).eval()
        single = Single(model, "1")
        found.append(single.mean(image))
    return found


if __name__ == "__main__":
    print(explain([torch.randn(1, 4)] * 2), compare((3, 5), torch.randn(1, 4)))
