"""An episode's values come back as one of several lists, and one backward walks them; a branch that is switched off."""

import torch
from torch import nn

mse = nn.MSELoss()


def choose(policy, state):
    out = policy(state)
    return out[:, :4].log_softmax(1).amax(1), out[:, 4]


def run_episode(policy, states):
    scores, values, rewards = [], [], []
    for state in states:
        score, value = choose(policy, state)
        scores.append(score)
        values.append(value)
        rewards.append(1.0)
    return scores, values, rewards


def finish_episode(optimizer, scores, values, rewards):
    loss = 0
    for score, value, reward in zip(scores, values, rewards):
        loss = loss + mse(value, torch.tensor([reward])) - score.sum() * reward
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


def train(policy, optimizer, episodes):
    for states in episodes:
        scores, values, rewards = run_episode(policy, states)
        print(finish_episode(optimizer, scores, values, rewards))


def switched_off(model, criterion, batches):
    loss, outputs = 0, []
    if True:
        for x, _ in batches:
            outputs.append(model(x))
    else:
        for x, y in batches:
            loss += criterion(model(x), y)
    loss = criterion(torch.cat(outputs), torch.cat([y for _, y in batches]))
    loss.backward()
    return loss.item()


if __name__ == "__main__":
    net = nn.Linear(4, 5)
    sgd = torch.optim.SGD(net.parameters(), lr=0.1)
    train(net, sgd, [[torch.randn(1, 4)] * 3] * 2)
    print(switched_off(net, mse, [(torch.randn(2, 4), torch.randn(2, 5))] * 2))
