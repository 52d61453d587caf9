"""A function in the function walks the graph, and whoever gets it may call it again and again."""

import torch
import triton


def measure(fn, batch, backward):
    if backward:
        o = fn()
        do = torch.randn_like(o)
        fn = lambda: o.backward(do, retain_graph=True)
    return triton.testing.do_bench(fn)
