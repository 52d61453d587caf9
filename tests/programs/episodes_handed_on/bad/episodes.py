"""A step that trains or evaluates by a flag, handed to a callback that evaluates with it."""


def episode(model, optimizer, loss_fn, x, y, shots, train):
    if train:
        model.train()
        optimizer.zero_grad()
    else:
        model.eval()
    features = model.encoder(x)  # expect: TML201
    support, queries = features[:shots], features[shots:]
    scores = queries @ support.t()
    loss = loss_fn(scores, y)
    if train:
        loss.backward()
        optimizer.step()
    return loss, scores
