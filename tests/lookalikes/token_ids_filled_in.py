"""Greedy decoding that puts the next token's number into a tensor by `fill_`: a few ids, not outputs."""

import torch


@torch.no_grad()
def decode(model, source, mask, length, start):
    memory = model.encode(source, mask)
    ids = torch.zeros(1, 1).fill_(start).type_as(source.data)
    for _ in range(length - 1):
        out = model.decode(memory, mask, ids)
        _, word = torch.max(model.generator(out[:, -1]), dim=1)
        ids = torch.cat([ids, torch.zeros(1, 1).type_as(source.data).fill_(word.data[0])], dim=1)
    return ids


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.encode = torch.nn.Linear(3, 3)
        self.generator = torch.nn.Linear(3, 9)

    def decode(self, memory, mask, ids):
        return self.generator(memory)[:, None].expand(-1, ids.size(1), -1)


print(decode(Net().cuda().eval(), torch.rand(1, 3).cuda(), None, 12, 1))
