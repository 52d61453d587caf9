"""The documentation: its command blocks run as written, its settings files are valid, its site builds.

Blocks of a page run in order in one folder. ```` ```lang title="name" ```` writes a file; `sh` blocks run in bash with
-e. A comment before a block says what else holds: `not run: reason`, `exits with N`, `output of the command before`,
`installs`: run only where a new user follows the page in a fresh environment."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import textwrap
import venv
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml
from books import notebook
from click.testing import CliRunner

from torchmemlint.cli import main

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parent.parent
PAGES = sorted([*(ROOT / "docs").glob("*.md"), ROOT / "README.md"])
BLOCK = re.compile(
    r"(?:^(?P<indent> *)<!-- *(?P<said>[^\n]*?) *-->\n)?^(?P<tab> *)```(?P<lang>\w+)(?: title=\"(?P<title>[^\"]+)\")?\n"
    r"(?P<text>.*?)^(?P=tab)```$",
    re.M | re.S,
)
NEEDS = {
    "editors.md": ["flake8"],
    "api.md": ["distributed"],
    "verify.md": ["torch"],
    "ci.md": ["nbqa"],
    "configuration.md": ["ruff"],
}
INSTALLED = "pip install -e . && "  # what the README's first line begins with
OF_CI = "./.ci/run"  # what runs these tests


KEPT = """\
import torch
from torch import nn
model = nn.Linear(256, 10)
losses = []
for images, labels in loader:
    losses.append(nn.functional.cross_entropy(model(images), labels))
print(torch.stack(losses).mean().item())
"""


class Block(NamedTuple):
    """A fenced block: its language, file name and text, and what the comment before it says."""

    lang: str
    title: str
    text: str
    said: str


def blocks(page: Path) -> list[Block]:
    found = BLOCK.finditer(page.read_text(encoding="utf-8"))
    return [Block(m["lang"], m["title"] or "", textwrap.dedent(m["text"]), m["said"] or "") for m in found]


def runnable(page: Path) -> bool:
    return any(runs(block, None) for block in blocks(page))


def prepare(page: Path, folder: Path) -> None:
    """The project that the commands of a page speak of and do not show."""
    (folder / "src").mkdir()
    (folder / "src" / "a.py").write_text("import torch\n", encoding="utf-8")
    if page.name == "ci.md":
        (folder / "analysis.ipynb").write_text(notebook(KEPT), encoding="utf-8")


def bash(command: str, folder: Path, fresh: Fresh | None = None) -> subprocess.CompletedProcess[str]:
    """Run a block where `torchmemlint`, `flake8` and `python` are those of this environment, or of a fresh one."""
    scripts = str(fresh.scripts if fresh else Path(sys.executable).parent)
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("GIT_", "_TORCHMEMLINT"))}
    environment = {**kept, "PATH": os.pathsep.join([scripts, kept["PATH"]]), "GIT_CONFIG_GLOBAL": os.devnull}
    environment |= fresh.variables if fresh else {}
    return subprocess.run(
        ["bash", "-e", "-c", command], cwd=folder, env=environment, capture_output=True, text=True, timeout=600,
        check=False,
    )  # fmt: skip


class Fresh(NamedTuple):
    """An environment in which nothing is installed yet: its programs, and the variables that tell pip what it may."""

    scripts: Path
    variables: dict[str, str]


def runs(block: Block, fresh: Fresh | None) -> bool:
    return block.lang == "sh" and not block.said.startswith("not run") and (block.said != "installs" or bool(fresh))


def play(page: Path, folder: Path, fresh: Fresh | None = None) -> Iterator[str]:
    """Run a page's blocks; yields what went wrong."""
    output = ""
    for block in blocks(page):
        if block.said.startswith("output of the command before"):
            shown = output.split("\n\n")[0] if "empty line" in block.said else output
            if shown.strip() != block.text.strip():
                yield f"shown:\n{block.text}\nprinted:\n{shown}"
        elif block.title:
            file = folder / block.title
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(block.text, encoding="utf-8")
        elif runs(block, fresh):
            wanted = int(match[1]) if (match := re.match(r"exits with (\d+)", block.said)) else 0
            done = bash(block.text, folder, fresh)
            output = done.stdout
            if done.returncode != wanted:
                yield f"{block.text}exit code {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"


