from collections import OrderedDict

import torch
from tqdm import tqdm


def sample_to_cuda(data, dtype=None):
    if isinstance(data, dict):
        return {k: sample_to_cuda(v, dtype) for k, v in data.items()}
    if isinstance(data, list):
        return [sample_to_cuda(v, dtype) for v in data]
    return data.to("cuda", dtype=dtype)


class HorovodTrainer:
    def __init__(self, min_epochs: int = 0, max_epochs: int = 50, **kwargs):
        self.min_epochs = min_epochs
        self.max_epochs = max_epochs
        self.avg_loss = OrderedDict()

    def fit(self, module):
        module.trainer = self
        module = module.to("cuda")
        optimizer, scheduler = module.configure_optimizers()
        for epoch in range(self.max_epochs):
            self.train(module.train_dataloader(), module, optimizer)
            scheduler.step()

    def train(self, dataloader, module, optimizer):
        module.train()
        outputs = []
        for i, batch in enumerate(tqdm(dataloader)):
            optimizer.zero_grad()
            batch = sample_to_cuda(batch)
            output = module.training_step(batch, i)
            output["loss"].backward()
            optimizer.step()
            output["loss"] = output["loss"].detach()
            outputs.append(output)
        return module.training_epoch_end(outputs)
