import torch

from evaluator import Evaluator


def run_folds(folds, build_model, train, device="cuda"):
    all_results = []
    for train_loader, test_loader in folds:
        model = build_model().to(device)
        train(model, train_loader)
        evaluator = Evaluator(test_loader, ["start", "end"], torch.device(device))
        result = evaluator.eval(model, return_preds_and_labels=True)
        all_results.append(result)
        print("fold loss", result["loss"])
    starts = torch.cat([r["preds"]["start"].argmax(-1).cpu() for r in all_results])
    return starts.tolist()
