import torch

from data.base import DataBase


class PairedTextData(DataBase):
    def __init__(self, examples, vocab, hparams, device=None):
        super().__init__(examples, hparams, device)
        self.vocab = vocab

    def process(self, raw_example):
        source, target = raw_example
        return self.vocab.encode(source), self.vocab.encode(target)

    def _pad(self, sequences):
        length = max(len(s) for s in sequences)
        ids = torch.full((len(sequences), length), self.vocab.pad, dtype=torch.long)
        for i, s in enumerate(sequences):
            ids[i, : len(s)] = torch.tensor(s)
        return ids

    def collate(self, examples):
        source, target = zip(*examples)
        return {
            "source": self._pad(source),
            "target": self._pad(target),
        }
