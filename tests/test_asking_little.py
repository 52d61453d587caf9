"""What tells a thing without an interpretation is asked first: functions that can add nothing are not looked at."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import pytest
from indexing import function, index

from torchmemlint import files
from torchmemlint.api import check_source
from torchmemlint.config import Config
from torchmemlint.engine import Session
from torchmemlint.files import FileChecker
from torchmemlint.flow import function as flow_function
from torchmemlint.flow.types import declares_data
from torchmemlint.index.constructors import COLLECTION, CONSTANT, PARAMETER
from torchmemlint.index.marks import KEEPS
from torchmemlint.index.project import ProjectIndex
from torchmemlint.loader import load_rules

HEAD = "import torch\nfrom torch import nn\n"


@pytest.fixture
def interpreted(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The qualified names of the functions that have been interpreted."""
    seen: set[str] = set()
    real: Any = flow_function._once

    def noted(program: Any, info: Any, *rest: Any) -> Any:
        seen.add(info.qualname)
        return real(program, info, *rest)

    monkeypatch.setattr(flow_function, "_once", noted)
    return seen


def check(text: str, *select: str) -> list[str]:
    found = check_source(HEAD + textwrap.dedent(text), "m.py", Config(select=select, hints=True))
    return [d.code for d in found]


@pytest.mark.parametrize(
    ("parameter", "used"),
    [
        ("x", "x.size(0)"),  # every tensor has it, no class of the project
        ("x, **options", "applied(**options)"),  # a dict of its own, not one object
        ("x, sizes: list[int]", "sizes.find(1)"),  # plain data by its annotation
    ],
)
def test_callers_are_not_asked_about_what_they_cannot_tell(interpreted: set[str], parameter: str, used: str) -> None:
    body = f"    def forward(self, {parameter}):\n        kept = [{used}]\n        self.last = torch.zeros(3)\n"
    others = "def unrelated(net, batch):\n    net.forward(batch)\n\ndef applied(run):\n    return run()\n"
    check(f"class Net(nn.Module):\n{body}        return x\n\n{others}", "TML103")
    assert interpreted - {"applied"} == {"Net.forward"}


def test_callers_are_asked_about_objects_that_they_may_tell(interpreted: set[str]) -> None:
    text = """
    class Loss:
        def of(self, x):
            return x.sum()

    class Net(nn.Module):
        def forward(self, x, loss):
            self.last = loss.of(x * 2)
            return x

    def unrelated(batch):
        Net().forward(batch, Loss())
    """
    check(text, "TML103")
    assert "unrelated" in interpreted


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("int", True), ("Tuple[int, ...]", True), ("typing.Optional[torch.device]", True), ("list[Path] | None", True),
        ("Literal['avg', 'torch.nn.Module']", True), ("dict[str, Tensor]", False),
        ("list", False), ("dict[str, list]", False), ("Sequence[list[int]]", True), ("Any", False), ("Callable", False),
        ("Union[str, Net]", False), ("", False), (None, False), ("'Net'", False),
    ],
)  # fmt: skip
def test_annotations_that_name_plain_data_alone(text: str | None, data: bool) -> None:
    assert declares_data(text) is data


def test_what_a_method_makes_attributes_of() -> None:
    file = index(
        """
        class Net:
            def __init__(self, size):
                self.size, self.rows, self.filled, self.none = 3, [], [], None
                self.names = {}
                self.losses = []
                self.history = []
                self.history.append(size)

            def reset(self, rate):
                self.rate, self.seen = rate, None
                self.rate = rate
                self.cache = {}
                self.pairs = [rate]
        """
    )
    assert function(file, "Net.__init__").made == {"names": COLLECTION + "dict", "losses": COLLECTION + "list"}
    assert function(file, "Net.reset").made == {"cache": COLLECTION + "dict"}
    single = index("class Net:\n    def reset(self, rate):\n        self.rate = rate\n        self.seen = None\n")
    assert function(single, "Net.reset").made == {"rate": PARAMETER + "rate", "seen": CONSTANT}


def test_attributes_that_the_index_tells_ask_no_constructor(interpreted: set[str]) -> None:
    text = """
    class State:
        pass

    class Trainer:
        def __init__(self, state: State):
            self.state = state
            self.rows = []
            self.best = None

        def step(self, x):
            self.last = (x.requires_grad_() * 2, self.state, self.rows, self.best)
    """
    check(text, "TML103")
    assert interpreted == {"Trainer.step"}


@pytest.mark.parametrize(
    ("code", "asked", "passed_over"),
    [
        ("TML319", "y = torch.nn.functional.linear(x, x)[:, 0]", "y = torch.nn.functional.linear(x, x)[:-1]"),
        ("TML306", "y = torch.stack([x] * 4)", "y = torch.stack([x, x])"),
        ("TML308", "y = torch.softmax(x @ x.transpose(1, 2), -1)", "y = self.act(x @ x.transpose(1, 2))"),
        ("TML407", "y = torch.cuda.memory_cached()", "y = torch.cuda.max_memory_allocated()"),
        ("TML504", "y = sum(x for _ in range(3)); y.backward()", "y = x.sum(); y.backward()"),
    ],
)
def test_rules_ask_for_the_form_that_they_report(
    interpreted: set[str], code: str, asked: str, passed_over: str
) -> None:
    others = tuple(rule.code for rule in load_rules() if rule.code != code)  # hints are for codes that are selected
    for name, line in (("score", asked), ("other", passed_over)):
        text = f"{HEAD}class Net(nn.Module):\n    def {name}(self, x):\n        {line}\n        return y\n"
        check_source(text, "m.py", Config(ignore=others))
    assert {name.partition(".")[2] for name in interpreted} == {"score"}


