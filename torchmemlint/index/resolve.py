"""What a dotted name means: a function, class or file of the project, or a name of a library.

Imports are followed through re-exports, aliases and star imports, never executed. A module is looked for as Python
would find it from wherever the program starts: from the importing file's folder upwards, then from folders that hold
packages."""

from __future__ import annotations

import builtins
import itertools
import posixpath
import sys
from collections.abc import Iterator, Mapping, Sequence

from torchmemlint.index.model import ClassInfo, FileIndex, FunctionInfo

Target = FunctionInfo | ClassInfo | FileIndex
Found = tuple[Target | None, str]  # the project's object, if it is one, and the absolute dotted name
_Seen = set[tuple[str, str]]
# Inside a package a sibling never replaces these in an absolute import.
_LIBRARIES = sys.stdlib_module_names | {"torch", "numpy"}
# Nor does a folder of that name anywhere below the top: `ops/torch/` beside `ops/cuda/`, neither of them on the path.
_SELDOM = frozenset({"torch", "numpy"})
_BUILTINS = frozenset(vars(builtins))


def portable(path: str) -> str:
    """The path with forward slashes and no `./`, so that folders compare as text."""
    return posixpath.normpath(path.replace("\\", "/"))


def folder_of(path: str) -> str:
    """The folder of a file as a prefix: "" or ending in a slash."""
    return portable(path).rpartition("/")[0] + "/" if "/" in portable(path) else ""


