"""`volatile=True` for the forward of a part of a model that a factory out of sight has made."""

from factory import create_model
from PIL import Image
from torch import nn
from torch.autograd import Variable


def encode(options, dataset):
    model = create_model(options)
    for data in dataset:
        image = Variable(data["image"].cuda(), volatile=True)  # expect: TML202
        features = model.module.encoder.forward(image, data["mask"].cuda())
        features = nn.Upsample(scale_factor=2, mode="nearest")(features)
        Image.fromarray(features.data[0].cpu().numpy()).save(data["path"])