@pytest.mark.skipif(shutil.which("bash") is None or shutil.which("git") is None, reason="needs bash and git")
@pytest.mark.parametrize("page", [p for p in PAGES if p.name != "README.md" and runnable(p)], ids=lambda p: p.name)
def test_the_blocks_of_a_page_run(page: Path, tmp_path: Path) -> None:
    for module in NEEDS.get(page.name, []):
        pytest.importorskip(module)
    prepare(page, tmp_path)
    assert list(play(page, tmp_path)) == []


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package, built from a copy of this checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    ignored = shutil.ignore_patterns(".git", "*.egg-info", "__pycache__", ".*_cache", ".hypothesis", "build", "site")
    checkout = shutil.copytree(ROOT, folder / "checkout", ignore=ignored)
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(checkout)]
    subprocess.run(command, check=True, timeout=300, capture_output=True)
    (built,) = folder.glob("*.whl")
    return built


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32" or shutil.which("git") is None, reason="needs bash and git")
@pytest.mark.parametrize("name", ["start.md", "editors.md", "ci.md", "api.md"])
def test_a_new_user_gets_by_with_the_page_alone(name: str, wheel: Path, tmp_path: Path) -> None:
    """The page's own commands install what its other commands need; pip finds this checkout's wheel."""
    venv.create(tmp_path / "env", with_pip=True)
    variables = {
        "PIP_FIND_LINKS": str(wheel.parent), "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PYTHONPATH": "", "VIRTUAL_ENV": str(tmp_path / "env"), "TORCHMEMLINT_CACHE_DIR": str(tmp_path / "cache"),
    }  # fmt: skip
    folder = tmp_path / "project"
    folder.mkdir()
    prepare(ROOT / "docs" / name, folder)
    programs = tmp_path / "env" / "bin"
    assert list(play(ROOT / "docs" / name, folder, Fresh(programs, variables))) == []
    if name == "api.md":
        command = [sys.executable, "-m", "mypy", "--strict", "--python-executable", str(programs / "python"), "use.py"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600, check=False)
        assert done.stdout.startswith("Success"), done.stdout  # the types are found, and are as the page uses them


def test_the_commands_of_the_readme_run(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "fixtures", tmp_path / "fixtures")
    prepare(ROOT / "README.md", tmp_path)
    lines = [line for block in blocks(ROOT / "README.md") if block.lang == "sh" for line in block.text.splitlines()]
    commands = [line.removeprefix(INSTALLED) for line in lines if line != OF_CI]
    assert len(commands) >= 5
    for command in commands:
        done = bash(command, tmp_path)
        assert done.returncode == 0, f"{command}\n{done.stdout[-500:]}\n{done.stderr}"


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_settings_in_the_pages_are_valid(page: Path, tmp_path: Path) -> None:
    from torchmemlint.config import load

    for block in blocks(page):
        if block.lang == "toml":
            table = tomllib.loads(block.text)
            if "torchmemlint" in table.get("tool", {}):
                (tmp_path / "pyproject.toml").write_text(block.text, encoding="utf-8")
                load(tmp_path / "pyproject.toml")
        elif block.lang == "json":
            json.loads(block.text)
        elif block.lang == "yaml":
            assert yaml.safe_load(block.text)


def test_the_settings_page_names_every_key() -> None:
    from torchmemlint.config import _KEYS

    text = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
    assert [key for key in _KEYS if f"`{key}`" not in text and key not in ("modules", "losses")] == []


def test_every_reason_for_not_running_a_block_is_given() -> None:
    said = [block.said for page in PAGES for block in blocks(page) if block.said.startswith("not run")]
    assert all(len(text) > len("not run: because") for text in said)


