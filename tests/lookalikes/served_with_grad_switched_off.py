"""The method that loads the model switches grad off for the whole process."""

import torch
from torch import nn


class Service:
    def load(self):
        torch.set_grad_enabled(False)
        self.model = nn.Linear(3, 3).eval()

    def predict(self, x):
        return self.model(x).argmax(-1).tolist()
