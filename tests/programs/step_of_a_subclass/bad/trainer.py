from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Callable, Mapping

from tqdm.auto import trange


class Trainer(ABC):
    def __init__(self, model, loss_function: Callable, epochs: int, evaluate: Mapping[str, Callable] | None = None):
        self.model = model
        self.loss_function = loss_function
        self.epochs = epochs
        self.evaluate_functions = dict(evaluate or {})
        self.train_costs: list[float] = []
        self.train_results: dict[str, list[float]] = {k: [] for k in self.evaluate_functions}

    @abstractmethod
    def training_step(self, batch) -> tuple[Any, float]: ...

    def fit(self, train_dataset) -> None:
        for _ in trange(self.epochs):
            y_hats, targets = [], []
            for batch in train_dataset:
                y_hat, loss = self.training_step(batch)
                y_hats.append(y_hat)  # expect: TML101
                targets.append(batch[1])
                self.train_costs.append(loss)
            for name, func in self.evaluate_functions.items():
                scores = [func(p, t) for p, t in zip(y_hats, targets)]
                self.train_results[name].append(float(sum(scores)) / len(scores))