def test_links_between_the_pages_lead_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


@pytest.mark.slow
def test_the_site_builds_without_warnings(tmp_path: Path) -> None:
    pytest.importorskip("material")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path / "site")]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
    assert "TML101" in (tmp_path / "site" / "rules" / "index.html").read_text(encoding="utf-8")


# -- what the pages describe and no block can run ----------------------------------------------------------------------


def check_jsonschema(schema: str, *files: Path) -> None:
    pytest.importorskip("check_jsonschema")
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}", *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_examples_for_services_match_their_schemas(tmp_path: Path) -> None:
    files = {}
    for block in blocks(ROOT / "docs" / "ci.md"):
        if block.lang == "yaml":
            files[block.title] = tmp_path / block.title.replace("/", "_").lstrip(".")
            files[block.title].write_text(block.text, encoding="utf-8")
    assert set(files) >= {".gitlab-ci.yml", ".pre-commit-config.yaml"}
    check_jsonschema("github-workflows", *(path for name, path in files.items() if name.startswith(".github")))
    check_jsonschema("gitlab-ci", files[".gitlab-ci.yml"])
    check_jsonschema("github-actions", ROOT / "action.yml")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32" or shutil.which("bash") is None, reason="needs bash")
def test_the_steps_of_the_action_run(tmp_path: Path) -> None:
    """The action's own scripts with the variables that a runner gives them."""
    ignored = shutil.ignore_patterns(".git", "*.egg-info", "__pycache__", ".*_cache", ".hypothesis", "build", "site")
    checkout = shutil.copytree(ROOT, tmp_path / "action", ignore=ignored)
    install, check = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))["runs"]["steps"]
    source = next(b.text for b in blocks(ROOT / "docs" / "ci.md") if b.title == "src/evaluate.py")
    (tmp_path / "src dir").mkdir()
    (tmp_path / "evaluate.py").write_text(source, encoding="utf-8")
    variables = {
        **os.environ, "RUNNER_TEMP": str(tmp_path), "GITHUB_OUTPUT": str(tmp_path / "out"),
        "ACTION_PATH": str(checkout),
        "INPUT_PATHS": "evaluate.py action/fixtures", "INPUT_ARGS": "--select TML101 --no-cache",
        "INPUT_FORMAT": "github", "INPUT_OUTPUT_FILE": "", "INPUT_DIFF_BASE": "",
    }  # fmt: skip

    def step(script: str, **more: str) -> subprocess.CompletedProcess[str]:
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script]  # as the runner starts it
        return subprocess.run(command, cwd=tmp_path, env={**variables, **more}, capture_output=True, text=True,
                              timeout=600, check=False)  # fmt: skip

    done = step(install["run"])
    assert done.returncode == 0, done.stderr
    done = step(check["run"])
    assert done.returncode == 1, done.stderr
    assert "::error title=torchmemlint (TML101 graph-kept-in-container),file=evaluate.py,line=9," in done.stdout
    assert (tmp_path / "out").read_text() == "exit-code=1\n"
    changed = pull_request(tmp_path, source)
    options = {"INPUT_PATHS": ".", "INPUT_DIFF_BASE": "origin/main"}
    done = step(f'cd "{changed}"\n{check["run"]}', **options)
    assert done.returncode == 1, done.stderr
    assert re.findall("file=(.*?),", done.stdout) == ["new.py"]
    done = step(check["run"], INPUT_FORMAT="sarif", INPUT_OUTPUT_FILE="r.sarif", INPUT_ARGS="--exit-zero")
    assert (done.returncode, done.stdout) == (0, "")
    assert json.loads((tmp_path / "r.sarif").read_text())["version"] == "2.1.0"


