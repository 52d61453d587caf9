"""A copy of the model is run and adapted in the very iteration that makes it."""

from copy import deepcopy
from torch import autograd, nn
import torch


class Policy(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.body = nn.Linear(n, n)

    def forward(self, x):
        return self.body(x)


def main(env, make_runner, adapt, surrogate, baseline):
    device = torch.device("cuda")
    policy = Policy(4)
    policy = policy.to(device)
    for iteration in range(100):
        policies, replays = [], []
        for task_config in env.sample_tasks(20):
            clone = deepcopy(policy)
            env.set_task(task_config)
            task = make_runner(env)
            for step in range(3):
                episodes = task.run(clone, episodes=10)
                clone = adapt(clone, episodes, baseline)
            replays.append(task.run(clone, episodes=10))
            policies.append(clone)
        policy = policy.to(device, non_blocking=True)
        old_loss, old_kl = surrogate(replays, policies, policy)
        grad = autograd.grad(old_loss, policy.parameters(), retain_graph=True)
        torch.nn.utils.vector_to_parameters(torch.cat([g.view(-1) for g in grad]), policy.parameters())
