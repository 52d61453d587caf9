"""Another library with modules of its own."""

import megengine as mge
import numpy as np
from megengine import jit


def dump_static_graph(model, name="model.mge"):
    model.eval()
    data = mge.Tensor(np.random.random((1, 3, 640, 640)))

    @jit.trace(capture_as_const=True)
    def predict(data):
        return model(data)

    predict(data)
    predict.dump(name, arg_names=["data"])


def validate(net, loader):
    net.eval()
    total = 0.0
    for x, y in loader:
        total += float((net(x) == y).mean())
    return total


def main(path, loader):
    net = mge.load(path)
    net.load_state_dict(mge.load(path + ".weights"))
    dump_static_graph(net)
    return validate(net, loader)
