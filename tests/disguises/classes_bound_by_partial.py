"""A class whose arguments `functools.partial` has bound elsewhere: they are no parameters of who calls it."""

from functools import partial

import torch
from torch import nn


class Episode:
    def __init__(self, scheme, length):
        self.scheme = scheme
        self.data = {key: [None] * length for key in scheme}

    def update(self, data, at):
        for key, value in data.items():
            self.data[key][at] = value


class Runner:
    def __init__(self, net, scheme, limit):
        self.net, self.limit = net, limit
        self.new_episode = partial(Episode, scheme, limit)

    def run(self):
        self.episode = self.new_episode()
        for at in range(self.limit):
            self.episode.update({"probs": self.net(torch.randn(4, 12))}, at)  # expect: TML101
        return self.episode


def maker(scheme, length):
    return partial(Episode, scheme, length)


def once(net):
    episode = maker({"probs"}, 15)()
    for at in range(15):
        episode.update({"probs": net(torch.randn(4, 12))}, at)  # expect: TML101
    return episode


if __name__ == "__main__":
    net = nn.Linear(12, 12)
    runner = Runner(net, {"probs"}, 15)
    episodes = [runner.run() for _ in range(20)]
    print(len(episodes), once(net))