def pull_request(folder: Path, source: str) -> Path:
    """A checkout as a runner has it: the merge of a branch, which adds new.py, with main, where old.py is."""
    script = """
        git init --quiet --initial-branch main upstream && cd upstream
        cp ../evaluate.py old.py && git add . && git commit --quiet -m main
        git checkout --quiet -b branch && cp old.py new.py && git add . && git commit --quiet -m branch
        git checkout --quiet main && touch other.py && git add . && git commit --quiet -m further
        git checkout --quiet -b merged && git merge --quiet -m merge branch
        cd .. && git clone --quiet upstream work && cd work && git checkout --quiet --detach origin/merged
    """
    who = {f"GIT_{role}_{what}": "a@example.org" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    environment = {**os.environ, **who, "GIT_CONFIG_GLOBAL": os.devnull}
    (folder / "evaluate.py").write_text(source, encoding="utf-8")
    subprocess.run(["bash", "-e", "-c", script], cwd=folder, env=environment, check=True, timeout=60)
    return folder / "work"


def installed(folder: Path, value: str) -> dict[str, str]:
    """Put the metadata of a package that names rules in an entry point into `folder`; the variables to see it."""
    metadata = folder / "my_rules-1.0.dist-info"
    metadata.mkdir(exist_ok=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: my-rules\nVersion: 1.0\n", encoding="utf-8")
    (metadata / "entry_points.txt").write_text(f"[torchmemlint.rules]\nmine = {value}\n", encoding="utf-8")
    return {**os.environ, "PYTHONPATH": str(folder)}


def test_the_rule_of_the_contributing_page_finds_something(tmp_path: Path) -> None:
    (example,) = [b for b in blocks(ROOT / "docs" / "contributing.md") if b.title == "memory_rules.py"]
    (tmp_path / "memory_rules.py").write_text(example.text, encoding="utf-8")
    (tmp_path / "a.py").write_text(
        "import torch\n\n\ndef f(n):\n    return torch.sort(torch.rand(n))\n", encoding="utf-8"
    )

    def check(value: str) -> subprocess.CompletedProcess[str]:
        command = [
            sys.executable,
            "-m",
            "torchmemlint",
            "check",
            "--select",
            "ABC101",
            "--output-format",
            "concise",
            "a.py",
        ]
        environment = installed(tmp_path, value)
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120,
                              check=False)  # fmt: skip

    done = check("memory_rules")
    assert done.stdout == "a.py:5:12: ABC101 [hint] sorting allocates a copy and the indices\n"
    assert done.stderr == ""
    done = check("nowhere_to_be_found")
    assert done.returncode == 2
    assert "torchmemlint: warning: rules of `nowhere_to_be_found` (entry point mine) are left out" in done.stderr
    assert "unknown rule code `ABC101`" in done.stderr


@pytest.mark.parametrize(
    ("words", "expected"),
    [("che", "check"), ("check --output-format gitl", "gitlab"), ("explain tml10", "TML101")],
)
def test_shells_complete_commands_options_and_codes(words: str, expected: str) -> None:
    last = str(len(words.split()))
    environment = {"COMP_WORDS": f"torchmemlint {words}", "COMP_CWORD": last, "_TORCHMEMLINT_COMPLETE": "bash_complete"}
    result = CliRunner().invoke(main, [], prog_name="torchmemlint", env=environment)
    assert f"plain,{expected}" in result.stdout


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_completes(tmp_path: Path) -> None:
    script = next(b.text for b in blocks(ROOT / "docs" / "start.md") if "bash_source" in b.text)
    use = "source torchmemlint-complete.bash; COMP_WORDS=(torchmemlint check --diff-b); COMP_CWORD=2"
    done = bash(f"{script}{use}; _torchmemlint_completion torchmemlint; echo ${{COMPREPLY[@]}}", tmp_path)
    assert (done.stdout, done.stderr) == ("--diff-base\n", "")


def test_help_is_complete() -> None:
    for command in ("check", "explain", "rules", "clean", "server"):
        text = CliRunner().invoke(main, [command, "--help"]).stdout
        options = re.findall(r"^  (-[-\w, /]+)(?: [A-Z\[][^ ]*)?(  .*)?$", text, re.M)
        assert options
        assert len(text.split("\n\n")[1]) > 10
