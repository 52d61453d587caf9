"""Images on self, shared by the methods of one optimisation step."""

import itertools

import torch
import torch.nn.functional as F
from torch import nn


class CycleGANModel:
    def __init__(self):
        self.netG_A, self.netG_B = nn.Conv2d(3, 3, 3, padding=1), nn.Conv2d(3, 3, 3, padding=1)
        self.netD_A = nn.Conv2d(3, 1, 3)
        self.optimizer_G = torch.optim.Adam(itertools.chain(self.netG_A.parameters(), self.netG_B.parameters()))
        self.optimizer_D = torch.optim.Adam(self.netD_A.parameters())

    def set_input(self, data):
        self.real_A, self.real_B = data["A"], data["B"]

    def forward(self):
        self.fake_B = self.netG_A(self.real_A)
        self.rec_A = self.netG_B(self.fake_B)

    def backward_D(self):
        pred_real, pred_fake = self.netD_A(self.real_B), self.netD_A(self.fake_B.detach())
        self.loss_D = pred_fake.relu().mean() - pred_real.clamp(max=1).mean()
        self.loss_D.backward()

    def backward_G(self):
        self.loss_G_A = -self.netD_A(self.fake_B).mean()
        self.loss_cycle_A = F.l1_loss(self.rec_A, self.real_A)
        self.loss_G = self.loss_G_A + 10 * self.loss_cycle_A
        self.loss_G.backward()

    def optimize_parameters(self):
        self.forward()
        self.netD_A.requires_grad_(False)
        self.optimizer_G.zero_grad()
        self.backward_G()
        self.optimizer_G.step()
        self.netD_A.requires_grad_(True)
        self.optimizer_D.zero_grad()
        self.backward_D()
        self.optimizer_D.step()

    def get_current_losses(self):
        return {"G": float(self.loss_G), "D": float(self.loss_D)}


if __name__ == "__main__":
    model = CycleGANModel()
    model.set_input({"A": torch.randn(1, 3, 8, 8), "B": torch.randn(1, 3, 8, 8)})
    model.optimize_parameters()
    print(model.get_current_losses())
