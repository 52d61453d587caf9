"""A chain of steps that one backward walks as a whole; two losses over it, of which the first retains the graph."""

import torch
from torch import nn


def train(loader, encoder, decoder, judge, judge_solver, solver, steps, width):
    for x in loader:
        z_hat = encoder(x)
        z = torch.randn(len(x), width)
        for _ in range(steps):
            z_n = z.clone()
            x_hat = decoder(z_n)
            z = encoder(x_hat)
        real, made = judge(torch.cat([x, z_hat], 1)), judge(torch.cat([x_hat, z_n], 1))
        loss = -torch.mean(torch.log(real) + torch.log(1 - made))
        loss.backward(retain_graph=True)
        judge_solver.step()
        other = -torch.mean(torch.log(made) + torch.log(1 - real))
        other.backward()
        solver.step()


def main(loader):
    encoder, decoder, judge = nn.Linear(8, 4), nn.Linear(4, 8), nn.Sequential(nn.Linear(12, 1), nn.Sigmoid())
    solver = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()])
    train(loader, encoder, decoder, judge, torch.optim.Adam(judge.parameters()), solver, 10, 4)
