import torch
from kernels.torch import Activation
from torch import nn


def evaluate(path, loader):
    model = nn.Sequential(nn.Linear(3, 4), Activation(4)).to("cuda")
    model.load_state_dict(torch.load(path, map_location="cpu"))
    model.eval()
    error = 0.0
    for x, y in loader:
        with torch.inference_mode():
            out = model(x.cuda())
        error += (out - y.cuda()).abs().mean().item()
    return error
