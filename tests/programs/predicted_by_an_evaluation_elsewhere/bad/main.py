import torch
from evaluation import evaluate
from predictor import Predictor


def test(device):
    predictor = Predictor(30)
    predictor.load_state_dict(torch.load("best.pt", map_location="cpu"))
    predictor = torch.nn.DataParallel(predictor.to(device)).module
    return evaluate(predictor, [(torch.randint(30, (1, 5)).to(device), [[3, 4], [5]])])


print(test("cuda"))
