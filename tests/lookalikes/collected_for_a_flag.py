"""What a flag collects, the same flag reads."""

from torch.utils.data import DataLoader
from tqdm import tqdm
import torch


@torch.no_grad()
def loader(train_dataset, batch_size, vae, cached_latents: bool = False):
    if cached_latents:
        cached = []
        for idx in tqdm(range(len(train_dataset))):
            batch = train_dataset[idx]
            latents = vae.encode(batch["image"].unsqueeze(0).to(dtype=vae.dtype).to(vae.device)).latent_dist.sample()
            latents = latents * 0.18215
            batch["image"] = latents.squeeze(0)
            cached.append(batch)

    def collate(examples):
        return torch.stack([example["image"] for example in examples]).float()

    if cached_latents:
        made = DataLoader(cached, batch_size=batch_size, shuffle=True, collate_fn=collate)
        print("cached")
    else:
        made = DataLoader(train_dataset, batch_size=batch_size, shuffle=True, collate_fn=collate)
    return made


def train(unet, vae, dataset, optimizer):
    vae.eval()
    for batch in loader(dataset, 4, vae, cached_latents=True):
        loss = unet(batch).pow(2).mean()
        loss.backward()
        optimizer.step()
