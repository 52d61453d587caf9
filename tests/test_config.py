"""Settings files: what is read, what is refused and how it is said."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from torchmemlint.config import Config, ConfigError, discover, find, load, merge
from torchmemlint.findings import Diagnostic, Location, Severity
from torchmemlint.selection import Selection, check_codes


def write(folder: Path, text: str, name: str = "torchmemlint.toml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


FULL = """
select = ["TML1", "tml201"]
ignore = ["TML105"]
extend-select = ["TML304"]
exclude = ["third_party"]
extend-exclude = ["*_pb2.py"]
unsafe-fixes = true
hints = true
cache-dir = ".cache/x"
modules = ["net"]
losses = ["objective"]
no-grad-functions = ["pkg.serve"]
[per-file-ignores]
"tests/*" = ["TML1"]
"""


def test_every_key_is_read(tmp_path: Path) -> None:
    config = load(write(tmp_path, FULL))
    assert config.select == ("TML1", "TML201")
    assert config.per_file_ignores == (("tests/*", ("TML1",)),)
    assert (config.exclude, config.extend_exclude) == (("third_party",), ("*_pb2.py",))
    assert config.unsafe_fixes
    assert config.hints
    assert (config.modules, config.losses, config.no_grad_functions) == (("net",), ("objective",), ("pkg.serve",))
    assert config.root == str(tmp_path)


def test_config_is_picklable_and_frozen(tmp_path: Path) -> None:
    config = load(write(tmp_path, FULL))
    assert pickle.loads(pickle.dumps(config)) == config
    with pytest.raises(AttributeError):
        config.hints = False  # type: ignore[misc]


def test_pyproject_table(tmp_path: Path) -> None:
    write(tmp_path, '[project]\nname = "x"\n[tool.torchmemlint]\nhints = true\n', "pyproject.toml")
    assert discover(tmp_path).hints


def test_byte_order_mark_and_crlf_are_read(tmp_path: Path) -> None:
    path = tmp_path / "torchmemlint.toml"
    path.write_bytes(b"\xef\xbb\xbfhints = true\r\n")
    assert load(path).hints


def test_nearest_file_wins_and_pyprojects_without_the_table_are_passed(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    write(tmp_path, "hints = true")
    write(tmp_path / "a", '[project]\nname = "x"\n', "pyproject.toml")
    assert find(inner) == tmp_path / "torchmemlint.toml"
    own = write(inner, "hints = false")
    assert find(inner) == own


def test_own_file_goes_before_pyproject(tmp_path: Path) -> None:
    write(tmp_path, "[tool.torchmemlint]\nhints = true\n", "pyproject.toml")
    assert find(tmp_path) == tmp_path / "pyproject.toml"
    assert find(tmp_path) != write(tmp_path, "hints = false\n")
    assert not discover(tmp_path).hints


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("selct = []", "unknown key `selct`; did you mean `select`?"),
        ("unsafe_fixes = true", "unknown key `unsafe_fixes`; did you mean `unsafe-fixes`?"),
        ('select = "TML1"', "`select` must be a list of strings, not 'TML1'"),
        ("select = [1]", "`select` must be a list of strings"),
        ("hints = 1", "`hints` must be true or false, not 1"),
        ("cache-dir = []", "`cache-dir` must be a string"),
        ('per-file-ignores = ["x"]', "`per-file-ignores` must be a table of glob = [codes]"),
        ('per-file-ignores = {"x" = "TML1"}', "`per-file-ignores` must be a table of glob = [codes]"),
        ("hints = true\nselect = [\n", ":2:11: not valid TOML"),
        ("a = = 1", ":1:5: not valid TOML"),
    ],
)
def test_what_is_wrong_is_said_with_the_file(tmp_path: Path, text: str, message: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(ConfigError) as error:
        load(path)
    assert message in str(error.value)
    assert str(path) in str(error.value)


def test_unknown_codes_name_the_nearest() -> None:
    with pytest.raises(ConfigError, match=r"x\.toml: unknown rule code `TML10l`; did you mean `TML101`\?"):
        check_codes(Config(select=("TML10l",), path="x.toml"), ["TML101", "TML201"])
    check_codes(Config(select=("TML1", "ALL"), ignore=("TML201",)), ["TML101", "TML201"])


def test_codes_in_per_file_ignores_are_checked() -> None:
    with pytest.raises(ConfigError, match="`ABC`"):
        check_codes(Config(per_file_ignores=(("*", ("ABC",)),)), ["TML101"])


def test_missing_named_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        load(tmp_path / "no.toml")


def test_tool_table_of_the_wrong_type(tmp_path: Path) -> None:
    path = write(tmp_path, "[tool]\ntorchmemlint = 3\n", "pyproject.toml")
    with pytest.raises(ConfigError, match="must be a table"):
        load(path)


def test_a_broken_pyproject_of_someone_else_is_passed(tmp_path: Path) -> None:
    write(tmp_path, "[tool.other\n", "pyproject.toml")
    assert discover(tmp_path) == Config()


def test_a_broken_pyproject_that_mentions_us_is_an_error(tmp_path: Path) -> None:
    write(tmp_path, "[tool.torchmemlint\n", "pyproject.toml")
    with pytest.raises(ConfigError, match=r"pyproject\.toml:1:\d+: not valid TOML"):
        discover(tmp_path)


def test_command_line_select_replaces_and_lifts_equal_ignores() -> None:
    config = Config(select=("TML2",), extend_select=("TML304",), ignore=("TML101", "TML3"))
    merged = merge(config, select=("TML101",), ignore=None, hints=None)
    assert (merged.select, merged.extend_select, merged.ignore) == (("TML101",), (), ("TML3",))


def test_command_line_ignore_and_extend_select_add() -> None:
    merged = merge(Config(ignore=("TML1",), extend_select=("TML3",)), ignore=("TML2",), extend_select=("TML4",))
    assert (merged.ignore, merged.extend_select) == (("TML1", "TML2"), ("TML3", "TML4"))


def diagnostic(code: str, severity: Severity = Severity.WARNING, filename: str = "a.py") -> Diagnostic:
    place = Location(1, 1)
    return Diagnostic(filename, place, 1, 1, code, "m", place, severity=severity)


@pytest.mark.parametrize(
    ("select", "extend", "ignore", "code", "shown"),
    [
        ((), (), (), "TML101", True),
        (("TML1",), (), (), "TML201", False),
        (("TML1",), (), (), "TML101", True),
        (("TML1",), ("TML201",), (), "TML201", True),
        (("ALL",), (), ("TML1",), "TML101", False),
        (("TML1",), (), ("TML101",), "TML101", False),
        (("TML101",), (), ("TML1",), "TML101", True),
        (("TML101",), (), ("TML101",), "TML101", False),
        (("TML101",), (), (), "TML000", True),
        (("TML101",), (), (), "TML999", True),
        (("TML101",), (), (), "TML001", False),
        (("ALL",), (), ("TML000",), "TML000", False),
        (("TML1",), (), ("ALL",), "TML101", True),
        ((), (), ("ALL",), "TML101", False),
    ],
)
def test_the_longer_prefix_wins(
    select: tuple[str, ...], extend: tuple[str, ...], ignore: tuple[str, ...], code: str, shown: bool
) -> None:
    selection = Selection(Config(select=select, extend_select=extend, ignore=ignore))
    assert selection.shows(diagnostic(code)) is shown


@pytest.mark.parametrize(
    ("config", "shown"),
    [
        (Config(), False),
        (Config(hints=True), True),
        (Config(select=("TML304",)), True),
        (Config(select=("ALL",)), True),
        (Config(extend_select=("TML3",)), True),
        (Config(extend_select=("TML1",)), False),
    ],
)
def test_hints_are_shown_on_demand(config: Config, shown: bool) -> None:
    assert Selection(config).shows(diagnostic("TML304", Severity.HINT)) is shown


def test_per_file_ignores(tmp_path: Path) -> None:
    config = Config(per_file_ignores=(("tests/*", ("TML1",)), ("__init__.py", ("ALL",))), root=str(tmp_path))
    selection = Selection(config)
    assert not selection.shows(diagnostic("TML101", filename=str(tmp_path / "tests" / "a.py")))
    assert selection.shows(diagnostic("TML201", filename=str(tmp_path / "tests" / "a.py")))
    assert selection.shows(diagnostic("TML101", filename=str(tmp_path / "src" / "a.py")))
    assert not selection.shows(diagnostic("TML201", filename=str(tmp_path / "src" / "__init__.py")))
