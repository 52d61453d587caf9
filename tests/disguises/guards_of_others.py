"""Methods and functions called `no_grad` that are not PyTorch's."""

import contextlib

import torch
from torch import nn


class Session:
    @contextlib.contextmanager
    def no_grad(self):
        yield self

    def inference_mode(self):
        return contextlib.nullcontext()


@contextlib.contextmanager
def no_grad():
    yield


def label(session, model, x):
    model.eval()
    with session.no_grad():
        return model(x).argmax(1).tolist()  # expect: TML201


def label_again(model, x):
    model.eval()
    with no_grad():
        return model(x).argmax(1).tolist()  # expect: TML201


def label_there(model, x):
    model.eval()
    with Session().inference_mode():
        return model(x).argmax(1).tolist()  # expect: TML201


if __name__ == "__main__":
    net, data = nn.Linear(4, 3), torch.randn(2, 4)
    print(label(Session(), net, data), label_again(net, data), label_there(net, data))
