import torch
import torch.nn as nn


class MaskedMSE(nn.Module):
    def __init__(self):
        super().__init__()
        self.criterion = nn.MSELoss(reduction="sum")

    def forward(self, input, target):
        mask = (target.abs().sum(-1, keepdim=True) > 0).float()
        return self.criterion(input * mask, target * mask) / mask.sum()


class Loop(nn.Module):
    def __init__(self, opt):
        super().__init__()
        self.emb = nn.Embedding(60, 256)
        self.spkr = nn.Embedding(110, 256)
        self.rnn = nn.GRUCell(256 + 63, 512)
        self.out = nn.Linear(512, 63)
        self.h = None

    def init_buffer(self, batch, like):
        self.h = like.new_zeros(batch, 512)

    def forward(self, src, tgt, start=True):
        txt, spkr = src
        context = self.emb(txt).mean(0) + self.spkr(spkr).squeeze(1)
        if start:
            self.init_buffer(tgt.size(1), context)
        else:
            self.h = self.h.detach()
        outs = []
        prev = tgt.new_zeros(tgt.size(1), 63)
        for t in range(tgt.size(0)):
            self.h = self.rnn(torch.cat([context, prev], 1), self.h)
            outs.append(self.out(self.h))
            prev = tgt[t]
        return torch.stack(outs), None
