"""A nested function is handed to one that runs without grad."""

import torch


@torch.no_grad()
def replace(model, callback):
    for name, module in model.named_modules():
        if not callback(model, name):
            module.load_old()


def check(model, inputs, base):
    current = float("inf")
    logs = []
    model.eval()

    def my_callback(model, name):
        nonlocal current
        logits = model(**inputs).logits
        mse = ((base - logits) ** 2).mean()
        if mse < current:
            current = mse
            logs.append(True)
            return True
        logs.append(False)
        return False

    replace(model, callback=my_callback)
    return model(**inputs).logits, logs
