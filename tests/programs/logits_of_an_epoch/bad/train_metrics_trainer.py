import torch
from transformers import Trainer, TrainerCallback


class TrainMetricsCallback(TrainerCallback):
    """Logs accuracy on the training data at the end of each epoch."""

    def __init__(self, trainer):
        self._trainer = trainer

    def on_epoch_end(self, args, state, control, **kwargs):
        preds = torch.cat(self._trainer.epoch_logits).argmax(-1)
        labels = torch.cat(self._trainer.epoch_labels)
        self._trainer.log({"train_accuracy": (preds == labels).float().mean().item()})
        self._trainer.epoch_logits = []
        self._trainer.epoch_labels = []
        return control


class TrainMetricsTrainer(Trainer):
    def __init__(self, *args, class_weights=None, **kwargs):
        super().__init__(*args, **kwargs)
        self.class_weights = class_weights
        self.epoch_logits = []
        self.epoch_labels = []
        self.add_callback(TrainMetricsCallback(self))

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        labels = inputs.pop("labels")
        outputs = model(**inputs)
        logits = outputs.logits
        weight = None if self.class_weights is None else self.class_weights.to(logits.device)
        loss = torch.nn.functional.cross_entropy(logits, labels, weight=weight)
        if model.training:
            self.epoch_logits.append(logits)  # expect: TML101
            self.epoch_labels.append(labels)
        return (loss, outputs) if return_outputs else loss
