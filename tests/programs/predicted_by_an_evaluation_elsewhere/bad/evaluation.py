def evaluate(predictor, batches):
    found = []
    for batch in batches:
        labels, _ = predictor.predict(batch)
        found.append(labels.item())
    return found
