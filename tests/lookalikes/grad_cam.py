"""Grad-CAM keeps activations and gradients of one layer, reads them and lets go."""

import torch
import torch.nn.functional as F
from torch import nn


class GradCAM:
    def __init__(self, model, layer):
        self.model = model.eval()
        self.activation = None
        self.gradient = None
        self.handles = [
            layer.register_forward_hook(self._keep_activation),
            layer.register_full_backward_hook(self._keep_gradient),
        ]

    def _keep_activation(self, module, inputs, output):
        self.activation = output

    def _keep_gradient(self, module, grad_input, grad_output):
        self.gradient = grad_output[0]

    def __call__(self, image, target=None):
        logits = self.model(image)
        target = logits.argmax(1).item() if target is None else target
        self.model.zero_grad()
        logits[:, target].sum().backward()
        weights = self.gradient.mean((2, 3), keepdim=True)
        cam = F.relu((weights * self.activation).sum(1)).detach()
        self.activation = self.gradient = None
        return cam / cam.amax().clamp(min=1e-6)

    def close(self):
        for handle in self.handles:
            handle.remove()


if __name__ == "__main__":
    conv = nn.Conv2d(3, 4, 3)
    net = nn.Sequential(conv, nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 2))
    cam = GradCAM(net, conv)
    print(cam(torch.randn(1, 3, 8, 8)).shape)
    cam.close()
