from argparse import ArgumentParser
from functools import partial

import torch
from ignite.engine import Engine, Events
from ignite.handlers import ModelCheckpoint
from ignite.metrics import Accuracy, Loss
from torch import nn, optim

from data import get_data_loaders
from net import Net
from steps import eval_step, train_step


def run(args):
    device = torch.device("cuda")
    train_loader, val_loader = get_data_loaders(args.train_batch, args.val_batch)
    model = Net().to(device)
    criterion = nn.CrossEntropyLoss()
    optimizer = optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)

    trainer = Engine(partial(train_step, model, optimizer, criterion, device))
    evaluator = Engine(partial(eval_step, model, device))
    Accuracy().attach(evaluator, "accuracy")
    Loss(criterion).attach(evaluator, "nll")
    saver = ModelCheckpoint(args.out, "net", n_saved=2, require_empty=False)
    trainer.add_event_handler(Events.EPOCH_COMPLETED, saver, {"model": model})

    @trainer.on(Events.ITERATION_COMPLETED(every=100))
    def log_training_loss(engine):
        print(f"epoch {engine.state.epoch} iteration {engine.state.iteration} loss {engine.state.output:.3f}")

    @trainer.on(Events.EPOCH_COMPLETED)
    def log_validation_results(engine):
        evaluator.run(val_loader)
        metrics = evaluator.state.metrics
        print(f"epoch {engine.state.epoch} accuracy {metrics['accuracy']:.3f} nll {metrics['nll']:.3f}")

    trainer.run(train_loader, max_epochs=args.epochs)


if __name__ == "__main__":
    parser = ArgumentParser()
    parser.add_argument("--train-batch", type=int, default=64)
    parser.add_argument("--val-batch", type=int, default=1000)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--lr", type=float, default=0.01)
    parser.add_argument("--out", default="models")
    run(parser.parse_args())
