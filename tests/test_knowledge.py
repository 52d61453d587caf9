"""The hand-written tables: asked without torch, and compared with the installed torch where it can tell."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from torchmemlint import knowledge
from torchmemlint.knowledge import tables
from torchmemlint.knowledge.toml import read_toml

ROOT = Path(__file__).parents[1]


# --- answers -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dotted", "expected"),
    [
        ("torch.relu", "torch.relu"),
        ("torch.nn.functional.relu", "torch.relu"),
        ("torch.Tensor.relu", "torch.relu"),
        ("torch.ops.aten.relu.default", "torch.relu"),
        ("torch.concat", "torch.cat"),
        ("torch.special.expit", "torch.sigmoid"),
        ("torch.linalg.norm", "torch.linalg.norm"),
        ("torch.norm", "torch.norm"),
        ("torch.Tensor.float", "torch.float"),
        ("torch.Tensor.unfold", "torch.unfold"),
        ("torch.nn.functional.unfold", "torch.nn.functional.unfold"),
        ("torch.nn.functional.cross_entropy", "torch.cross_entropy"),
        ("torch.float", None),
        ("torch.load", None),
        ("torch.no_grad", None),
        ("torch.autograd.grad", None),
        ("torch.nn.Linear", None),
        ("numpy.mean", None),
        ("relu", None),
    ],
)
def test_spellings(dotted: str, expected: str | None) -> None:
    assert knowledge.canonical(dotted) == expected


def test_unknown_names_have_no_facts() -> None:
    assert knowledge.operator("no_such_operator") is None
    assert knowledge.module_fact("torch.nn.NoSuchModule") is None
    assert knowledge.role("mypackage.thing") is None
    assert knowledge.context_effect("mypackage.quiet") is None
    assert knowledge.container_method("frobnicate") is None
    assert knowledge.framework_hook("mypackage.Base", "forward") is None
    assert knowledge.backward_call("forward") is None
    assert knowledge.accepts_strides("my_kernel") == "unknown"
    with pytest.raises(KeyError):
        knowledge.weak_name("no such kind", "model")


@pytest.mark.parametrize(
    ("name", "kept", "not_kept"),
    [
        ("relu", "result", "self"),
        ("softmax", "result", "self"),
        ("gelu", "self", "result"),
        ("mul", "other", "result"),
        ("linear", "weight", "result"),
        ("dropout", "intermediate", "self"),
        ("cross_entropy", "intermediate", "self"),
        ("add", "", "self"),
        ("cat", "", "tensors"),
    ],
)
def test_what_backward_keeps(name: str, kept: str, not_kept: str) -> None:
    fact = knowledge.operator(name)
    assert fact is not None
    assert kept in (*fact.saves, "")
    assert not_kept not in fact.saves


@pytest.mark.parametrize("path", ["torch.nn.modules.linear.Linear", "torch.nn.Linear", "torch.nn.modules.Linear"])
def test_modules_under_any_import_path(path: str) -> None:
    fact = knowledge.module_fact(path)
    assert fact is not None
    assert (fact.name, fact.parameters) == ("torch.nn.Linear", "yes")


@pytest.mark.parametrize(
    ("dotted", "expected"),
    [
        ("torch.optim.AdamW", "optimizer"),
        ("torch.optim.lr_scheduler.StepLR", "scheduler"),
        ("torch.amp.GradScaler", "scaler"),
        ("torch.utils.data.DataLoader", "loader"),
        ("torchvision.models.resnet50", "module_factory"),
        ("torchvision.models.ResNet50_Weights", "weights_enum"),
        ("transformers.AutoModelForCausalLM.from_pretrained", "module_factory"),
        ("transformers.AutoTokenizer.from_pretrained", None),
        ("torch.compile", "wrapper"),
        ("torch.load", "checkpoint_load"),
        ("torch.zeros", "factory"),
        ("len", "host"),
        ("builtins.len", "host"),
        ("numpy.mean", "host"),
        ("random.random", "host"),
        ("random.choice", "passthrough"),
        ("sorted", "passthrough"),
        ("copy.deepcopy", "copy"),
    ],
)
def test_roles(dotted: str, expected: str | None) -> None:
    assert knowledge.role(dotted) == expected


def test_every_name_has_one_role() -> None:
    groups = read_toml(tables.HERE / "callables.toml")
    names = [name for group in groups.values() for name in group]
    assert sorted(n for n in set(names) if names.count(n) > 1) == []
    effects = [name for group in read_toml(tables.HERE / "contexts.toml").values() for name in group]
    assert sorted(n for n in set(effects) if effects.count(n) > 1) == []


def test_containers_keep_the_argument_that_the_table_names() -> None:
    import collections
    import heapq
    import queue

    item = (1, 2)
    calls: list[tuple[Any, str, tuple[Any, ...]]] = [
        ([], "append", (item,)),
        ([], "extend", ([item],)),
        ([], "insert", (0, item)),
        (collections.deque(), "appendleft", (item,)),
        (collections.deque(), "extendleft", ([item],)),
        (set(), "add", (item,)),
        (set(), "update", ([item],)),
        ({}, "setdefault", (0, item)),
        ({}, "update", ({0: item},)),
        (queue.Queue(), "put", (item,)),
        (queue.Queue(), "put_nowait", (item,)),
    ]
    for holder, method, arguments in calls:
        fact = knowledge.container_method(method)
        assert fact is not None
        assert fact.stores is not None
        getattr(holder, method)(*arguments)
        inside = (
            holder.queue if isinstance(holder, queue.Queue) else holder.values() if isinstance(holder, dict) else holder
        )
        stored = arguments[fact.stores]
        assert item in inside
        assert fact.elements == (stored is not item), method
    heap: list[Any] = []
    heapq.heappush(heap, item)
    fact = knowledge.container_function("heapq.heappush")
    assert fact is not None
    assert (fact.holder, fact.stores) == (0, 1)
    assert knowledge.container_function("append") is None


@pytest.mark.parametrize(
    ("base", "method", "expected"),
    [
        ("pytorch_lightning.LightningModule", "training_step", "returns_loss"),
        ("lightning.LightningModule", "validation_step", "no_grad"),
        ("lightning.pytorch.LightningModule", "on_validation_batch_end", "no_grad"),
        ("lightning.pytorch.Callback", "on_train_batch_end", "after_backward"),
        ("lightning.LightningModule", "forward", None),
        ("transformers.Trainer", "compute_loss", "returns_loss"),
        ("transformers.Trainer", "prediction_step", None),
        ("torch.autograd.Function", "forward", "no_grad"),
    ],
)
def test_hooks(base: str, method: str, expected: str | None) -> None:
    assert knowledge.framework_hook(base, method) == expected


def test_backward_calls() -> None:
    assert knowledge.backward_call("backward") == -1
    assert knowledge.engine_backward("backward") == 0
    assert knowledge.backward_call("manual_backward") == 0
    assert knowledge.scales_loss("scale") == 0
    assert knowledge.detaching_call("log_dict")
    assert not knowledge.detaching_call("append")


@pytest.mark.parametrize(
    ("kind", "yes", "no"),
    [
        ("model", "model net netG policy_net G ema_model", "x modern nets_count data Gamma"),
        ("loss", "loss total_loss loss_G criterion errD", "x lossless close epoch"),
        ("evaluation", "evaluate validate test_epoch sample generate", "train latest_step evolve"),
        ("training", "train train_one_epoch fit", "constrain strained_update retrain"),
        ("loader", "train_loader dataloader", "load load_model"),
    ],
)
def test_weak_names(kind: str, yes: str, no: str) -> None:
    assert [n for n in yes.split() if not knowledge.weak_name(kind, n)] == []
    assert [n for n in no.split() if knowledge.weak_name(kind, n)] == []


def test_strided_consumers_are_operators_and_named_once() -> None:
    names = [n for a in read_toml(tables.HERE / "consumers.toml").values() for group in a.values() for n in group]
    assert sorted({n for n in names if names.count(n) > 1}) == []
    assert [n for n in names if knowledge.operator(n) is None and n not in ("arith", "compare")] == []


def test_tables_are_read_without_importing_torch_and_fast() -> None:
    code = (
        "import sys, time\n"
        "from torchmemlint import knowledge as k\n"
        "start = time.process_time()\n"
        "k.operator('cat'); k.tensor_method('x'); k.canonical('torch.relu'); k.module_fact('torch.nn.Linear')\n"
        "k.role('len'); k.context_effect('torch.no_grad'); k.container_method('append'); k.framework_hook('a', 'b')\n"
        "k.backward_call('backward'); k.weak_name('model', 'x'); k.accepts_strides('mm')\n"
        "print(time.process_time() - start, 'torch' in sys.modules)"
    )
    shown = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True) for _ in range(3)]
    seconds, imported = zip(*(s.stdout.split() for s in shown))
    assert set(imported) == {"False"}
    assert min(map(float, seconds)) < 0.05  # 8 ms measured on an idle core; the bound leaves room for slow runners


# --- against torch -----------------------------------------------------------------------------------------------


def installed() -> Any:
    """The installed torch, of the release that the tables hold for; else the test is skipped."""
    torch = pytest.importorskip("torch")
    if torch.__version__.partition("+")[0] != tables.data("tensor_members.json")["torch"]:
        pytest.skip("the tables hold for another torch")
    return torch


def resolve(dotted: str) -> Any:
    """The object a dotted name stands for; raises LookupError if there is none."""
    parts = dotted.split(".")
    for length in range(len(parts), 0, -1):
        with contextlib.suppress(ImportError):
            found: Any = importlib.import_module(".".join(parts[:length]))
            for part in parts[length:]:
                found = getattr(found, part, None)
            if found is None:
                break
            return found
    raise LookupError(dotted)


# Need packages that are not installed here; the names are torch's documented ones.
UNRESOLVED = {"torch.testing._internal.common_utils.freeze_rng_state", "torch.utils.tensorboard.SummaryWriter"}


@pytest.mark.filterwarnings("ignore")
def test_every_name_of_torch_exists() -> None:
    installed()
    names = {
        n for f in ("callables.toml", "contexts.toml") for group in read_toml(tables.HERE / f).values() for n in group
    }
    missing = set()
    for name in {n for n in names | set(tables._modules()) if n.startswith("torch.") and "*" not in n}:
        try:
            resolve(name)
        except LookupError:
            missing.add(name)
    assert missing <= UNRESOLVED


MADE_WITH: dict[str, Any] = {
    **dict.fromkeys("in_features out_features in_channels out_channels num_features num_channels".split(), 4),
    **dict.fromkeys(
        "input_size hidden_size embed_dim num_embeddings embedding_dim d_model normalized_shape".split(), 4
    ),
    **dict.fromkeys("in1_features in2_features kernel_size num_groups num_heads nhead output_size padding".split(), 2),
    **dict.fromkeys("upscale_factor downscale_factor groups size norm_type num_layers num_classes".split(), 2),
    "value": 0.0,
    "threshold": 0.1,
    "n_classes": 10,
    "cutoffs": [2, 5],
    "dim": 0,
    "unflattened_size": (2, 2),
}


def make(cls: Any) -> Any:
    """An instance with small required arguments and defaults for the rest; raises TypeError if that is impossible."""
    if cls.__name__ in ("RNN", "LSTM", "GRU"):
        return cls(4, 4)
    required = [p.name for p in inspect.signature(cls.__init__).parameters.values() if p.default is p.empty]
    extra = {"output_size": 2} if cls.__name__.startswith("FractionalMaxPool") else {}
    return cls(**{n: MADE_WITH[n] for n in required if n in MADE_WITH}, **extra)


@pytest.mark.filterwarnings("ignore")
def test_modules_have_parameters_where_the_table_says_so() -> None:
    nn = installed().nn
    classes = {n: getattr(nn, n) for n in dir(nn) if not n.startswith("_")}
    checked = 0
    for name, cls in classes.items():
        if not (isinstance(cls, type) and issubclass(cls, nn.Module)):
            continue
        fact = knowledge.module_fact(f"torch.nn.{name}")
        assert fact is not None, name
        assert fact.is_loss == bool(re.search(r"Loss", name)), name
        with contextlib.suppress(TypeError):
            has = any(True for _ in make(cls).parameters())
            assert fact.parameters == "maybe" or (fact.parameters == "yes") == has, name
            checked += 1
        if fact.unless is not None:
            assert any(fact.unless in inspect.signature(c).parameters for c in cls.__mro__ if c is not object), name
    assert checked > 150


@pytest.mark.filterwarnings("ignore")
def test_losses_that_keep_a_whole_buffer() -> None:
    torch = installed()
    functional = torch.nn.functional
    inputs, targets = torch.rand(64), torch.rand(64)
    for name in (
        "mse_loss",
        "smooth_l1_loss",
        "binary_cross_entropy",
        "soft_margin_loss",
        "l1_loss",
        "huber_loss",
        "kl_div",
    ):
        assert knowledge.functional_loss(name)
        held = getattr(functional, name)(inputs, targets).untyped_storage().nbytes()
        assert knowledge.saves_whole_buffer(f"torch.{name}") == (held >= inputs.numel() * inputs.element_size()), name


@pytest.mark.filterwarnings("ignore")
def test_contexts_do_to_grad_mode_what_the_table_says() -> None:
    torch = installed()
    entered = 0
    for effect, names in read_toml(tables.HERE / "contexts.toml").items():
        for name in names:
            if not name.startswith("torch.") or "*" in name or ("cuda" in name and "amp" not in name):
                continue
            with contextlib.suppress(LookupError, TypeError, ValueError, RuntimeError, AssertionError):
                with torch.set_grad_enabled(effect != "on"):
                    context = resolve(name)(*([False] if effect == "argument" else []))
                    if not hasattr(context, "__enter__"):
                        continue
                    with context:
                        inside = torch.is_grad_enabled()
                assert inside == (effect in ("on", "none")), name
                entered += 1
    assert entered >= 15


def test_coverage_in_the_documentation_is_current() -> None:
    installed()
    pytest.importorskip("yaml")
    from torchmemlint.knowledge.coverage import section

    written = (ROOT / "docs" / "knowledge.md").read_text(encoding="utf-8")
    assert written.endswith(section()), "run python -m torchmemlint.knowledge.coverage"


def test_the_page_names_every_table() -> None:
    written = (ROOT / "docs" / "knowledge.md").read_text(encoding="utf-8")
    tables_here = [path.name for path in tables.HERE.iterdir() if path.suffix in (".toml", ".json")]
    assert tables_here
    assert [name for name in tables_here if f"| `{name}` |" not in written] == []
