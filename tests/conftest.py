"""Makes the helper modules of this folder importable whatever import mode pytest runs in."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hypothesis import Phase, settings

HERE = str(Path(__file__).parent)
if HERE not in sys.path:
    sys.path.insert(0, HERE)

# Without the phase that traces each line to explain failures: under its trace function CPython 3.11.7 was once caught
# in an endless loop of its own.
settings.register_profile("untraced", phases=[phase for phase in Phase if phase is not Phase.explain])
settings.load_profile("untraced")


@pytest.fixture(autouse=True)
def _own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """No test reads or writes the user's cache, nor another test's."""
    monkeypatch.setenv("TORCHMEMLINT_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
