import argparse
import os

import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim
from tqdm import tqdm

from data import NpzFolder, NpzLoader
from model import Loop, MaskedMSE

parser = argparse.ArgumentParser(description="Training script")
parser.add_argument("--data", default="data/vctk")
parser.add_argument("--epochs", default=10, type=int)
parser.add_argument("--seq-len", type=int, default=100)
parser.add_argument("--lr", default=1e-4, type=float)
parser.add_argument("--clip-grad", default=1, type=float)
parser.add_argument("--gpu", default=0, type=int)
args = parser.parse_args()

torch.cuda.set_device(args.gpu)
train_loader = NpzLoader(NpzFolder(args.data + "/train"), batch_size=64, num_workers=4)
valid_loader = NpzLoader(NpzFolder(args.data + "/valid"), batch_size=64, num_workers=4)


def train(model, criterion, optimizer, epoch, train_losses):
    total = 0
    model.train()
    train_enum = tqdm(train_loader, desc="Train epoch %d" % epoch)
    for full_txt, full_feat, spkr in train_enum:
        batch_iter = zip(full_txt.split(args.seq_len), full_feat.split(args.seq_len))
        batch_total = 0
        start = True
        for txt, feat in batch_iter:
            txt, feat, spkr = txt.cuda(), feat.cuda(), spkr.cuda()
            optimizer.zero_grad()
            output, _ = model([txt, spkr], feat, start)
            loss = criterion(output, feat)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), args.clip_grad)
            optimizer.step()
            start = False
            batch_total += loss.item()
        train_losses.append(batch_total)
        total += batch_total
        train_enum.set_description("Train (loss %.2f) epoch %d" % (batch_total, epoch))
    return total / len(train_loader)


def evaluate(model, criterion, epoch, eval_losses):
    total = 0
    model.eval()
    valid_enum = tqdm(valid_loader, desc="Valid epoch %d" % epoch)
    for txt, feat, spkr in valid_enum:
        txt, feat, spkr = txt.cuda(), feat.cuda(), spkr.cuda()
        output, _ = model([txt, spkr], feat)  # expect: TML201
        loss = criterion(output, feat)
        total += loss.data
        valid_enum.set_description("Valid (loss %.2f) epoch %d" % (loss.data, epoch))
    avg = total / len(valid_loader)
    eval_losses.append(float(avg))
    print("====> Test set loss: {:.4f}".format(avg))
    return avg


def main():
    model = Loop(args).cuda()
    criterion = MaskedMSE().cuda()
    optimizer = optim.Adam(model.parameters(), lr=args.lr)
    train_losses, eval_losses = [], []
    best_eval = float("inf")
    for epoch in range(1, args.epochs + 1):
        train(model, criterion, optimizer, epoch, train_losses)
        eval_loss = evaluate(model, criterion, epoch, eval_losses)
        if eval_loss < best_eval:
            torch.save(model.state_dict(), "bestmodel.pth")
            best_eval = eval_loss
    np.save("losses.npy", [train_losses, eval_losses])


if __name__ == "__main__":
    main()
