"""The package as users get it: sdist, wheel, fresh environment; and the same checkout installed editable."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from collections.abc import Iterable
from pathlib import Path

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parent.parent
SECONDS = 600
NOT_COPIED = shutil.ignore_patterns(
    ".git", "*.egg-info", "__pycache__", ".*_cache", ".hypothesis", "build", "dist", ".venv"
)


def python_packages() -> set[str]:
    """The packages that the tree holds, by folders with an __init__.py."""
    folders = {p.parent.relative_to(ROOT) for p in (ROOT / "torchmemlint").rglob("__init__.py")}
    return {".".join(folder.parts) for folder in folders} | {"torchmemlint.rules", "torchmemlint.fixtures"}


def settings() -> dict[str, object]:
    with (ROOT / "pyproject.toml").open("rb") as file:
        found = tomllib.load(file)["tool"]["setuptools"]
    assert isinstance(found, dict)
    return found


def source_files(root: Path, *folders: str) -> set[str]:
    """The Python files under folders of a checkout, relative to it."""
    files = (p for folder in folders for p in (root / folder).rglob("*.py"))
    return {p.relative_to(root).as_posix() for p in files if "__pycache__" not in p.parts}


def installed_names(files: Iterable[str]) -> set[str]:
    """Where the installation puts files of the checkout."""
    return {f if f.startswith("torchmemlint/") else f"torchmemlint/{f}" for f in files}


def test_the_package_list_is_the_tree() -> None:
    assert set(settings()["packages"]) == python_packages()  # type: ignore[call-overload]


def test_python_3_10_can_parse_the_package() -> None:
    for path in source_files(ROOT, "torchmemlint", "rules"):
        ast.parse((ROOT / path).read_text(encoding="utf-8"), path, feature_version=(3, 10))


def run(*command: str | Path, cwd: Path) -> str:
    """The output of a command that must succeed. The checkout is not on its import path."""
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")}
    done = subprocess.run(
        [str(c) for c in command],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
    return done.stdout


def environment(folder: Path) -> Path:
    """A fresh environment; returns its folder of programs."""
    venv.create(folder, with_pip=True)
    return folder / ("Scripts" if sys.platform == "win32" else "bin")


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the checkout: builds write into the tree, and tests run at the same time."""
    return Path(shutil.copytree(ROOT, tmp_path_factory.mktemp("checkout") / "torchmemlint", ignore=NOT_COPIED))


@pytest.fixture(scope="module")
def built(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """(sdist, wheel made from that sdist)."""
    out = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--outdir", out, checkout, cwd=out)
    (sdist,), (wheel,) = out.glob("*.tar.gz"), out.glob("*.whl")
    return sdist, wheel


@pytest.mark.slow
def test_the_wheel_holds_every_module_rule_and_fixture(checkout: Path, built: tuple[Path, Path]) -> None:
    names = set(zipfile.ZipFile(built[1]).namelist())
    assert installed_names(source_files(checkout, "torchmemlint", "rules", "fixtures")) <= names
    assert {"torchmemlint/py.typed", "torchmemlint/rules/py.typed", "torchmemlint/knowledge/ops.json"} <= names
    assert {name.partition("/")[0].partition("-")[0] for name in names} == {"torchmemlint"}


@pytest.mark.slow
def test_the_sdist_holds_what_the_tests_need(checkout: Path, built: tuple[Path, Path]) -> None:
    with tarfile.open(built[0]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert source_files(checkout, "torchmemlint", "rules", "fixtures", "tests") <= names
    assert {"LICENSE", "README.md", "pyproject.toml", "requirements-dev.txt", ".ci/run"} <= names


PROBE = (
    "import torchmemlint, importlib.resources as r; from torchmemlint.loader import load_rules; "
    "print(torchmemlint.__file__, len(load_rules()), sum(1 for f in r.files('torchmemlint.fixtures').iterdir() "
    "if f.name.startswith('TML')))"
)


def works(programs: Path, folder: Path, checkout: Path) -> Path:
    """Use an installation from `folder`, outside the checkout; returns the package's folder."""
    listed = run(programs / "torchmemlint", "rules", cwd=folder)
    file, rules, fixtures = run(programs / "python", "-c", PROBE, cwd=folder).rsplit(maxsplit=2)
    stems = [p.name.partition("_")[0].upper() for p in (checkout / "rules").glob("tml*.py")]
    assert [code for code in stems if code not in listed] == []
    assert int(rules) == int(fixtures) == len(stems)
    assert "torchmemlint" in run(programs / "torchmemlint", "--version", cwd=folder)
    folder.joinpath("a.py").write_text("import torch\n", encoding="utf-8")
    run(programs / "torchmemlint", "check", "a.py", cwd=folder)
    return Path(file).parent


@pytest.mark.slow
def test_the_wheel_works_in_a_fresh_environment(checkout: Path, built: tuple[Path, Path], tmp_path: Path) -> None:
    programs = environment(tmp_path / "env")
    run(programs / "python", "-m", "pip", "install", "--quiet", built[1], cwd=tmp_path)
    package = works(programs, tmp_path, checkout)
    assert tmp_path in package.parents


@pytest.mark.slow
def test_an_editable_installation_works_from_any_folder(checkout: Path, tmp_path: Path) -> None:
    programs = environment(tmp_path / "env")
    run(programs / "python", "-m", "pip", "install", "--quiet", "-e", checkout, cwd=tmp_path)
    assert works(programs, tmp_path, checkout) == checkout / "torchmemlint"
    assert "torchmemlint" in run(programs / "python", "-m", "torchmemlint", "--version", cwd=checkout)
    run(programs / "python", "-m", "torchmemlint.dev", "--help", cwd=tmp_path)


def test_this_environment_uses_the_checkout() -> None:
    import torchmemlint

    assert Path(torchmemlint.__file__).parent == ROOT / "torchmemlint", sysconfig.get_paths()["purelib"]
