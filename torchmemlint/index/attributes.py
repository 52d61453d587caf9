"""Calls of objects through the attributes that hold them: `self.block = Block()`, and later `self.block(x)`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torchmemlint.index.model import FunctionInfo
    from torchmemlint.index.project import ProjectIndex

CALLS_OF_OBJECTS = frozenset({"__call__", "forward"})
CONTAINERS = frozenset({"ModuleList", "ModuleDict", "Sequential"})

Made = dict[str, list[tuple[str, "FunctionInfo"]]]


def made_attributes(project: ProjectIndex) -> Made:
    """(attribute, constructor) by the bare name of the callee that made what the attribute holds."""
    found: Made = {}
    for file in project.files.values():
        for maker in file.functions.values():
            for attribute, callee in maker.made.items():
                found.setdefault(callee.rpartition(".")[2], []).append((attribute, maker))
    return found


def attribute_callers(project: ProjectIndex, made: Made, info: FunctionInfo) -> list[FunctionInfo]:
    """Functions that may call an object of the method's class through an attribute that a constructor made it for,
    alone or in a container of modules."""
    owner = project.owner(info)
    if owner is None or info.name not in CALLS_OF_OBJECTS:
        return []
    names = {owner.name, *(sub.name for sub in project.heirs(owner, info))}
    homes = project.family(owner)
    held = [
        (attribute, maker)
        for name in sorted(names)
        for attribute, maker in made.get(name, ())
        if project.can_mean(maker.path, homes, owner)
    ]
    held += [
        (attribute, maker)
        for maker in project.callers(info)
        for attribute, callee in maker.made.items()
        if callee.rpartition(".")[2] in CONTAINERS
    ]
    found = {
        (reader.path, reader.id): reader
        for attribute, maker in held
        for reader in project.mentions(attribute)
        if reader.path == maker.path and reader.name != "__init__"
    }
    return list(found.values())
