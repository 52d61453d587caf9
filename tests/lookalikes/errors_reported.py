"""Where memory has run out the handler reports it with the function that has reported before."""

import torch


def train(model, loader, optimizer, print_fn, is_quiet, bs, print_verbose):
    error = None
    try:
        print_verbose("starting")
        for x, y in loader:
            loss = model(x, y)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        print_verbose("done")
    except torch.OutOfMemoryError as exc:
        print_verbose("out of memory error encountered")
        error = str(exc)
    return error
