"""Notebooks: cells as one module, magics, places, fixes written back, through the real command and nbformat."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from torchmemlint import notebook
from torchmemlint.api import check, check_source
from torchmemlint.findings import Location
from torchmemlint.magics import neutral, restored
from torchmemlint.notebook import NotebookSource
from torchmemlint.source import SourceError

nbformat = pytest.importorskip("nbformat")

SETUP = """\
%matplotlib inline
!pip install torch \\
  numpy
import torch
from torch import nn

model = nn.Linear(256, 10).cuda()"""
LOOP = """\
%%time
losses = []
for images, labels in loader:
    outputs = model(images)
    %time losses.append(nn.functional.cross_entropy(outputs, labels))
files = !ls"""
END = "print(torch.stack(losses).mean().item())"


def make(*sources: str, **metadata: Any) -> Any:
    """A notebook with a title and code cells that have outputs."""
    v4 = nbformat.v4
    cells = [v4.new_markdown_cell("# Évaluation")]
    for number, source in enumerate(sources):
        picture = v4.new_output("display_data", {"image/png": "aGVsbG8=" * 50, "text/plain": "Größe 😀"})
        outputs = [v4.new_output("stream", text="1.0\n2.0\n"), picture]
        cells.append(v4.new_code_cell(source, outputs=outputs, execution_count=number, metadata={"tags": ["é"]}))
    return v4.new_notebook(cells=cells, metadata={"language_info": {"name": "python"}, **metadata})


def write(path: Path, *sources: str, **metadata: Any) -> Path:
    nbformat.write(make(*sources, **metadata), path)
    return path


def torchmemlint(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "torchmemlint", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A notebook with a graph that is kept in its third cell."""
    monkeypatch.chdir(tmp_path)
    return write(Path("kept.ipynb"), SETUP, LOOP, END)


def test_the_cells_are_one_module_and_places_are_those_of_the_cells(kept: Path) -> None:
    (found,) = [d for d in check(kept) if d.code == "TML101"]
    assert found.location == Location(5, 11, cell=3)
    assert found.end_location == Location(5, 70, cell=3)
    assert {r.location.cell for r in found.related} == {3}
    assert found.fix is not None
    assert {e.location.cell for e in found.fix.edits} == {3}


def test_every_format_names_cell_row_and_column(kept: Path) -> None:
    outputs = {}
    for name in ("concise", "text", "json", "github", "gitlab", "sarif", "junit"):
        result = torchmemlint("check", "--select", "TML101", "--output-format", name, kept)
        assert (result.returncode, result.stderr) == (1, "")
        outputs[name] = result.stdout
    assert outputs["concise"].startswith("kept.ipynb:cell 3:5:11: TML101 ")
    assert outputs["text"].startswith("kept.ipynb:cell 3:5:11: TML101 ")
    assert " 5 |     %time losses.append(nn.functional.cross_entropy(outputs, labels))\n" in outputs["text"]
    (found,) = json.loads(outputs["json"])
    assert (found["cell"], found["location"]) == (3, {"row": 5, "column": 11, "cell": 3})
    row = next(n for n, line in enumerate(kept.read_text("utf-8").split("\n"), 1) if "losses.append" in line)
    assert f"file=kept.ipynb,line={row},endLine={row}::kept.ipynb:cell 3:5:11: TML101" in outputs["github"]
    (issue,) = json.loads(outputs["gitlab"])
    assert issue["location"] == {"path": "kept.ipynb", "lines": {"begin": row, "end": row}}
    assert issue["description"].startswith("cell 3:5:11: ")
    (result,) = json.loads(outputs["sarif"])["runs"][0]["results"]
    assert result["locations"][0]["physicalLocation"]["region"] == {"startLine": row, "endLine": row}
    assert result["locations"][0]["logicalLocations"] == [{"name": "cell 3", "fullyQualifiedName": "cell 3:5:11"}]
    assert "cell 3, line 5, column 11: TML101" in outputs["junit"]


def test_fixes_change_the_line_and_nothing_else(kept: Path) -> None:
    before = kept.read_bytes()
    result = torchmemlint("check", "--fix", "--select", "TML101", kept)
    assert result.returncode == 0, result.stdout
    after = kept.read_bytes()
    assert after == before.replace(b"(outputs, labels))", b"(outputs, labels).detach())")
    assert after != before
    nbformat.validate(nbformat.read(kept, 4))
    assert torchmemlint("check", "--select", "TML101", kept).returncode == 0


