from typing import Callable

import torch


class NoiseSchedule:
    T = 1.0

    def marginal_std(self, t: torch.Tensor) -> torch.Tensor:
        return torch.sqrt(1.0 - torch.exp(-10.0 * t))


class Solver:
    def __init__(self, model_fn: Callable, schedule: NoiseSchedule):
        self.model_fn = model_fn
        self.schedule = schedule

    @torch.no_grad()
    def sample(self, x: torch.Tensor, steps: int = 20, return_intermediate: bool = False):
        intermediates = []

        def save_intermediate(value):
            if return_intermediate:
                intermediates.append(value.cpu())

        times = torch.linspace(self.schedule.T, 1e-3, steps + 1, device=x.device)
        for s, t in zip(times[:-1], times[1:]):
            noise = self.model_fn(x, s.expand(x.shape[0]))
            sigma = self.schedule.marginal_std(t)
            x = x + (sigma - self.schedule.marginal_std(s)) * noise
            save_intermediate(x)
        if return_intermediate:
            return x, intermediates
        return x
