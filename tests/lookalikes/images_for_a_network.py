"""Images whose channels come last: `contiguous` sets the memory format in which the network runs."""

import numpy as np
import torch


class Predictor:
    def __init__(self, model, device):
        self.model, self.device = model, device

    def set_image(self, image: np.ndarray):
        pixels = torch.as_tensor(image, device=self.device)
        pixels = pixels.permute(2, 0, 1).contiguous()[None, :, :, :]
        self.set_images(pixels)

    @torch.no_grad()
    def set_images(self, x):
        x = (x - 3.0) / 2.0
        self.features = self.model(x)

    @torch.no_grad()
    def set_frames(self, frames):
        pixels = frames.to(self.device).permute(0, 3, 1, 2).contiguous()
        self.features = self.model((pixels - 3.0) / 2.0)
