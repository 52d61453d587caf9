"""Models of libraries run a part of their forward by methods of other names; a helper runs under its caller's no_grad."""

import torch
import torch.nn.functional as F
from torch import nn


def embed(data, clip, batches, device="cpu"):
    clip.eval()
    rows = []
    for images in batches:
        features = clip.encode_image(images.to(device))  # expect: TML201
        rows.append(F.normalize(features, dim=-1).cpu())  # expect: TML101
    torch.save(torch.cat(rows), data)


def predict(model, batches):
    outs = []
    for x in batches:
        outs.append(model(x.cuda() if torch.cuda.is_available() else x))  # expect: TML401
    return torch.cat(outs).cpu().numpy()


def discriminator_step(generator, critic, real, z):
    fake = generator(z)  # expect: TML203
    return critic(fake.detach()).mean() - critic(real).mean()


def train(generator, critic, optimizer, batches):
    for real in batches:
        loss = discriminator_step(generator, critic, real, torch.randn(len(real), 4))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def main():
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 64))
    model.eval()
    with torch.no_grad():
        print(predict(model, [torch.randn(2, 4)] * 2).shape)
    generator, critic = nn.Linear(4, 3), nn.Linear(3, 1)
    train(generator, critic, torch.optim.SGD(critic.parameters(), lr=0.1), [torch.randn(8, 3)] * 2)


if __name__ == "__main__":
    main()
