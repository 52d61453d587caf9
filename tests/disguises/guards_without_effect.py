"""A guard that is there and does nothing."""

import asyncio

import torch
from torch import nn


def bare(model, x):
    model.eval()
    torch.no_grad()  # expect: TML202
    return model(x).argmax(1).tolist()  # allow: TML201


def assigned(model, x):
    model.eval()
    context = torch.no_grad()  # expect: TML202
    return model(x).argmax(1).tolist(), context is None  # allow: TML201


def not_called(model, x):
    model.eval()
    with torch.no_grad:  # expect: TML202
        return model(x).argmax(1).tolist()  # allow: TML201


@torch.inference_mode()  # expect: TML202
async def answer(model, x):
    await asyncio.sleep(0)
    return model(x).argmax(1).tolist()  # allow: TML201


class Api:
    def __init__(self, model):
        self.model = model.eval()

    @torch.no_grad()  # expect: TML202
    async def post(self, x):
        return self.model(x).argmax(1).tolist()  # allow: TML201

    def get(self, x):
        torch.inference_mode()  # expect: TML202
        return self.model(x).argmax(1).tolist()  # allow: TML201


if __name__ == "__main__":
    net, data = nn.Linear(4, 3), torch.randn(2, 4)
    print(bare(net, data), assigned(net, data), asyncio.run(answer(net, data)))
    print(asyncio.run(Api(net).post(data)), Api(net).get(data))
