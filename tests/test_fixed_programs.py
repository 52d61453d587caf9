"""Programs as people write them, mended by the linter itself: the text that comes out, or that none does."""

from __future__ import annotations

import pytest
from mending import mended, unchanged

CARRIED = """
    class Decoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(10, 4)
            self.lstm = nn.LSTM(4, 4)
            self.linear = nn.Linear(4, 10)

        @torch.no_grad()
        def sample(self, features, states=None):
            found = []
            inputs = features.unsqueeze(1)
            for i in range(20):
                hiddens, states = self.lstm(inputs, states)
                predicted = self.linear(hiddens.squeeze(1)).argmax(1)
                found.append(predicted)
                inputs = self.embed(predicted)
                inputs = inputs.unsqueeze(1)
            return torch.stack(found, 1)
"""


def test_what_the_next_iteration_reads_is_deleted_behind_that_reading() -> None:
    lines = [line.strip() for line in mended("TML402", CARRIED).splitlines()]
    assert lines[lines.index("hiddens, states = self.lstm(inputs, states)") + 1] == "del inputs"
    assert lines.count("del inputs") == 1


SKIPPED = """
    def run(net: nn.Module, step: nn.Linear, x, n):
        inputs = x.unsqueeze(1)
        with torch.no_grad():
            for i in range(n):
                y = net(inputs)
                if i % 2:
                    continue
                z = step(y)
                inputs = step(z).view(-1)
        return y
"""


def test_what_a_skipped_iteration_reads_again_is_not_deleted() -> None:
    assert "del inputs" not in mended("TML402", SKIPPED)


UNPACKED = """
    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.q = nn.Linear(4, 4)
            self.k = nn.Linear(4, 4)

        def attend(self, x):
            a = self.q(x)
            return self.k(a), a

        def forward(self, x):
            x, self.attn = self.attend(x)
            return x


    def main(data):
        block = Block()
        for x in data:
            block(x).sum().backward()
"""


def test_a_call_that_gives_a_tuple_is_not_detached() -> None:
    assert unchanged("TML103", UNPACKED)
    written = UNPACKED.replace("self.attend(x)\n", "self.k(x), self.q(x)\n")
    assert "x, self.attn = self.k(x), self.q(x).detach().cpu()\n" in mended("TML103", written)


MIXED = """
    def collect(net: nn.Linear, data):
        total = torch.zeros(4, device="cuda")
        for x in data:
            y = net(x)
            total = torch.cat((total, y), 0)
        print(total)
"""


def test_what_is_added_to_a_tensor_stays_on_its_device() -> None:
    assert ".cpu()" not in mended("TML102", MIXED)


QUEUE = """
    class Contrast(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = nn.Linear(4, 4)
            self.queue = torch.zeros(8, 4)

        def forward(self, x):
            keys = self.net(x)
            logits = x @ self.queue.t()
            self.queue = torch.cat([keys, self.queue])[:8]
            return logits


    def main(data):
        net = Contrast().cuda()
        for x in data:
            net(x).sum().backward()
"""


def test_what_is_computed_with_stays_on_its_device() -> None:
    assert ".cpu()" not in mended("TML103", QUEUE)


FLAT = """
    def batchify(data, size, device):
        data = data.view(size, -1).t().contiguous()
        return data.to(device)


    def main(data):
        rows = batchify(data, 4, "cuda")
        return rows[1:3].view(-1)
"""


def test_a_layout_that_conversions_pass_on_stays() -> None:
    assert unchanged("TML302", FLAT)


FOREIGN = """
    def load(picture):
        image = torch.from_numpy(picture.transpose((2, 0, 1))).contiguous()
        return image.view(-1)
"""


def test_memory_of_others_may_have_any_strides() -> None:
    assert unchanged("TML301", FOREIGN)


TARGETS = """
    def train(net: nn.Module, other: nn.Linear, opt, data):
        for x, y in data:
            loss = (net(x) - other(y).detach()).square().mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
"""


def test_a_statement_that_makes_a_graph_besides_is_not_put_under_no_grad() -> None:
    assert unchanged("TML203", TARGETS)
    apart = TARGETS.replace(
        "loss = (net(x) - other(y).detach())", "target = other(y).detach()\n            loss = (net(x) - target)"
    )
    assert "with torch.no_grad():\n            target = other(y).detach()\n" in mended("TML203", apart)


SIZES = """
    def scaled(points: torch.Tensor, size: torch.Tensor):
        if isinstance(size, torch.Size):
            size = torch.tensor(size)[None]
        return points / size
"""


def test_a_parameter_that_a_test_tells_otherwise_is_no_tensor() -> None:
    assert unchanged("TML305", SIZES)


RECORDS = """
    def predict(net: nn.Linear, data):
        found = []
        with torch.no_grad():
            for x in data:
                found.append({"scores": net(x), "x": x})
        return found
"""


def test_a_display_has_no_method_of_tensors() -> None:
    assert unchanged("TML401", RECORDS)


PLACES = """
    def pick(net: nn.Linear, data):
        found = []
        with torch.no_grad():
            for x in data:
                found.append(torch.where(net(x) > 0)[0])
        return found
"""


def test_the_places_of_true_values_are_no_view() -> None:
    assert unchanged("TML403", PLACES)


TRAINS = """
    import torch.distributed.autograd as dist_autograd


    def train(model: nn.Module, data, opt):
        criterion = nn.CrossEntropyLoss()
        for x, y in data:
            with dist_autograd.context() as context:
                loss = criterion(model(x), y)
                dist_autograd.backward(context, [loss])
                opt.step(context)
"""


def test_no_grad_is_not_put_on_functions_whose_result_goes_out_of_sight() -> None:
    assert unchanged("TML201", TRAINS)


@pytest.mark.parametrize("code", ["TML101", "TML102", "TML103", "TML201", "TML203", "TML302", "TML402"])
def test_a_second_run_changes_nothing(code: str) -> None:
    for body in (CARRIED, SKIPPED, UNPACKED, MIXED, QUEUE, FLAT, FOREIGN, TARGETS, PLACES, TRAINS):
        once = mended(code, body)
        assert mended(code, once) == once
