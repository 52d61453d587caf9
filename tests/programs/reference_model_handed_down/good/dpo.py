import copy
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn


@dataclass
class DPOConfig:
    beta: float = 0.1
    lr: float = 5e-6
    epochs: int = 1
    eval_freq: int = 50


def compute_logprobs(logits, labels, selection_mask=None):
    labels = labels[:, 1:]
    logits = logits[:, :-1, :]
    log_probs = F.log_softmax(logits, dim=-1)
    selected = torch.gather(log_probs, dim=-1, index=labels.unsqueeze(-1)).squeeze(-1)
    if selection_mask is not None:
        mask = selection_mask[:, 1:]
        return (selected * mask).sum(-1) / mask.sum(-1)
    return selected.mean(-1)


def dpo_loss(policy_chosen, policy_rejected, ref_chosen, ref_rejected, beta):
    logits = (policy_chosen - policy_rejected) - (ref_chosen - ref_rejected)
    return -F.logsigmoid(beta * logits).mean()


def dpo_loss_batch(batch, policy_model, reference_model, beta):
    policy_chosen = compute_logprobs(policy_model(batch["chosen"]), batch["chosen"], batch["chosen_mask"])
    policy_rejected = compute_logprobs(policy_model(batch["rejected"]), batch["rejected"], batch["rejected_mask"])
    with torch.no_grad():
        ref_chosen = compute_logprobs(reference_model(batch["chosen"]), batch["chosen"], batch["chosen_mask"])
        ref_rejected = compute_logprobs(reference_model(batch["rejected"]), batch["rejected"], batch["rejected_mask"])
    return dpo_loss(policy_chosen, policy_rejected, ref_chosen, ref_rejected, beta)
