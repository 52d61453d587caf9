"""Programs as people write them, mended by the linter itself: the text that comes out, or that none does."""

from __future__ import annotations

import textwrap

import pytest

from torchmemlint.api import fix_source
from torchmemlint.config import Config

HEAD = "import torch\nfrom torch import nn\n\n\n"


def mended(code: str, body: str) -> str:
    """The program without its head, after all fixes of one rule."""
    text = HEAD + textwrap.dedent(body).lstrip("\n")
    return fix_source(text, "program.py", Config(select=(code,), hints=True, unsafe_fixes=True))[len(HEAD) :]


def unchanged(code: str, body: str) -> bool:
    return mended(code, body) == textwrap.dedent(body).lstrip("\n")


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


def function(code: str, body: str) -> str:
    """The body of a function of some tensors, mended."""
    head = "    import torch.nn.functional as F\n\n\n    def work(self, q, k, v, m, p):\n"
    text = head + textwrap.indent(textwrap.dedent(body).strip(), " " * 8) + "\n"
    return textwrap.dedent("\n".join(mended(code, text).splitlines()[4:])).strip()


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (
            "a = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))\na = F.softmax(a, dim=-1)\nreturn a @ v",
            "return F.scaled_dot_product_attention(q, k, v, scale=1 / math.sqrt(q.size(-1)))",
        ),
        (
            "a = (q @ k.transpose(2, 3)) * self.scale\na = a.softmax(-1)\nreturn (a @ v).transpose(1, 2)",
            "return F.scaled_dot_product_attention(q, k, v, scale=self.scale).transpose(1, 2)",
        ),
        (
            "return torch.bmm(torch.softmax(torch.bmm(q, k.transpose(-1, -2)), dim=-1), v)",
            "return F.scaled_dot_product_attention(q, k, v, scale=1.0)",
        ),
        ("a = q @ k.transpose(-2, -1)\na = a.masked_fill(m, -1e9)\nreturn a.softmax(-1) @ v", None),
        ("a = q @ k.transpose(-2, -1)\na = F.dropout(a.softmax(-1), p)\nreturn a @ v", None),
        ("a = q @ k.transpose(-2, -1) + m\nreturn a.softmax(-1) @ v", None),
        ("a = q @ k.transpose(-2, -1)\nq = v\nreturn a.softmax(-1) @ v + q", None),
        ("a = q @ k.transpose(-2, -1)\nw, n = a.softmax(-1), 0\nreturn w @ v", None),
    ],
)
def test_plain_attention_is_fused(body: str, expected: str | None) -> None:
    assert function("TML308", body) == (body if expected is None else expected)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("return F.one_hot(m, v.size(0)).float() @ v", "return v[m]"),
        ("return torch.matmul(F.one_hot(m + 1, 9).to(v), self.table + v)", "return (self.table + v)[m + 1]"),
        ("h = F.one_hot(m, 9).float()\nreturn h @ v", None),
        ("return v @ F.one_hot(m, 9).float()", None),
    ],
)
def test_rows_are_picked_by_index(body: str, expected: str | None) -> None:
    assert function("TML310", body) == (body if expected is None else expected)


@pytest.mark.parametrize("code", ["TML101", "TML102", "TML103", "TML201", "TML203", "TML302", "TML402"])
def test_a_second_run_changes_nothing(code: str) -> None:
    for body in (CARRIED, SKIPPED, UNPACKED, MIXED, QUEUE, FLAT, FOREIGN, TARGETS, PLACES, TRAINS):
        once = mended(code, body)
        assert mended(code, once) == once


@pytest.mark.parametrize(
    ("body", "freed"),
    [
        ("q, k = q.transpose(1, 2).contiguous(), k\nreturn F.scaled_dot_product_attention(q, k, v)", True),
        ("q = q.permute(0, 2, 1, 3).contiguous()\nreturn F.scaled_dot_product_attention(q, k, v)", True),
        ("q = q[:, :, :, :8].contiguous()\nreturn F.scaled_dot_product_attention(q, k, v)", True),
        ("return F.scaled_dot_product_attention(q.transpose(-1, -2).contiguous(), k, v)", False),
        ("return F.scaled_dot_product_attention(q.mT.contiguous(), k, v)", False),
        ("q = q.permute(0, 1, 3, 2).contiguous()\nreturn F.scaled_dot_product_attention(q, k, v)", False),
        ("q = q[..., 0].transpose(1, 2).contiguous()\nreturn F.scaled_dot_product_attention(q, k, v)", False),
        ("q = q.transpose(1, 3)[:, 1:].contiguous()\nreturn F.scaled_dot_product_attention(q, k, v)", False),
        ("q = q.transpose(1, 2).contiguous()  # contiguous() for the kernel\nreturn q.exp()", False),
        (
            "# contiguous, or jit trips over it\n# in old versions\nq = q.transpose(1, 2).contiguous()\nreturn q.exp()",
            False,
        ),
        ("q = q.transpose(1, 2).contiguous()  # heads first\nreturn q.exp()", True),
    ],
)
def test_attention_is_fed_rows_without_gaps_and_what_is_explained_stays(body: str, freed: bool) -> None:
    assert function("TML302", body) == (body.replace(".contiguous()", "", 1) if freed else body)


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


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (
            "m = p[:, None].repeat(\n    1, 4, 1  # heads\n)\nreturn q + m",
            "m = p[:, None].expand(\n    -1, 4, -1  # heads\n)\nreturn q + m",
        ),
        ("m = p.unsqueeze(0).repeat((k, 1, 1))\nreturn q + m", "m = p.unsqueeze(0).expand((k, -1, -1))\nreturn q + m"),
        ("m = p[:, None].repeat(1, 4, 1).view(-1)\nreturn q + m", None),
        ("m = p[:, None].repeat(1, 4, 1).flatten(0, 1)\nreturn q + m", None),
    ],
)
def test_expand_keeps_the_layout_and_is_not_viewed_flat(body: str, expected: str | None) -> None:
    text = body.replace("p", "torch.ones(k, 5)", 1)
    wanted = text if expected is None else expected.replace("p", "torch.ones(k, 5)", 1)
    assert function("TML306", text) == wanted


def safely(code: str, body: str) -> str:
    """The body of a function of a tensor after the safe fixes of a rule."""
    head = "import numpy as np\nimport torch\n\n\ndef work(x: torch.Tensor):\n"
    text = head + textwrap.indent(body, "    ") + "\n"
    return textwrap.dedent(fix_source(text, "program.py", Config(select=(code,), hints=True))[len(head) :]).strip()


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("return np.asarray(x.clone())", None),
        ("return np.array(x.clone(), copy=None)", None),
        ("return x.clone().numpy()", None),
        ("return x.clone().data_ptr()", None),
        ("y = x.clone()\nreturn y * 2 + y.size(0)", "y = x\nreturn y * 2 + y.size(0)"),
        ("y = x.clone()\nlog.keep(y)\nreturn y * 2", None),
        ("return x.clone().to('cuda')", "return x.to('cuda', copy=True)"),
        ("return x.clone().to('cuda', non_blocking=True)", None),
        ("return x.clone().to('cuda', None, True)", None),
    ],
)
def test_a_clone_goes_only_if_nobody_shares_its_memory(body: str, expected: str | None) -> None:
    assert safely("TML303", body) == (expected or body)


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
