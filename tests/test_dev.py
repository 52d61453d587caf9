"""The tools for rule writers, run as their users run them, on copies laid out like a checkout."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from test_rules_meta import problems

from torchmemlint import loader
from torchmemlint.dev import corpus
from torchmemlint.dev.__main__ import main
from torchmemlint.dev.checkout import Checkout
from torchmemlint.dev.docstrings import HEADINGS, sections, summary
from torchmemlint.dev.examples import example
from torchmemlint.dev.pages import BEGIN, END
from torchmemlint.registry import Rule

ROOT = Path(__file__).parent.parent


SHOWN = """# x

```python
# a.py
import torch
xs = []
for x in range(9):
    xs.append(torch.ones(3, requires_grad=True) * x)
print(torch.stack(xs).mean().item())
```

```text
$ torchmemlint check a.py
old
```

"""


def dev(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, [str(a) for a in arguments])


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    """An empty checkout with a README that has an example and markers."""
    for folder in ("rules", "fixtures", "docs"):
        (tmp_path / folder).mkdir()
    (tmp_path / "README.md").write_text(f"{SHOWN}{BEGIN}\na stale table\n{END}\n\nend\n", encoding="utf-8")
    return Checkout(tmp_path)


def load_rule(checkout: Checkout, stem: str, monkeypatch: pytest.MonkeyPatch) -> type[Rule]:
    """The rule of a generated module, imported from its file."""
    spec = importlib.util.spec_from_file_location(f"generated_{stem}", checkout.rules / f"{stem}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    (rule,) = loader.rules_in(module)
    return rule


def new(checkout: Checkout, code: str, name: str, *options: str) -> Result:
    return dev("--root", checkout.root, "new-rule", code, name, *options)


def fill(checkout: Checkout) -> None:
    """Replace every TODO of the generated files by a text."""
    for path in checkout.root.rglob("*.py"):
        path.write_text(path.read_text(encoding="utf-8").replace("TODO: ", "A text: "), encoding="utf-8")


@pytest.mark.parametrize(
    "options",
    [("--event", "HolderClosed"), ("--event", "OpClosed", "--op", "torch.cat", "--op", "torch.stack")],
)
def test_a_generated_rule_is_complete_once_filled(
    checkout: Checkout, options: Sequence[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    result = new(checkout, "TML117", "pinned-copy-in-loop", *options)
    assert result.exit_code == 0, result.output
    assert "rules/tml117_pinned_copy_in_loop.py" in result.output
    unfilled = load_rule(checkout, "tml117_pinned_copy_in_loop", monkeypatch)
    assert "the docstring has a TODO" in problems(unfilled, checkout)
    fill(checkout)
    rule = load_rule(checkout, "tml117_pinned_copy_in_loop", monkeypatch)
    assert problems(rule, checkout) == []
    (subscription,) = rule.subscriptions()
    assert (subscription[0].__name__, *subscription[1]) == (options[1], *options[3::2])


def test_generated_files_have_the_style_of_the_others(checkout: Checkout) -> None:
    new(checkout, "TML117", "pinned-copy-in-loop", "--event", "ForwardClosed")
    for command in (["check"], ["format", "--check"]):
        arguments = [sys.executable, "-m", "ruff", *command, "--no-cache", "--config", str(ROOT / "pyproject.toml")]
        run = subprocess.run([*arguments, str(checkout.rules)], capture_output=True, text=True, check=False)
        assert run.returncode == 0, run.stdout


@pytest.mark.parametrize(
    ("code", "name", "options", "reason"),
    [
        ("TML7", "a-b", ["--event", "HolderClosed"], "form TML123"),
        ("TML117", "A b", ["--event", "HolderClosed"], "short phrase"),
        ("TML117", "a-b", ["--event", "Transferred"], "there are ForwardClosed, "),
        ("TML117", "a-b", ["--event", "OpClosed"], "--op names the operations"),
        ("TML117", "a-b", ["--event", "HolderClosed", "--op", "torch.cat"], "--op names the operations"),
        ("TML101", "a-b", ["--event", "HolderClosed"], "taken: rules/tml101_known.py exists"),
        ("TML117", "known", ["--event", "HolderClosed"], "short phrase"),
        ("TML117", "long-known", ["--event", "HolderClosed"], "taken: rules/tml102_long_known.py exists"),
    ],
)
def test_new_rule_refuses_what_does_not_fit(
    checkout: Checkout, code: str, name: str, options: list[str], reason: str
) -> None:
    for taken in ("tml101_known.py", "tml102_long_known.py"):
        (checkout.rules / taken).touch()
    before = sorted(checkout.root.rglob("*"))
    result = new(checkout, code, name, *options)
    assert result.exit_code == 1
    assert reason in result.output
    assert sorted(checkout.root.rglob("*")) == before


class Documented(Rule):
    """Finds a | b
    over two lines.

    ## What it does
    First.

    Second:
        indented
    Why it costs memory: on the same line
    Known limits
    ------------
    None known.

    Fix safety:
    Safe.

    References:
    - a page
    """

    code, name = "TML199", "documented-rule"


def test_a_docstring_is_read_by_its_headings() -> None:
    assert summary(Documented) == "Finds a | b over two lines"
    assert sections(Documented) == dict(
        zip(
            HEADINGS,
            ["First.\n\nSecond:\n    indented", "on the same line", "None known.", "Safe.", "- a page"],
        )
    )


CASE = """
import torch


