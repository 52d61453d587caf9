"""An inference script turns gradients off once, at the top."""

import torch
from torch import nn

torch.set_grad_enabled(False)

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Captioner(nn.Module):
    def __init__(self, vocabulary=20, width=8):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        self.core = nn.GRU(width, width, batch_first=True)
        self.head = nn.Linear(width, vocabulary)

    def forward(self, tokens, state=None):
        h, state = self.core(self.embed(tokens), state)
        return self.head(h[:, -1]), state


def generate(model, prompt, steps=5):
    model.eval()
    token, state, words = prompt, None, []
    for _ in range(steps):
        logits, state = model(token, state)
        token = logits.argmax(-1, keepdim=True)
        words.append(token.item())
    return words


def score(model, prompts):
    model.eval()
    total = 0.0
    for prompt in prompts:
        logits, _ = model(prompt)
        total += logits.logsumexp(-1).mean()
    return float(total)


if __name__ == "__main__":
    net = Captioner().to(device)
    start = torch.zeros(1, 1, dtype=torch.long, device=device)
    print(generate(net, start), score(net, [start, start]))
