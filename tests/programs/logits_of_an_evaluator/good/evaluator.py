from typing import Any, Dict, List

import torch
from torch.utils.data import DataLoader


class Evaluator:
    def __init__(self, data_loader: DataLoader, tasks: List[str], device: torch.device):
        self.data_loader = data_loader
        self.tasks = tasks
        self.device = device

    def eval(self, model, return_preds_and_labels: bool = False) -> Dict[str, Any]:
        model.eval()
        preds_all: Dict[str, list] = {task: [] for task in self.tasks}
        loss_all = 0.0
        for batch in self.data_loader:
            batch = {key: value.to(self.device) for key, value in batch.items()}
            with torch.no_grad():
                logits = model(batch["input_ids"], batch["padding_mask"])
                loss_all += torch.nn.functional.cross_entropy(logits[self.tasks[0]], batch["labels"]).item()
            for task in self.tasks:
                preds_all[task].append(logits[task].cpu())
        result = {"loss": loss_all / len(self.data_loader)}
        if return_preds_and_labels:
            result["preds"] = {task: torch.cat(parts) for task, parts in preds_all.items()}
        return result
