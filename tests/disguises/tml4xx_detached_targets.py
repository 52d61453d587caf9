"""Forwards of which only detached, logged or thresholded copies are used, in the shapes that training gives them."""

import torch
import torch.nn.functional as F
from torch import nn
from torchvision.utils import save_image


class Distiller:
    def __init__(self, teacher, student):
        self.teacher = teacher.eval()
        self.student = student.train()
        self.optimizer = torch.optim.SGD(self.student.parameters(), lr=0.1)

    def matching(self, student_out, teacher_out):
        return F.mse_loss(student_out, teacher_out.detach())

    def step(self, x):
        wanted = self.teacher(x)  # expect: TML203
        loss = self.matching(self.student(x), wanted)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()


class Bootstrap:
    def __init__(self, width):
        self.online, self.target = nn.Linear(width, 1), nn.Linear(width, 1)
        self.target.load_state_dict(self.online.state_dict())
        self.optimizer = torch.optim.Adam(self.online.parameters())

    def update(self, states, rewards, following):
        value = self.target(following)  # expect: TML203
        goal = rewards + 0.99 * value
        loss = F.smooth_l1_loss(self.online(states), goal.detach())
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()


def train_gan(generator, critic, optimizer, data, fixed_noise):
    for step, real in enumerate(data):
        fake = generator(torch.randn(len(real), 8)).detach()  # expect: TML203
        loss = critic(fake).mean() - critic(real).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 100 == 0:
            preview = generator(fixed_noise)  # expect: TML203
            save_image(preview.detach().cpu(), f"{step}.png")


def train_with_labels_of_its_own(model, optimizer, labelled, unlabelled):
    for (x, y), u in zip(labelled, unlabelled):
        guess = model(u)  # expect: TML203
        labels = guess.argmax(dim=1)
        loss = F.cross_entropy(model(x), y) + F.cross_entropy(model(u.flip(1)), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(loss.item(), guess.softmax(dim=1).max().item())


def drive(width=8):
    Distiller(nn.Linear(width, 4), nn.Linear(width, 4)).step(torch.randn(2, width))
    Bootstrap(width).update(torch.randn(2, width), torch.randn(2, 1), torch.randn(2, width))
    generator, critic = nn.Linear(8, width), nn.Linear(width, 1)
    generator.train()
    critic.train()
    descent = torch.optim.SGD(critic.parameters(), lr=0.1)
    train_gan(generator, critic, descent, [torch.randn(2, width)], torch.randn(2, 8))
    model = nn.Linear(width, 3)
    labelled = [(torch.randn(2, width), torch.tensor([0, 1]))]
    train_with_labels_of_its_own(model, torch.optim.SGD(model.parameters(), lr=0.1), labelled, [torch.randn(2, width)])
