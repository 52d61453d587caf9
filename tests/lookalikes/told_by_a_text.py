"""A module of unknown class that a text tells what to do may give texts: nothing of them is on the device."""

import json

import torch


@torch.no_grad()
def answers(model, loader, device):
    model.eval()
    found = []
    for image, question, number in loader:
        image = image.to(device, non_blocking=True)
        texts = model(image, question, train=False, inference="generate")
        for text, one in zip(texts, number):
            found.append({"question": int(one.item()), "answer": text})
    return found


def main(model, loader, device):
    with open("answers.json", "w") as file:
        json.dump(answers(model, loader, device), file)
