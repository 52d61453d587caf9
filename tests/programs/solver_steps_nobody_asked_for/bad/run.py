import torch

from solver import NoiseSchedule, Solver


def main(unet: torch.nn.Module, n: int = 64):
    unet = unet.cuda().eval()
    solver = Solver(unet, NoiseSchedule())
    images = solver.sample(torch.randn(n, 3, 256, 256, device="cuda"), steps=50)
    return ((images.clamp(-1, 1) + 1) * 127.5).byte().cpu().numpy()
