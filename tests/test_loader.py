"""Rules are found by walking the package and by entry points; someone else's broken rule never stops a run."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from torchmemlint import loader
from torchmemlint.registry import Rule

RULE = '''
from torchmemlint.api import Rule, on
from torchmemlint.flow.events import FunctionClosed

class {name}(Rule):
    """A rule of another package."""

    code, name = "{code}", "{label}"

    @on(FunctionClosed)
    def check(self, event):
        yield from ()
'''

Install = Callable[..., None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Lays a distribution with entry points on the import path: install(module=source, entries={name: value})."""

    def lay(entries: dict[str, str], **modules: str) -> None:
        for module, source in modules.items():
            (tmp_path / f"{module}.py").write_text(source, encoding="utf-8")
        info = tmp_path / "other_rules-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: other-rules\nVersion: 1.0\n", encoding="utf-8")
        lines = [f"{name} = {value}" for name, value in entries.items()]
        (info / "entry_points.txt").write_text("\n".join(["[torchmemlint.rules]", *lines, ""]), encoding="utf-8")
        loader.load.cache_clear()

    known = set(sys.modules)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield lay
    loader.load.cache_clear()
    for module in set(sys.modules) - known:
        if module.startswith("other_"):
            del sys.modules[module]


def codes() -> list[str]:
    return [rule.code for rule in loader.load_rules()]


def test_every_rule_module_gives_a_rule_and_they_are_sorted_by_code() -> None:
    files = sorted(p.stem for p in Path(__file__).parent.parent.glob("rules/tml*.py"))
    own = [rule.__module__.rpartition(".")[2] for rule in loader.own_rules()]
    assert sorted(own) == files
    assert codes() == sorted(codes())


def test_the_rules_are_found_once_and_callers_cannot_spoil_the_list() -> None:
    before = codes()
    loader.load_rules().clear()
    assert codes() == before
    assert loader.load() is loader.load()


def test_an_entry_point_may_name_a_module(install: Install) -> None:
    install({"all": "other_a"}, other_a=RULE.format(name="A", code="OTH001", label="a-rule"))
    assert "OTH001" in codes()
    assert loader.load().warnings == ()


def test_an_entry_point_may_name_a_class(install: Install) -> None:
    two = RULE.format(name="A", code="OTH001", label="a") + RULE.format(name="B", code="OTH002", label="b")
    install({"one": "other_b:B"}, other_b=two)
    assert [c for c in codes() if c.startswith("OTH")] == ["OTH002"]


def test_a_module_that_only_imports_a_rule_does_not_own_it(install: Install) -> None:
    source = "from other_c import A\n" + RULE.format(name="B", code="OTH002", label="b")
    install({"d": "other_d"}, other_c=RULE.format(name="A", code="OTH001", label="a"), other_d=source)
    assert [c for c in codes() if c.startswith("OTH")] == ["OTH002"]


@pytest.mark.parametrize(
    ("value", "source", "reason"),
    [
        ("other_gone", "", "No module named 'other_gone'"),
        ("other_e", "1 / 0", "division by zero"),
        ("other_e", "import sys; raise RuntimeError", "RuntimeError"),
        ("other_e:THING", "THING = 3", "neither a module nor a subclass"),
        ("other_e", "x = 1", "defines no rule"),
        ("other_e", RULE.format(name="A", code="oops", label="a"), "needs a code such as ABC123, not 'oops'"),
        ("other_e", RULE.format(name="A", code="OTH001", label="a").replace("@on(FunctionClosed)", ""), "@on(...)"),
    ],
)
def test_a_broken_rule_is_named_and_left_out(install: Install, value: str, source: str, reason: str) -> None:
    install({"bad": value, "good": "other_f"}, other_e=source, other_f=RULE.format(name="F", code="OTH009", label="f"))
    assert [c for c in codes() if c.startswith("OTH")] == ["OTH009"]
    (warning,) = loader.load().warnings
    assert value in warning
    assert reason in warning


def test_a_foreign_rule_cannot_take_a_known_code(install: Install) -> None:
    one, two = (RULE.format(name=name, code="OTH001", label=name.lower()) for name in "AB")
    install({"a": "other_g", "b": "other_h"}, other_g=one, other_h=two)
    assert codes().count("OTH001") == 1
    (warning,) = loader.load().warnings
    assert "two rules have the code OTH001: other_g.A and other_h.B" in warning


def test_two_own_rules_with_one_code_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    namespaces: list[dict[str, type[Rule]]] = [{}, {}]
    for label, namespace in zip("ab", namespaces):
        exec(RULE.format(name=label.upper(), code="TML999", label=label), namespace)
    found = [namespaces[0]["A"], namespaces[1]["B"]]
    monkeypatch.setattr(loader, "own_rules", lambda: iter(found))
    loader.load.cache_clear()
    with pytest.raises(loader.RuleError, match=r"two rules have the code TML999: .*A and .*B"):
        loader.load_rules()
    loader.load.cache_clear()


def run_python(code: str, *, isolated: bool = False, path: Path | None = None) -> subprocess.CompletedProcess[str]:
    flags = ["-S"] if isolated else []
    before = f"import sys; sys.path.insert(0, {str(path)!r})\n" if path else ""
    command = [sys.executable, *flags, "-c", before + textwrap.dedent(code)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_a_checkout_that_is_not_installed_says_what_to_do() -> None:
    # -S leaves out site-packages, and so the mapping that the installation adds
    root = Path(__file__).parent.parent
    code = """
    from torchmemlint import loader
    try:
        loader.load_rules()
    except loader.RuleError as error:
        print(error)
    """
    assert "run `pip install -e .`" in run_python(code, isolated=True, path=root).stdout


def test_the_rules_folder_is_not_importable_under_its_own_name() -> None:
    result = run_python("import rules", path=Path(__file__).parent.parent)
    assert result.returncode != 0
    assert "import these rules as torchmemlint.rules" in result.stderr
