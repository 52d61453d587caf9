"""The caller builds the net by a function that may give up, and puts it into eval mode; a Function of the old kind, called
like a module, ends its forward; the loop counts files."""

import torch
from torch import nn
from torch.autograd import Function

EXTRA = {"small": 4, "large": 8}


class Decode(Function):
    def __init__(self, top):
        self.top = top

    def forward(self, scores):
        return scores.sort(1, descending=True)[0][:, : self.top]


class Detector(nn.Module):
    def __init__(self, phase, width):
        super().__init__()
        self.phase = phase
        self.body = nn.Conv2d(3, width, 3)
        self.head = nn.Linear(width, 5)
        self.decode = Decode(2)

    def forward(self, x):
        scores = self.head(torch.relu(self.body(x)).mean((2, 3)))
        if self.phase == "test":
            output = self.decode(scores)
        else:
            output = (scores, x.shape)
        return output


def build(phase, size="small"):
    if phase not in ("train", "test"):
        print("unknown phase", phase)
        return
    return Detector(phase, EXTRA[size])


def boxes(net, folder, names):
    found = []
    for i in range(len(names)):
        picture = torch.load(f"{folder}/{names[i]}")
        rows = net(picture.unsqueeze(0)).data  # expect: TML201
        for row in rows:
            found.append(row.tolist())
    return found


def live(detector, camera):
    def look(frame):
        y = detector(torch.from_numpy(frame).unsqueeze(0))  # expect: TML201
        return y.data[0].tolist()

    while camera.ready():
        print(look(camera.read()))


def main(folder, names, camera):
    net = build("test")
    net.load_state_dict(torch.load("detector.pt", map_location="cpu"))
    net.eval()
    print(boxes(net.cuda(), folder, names))
    live(net.eval(), camera)
