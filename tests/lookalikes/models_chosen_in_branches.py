"""One of several models is made: what another branch moves to the accelerator is not the one that is loaded here."""
import torch
from torch import nn


def get_model(kind):
    if kind == "2d":
        model = nn.Linear(512, 512)
        model = model.cuda()
    elif kind == "s3d":
        model = nn.Linear(512, 1024)
        model.load_state_dict(torch.load("s3d.pth"))
        model = model.cuda()
    else:
        raise ValueError("model not supported yet")
    model.eval()
    return model