def test_the_layout_of_the_json_stays() -> None:
    base = json.loads(nbformat.writes(make(SETUP, LOOP, END)))
    for cell in base["cells"]:
        cell["source"] = cell["source"] if cell["cell_type"] == "markdown" else "".join(cell["source"])
    for text in (
        json.dumps(base),
        json.dumps(base, indent=4, ensure_ascii=False).replace("\n", "\r\n"),
        json.dumps(base, indent="\t", sort_keys=True),
        "\n\n " + json.dumps(base, separators=(",", ":")),
    ):
        source = notebook.decode(text.encode(), "a.ipynb")
        assert source.encode(source.data) == text.encode()
        changed = source.data.replace(b"labels))", b"labels).detach())")
        assert source.encode(changed).decode() == text.replace("labels))", "labels).detach())")


def test_a_diff_is_one_of_cells(kept: Path) -> None:
    diff = torchmemlint("check", "--diff", "--select", "TML101", kept).stdout
    assert diff.startswith("--- kept.ipynb:cell 3\n+++ kept.ipynb:cell 3\n@@ -2,5 +2,5 @@\n")
    assert "+    %time losses.append(nn.functional.cross_entropy(outputs, labels).detach())\n" in diff


def test_suppression_baseline_and_add_noqa(kept: Path) -> None:
    assert torchmemlint("check", "--select", "TML101", "--baseline", "b.json", kept).returncode == 0
    assert torchmemlint("check", "--select", "TML101", "--baseline", "b.json", kept).returncode == 0
    assert torchmemlint("check", "--select", "TML101", "--add-noqa", kept).returncode == 0
    assert nbformat.read(kept, 4).cells[2].source.splitlines()[4].endswith("labels))  # noqa: TML101")
    assert torchmemlint("check", "--select", "TML101", kept).returncode == 0


def test_standard_input_and_folders(kept: Path) -> None:
    command = [sys.executable, "-m", "torchmemlint", "check", "-", "--stdin-filename", "x.ipynb", "--fix"]
    done = subprocess.run(command, input=kept.read_bytes(), capture_output=True, timeout=120, check=False)
    assert done.stdout == kept.read_bytes().replace(b"(outputs, labels))", b"(outputs, labels).detach())")
    assert torchmemlint("check", "--show-files", ".").stdout == "kept.ipynb\n"
    assert [d.code for d in check_source(kept.read_bytes(), "y.ipynb") if d.code == "TML101"] == ["TML101"]


