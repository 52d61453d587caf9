"""A sampler keeps the images of all steps, and gives them out only where an argument asks for them."""

import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Sampler(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(4, 4)

    @torch.no_grad()
    def step(self, image, t):
        noise = self.net(image)
        return image - noise / t, noise

    @torch.no_grad()
    def sample(self, shape, steps, return_all=False):
        image = torch.randn(shape, device=device)
        images = [image]
        for t in range(steps, 0, -1):
            image, noise = self.step(image, t)
            images.append(image)  # expect: TML401
        return image if not return_all else torch.stack(images, dim=1)

    @torch.no_grad()
    def trace(self, shape, steps, with_noise=None):
        image, noises = torch.randn(shape, device=device), []
        for t in range(steps, 0, -1):
            image, noise = self.step(image, t)
            noises.append(noise)  # expect: TML401
        if with_noise is None:
            return image
        return image, noises

    @torch.no_grad()
    def movie(self, shape, steps, return_all=True):
        image = torch.randn(shape, device=device)
        images = [image]
        for t in range(steps, 0, -1):
            image, noise = self.step(image, t)
            images.append(image.cpu())
        return torch.stack(images[1:]) if return_all else image


if __name__ == "__main__":
    sampler = Sampler().to(device)
    print(sampler.sample((2, 4), 3).shape, sampler.trace((2, 4), 3).shape, sampler.movie((2, 4), 3).shape)
