import torch

from memory import find_executable_batch_size


@find_executable_batch_size(starting_batch_size=512)
def sample_crystals(batch_size, model, n_samples, device):
    out = []
    with torch.no_grad():
        for start in range(0, n_samples, batch_size):
            z = torch.randn(min(batch_size, n_samples - start), model.latent_dim, device=device)
            out.append(model.decode(z).cpu())
    return torch.cat(out)
