"""A helper that reports an error names running out of memory in its docstring or in what it prints: it tells nothing
of the error that is caught."""

import torch
from torch import nn


def report(error):
    """Logs the error; one for being out of memory is told apart by the dashboard."""
    print(type(error), "perhaps out of memory:", error)


def run(model: nn.Module, x, fallback: nn.Module):
    with torch.no_grad():
        try:
            return model(x)
        except Exception as error:
            report(error)
            return fallback(x)


def run_narrow(model: nn.Module, x):
    try:
        return model(x.half())
    except RuntimeError as error:
        report(error)
        return model(x.float())