def test_through_nbqa(kept: Path) -> None:
    pytest.importorskip("nbqa")
    plain = LOOP.replace("%time losses", "losses").replace("%%time\n", "")  # nbQA leaves cells with magics out
    write(kept, "import torch\nfrom torch import nn\nmodel = nn.Linear(256, 10)", plain, END)
    arguments = ["torchmemlint check --quiet --output-format concise --select TML101", str(kept)]
    done = subprocess.run([sys.executable, "-m", "nbqa", *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("kept.ipynb:cell_2:4:5: TML101 ")
    assert subprocess.run(
        [sys.executable, "-m", "nbqa", arguments[0].replace("TML101", "TML109"), str(kept)], check=False, timeout=120
    ).returncode == 0  # fmt: skip
    before = nbformat.read(kept, 4)
    fixing = [sys.executable, "-m", "nbqa", f"{arguments[0]} --fix", str(kept)]
    assert subprocess.run(fixing, capture_output=True, check=False, timeout=120).returncode == 0
    after = nbformat.read(kept, 4)
    assert [c.source for c in after.cells] == [c.source.replace("labels))", "labels).detach())") for c in before.cells]
    assert [c.get("outputs") for c in after.cells] == [c.get("outputs") for c in before.cells]


@pytest.mark.parametrize(
    ("data", "message", "row"),
    [
        (b"", "not a notebook: Expecting value", 1),
        (b'{\n"cells": [\n', "not a notebook: Expecting value", 3),
        (b"[]", "not a notebook: no list of cells", 1),
        (b'{"worksheets": [{"cells": []}]}', "notebook format 3", 1),
        (b'{"cells": [{"cell_type": "code"}]}', "cell 1 has no source", 1),
        (b'{"cells": [{"cell_type": "code", "source": [1]}]}', "cell 1 has no source", 1),
        (b'{"cells": [{"cell_type": "code", "source": "\\ud800"}]}', "surrogate", 1),
        (b'{"cells": [{"cell_type": "code", "source": "\\u0000"}]}', "null character", 1),
        (b"\xff\xfe{}", "not valid utf-8", 1),
        (b"[" * 100_000, "nested too deeply", 1),
    ],
)
def test_what_is_no_notebook_is_a_finding(data: bytes, message: str, row: int, tmp_path: Path) -> None:
    path = tmp_path / "a.ipynb"
    path.write_bytes(data)
    (found,) = check(path)
    assert (found.code, found.location.row) == ("TML000", row)
    assert message in found.message


def test_a_syntax_error_is_placed_in_its_cell(tmp_path: Path) -> None:
    path = write(tmp_path / "a.ipynb", "import torch", "x = 1\ndef f(:\n")
    (found,) = check(path)
    assert (found.code, found.location) == ("TML000", Location(2, 7, cell=3))


def test_other_languages_are_left_alone(tmp_path: Path) -> None:
    path = write(tmp_path / "a.ipynb", "library(torch)\nx <- 1", language_info={"name": "R"})
    assert check(path) == []
    path = write(tmp_path / "b.ipynb", "import torch", "%%bash\nls $(pwd", "%%javascript\nlet torch", "x = 1")
    assert check(path) == []


def test_imports_go_into_a_cell_behind_the_others() -> None:
    source = notebook.decode(nbformat.writes(make("import os", "import sys", "x = 1")).encode(), "a.ipynb")
    module = source.text.replace("import sys\n", "import sys\nimport torch\n")
    assert [text for _, text in replaced(source, module)] == ["import os", "import sys\nimport torch", "x = 1"]


def replaced(source: NotebookSource, module: str) -> list[tuple[int, str]]:
    after = nbformat.reads(source.encode(module.encode()).decode(), 4)
    nbformat.validate(after)
    return [(i, cell.source) for i, cell in enumerate(after.cells) if cell.cell_type == "code"]


@pytest.mark.parametrize("gone", ["#| cell 3\n", "0_0"])
def test_a_change_across_cells_or_magics_is_refused(gone: str) -> None:
    source = notebook.decode(nbformat.writes(make(SETUP, LOOP)).encode(), "a.ipynb")
    assert gone in source.text
    with pytest.raises(SourceError):
        source.encode(source.text.replace(gone, "", 1).encode())


def test_marks_are_none_of_the_notebooks_own() -> None:
    source = notebook.decode(nbformat.writes(make("%pwd", "#| cell 2\nx = 0_0", "#|| cell 1")).encode(), "a.ipynb")
    assert source.text == "#||| cell 2\n0_00\n#||| cell 3\n#| cell 2\nx = 0_0\n#||| cell 4\n#|| cell 1\n"


# -- magics ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "python"),
    [
        ("%matplotlib inline", "0_0               "),
        ("if y:\n  %cd x\n  !ls", "if y:\n  0_0  \n  0_0"),
        ("!a \\\n  b \\\n  c\nx = 1", "0_0 \n0_0\n0_0\nx = 1"),
        ("files = !ls *.py", "files = 0_0     "),
        ("a.b['c'] = %time f()", "a.b['c'] = 0_0      "),
        ("%time x = f()", "0_0;  x = f()"),
        ("%time", "0_0  "),
        ("%timeit x = f()", "0_0            "),
        ("%%time\nx = 1", "0_0   \nx = 1"),
        ("%%capture out\nx = 1", "0_0          \nx = 1"),
        ("nn.Linear?", "0_0       "),
        ("?nn.Linear", "0_0       "),
        ("nn.Linear??\nx", "0_0        \nx"),
        ("pip install torch", "0_0              "),
        ("pip = 1\n%pwd", "pip = 1\n0_0 "),
        ("ls\n%pwd", "ls\n0_0 "),
        ("x = (1\n% 2)\n!ls", "x = (1\n% 2)\n0_0"),
        ("x = '''\n%a\n!b\n'''\n!c", "x = '''\n%a\n!b\n'''\n0_0"),
        ("x = 1 \\\n  % 2\n!ls", "x = 1 \\\n  % 2\n0_0"),
        ("x = '(' # (\n!ls", "x = '(' # (\n0_0"),
        ("!echo ' (\nx = 1", "0_0     \nx = 1"),
        ("x = 1\r\n!ls -l\r\ny", "x = 1\r\n0_0   \r\ny"),
        ("await x\nasync for y in z: pass", "await x\nasync for y in z: pass"),
        ("x = a % b\ny = a != b\n!ls", "x = a % b\ny = a != b\n0_0"),
    ],
)
def test_magics_become_python_of_the_same_shape(text: str, python: str) -> None:
    cell = neutral(text, "0_0")
    assert cell is not None
    assert [line.rstrip(" ") for line in cell.text.split("\n")] == [line.rstrip(" ") for line in python.split("\n")]
    ast.parse(cell.text)
    assert restored(cell.text, cell, text) == text
    assert restored(cell.text + "\nnew = 1", cell, text) == text + "\nnew = 1"


@pytest.mark.parametrize("text", ["%%bash\nls", "%%html\n<p>", "%%writefile a.py\nimport torch", "%%R\nx", "\n%%sh\n"])
def test_cells_in_other_languages_are_none(text: str) -> None:
    assert neutral(text, "0_0") is None


def test_lines_put_under_another_statement_keep_their_magics() -> None:
    text = "%time x = f(1)\n!ls -l"
    cell = neutral(text, "0_0")
    assert cell is not None
    assert restored("with a:\n    0_0;  x = f(2)\n0_0   \n", cell, text) == "with a:\n    %time x = f(2)\n!ls -l\n"
    assert restored("0_0;\n0_0", cell, text) == "%time \n!ls -l"


def test_a_cell_may_be_indented() -> None:
    text = "\n  # a pipeline\n  %time x = f(1)\n  if x:\n    !ls -l"
    cell = neutral(text, "0_0")
    assert cell is not None
    assert cell.text == "\n# a pipeline\n0_0;  x = f(1)\nif x:\n  0_0   "
    assert restored(cell.text, cell, text) == text
    assert restored(cell.text + "\nnew = 1", cell, text) == text + "\n  new = 1"
    with_text = neutral("  a = '''\n'''\n  b = 1", "0_0")
    assert with_text is not None
    with pytest.raises(SourceError):
        restored(with_text.text + "\nnew = 1", with_text, "  a = '''\n'''\n  b = 1")


def test_places_in_an_indented_cell_are_those_of_the_cell(tmp_path: Path) -> None:
    lines = "  import torch\n  x = torch.randn(4)\n  y = torch.tensor(x)"
    (tmp_path / "a.ipynb").write_text(nbformat.writes(make(lines)), encoding="utf-8")
    (found,) = [d for d in check([tmp_path]) if d.code == "TML305"]
    assert (found.location.cell, found.location.row, found.location.column) == (2, 3, 7)


_LINES = st.sampled_from(
    'x = 1/!ls -l/%time y = f(x)/%%time/if x:/    y = 2/z = !a/"""/(/)/é = \'ü\'/!a \\//a?/\\/# !b'.split("/")
)


@settings(max_examples=300, deadline=None)
@given(st.lists(_LINES, max_size=8).map("\n".join))
def test_any_cell_comes_back_as_it_was(text: str) -> None:
    cell = neutral(text, "0_0")
    if cell is not None:
        assert cell.text.count("\n") == text.count("\n")
        assert restored(cell.text, cell, text) == text
        if "\\" not in text and not cell.indent:
            assert restored(cell.text + "\nq", cell, text) == text + "\nq"


_TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)


@settings(max_examples=100, deadline=None)
@given(st.lists(_TEXT, max_size=4), st.lists(st.sampled_from(["a = 1", "b\n", "\n", ""]), max_size=4))
def test_any_notebook_is_written_back_as_it_was(texts: list[str], more: list[str]) -> None:
    data = json.dumps({"cells": [{"cell_type": "code", "source": s} for s in texts + more], "x": texts}).encode()
    source = notebook.decode(data, "a.ipynb")
    assert source.encode(source.data) == data
