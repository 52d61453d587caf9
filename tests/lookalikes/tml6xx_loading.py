"""Loading that costs nothing extra: to the host, for data; data sets and loaders used as they should be."""

import io
import json

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, TensorDataset


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x):
        return self.layer(x)


def resumed(file, device, x):
    model = Net().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    state = torch.load(file, map_location="cpu")
    model.load_state_dict(state["model"])
    start = state["step"]
    del state
    for _ in range(start, 3):
        optimizer.zero_grad()
        model(x).sum().backward()
        optimizer.step()
    return model


class Runner:
    def __init__(self, file, device):
        self.model = Net()
        self.restore(file, device)
        self.model.to(device).eval()

    def restore(self, file, device):
        snapshot = torch.load(file, map_location=device)
        self.model.load_state_dict(snapshot["model"])

    @torch.no_grad()
    def run(self, batches):
        return [self.model(x).sum().item() for x in batches]


def optimizer_only(file, model):
    optimizer = torch.optim.Adam(model.parameters())
    state = torch.load(file)
    optimizer.load_state_dict(state)
    return optimizer


def word_vectors(file):
    vectors = torch.load(file)
    return nn.Embedding.from_pretrained(vectors["table"])


class Index(Dataset):
    """Offsets into a file: two tensors, whatever the number of samples."""

    def __init__(self, blobs):
        self.ends = torch.tensor([len(b) for b in blobs]).cumsum(0)
        self.data = torch.frombuffer(bytearray(b"".join(blobs)), dtype=torch.uint8)

    def __len__(self):
        return len(self.ends)

    def __getitem__(self, i):
        start = self.ends[i - 1].item() if i else 0
        return torch.tensor(json.loads(bytes(self.data[start : self.ends[i].item()].tolist())))


def batches(rows, device):
    for (x,) in DataLoader(TensorDataset(rows), batch_size=2, num_workers=2):
        yield x.to(device)


def buffer():
    file = io.BytesIO()
    torch.save({"model": Net().state_dict(), "step": 1, "table": torch.ones(2, 3)}, file)
    file.seek(0)
    return file


if __name__ == "__main__":
    resumed(buffer(), "cpu", torch.ones(2, 4))
    print(Runner(buffer(), "cpu").run([torch.ones(1, 4)]), word_vectors(buffer()))
    print(list(DataLoader(Index([b"[1]", b"[2]"]), num_workers=2)), len(list(batches(torch.ones(4, 2), "cpu"))))
    saved = io.BytesIO()
    torch.save(torch.optim.Adam(Net().parameters()).state_dict(), saved)
    saved.seek(0)
    optimizer_only(saved, Net())
