"""Module names of files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path


def module_name(path: str, roots: Sequence[str] = ()) -> tuple[str, bool]:
    """(dotted module name, is it a package's `__init__`).

    With a root above the file (the deepest counts), the name is the path below it: unique in the project, packages
    without `__init__.py` included. Without one, the folders above count as long as they have an `__init__.py`."""
    full = Path(path).resolve()
    tops = {Path(root).resolve() for root in roots}
    rooted = not tops.isdisjoint(full.parents)
    is_package = full.name == "__init__.py"
    parts = [] if is_package else [full.stem]
    folder = full.parent
    while folder.name and (folder not in tops if rooted else (folder / "__init__.py").is_file()):
        parts.append(folder.name)
        folder = folder.parent
    return ".".join(reversed(parts)) or folder.name or full.stem, is_package
