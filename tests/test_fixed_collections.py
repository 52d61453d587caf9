"""Programs that keep or collect values, mended by the linter itself: what may be detached, and what may be moved."""

from __future__ import annotations

import textwrap

from mending import HEAD, mended, unchanged

from torchmemlint.api import fix_source
from torchmemlint.config import Config

HANDED_ON = """
    def outputs(net: nn.Linear, data):
        found = []
        for x in data:
            found.append(net(x))
        return found
"""
DIFFERENCES = """
    def differences(net: nn.Linear, data, target):
        found = []
        for x in data:
            found.append(net(x))
        print((torch.cat(found) - target).abs().mean().item())
"""
MEANS = """
    def means(net: nn.Linear, data):
        found = []
        for x in data:
            found.append(net(x))
        print(torch.cat(found).mean(0).tolist())
"""


def test_what_is_collected_is_moved_only_if_nothing_on_the_device_meets_it() -> None:
    assert unchanged("TML101", HANDED_ON)
    assert "found.append(net(x).detach())\n" in mended("TML101", DIFFERENCES)
    assert "found.append(net(x).detach().cpu())\n" in mended("TML101", MEANS)


def test_outputs_without_a_graph_likewise() -> None:
    def quiet(body: str) -> str:
        return body.replace("for x in data:", "for x in data.cuda():").replace(
            "    def", "    @torch.no_grad()\n    def"
        )

    assert unchanged("TML401", quiet(HANDED_ON))
    assert unchanged("TML401", quiet(DIFFERENCES))
    assert "found.append(net(x).cpu())\n" in mended("TML401", quiet(MEANS))


def test_grad_is_turned_off_first_and_no_value_is_detached_then() -> None:
    text = HEAD + textwrap.dedent(MEANS)
    every = fix_source(text, "program.py", Config(select=("ALL",), unsafe_fixes=True))
    assert "@torch.no_grad()\ndef means" in every
    assert "detach" not in every


def test_the_same_finding_in_another_function_does_not_stop_a_fix() -> None:
    """What a fix brings to light elsewhere under the same words is no failure of the fix."""
    quiet = MEANS.replace("        for", "        with torch.no_grad():\n          for").replace("x)", "x.cuda())")
    later = MEANS.replace("def means", "def later").replace("net(x)", "net(x.cuda())")
    text = (
        HEAD
        + textwrap.dedent(quiet.replace("            found.append", "                found.append"))
        + textwrap.dedent(later)
    )
    every = fix_source(text, "program.py", Config(select=("ALL",), unsafe_fixes=True))
    assert every.count("found.append(net(x.cuda()).cpu())") == 2


RECORD_MAKER = """
    @torch.no_grad()
    def generate(net: nn.Linear, data):
        def hypothesis(x):
            return {"score": net(x), "tokens": x}

        found = []
        for x in data.cuda():
            found.append(hypothesis(x))
        found = sorted(found, key=lambda h: h["score"])
        print([h["score"].tolist() for h in found])
"""
MEMBERS = """
    def train(criterion, model, data, optimizer):
        total, sizes, losses = 0.0, [], []
        for x in data:
            loss, size = criterion(model, x)
            loss.backward()
            total += size
            sizes.append(size)
            losses.append(loss)
        print(total, sizes, losses)
"""


def test_only_what_is_surely_a_tensor_gets_a_method_of_tensors() -> None:
    assert unchanged("TML401", RECORD_MAKER)
    assert unchanged("TML102", MEMBERS)
    text = mended("TML101", MEMBERS)
    assert "sizes.append(size)\n" in text
    assert "losses.append(loss.detach()" in text


READ_BACK = """
    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.drop = nn.Dropout(0.1)
            self.proj = nn.Linear(4, 4)
            self.attn = None

        def forward(self, x):
            self.attn = torch.softmax(self.proj(x), dim=-1)
            return self.drop(self.attn) @ x


    class Decoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.proj = nn.Linear(4, 4)

        def start(self, memory):
            self.memory = self.proj(memory)

        def decode(self, x):
            return x @ self.memory

        def forward(self, memory, xs):
            self.start(memory)
            return torch.stack([self.decode(x) for x in xs])
"""


def test_an_attribute_that_the_result_is_computed_from_is_not_detached() -> None:
    assert unchanged("TML103", READ_BACK)


REPEATED = """
    def evaluate(net: nn.Linear, data):
        with torch.no_grad():
            for x in data:
                y = net(x)
                print(y.sum())
                del x  # read
                z = net(torch.ones(4))
                print(z.sum())
"""


def test_a_name_joins_the_del_that_is_there() -> None:
    assert "            del y, x  # read\n" in mended("TML402", REPEATED)


SECOND = """
    def parameter():
        p = torch.zeros(1, 1).requires_grad_(True)
        p.grad = torch.zeros(1, 1)
        return p


    def test(create, name):
        p = parameter()
        optimizer = create(name, [p])
        loss = p.pow(2).sum()
        p.grad, _ = torch.autograd.grad(loss, [p, p], create_graph=True)
        optimizer.step(lambda: 0.1)
"""


def test_gradients_that_an_optimizer_sees_keep_their_graph() -> None:
    assert unchanged("TML109", SECOND)


STOPPER = """
    class Stopper:
        def __init__(self):
            self.best = None

        def step(self, loss):
            if self.best is None or loss < self.best - 0.1:
                self.best = loss
                return False
            return True


    def main(model: nn.Linear, data):
        stopper = Stopper()
        for x, y in data:
            with torch.enable_grad():
                loss = nn.functional.mse_loss(model(x), y)
            if stopper.step(loss):
                break
        print(float(stopper.best))
"""


def test_what_is_read_before_it_is_stored_anew_is_detached() -> None:
    assert "self.best = loss.detach()\n" in mended("TML103", STOPPER)


PICTURES = """
    class Painter:
        def __init__(self, net: nn.Linear, judge: nn.Linear):
            self.net, self.judge = net, judge

        def step(self, x):
            self.fake = self.net(x)
            loss = self.judge(self.fake.detach()).mean()
            loss.backward()


    def main(data):
        painter = Painter(nn.Linear(4, 4).cuda(), nn.Linear(4, 4).cuda())
        for x in data:
            painter.step(x)
"""


def test_what_is_read_back_without_its_graph_may_lose_it_and_stays_on_its_device() -> None:
    assert "self.fake = self.net(x).detach()\n" in mended("TML103", PICTURES)
