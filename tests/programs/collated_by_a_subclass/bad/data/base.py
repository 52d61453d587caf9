import torch
from torch.utils.data import DataLoader, Dataset


class DataBase(Dataset):
    def __init__(self, examples, hparams, device=None):
        self._examples = examples
        self._hparams = hparams
        self.device = device or torch.device("cuda" if torch.cuda.is_available() else "cpu")

    def __len__(self):
        return len(self._examples)

    def __getitem__(self, index):
        return self.process(self._examples[index])

    def process(self, raw_example):
        raise NotImplementedError

    def collate(self, examples):
        raise NotImplementedError

    def loader(self, shuffle):
        return DataLoader(
            self, self._hparams["batch_size"], shuffle=shuffle, num_workers=self._hparams.get("num_parallel_calls", 4),
            collate_fn=self.collate,
        )
