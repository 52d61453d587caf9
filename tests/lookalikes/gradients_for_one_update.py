"""Gradients of several parts are collected and make one update together."""

import torch
import torch.autograd as autograd
import torch.nn.functional as F


def update(network, opt, minibatches, tau):
    param_gradients = [[] for _ in network.parameters()]
    x = torch.cat([d[0].cuda() for d in minibatches])
    logits_all = network(x)
    at = 0
    for i, data in enumerate(minibatches):
        y = data[1].cuda()
        logits = logits_all[at : at + y.shape[0]]
        at += y.shape[0]
        env_loss = F.cross_entropy(logits, y)
        env_grads = autograd.grad(env_loss, network.parameters(), retain_graph=True)
        for grads, env_grad in zip(param_gradients, env_grads):
            grads.append(env_grad)
    opt.zero_grad()
    mask_grads(tau, param_gradients, network.parameters())
    opt.step()


def mask_grads(tau, gradients, params):
    for param, grads in zip(params, gradients):
        grads = torch.stack(grads, dim=0)
        mask = torch.mean(torch.sign(grads), dim=0).abs() >= tau
        param.grad = mask * grads.mean(dim=0)
