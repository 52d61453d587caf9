"""What a step returns is kept whole: losses that are walked, numbers and labels, no outputs."""

import torch
import torch.nn.functional as F
from torch import nn


class Task:
    def __init__(self):
        self.net = nn.Linear(4, 4)
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1)

    def step(self, x):
        out = self.net(x)
        loss = F.mse_loss(out, x)
        return {"loss": loss, "error": loss.detach(), "rows": len(x)}

    def labelled(self, x):
        out = self.net(x)
        return F.mse_loss(out, x), out.detach().argmax(1)


def epoch(task: Task, batches):
    results, pairs = [], []
    for x in batches:
        result, pair = task.step(x), task.labelled(x)
        task.optimizer.zero_grad()
        result["loss"].backward()
        pair[0].backward()
        task.optimizer.step()
        results.append(result)
        pairs.append(pair)
    return [r["rows"] for r in results], [p[1].tolist() for p in pairs]


if __name__ == "__main__":
    print(epoch(Task(), [torch.randn(3, 4)] * 2))
