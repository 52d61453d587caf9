"""Outputs that pile up though only the last one, or what the metric makes of all at the end, is asked for."""

import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Service:
    def __init__(self, net):
        self.net = net.to(device).eval()
        self.results = []

    def inference(self, images):
        with torch.no_grad():
            output = self.net(images.to(device))
        self.results.append(output)  # expect: TML401
        return output

    def area(self):
        return self.results[-1].argmax(1).float().mean().item()

    def handle(self, images):
        self.inference(images)
        return self.area()


class Metric:
    def __init__(self):
        self.reset()

    def reset(self):
        self.preds = []

    def update(self, preds, target):
        self.preds.append((preds - target).abs())

    def compute(self):
        return torch.cat(self.preds).mean().item()


def pictures(count):
    for _ in range(count):
        large = torch.rand(4, 3, 16, 16, device=device)
        yield large[:, :, ::2, ::2], large


@torch.no_grad()
def validate(net, metric):
    metric.reset()
    for small, large in pictures(20):
        metric.update(net(small), large)  # expect: TML401
    return metric.compute()


if __name__ == "__main__":
    service = Service(nn.Conv2d(3, 5, 1))
    print([service.handle(torch.rand(1, 3, 8, 8)) for _ in range(3)])
    print(
        validate(nn.Upsample(scale_factor=2), Metric()), validate(nn.ConvTranspose2d(3, 3, 2, 2).to(device), Metric())
    )
