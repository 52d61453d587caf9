"""A model made elsewhere gives lengths beside its outputs, whose sum weighs a meter; states of an environment are arrays."""

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence


class Meter:
    def __init__(self):
        self.sum = 0
        self.count = 0

    def update(self, value, n=1):
        self.sum += value * n
        self.count += n


def train(loader, decoder, criterion, optimizer):
    decoder.train()
    losses = Meter()
    for images, captions, lengths in loader:
        scores, sorted_captions, decode_lengths = decoder(images, captions, lengths)
        scores = pack_padded_sequence(scores, decode_lengths, batch_first=True).data
        targets = pack_padded_sequence(sorted_captions, decode_lengths, batch_first=True).data
        loss = criterion(scores, targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.update(loss.item(), sum(decode_lengths))
    return losses.sum / losses.count


class Agent:
    def __init__(self, actor: nn.Linear):
        self.actor = actor

    @torch.no_grad()
    def act(self, state):
        state = torch.tensor(state.reshape(1, -1)).float()
        return self.actor(state).numpy().flatten()


def neighbours(rank: torch.Tensor, values: torch.Tensor, k: int):
    chosen = rank[:, :k].clone().view(-1)
    return values[chosen].view(rank.size(0), k, -1).sum(1)
