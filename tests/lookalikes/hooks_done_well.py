"""Hooks that keep shapes, numbers, or one detached host copy, and are removed."""

import torch
from torch import nn


def summarize(model, sample):
    shapes, handles = {}, []

    def note(name):
        def hook(module, inputs, output):
            shapes[name] = tuple(output.shape)

        return hook

    for name, layer in model.named_children():
        handles.append(layer.register_forward_hook(note(name)))
    with torch.no_grad():
        model(sample)
    for handle in handles:
        handle.remove()
    return shapes


class Recorder:
    """What is kept is decided by the functions that the caller gives."""

    def __init__(self, model, functions):
        self.stats = {fn.__name__: [] for fn in functions}
        for layer, fn in zip(model.children(), functions):
            layer.register_forward_hook(self.recording(fn))

    def recording(self, fn):
        def record(module, inputs, output):
            out = fn(module, inputs, output)
            self.stats[fn.__name__].append(out)

        return record


class ActivationStats:
    def __init__(self, layer):
        self.mean, self.std = [], []
        self.handle = layer.register_forward_hook(self.record)

    def record(self, module, inputs, output):
        self.mean.append(output.mean().item())
        self.std.append(output.detach().std().item())

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.handle.remove()


@torch.no_grad()
def last_layer(model, layer, loader):
    rows, store = [], {}
    handle = layer.register_forward_hook(lambda m, i, o: store.update(out=o.cpu()))
    model.eval()
    for x in loader:
        model(x)
        rows.append(store.pop("out"))
    handle.remove()
    return torch.cat(rows)


if __name__ == "__main__":
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
    data = torch.randn(5, 4)
    with ActivationStats(net[0]) as stats:
        net(data).mean().backward()
    print(summarize(net, data), stats.mean, last_layer(net, net[0], [data]).shape)
