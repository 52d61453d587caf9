import torch
import torch.distributed as dist


class Metric:
    """Running average of a value that is averaged over all ranks."""

    def __init__(self, name: str):
        self.name = name
        self.sum = torch.tensor(0.0)
        self.n = torch.tensor(0.0)

    def update(self, val: torch.Tensor) -> None:
        reduced = val.detach().cpu().clone()
        if dist.is_initialized():
            dist.all_reduce(reduced)
            reduced = reduced / dist.get_world_size()
        self.sum += reduced
        self.n += 1

    @property
    def avg(self) -> torch.Tensor:
        return self.sum / self.n
