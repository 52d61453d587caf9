import numpy as np
import torch
from datasets import load_dataset
from transformers import AutoModelForSequenceClassification, AutoTokenizer, DataCollatorWithPadding, TrainingArguments

from train_metrics_trainer import TrainMetricsTrainer


def compute_metrics(eval_pred):
    logits, labels = eval_pred
    return {"accuracy": float((np.argmax(logits, -1) == labels).mean())}


def main(name="roberta-base"):
    tokenizer = AutoTokenizer.from_pretrained(name)
    data = load_dataset("ag_news").map(lambda rows: tokenizer(rows["text"], truncation=True), batched=True)
    counts = torch.bincount(torch.tensor(data["train"]["label"]))
    trainer = TrainMetricsTrainer(
        AutoModelForSequenceClassification.from_pretrained(name, num_labels=4),
        TrainingArguments("out", per_device_train_batch_size=32, num_train_epochs=3, fp16=True),
        train_dataset=data["train"],
        eval_dataset=data["test"],
        data_collator=DataCollatorWithPadding(tokenizer),
        compute_metrics=compute_metrics,
        class_weights=counts.sum() / counts,
    )
    trainer.train()


if __name__ == "__main__":
    main()