class Meter:
    def update(self, loss):
        self.total += loss  # expect: TML102  # allow: TML101


def model():
    return torch.nn.Linear(1, 1)


def bad(device, probe):
    return run(Meter(), model())


def good(device, probe):
    return run(GoodMeter(), model())


class GoodMeter:
    pass
"""


def test_an_example_shows_what_is_marked_and_what_replaces_it(tmp_path: Path) -> None:
    (tmp_path / "case.py").write_text(CASE, encoding="utf-8")
    bad, good = example(tmp_path / "case.py")
    assert bad.startswith("class Meter:")
    assert "self.total += loss  # TML102\n" in bad
    assert bad.endswith("return run(Meter(), model())")
    assert "def model" not in bad + good
    assert good.startswith("def good")
    assert good.endswith("class GoodMeter:\n    pass")


def test_docs_are_written_once_and_then_checked(checkout: Checkout) -> None:
    shutil.copytree(ROOT / "fixtures", checkout.fixtures, dirs_exist_ok=True)
    assert dev("--root", checkout.root, "docs", "--check").exit_code == 1
    assert "a stale table" in (checkout.root / "README.md").read_text(encoding="utf-8")
    written = dev("--root", checkout.root, "bless")
    assert written.exit_code == 0
    assert written.output.splitlines() == ["README.md written", "docs/rules.md written"]
    readme = (checkout.root / "README.md").read_text(encoding="utf-8")
    assert "$ torchmemlint check a.py\na.py:5:5: TML101 [" in readme
    assert f"\n{BEGIN}\n| code |" in readme
    assert "a stale table" not in readme
    assert readme.endswith(f"{END}\n\nend\n")
    assert dev("--root", checkout.root, "docs", "--check").exit_code == 0
    (checkout.root / "docs" / "rules.md").write_text("stale", encoding="utf-8")
    result = dev("--root", checkout.root, "docs", "--check")
    assert result.exit_code == 1
    assert "rules.md is out of date" in result.output


def test_the_page_documents_every_rule_under_its_anchor(checkout: Checkout) -> None:
    dev("--root", checkout.root, "docs")
    page = (checkout.root / "docs" / "rules.md").read_text(encoding="utf-8")
    for rule in loader.own_rules():
        assert f"\n### {rule.code} {rule.name}\n" in page
        assert f"](#{rule.code.lower()}-{rule.name})" in page


def test_a_readme_without_markers_is_left_alone(checkout: Checkout) -> None:
    (checkout.root / "README.md").write_text("nothing", encoding="utf-8")
    result = dev("--root", checkout.root, "docs")
    assert result.exit_code == 1
    assert "README.md needs the lines" in result.output
    assert (checkout.root / "README.md").read_text(encoding="utf-8") == "nothing"


def record(line: int, message: str = "m") -> corpus.Record:
    return corpus.Record("repo", "a.py", line, "TML101", "error", message)


def test_findings_are_recorded_and_compared_as_a_multiset() -> None:
    old, new = [record(1), record(1), record(2)], [record(1), record(2), record(3, "größer")]
    assert corpus.load(corpus.dump(new)) == new
    assert corpus.difference(old, new) == ([record(3, "größer")], [record(1)])
    assert corpus.totals(old) == "TML101 3"


TRAIN = textwrap.dedent(
    """
    import torch
    import torch.nn.functional as F
    from torch import nn


    def validate(loader):
        model = nn.Sequential(nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10)).cuda()
        losses = []
        for x, y in loader:
            losses.append(F.cross_entropy(model(x), y))
        return torch.stack(losses).mean().item()
    """
)


@pytest.fixture
def repositories(tmp_path: Path) -> Path:
    folder = tmp_path / "corpus"
    for repository in ("one", "two"):
        (folder / repository / "src").mkdir(parents=True)
        (folder / repository / "src" / "train.py").write_text(TRAIN, encoding="utf-8")
    (folder / ".hidden").mkdir()
    return folder


def test_corpus_checks_each_repository_and_shows_what_changed(repositories: Path, tmp_path: Path) -> None:
    recording = tmp_path / "before.jsonl"
    result = dev("corpus", repositories, "--record", recording)
    assert result.exit_code == 0, result.output
    found = corpus.load(recording.read_text(encoding="utf-8"))
    assert {(r.repo, r.file) for r in found} == {("one", "src/train.py"), ("two", "src/train.py")}
    assert "TML101" in {r.code for r in found}
    changed = repositories / "two" / "src" / "train.py"
    changed.write_text(
        TRAIN.replace("append(F.cross_entropy(model(x), y))", "append(F.cross_entropy(model(x), y).item())"),
        encoding="utf-8",
    )
    result = dev("corpus", repositories, "--compare", recording)
    assert "- two/src/train.py:11: TML101" in result.stdout
    assert "0 added, " in result.stdout
    assert "one/" not in result.stdout


def test_events_stand_beside_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(TRAIN, encoding="utf-8")
    result = dev("events", path)
    assert result.exit_code == 0, result.output
    lines = result.output.splitlines()
    source = next(i for i, text in enumerate(lines) if "losses.append(" in text)
    following = next(i for i, text in enumerate(lines[source + 1 :], source + 1) if "|" in text[:8])
    assert any(
        "torch.nn.functional.cross_entropy" in text or "torch.cross_entropy" in text for text in lines[source:following]
    )
    assert any("HolderClosed" in text and "name=losses" in text for text in lines)


def test_events_of_what_a_callee_keeps_are_told_without_their_trees() -> None:
    result = dev("events", Path(__file__).parent / "disguises" / "keywords_gathered.py")
    assert result.exit_code == 0, result.output
    assert any("name=self.log.records" in text and "by_callee=True" in text for text in result.output.splitlines())


def test_events_of_a_file_that_is_no_python_are_an_error_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "bad.py"
    path.write_text("x = 1\ny = (\n", encoding="utf-8")
    result = dev("events", path)
    assert result.exit_code == 1
    assert f"{path}:2: " in result.output


def test_a_readme_whose_example_is_clean_is_an_error(checkout: Checkout) -> None:
    readme = checkout.root / "README.md"
    readme.write_text(readme.read_text(encoding="utf-8").replace("requires_grad=True", ""), encoding="utf-8")
    result = dev("--root", checkout.root, "docs")
    assert result.exit_code == 1
    assert "nothing is found in the README's a.py" in result.output
