"""The outputs that a hook keeps are read from the modules in a table, for the loss."""

from torch import nn
import torch


def record_act(self, input, output):
    self.out = output


def train(model, teacher, loader, opt, crit, reg_layers):
    for x, y in loader:
        out = model(x)
        with torch.no_grad():
            teacher(x)
        loss = crit(out, y)
        for key in reg_layers:
            src_x = reg_layers[key][0].out
            tgt_x = reg_layers[key][1].out
            loss = loss + ((src_x - tgt_x.detach()) ** 2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


if __name__ == "__main__":
    model.layer1.register_forward_hook(record_act)
    teacher.layer1.register_forward_hook(record_act)
    reg_layers = {"layer1": [model.layer1, teacher.layer1]}
    train(model, teacher, loader, opt, crit, reg_layers)
