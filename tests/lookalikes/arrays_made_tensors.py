"""Arrays that become tensors under a name that also holds a tensor: `torch.tensor` copies what was none."""

import numpy as np
import torch
from scipy.cluster.vq import kmeans


class Passage:
    def __init__(self):
        self.sequence_ids = None

    def on_serialize(self):
        self.sequence_ids = self.sequence_ids.numpy()

    def on_deserialize(self):
        self.sequence_ids = torch.tensor(self.sequence_ids)


def fill(passages, question):
    for passage in passages:
        passage.sequence_ids = torch.cat([question, passage.title])


def evolved(wh, n):
    k, _ = kmeans(wh / wh.std(0), n, iter=30)
    return k[np.argsort(k.prod(1))]


def check_anchors(detect, wh, score):
    anchors = detect.anchor_grid.cpu().view(-1, 2)
    best = score(anchors)
    try:
        anchors = evolved(wh, 9)
    except ValueError as error:
        print(error)
    if score(anchors) > best:
        anchors = torch.tensor(anchors, device=detect.anchors.device)
        detect.anchors[:] = anchors.view_as(detect.anchors)
