import torch
from kernels.torch.act import Activation


class FusedActivation(Activation):
    def forward(self, x):
        return torch.ops.fused.act(x, self.alpha)