class Resolver:
    """Resolves names over a fixed set of files."""

    def __init__(self, files: Mapping[str, FileIndex]) -> None:
        self.files = files
        self.by_stem: dict[str, FileIndex] = {}  # path without ".py" or "/__init__.py"
        self.by_module: dict[str, list[FileIndex]] = {}
        self.by_tail: dict[str, list[str]] = {}  # last part of a stem -> stems
        for file in files.values():
            self._enter(file)
        self.packages = {folder_of(file.path) for file in files.values() if file.is_package}
        self.heads = {part for stem in self.by_stem for part in stem.split("/")}
        self.heads.update(module.partition(".")[0] for module in self.by_module)
        folders = {folder_of(file.path) for file in files.values()}
        self.top = _common(folders)
        self.sources = sorted({self._above(folder) for folder in self.packages} - self.packages)
        self._roots: dict[str, tuple[str, ...]] = {}
        self._offers: dict[str, frozenset[str]] = {}
        self._cache: dict[tuple[str | None, str], Found] = {}

    def _enter(self, file: FileIndex) -> None:
        stem = _stem(file)
        self.by_module.setdefault(file.module, []).append(file)
        if stem and file.path.endswith(".py"):
            self.by_stem[stem] = file
            self.by_tail.setdefault(stem.rpartition("/")[2], []).append(stem)

    @staticmethod
    def _above(folder: str) -> str:
        return folder[:-1].rpartition("/")[0] + "/" if "/" in folder[:-1] else ""

    def chase(self, dotted: str, file: FileIndex | None) -> Found:
        """The object an absolute dotted name leads to and its canonical name, as imported by `file`."""
        key = (file.path if file is not None else None, dotted)
        found = self._cache.get(key)
        if found is None:
            found = self._cache[key] = self._chase(dotted, file, set()) or (None, dotted)
        return found

    def written(self, name: str, file: FileIndex) -> Found:
        """The same for a name as the file writes it at module level."""
        key = (file.path, f"<{name}>")
        found = self._cache.get(key)
        if found is None:
            found = self._cache[key] = self._attribute(file, name.split("."), set()) or self._undefined(name, file)
        return found

    def indexed(self, dotted: str, file: FileIndex) -> Found:
        """The same for a name out of the file's index: absolute, but as written where a star import gave it."""
        found = self.chase(dotted, file)
        if found[0] is None and file.stars:
            head = dotted.partition(".")[0]
            known = {file.module.partition(".")[0], *(target.partition(".")[0] for target in file.imports.values())}
            return found if head in known or head in _BUILTINS else self.written(dotted, file)
        return found

    def _undefined(self, name: str, file: FileIndex) -> Found:
        """A name the project does not define: of a builtin or of the only library imported by star."""
        stars = [star for star in file.stars if not isinstance(self.chase(star, file)[0], FileIndex)]
        head = name.partition(".")[0]
        if len(stars) == 1 and head not in _BUILTINS and not head.startswith("_"):
            return None, f"{stars[0]}.{name}"
        return None, name

    def _chase(self, dotted: str, file: FileIndex | None, seen: _Seen) -> Found | None:
        """None: no file of the project defines it."""
        parts = dotted.split(".")
        own = self._own(dotted, file, seen)
        if own is not None:
            return own
        if parts[0] not in self.heads:
            return None
        for module, rest in self._modules(parts, file):
            if not rest:
                return self._shadowing(parts, module, file, seen) or (module, module.module)
            found = self._attribute(module, rest, seen)
            if found is not None:
                return found
        return None

    def _own(self, dotted: str, file: FileIndex | None, seen: _Seen) -> Found | None:
        """A name below the file's own module, unless it leads into a submodule: `from .nms import nms` in a package."""
        if file is None or not dotted.startswith(file.module + "."):
            return None
        parts = dotted[len(file.module) + 1 :].split(".")
        if len(parts) > 1 and file.is_package and folder_of(file.path) + parts[0] in self.by_stem:
            return None
        return self._attribute(file, parts, seen)

    def _shadowing(self, parts: list[str], module: FileIndex, file: FileIndex | None, seen: _Seen) -> Found | None:
        """`from pkg import helper` means what `pkg/__init__.py` binds to that name, before the submodule."""
        parent = self.by_stem.get(_stem(module).rpartition("/")[0])
        if parent is None or parent is file or parts[-1] not in parent.imports:
            return None
        found = self._attribute(parent, [parts[-1]], seen)
        return None if found is None or isinstance(found[0], FileIndex) else found

    def _modules(self, parts: Sequence[str], file: FileIndex | None) -> Iterator[tuple[FileIndex, list[str]]]:
        """Files that the leading parts can name, likeliest first, each with the parts left over."""
        if file is None:
            yield from self._named(parts, 1)
        for root in self.roots(file):
            if self._leaves_out(root, parts[0]):
                continue
            for cut in range(len(parts), 0, -1):
                found = self.by_stem.get(root + "/".join(parts[:cut]))
                if found is not None and (found is not file or cut < len(parts)):
                    yield found, list(parts[cut:])
        if file is not None:
            yield from self._named(parts, 2)
        yield from self._ending(parts)

    def _leaves_out(self, root: str, head: str) -> bool:
        """Does an absolute import from that folder mean a library by the name?"""
        below = head in _SELDOM and root not in (self.top, self._above(self.top))
        return below or root in self.packages and head in _LIBRARIES

    def _named(self, parts: Sequence[str], least: int) -> Iterator[tuple[FileIndex, list[str]]]:
        """Files whose module name it is, where only one has it; of scripts with `least` parts or more."""
        for cut in range(len(parts), 0, -1):
            found = self.by_module.get(".".join(parts[:cut]), ())
            if len(found) == 1 and parts[0] in _SELDOM:
                root = _stem(found[0]).removesuffix("/".join(parts[:cut]))
                if self._leaves_out(root, parts[0]):
                    continue
            if len(found) == 1 and (cut >= least or found[0].is_package):
                yield found[0], list(parts[cut:])

    def _ending(self, parts: Sequence[str]) -> Iterator[tuple[FileIndex, list[str]]]:
        """The one file whose path ends in two parts or more: a source folder nobody told us of."""
        for cut in range(len(parts), 1, -1):
            tail = "/" + "/".join(parts[:cut])
            stems = [stem for stem in self.by_tail.get(parts[cut - 1], ()) if f"/{stem}".endswith(tail)]
            if len(stems) == 1 and parts[0] not in _LIBRARIES:
                yield self.by_stem[stems[0]], list(parts[cut:])

    def roots(self, file: FileIndex | None) -> tuple[str, ...]:
        """Folders from which the file's absolute imports may start, nearest first."""
        folder = folder_of(file.path) if file is not None else self.top
        known = self._roots.get(folder)
        if known is None:
            climbed = [folder]
            while climbed[-1] != self.top and climbed[-1] not in ("", "/"):
                climbed.append(self._above(climbed[-1]))
            if self.top in self.packages:  # a package is checked by itself
                climbed.append(self._above(self.top))
            known = self._roots[folder] = tuple(dict.fromkeys([*climbed, *self.sources]))
        return known

    def _attribute(self, file: FileIndex, parts: Sequence[str], seen: _Seen) -> Found | None:
        """What `parts` mean as names of the file's module; None where it does not bind the first."""
        name, rest = parts[0], parts[1:]
        if (file.path, name) in seen:
            return None
        seen.add((file.path, name))
        return self._bound(file, name, rest, seen) or self._starred(file, parts, seen)

    def _bound(self, file: FileIndex, name: str, rest: Sequence[str], seen: _Seen) -> Found | None:
        target = file.imports.get(name) or file.aliases.get(name)
        if target is not None:
            dotted = ".".join([target, *rest])
            return self._chase(dotted, file, seen) or (None, dotted)
        owned = file.classes.get(f"{file.module}:{name}")
        if owned is not None:
            return self._member(file, owned, rest)
        function = file.functions.get(f"{file.module}:{name}")
        if function is not None and name:
            return None if rest else function, _dotted(file, name, rest)
        submodule = self.by_stem.get(folder_of(file.path) + name) if file.is_package else None
        if submodule is not None:
            return self._attribute(submodule, rest, seen) if rest else (submodule, submodule.module)
        return (None, _dotted(file, name, rest)) if name in file.globals else None

    def _member(self, file: FileIndex, owner: ClassInfo, rest: Sequence[str]) -> Found:
        """A class, its nested class or its own method; inherited ones are found by ProjectIndex.method."""
        for at, part in enumerate(rest):
            nested = file.classes.get(f"{owner.id}.{part}")
            if nested is None:
                method = file.functions.get(owner.methods.get(part, ""))
                return method if at == len(rest) - 1 else None, _dotted(file, owner.qualname, rest[at:])
            owner = nested
        return owner, _dotted(file, owner.qualname, ())

    def _starred(self, file: FileIndex, parts: Sequence[str], seen: _Seen) -> Found | None:
        if not file.stars or parts[0].startswith("_") or parts[0] not in self._offered(file):
            return None
        for star in file.stars:
            found = self._chase(f"{star}.{'.'.join(parts)}", file, seen)
            if found is not None:
                return found
        return None

    def _offered(self, file: FileIndex) -> frozenset[str]:
        """The names that the file's star imports may bring, through any number of files."""
        offered = self._offers.get(file.path)
        if offered is None:
            self._offers[file.path] = frozenset()  # while they are collected
            files, todo = {file.path: file}, [file]
            while todo:
                current = todo.pop()
                for star in current.stars:
                    target = (self._chase(star, current, set()) or (None, ""))[0]
                    if isinstance(target, FileIndex) and target.path not in files:
                        files[target.path] = target
                        todo.append(target)
            names = (other.globals | other.imports.keys() for other in files.values() if other is not file)
            offered = self._offers[file.path] = frozenset().union(*names)
        return offered


def _dotted(file: FileIndex, name: str, rest: Sequence[str]) -> str:
    return ".".join([file.module, name, *rest])


def _stem(file: FileIndex) -> str:
    """The path without ".py" or "/__init__.py"."""
    path = portable(file.path)
    return folder_of(path)[:-1] if file.is_package else path.removesuffix(".py")


def _common(folders: set[str]) -> str:
    """The deepest folder above all."""
    split = [folder.split("/")[:-1] for folder in folders] or [[]]
    pairs = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(min(split), max(split)))
    return "".join(f"{part}/" for part, _ in pairs)
