"""Services that load their model in a method of its own, put it into eval mode there and answer with grad on."""

import torch
from torch import nn


class Handler:
    def __init__(self):
        self.model = None
        self.count = 0

    def initialize(self, factory, device="cpu"):
        self.model = factory().to(device)
        self.model.eval()

    def preprocess(self, rows):
        return torch.as_tensor(rows, dtype=torch.float32)

    def inference(self, data):
        return self.model(data)  # expect: TML201

    def postprocess(self, data):
        return data.softmax(-1).tolist()

    def handle(self, rows):
        self.count += 1
        return self.postprocess(self.inference(self.preprocess(rows)))


class Predictor:
    def setup(self):
        self.net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2)).eval()

    def predict(self, row):
        scores = self.net(torch.tensor(row))  # expect: TML201
        return scores.argmax().item()


if __name__ == "__main__":
    handler, predictor = Handler(), Predictor()
    handler.initialize(lambda: nn.Linear(4, 2))
    predictor.setup()
    print(len(handler.handle([[0.0, 1.0, 2.0, 3.0]])), predictor.predict([0.0, 1.0, 2.0, 3.0]))
