"""A module that goes to the device in its own constructor, and reads its weights from a file by itself."""

import torch
from torch import nn


class Core(nn.Module):
    def __init__(self, device):
        super().__init__()
        self.device = device
        self.net = nn.Linear(8, 8)
        self.to(device)

    def restore(self, path):
        payload = torch.load(path)  # expect: TML601
        self.load_state_dict(payload["model"])
        return payload["step"]


def main(path):
    core = Core(torch.device("cuda" if torch.cuda.is_available() else "cpu"))
    return core.restore(path)


if __name__ == "__main__":
    torch.save({"model": Core("cpu").state_dict(), "step": 3}, "/dev/shm/core.pt")
    print(main("/dev/shm/core.pt"))
