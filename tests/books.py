"""Notebooks for tests that do without nbformat."""

from __future__ import annotations

import json
from typing import Any


def notebook(source: str) -> str:
    """The text of a notebook with one cell of code."""
    cell: dict[str, Any] = {
        "cell_type": "code",
        "source": source,
        "outputs": [],
        "execution_count": None,
        "metadata": {},
    }
    return json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 4})
