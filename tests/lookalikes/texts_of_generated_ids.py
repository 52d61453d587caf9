"""What a tokenizer makes of generated ids are texts in host memory."""

import json

import torch
from tqdm import tqdm


@torch.no_grad()
def summarize(model, tokenizer, loader, path):
    model = model.to("cuda").eval()
    results = []
    for batch in tqdm(loader):
        summaries = model(batch["ids"].to(model.device), batch["mask"].to(model.device))
        texts = tokenizer.batch_decode(summaries, skip_special_tokens=True)
        for number, text in enumerate(texts):
            results.append(dict(text=text, number=batch["number"][number].item()))
    with open(path, "w") as file:
        json.dump(results, file)
