"""Makes the helper modules of this folder importable whatever import mode pytest runs in."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

HERE = str(Path(__file__).parent)
if HERE not in sys.path:
    sys.path.insert(0, HERE)


@pytest.fixture(autouse=True)
def _own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """No test reads or writes the user's cache, nor another test's."""
    monkeypatch.setenv("TORCHMEMLINT_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
