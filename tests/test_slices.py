"""A text that was changed: what stands elsewhere in it is not parsed again, and found at its new place."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchmemlint.config import Config
from torchmemlint.engine import Session
from torchmemlint.flow import lean
from torchmemlint.source import decode

TEXT = """import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 2)

    def forward(self, x):
        return nn.functional.dropout(self.layer(x), training=self.training, inplace=False)


def evaluate(net, data):
    outputs = []
    for x in data:
        outputs.append(net(x))
    return torch.stack(outputs).mean().item()


print(evaluate(Net(), torch.randn(3, 5, 4)))
"""
EDITS = {
    "lines above": ("import torch\n", "import math\n\nimport torch\n"),
    "within another function": ("nn.Linear(4, 2)", "nn.Linear(\n            4, 2\n        )"),
    "the function itself": ("    outputs = []\n", "    outputs = []\n    print(len(data))\n"),
    "the finding mended": ("append(net(x))", "append(net(x).detach())"),
}


@pytest.mark.parametrize("edit", EDITS)
def test_an_edit_finds_what_a_new_session_finds(tmp_path: Path, edit: str) -> None:
    path = tmp_path / "net.py"
    path.write_text(TEXT, encoding="utf-8")
    session = Session(Config(hints=True))
    session.add([str(path)])
    assert session.check()
    later = TEXT.replace(*EDITS[edit])
    session.update({str(path): decode(later.encode(), str(path))})
    path.write_text(later, encoding="utf-8")
    fresh = Session(Config(hints=True))
    fresh.add([str(path)])
    assert session.check() == fresh.check()


def test_only_what_changed_is_parsed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "net.py"
    path.write_text(TEXT, encoding="utf-8")
    session = Session(Config())
    session.add([str(path)])
    session.check()
    parsed: list[bytes] = []

    def parse(data: bytes) -> lean.Lean | None:
        parsed.append(data)
        return original(data)

    original = lean.parse
    monkeypatch.setattr(lean, "parse", parse)
    later = TEXT.replace("    outputs = []\n", "    outputs = []\n    print(len(data))\n")
    session.update({str(path): decode(later.encode(), str(path))})
    session.check()
    assert [data.split(b"(")[0] for data in parsed] == [b"def evaluate"]
