"""Shops, generators and text files use the same words: no torch value is involved."""

from decimal import Decimal

import torch


class Model:
    def __call__(self, prompt):
        return prompt.upper()

    def eval(self):
        return self


def strip_lines(handle):
    out = []
    for line in handle:
        l = line.strip()
        if l:
            out.append(l)
    return out


def invoice(orders):
    totals, total, cost = [], Decimal(0), Decimal(0)
    for order in orders:
        cost = order.price * order.count
        total += cost
        totals.append(total)
    return totals


def replies(generator, prompts):
    outputs = []
    for prompt in prompts:
        output = generator(prompt)
        outputs.append(output)
    return outputs


def walk(policy, observations):
    actions, loss = [], 0
    for obs in observations:
        action = policy(obs)
        loss += len(action)
        actions.append(action)
    return actions, loss


class Ledger:
    def __init__(self):
        self.loss = 0
        self.history = []

    def forward(self, days):
        self.history.append(days)
        self.loss += days
        return self.loss


if __name__ == "__main__":
    model = Model().eval()
    print(strip_lines([" a ", ""]), replies(model, ["x"]), walk(model, ["y"]), Ledger().forward(3), torch.__version__)
