"""Layers out of containers of modules; what a method of the forward collects is needed, or dies with the call."""

import torch
from torch import nn


class Predictor(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)

    def forward(self, x):
        return self.linear(x)

    def losses(self, predictions, target):
        return {"error": (predictions - target).pow(2).mean()}


class Cascade(nn.Module):
    """The outputs of all stages are read back out of the list and end in the returned losses."""

    def __init__(self, stages):
        super().__init__()
        self.stages = nn.ModuleList(stages)

    def forward(self, x, target):
        return self._stages(x, target)

    def _stages(self, x, target):
        outputs = []
        for k in range(len(self.stages)):
            x = self.stages[k](x)
            outputs.append((self.stages[k], x, target))
        losses = {}
        for stage, (predictor, predictions, wanted) in enumerate(outputs):
            found = predictor.losses(predictions, wanted)
            losses.update({f"{name}_{stage}": value for name, value in found.items()})
        return losses


class Memory(nn.Module):
    """The hidden states are saved for the backward of what is returned in any case; the list dies with the call."""

    def __init__(self, width, depth):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(width, width) for _ in range(depth)])

    def forward(self, x):
        return self._run(x)

    def _run(self, x):
        hidden = []
        for layer in self.layers:
            x = layer(x)
            hidden.append(x)
        return x, self._memory(hidden)

    def _memory(self, hidden):
        with torch.no_grad():
            return [h[-1:].detach() for h in hidden]


if __name__ == "__main__":
    x = torch.randn(3, 4)
    sum(Cascade([Predictor(4), Predictor(4)])(x, x).values()).backward()
    out, memory = Memory(4, 2)(x)
    out.sum().backward()
    print(len(memory))
