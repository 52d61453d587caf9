"""Measured costs: the recorded results of `verify` that ship with the package, by rule."""

from __future__ import annotations

import json
from functools import lru_cache
from importlib import resources
from typing import Any


@lru_cache(maxsize=1)
def _records() -> dict[str, dict[str, Any]]:
    """code -> record, of all JSON files in `verify/records`; a file is an object by code or a list with `code`s."""
    found: dict[str, dict[str, Any]] = {}
    folder = resources.files("torchmemlint.verify") / "records"
    if not folder.is_dir():
        return found
    for entry in sorted(folder.iterdir(), key=lambda e: e.name):
        if not entry.name.endswith(".json"):
            continue
        data = json.loads(entry.read_text(encoding="utf-8"))
        items = data.items() if isinstance(data, dict) else ((item.get("code"), item) for item in data)
        found.update((code, item) for code, item in items if isinstance(item, dict) and isinstance(code, str))
    return found


def impact_of(code: str) -> dict[str, Any] | None:
    """The record of a rule; None where nothing was recorded."""
    try:
        return _records().get(code)
    except (OSError, ValueError):
        return None
