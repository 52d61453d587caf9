import torch
import torch.nn.functional as F

from data.text import PairedTextData
from model import Seq2Seq
from vocab import Vocab, read_pairs


def main():
    device = torch.device("cuda")
    vocab = Vocab("vocab.txt")
    hparams = {"batch_size": 64, "num_parallel_calls": 4}
    train = PairedTextData(read_pairs("train.tsv"), vocab, hparams, device)
    model = Seq2Seq(len(vocab), 512).to(device)
    optimizer = torch.optim.Adam(model.parameters(), 3e-4)
    for epoch in range(20):
        for batch in train.loader(shuffle=True):
            logits = model(batch["source"], batch["target"][:, :-1])
            loss = F.cross_entropy(logits.transpose(1, 2), batch["target"][:, 1:], ignore_index=vocab.pad)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(epoch, loss.item())


if __name__ == "__main__":
    main()