def test_only_a_forward_has_a_context(interpreted: set[str]) -> None:
    text = """
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def shown(x):
            return str(x)
    """
    check(text, "TML110")
    assert interpreted == {"Double.forward"}


def test_a_residual_keeps_nothing() -> None:
    file = index(
        """
        class Block:
            def forward(self, x):
                identity = x
                out = self.conv(x)
                out += identity
                return out

        def extended(found, more):
            found += more
        """
    )
    assert KEEPS not in function(file, "Block.forward").marks
    assert KEEPS in function(file, "extended").marks


def test_a_list_that_its_constructor_fills_is_asked_for(interpreted: set[str]) -> None:
    text = """
    class Trainer:
        def __init__(self):
            self.rows = []
            self.rows.append(nn.Linear(3, 4))

        def step(self, x):
            self.last = self.rows[0](x)
    """
    check(text, "TML103")
    assert interpreted == {"Trainer.__init__", "Trainer.step"}


def test_decorators_are_read_where_their_file_knows_of_grad_modes(interpreted: set[str]) -> None:
    text = """
    def logged(run):
        def inner(*given):
            return run(*given)
        return inner

    class Trainer:
        @logged
        def step(self, x):
            self.last = x * 2
    """
    check(text, "TML103")
    assert "logged" not in interpreted
    check("from torch import no_grad as quiet\n" + textwrap.dedent(text), "TML103")
    assert "logged" in interpreted


@pytest.mark.parametrize(
    ("mode", "found"), [("torch.no_grad()", []), ("torch.autograd.profiler.profile()", ["TML201"])]
)
def test_decorators_are_read_where_a_file_that_they_use_knows_of_grad_modes(
    tmp_path: Path, mode: str, found: list[str]
) -> None:
    (tmp_path / "modes.py").write_text(
        f"import contextlib\nimport torch\n@contextlib.contextmanager\ndef inside():\n    with {mode}:\n        yield\n"
    )
    (tmp_path / "wrappers.py").write_text(
        "from modes import inside\ndef evaluated(run):\n    def inner(*given):\n"
        "        with inside():\n            return run(*given)\n    return inner\n"
    )
    (tmp_path / "main.py").write_text(
        "from torch import nn\nfrom wrappers import evaluated\n@evaluated\ndef score(model, loader):\n"
        "    return sum((model(x).argmax(1).cpu() == y).sum().item() for x, y in loader)\n"
        "def run(loader):\n    model = nn.Linear(3, 4).cuda()\n    model.eval()\n    print(score(model, loader))\n"
    )
    with Session(Config(select=("TML201",))) as session:
        session.add([str(tmp_path)])
        assert [d.code for d in session.check()] == found


def test_a_file_may_take_longer_in_a_very_large_project(tmp_path: Path) -> None:
    small = index("x = 1\n")
    many = {str(i): index("x = 1\n" * 10_000, f"m{i}") for i in range(files.LINES_PER_LIMIT // 10_000 * 3)}
    assert FileChecker(ProjectIndex({"a": small}), Config()).limit == files.SECONDS_PER_FILE
    assert FileChecker(ProjectIndex(many), Config()).limit == 3 * files.SECONDS_PER_FILE


def test_what_variables_of_a_file_are_made_of() -> None:
    file = index(
        """
        import logging as log
        from torch import nn

        RATE, NAMES, TABLE = 0.1, ["a", "b"], {"a": (1, -2)}
        LIMIT: int = 3
        SIZES = [1, (2, 3)]
        FILLED = []
        LOGGER = log.getLogger(__name__)
        LAYERS = [nn.Linear(3, 4)]
        net = nn.Linear(3, 4)
        try:
            import fast
            HAS_FAST = True
        except ImportError:
            fast, HAS_FAST = None, False
        for step in range(3):
            LIMIT_OF_ALL = None
        step = 3
        """
    )
    assert function(file, "").made == {
        "LIMIT": CONSTANT, "SIZES": COLLECTION + "list", "LOGGER": CONSTANT, "LIMIT_OF_ALL": CONSTANT,
    }  # fmt: skip


def test_plain_variables_need_no_look_at_the_top_level(interpreted: set[str]) -> None:
    text = """
    SIZES = [1, 2]
    net = nn.Linear(3, 4)

    class Trainer:
        def step(self, x):
            self.last = torch.zeros({size})
    """
    check(text.replace("{size}", "SIZES[0]"), "TML103")
    assert interpreted == {"Trainer.step"}
    check(text.replace("{size}", "net"), "TML103")
    assert interpreted == {"Trainer.step", ""}


def test_each_write_into_a_part_of_a_tensor_takes_in_the_one_before_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    inputs: list[int] = []
    real: Any = flow_function._once

    def counted(program: Any, info: Any, *rest: Any) -> Any:
        flow = real(program, info, *rest)
        inputs.extend(len(op.inputs) for op in flow.ops)
        return flow

    monkeypatch.setattr(flow_function, "_once", counted)
    writes = "".join(f"    rows[{i % 5}][{i % 3}] = y[{i}]\n" for i in range(40))
    check(f"def filled(y):\n    rows = torch.zeros(9, 9)\n{writes}    return rows\n")
    assert inputs
    assert max(inputs) <= 3
