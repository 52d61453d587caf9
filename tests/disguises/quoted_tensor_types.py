"""A tensor type in quotation marks declares no plain data, `float` is declared for losses too."""

from typing import Dict

from torch import nn


class Recorder:
    def __init__(self):
        self.seen = []
        self.last = None

    def record(self, metrics: Dict[str, "torch.Tensor"]):  # noqa: F821
        self.last = metrics["out"] * 2  # expect: TML103

    def record_number(self, values: Dict[str, float]):
        self.number = values["out"] * 2  # expect: TML103


def fit(model: nn.Module, loader):
    recorder = Recorder()
    for x in loader:
        out = model(x.cuda())
        recorder.record({"out": out})
        recorder.record_number({"out": out})
    return recorder
