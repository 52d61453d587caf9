"""The files of a project linked by their imports: names, class hierarchies, mentions, candidate callers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from torchmemlint.flow.values import Fact
from torchmemlint.index.bases import is_module_base
from torchmemlint.index.linked import CALLED_BY_CLASS, Linked
from torchmemlint.index.model import ClassInfo, FileIndex, FunctionInfo
from torchmemlint.index.naming import Naming
from torchmemlint.index.resolve import Resolver, Target, folder_of

COMMON_CALLERS = 30  # more candidates than this: the name says little about who is called
_CONSTRUCTORS = frozenset({"__init__", "__new__", "__post_init__"})
_FREEZING = frozenset({"requires_grad", "requires_grad_"})


class ProjectIndex:
    """All indexed files of one run, by path. Lookups are made when first asked for and kept; only files are pickled.

    Ids are unique as long as module names are; where scripts of one name lie in several folders, ask with the info
    itself, which knows its path."""

    def __init__(self, files: dict[str, FileIndex]) -> None:
        self.files = files
        self._reset()

    def _reset(self) -> None:
        self._resolver: Resolver | None = None
        self._homes: dict[str, FileIndex] | None = None
        self._linked_marks: Linked | None = None
        self._freezers: dict[str, set[str]] | None = None
        self._named: Naming | None = None
        self._naming_components: dict[frozenset[str], frozenset[str]] = {}
        self._children: dict[tuple[str, str], list[ClassInfo]] | None = None
        self._orders: dict[tuple[str, str], tuple[list[ClassInfo], frozenset[str]]] = {}
        self._renamed: dict[str, list[tuple[str, str, FileIndex]]] | None = None
        self._components: dict[str, str] | None = None
        self._definitions: Counter[tuple[str, str]] | None = None
        self._reached: dict[str, tuple[frozenset[str], tuple[str, ...]]] = {}

    def __getstate__(self) -> dict[str, FileIndex]:
        return self.files

    def __setstate__(self, state: dict[str, FileIndex]) -> None:
        self.files = state
        self._reset()

    @property
    def resolver(self) -> Resolver:
        """Name resolution over these files."""
        if self._resolver is None:
            self._resolver = Resolver(self.files)
        return self._resolver

    # names

    def resolve(self, dotted: str, from_file: FileIndex | None = None) -> Target | None:
        """The function, method, class or file an absolute dotted name leads to, as imported by `from_file`."""
        return self._complete(*self.resolver.chase(dotted, from_file))[0]

    def lookup(self, file: FileIndex, name: str) -> Target | str:
        """A (dotted) name as the file's module level sees it: the project's object, else an absolute dotted name."""
        found, dotted = self._complete(*self.resolver.written(name, file))
        return found if found is not None else dotted

    def dotted(self, file: FileIndex, name: str) -> str:
        """The absolute dotted name of what the file writes as `name` ("F.relu" -> "torch.nn.functional.relu")."""
        return self._complete(*self.resolver.written(name, file))[1]

    def indexed_class(self, file: FileIndex, dotted: str) -> ClassInfo | None:
        """The project's class that an annotation in the index means."""
        found = self.resolver.indexed(dotted, file)[0] if dotted.partition(".")[0] in self.resolver.heads else None
        return found if isinstance(found, ClassInfo) else None

    def canonical(self, file: FileIndex, dotted: str) -> str:
        """The final name of a base, decorator or annotation in the index: star imports and re-exports followed."""
        return self._complete(*self.resolver.indexed(dotted, file))[1]

    def _complete(self, found: Target | None, dotted: str) -> tuple[Target | None, str]:
        """Find an inherited method where the name ends in one."""
        if found is None and "." in dotted:
            owner, _, name = dotted.rpartition(".")
            holder = self.resolver.chase(owner, None)[0] if owner.partition(".")[0] in self.resolver.heads else None
            if isinstance(holder, ClassInfo):
                method = self.method(holder, name)
                if method is not None:
                    return method, dotted
        return found, dotted

    def constructed(self, file: FileIndex, name: str) -> str | None:
        """The dotted callee that made a module-level name of this file or of one it imports, or None."""
        home, _, variable = self.dotted(file, name).rpartition(".")
        holder = self.resolver.chase(home, file)[0] if home and home != file.module else file
        return holder.constructed.get(variable or name) if isinstance(holder, FileIndex) else None

    # infos by id

    def _home(self, key: str) -> FileIndex | None:
        if self._homes is None:
            self._homes = {}
            for file in self.files.values():
                for known in (*file.functions, *file.classes):
                    self._homes.setdefault(known, file)
        return self._homes.get(key)

    def file_of(self, target: str | FunctionInfo | ClassInfo) -> FileIndex | None:
        """The file of an info or id."""
        return self._home(target) if isinstance(target, str) else self.files.get(target.path)

    def function(self, function_id: str) -> FunctionInfo | None:
        """The function with this id; a module body has the id "<module>:"."""
        file = self._home(function_id)
        return file.functions.get(function_id) if file is not None else None

    def class_(self, class_id: str | ClassInfo) -> ClassInfo | None:
        """The class with this id."""
        if isinstance(class_id, ClassInfo):
            return class_id
        file = self._home(class_id)
        return file.classes.get(class_id) if file is not None else None

    def owner(self, info: FunctionInfo) -> ClassInfo | None:
        """The class of a method."""
        file = self.files.get(info.path)
        return file.classes.get(info.owner) if file is not None and info.owner is not None else None

    # class hierarchy

    def mro(self, class_id: str | ClassInfo) -> list[ClassInfo]:
        """The class and its bases of this project in the order in which attributes are looked up."""
        return list(self._order(class_id)[0])

    def external_bases(self, class_id: str | ClassInfo) -> frozenset[str]:
        """All bases outside the project that are reached, dotted."""
        return self._order(class_id)[1]

    def all_bases(self, class_id: str | ClassInfo) -> frozenset[str]:
        """All bases, dotted: a framework that is checked itself knows its classes by their own names."""
        order, external = self._order(class_id)
        return external | {info.id.replace(":", ".") for info in order[1:]}

    def _order(self, class_id: str | ClassInfo) -> tuple[list[ClassInfo], frozenset[str]]:
        start = self.class_(class_id)
        if start is None:
            return [], frozenset()
        key = (start.path, start.id)
        if key not in self._orders:
            visited: list[ClassInfo] = []
            external: set[str] = set()
            self._climb(start, visited, external, ())
            last = {(info.path, info.id): at for at, info in enumerate(visited)}  # a shared base comes after all heirs
            order = [info for at, info in enumerate(visited) if last[info.path, info.id] == at]
            self._orders[key] = order, frozenset(external)
        return self._orders[key]

    def _climb(self, info: ClassInfo, visited: list[ClassInfo], external: set[str], below: tuple[str, ...]) -> None:
        visited.append(info)
        for base in self._bases(info):
            if isinstance(base, str):
                external.add(base)
            elif base.id not in below and base.id != info.id and len(visited) < 200:
                self._climb(base, visited, external, (*below, info.id))

    def _bases(self, info: ClassInfo) -> Iterable[ClassInfo | str]:
        """Direct bases: project classes or dotted names; what is neither class nor library keeps its name."""
        file = self.files.get(info.path)
        for base in info.bases:
            found, dotted = self.resolver.indexed(base, file) if file is not None else (None, base)
            yield found if isinstance(found, ClassInfo) else dotted

    def method(self, class_id: str | ClassInfo, name: str) -> FunctionInfo | None:
        """The method that `name` means on an instance: the class's own or the nearest inherited in the project."""
        for info in self._order(class_id)[0]:
            if name in info.methods:
                return self.files[info.path].functions.get(info.methods[name])
        return None

    def methods(self, owner: ClassInfo) -> list[FunctionInfo]:
        """The methods that the class itself defines."""
        functions = self.files[owner.path].functions
        return [functions[key] for key in owner.methods.values() if key in functions]

    def definitions(self, name: str, path: str) -> int:
        """How many classes define a method of this name in the files that imports link with this one?"""
        if self._definitions is None:
            self._definitions = Counter(
                (self.component(file.path), method)
                for file in self.files.values()
                for info in file.classes.values()
                for method in info.methods
            )
        return self._definitions[self.component(path), name]

    def subclasses(self, class_id: str | ClassInfo) -> list[ClassInfo]:
        """All classes of the project below it, nearest first."""
        start = self.class_(class_id)
        if start is None:
            return []
        children = self._heirs()
        found: dict[tuple[str, str], ClassInfo] = {}
        queue = list(children.get((start.path, start.id), ()))
        for info in queue:
            if (info.path, info.id) not in found and info != start:
                found[info.path, info.id] = info
                queue.extend(children.get((info.path, info.id), ()))
        return list(found.values())

    def _heirs(self) -> dict[tuple[str, str], list[ClassInfo]]:
        if self._children is None:
            self._children = {}
            for file in self.files.values():
                for info in file.classes.values():
                    for base in self._bases(info):
                        if isinstance(base, ClassInfo):
                            self._children.setdefault((base.path, base.id), []).append(info)
        return self._children

    def is_module_class(self, class_id: str | ClassInfo) -> Fact:
        """Is it an nn.Module? MAYBE where a base is not known."""
        if self.class_(class_id) is None:
            return Fact.MAYBE
        return max(map(is_module_base, self.external_bases(class_id)), default=Fact.NO)

    # words

    def mentions(self, word: str, path: str | None = None) -> list[FunctionInfo]:
        """Functions and module bodies in whose text the identifier occurs: a superset of those that use it.

        With a path only those in files that imports link with it, directly or through others."""
        found = self._naming().mentions(word)
        if path is None:
            return found
        linked = self.component(path)
        return [info for info in found if self.component(info.path) == linked]

    def _naming(self) -> Naming:
        if self._named is None:
            self._named = Naming(list(self.files.values()))
        return self._named

    def linked_name_any(self, path: str, words: frozenset[str]) -> bool:
        """Does one of these identifiers occur in a file that imports link with this one?"""
        if words not in self._naming_components:
            files = self._naming().files_of(words)
            self._naming_components[words] = frozenset(self.component(file.path) for file in files)
        return self.component(path) in self._naming_components[words]

    def attribute_readers(self, attr: str, path: str | None = None) -> list[FunctionInfo]:
        """Functions that may read an attribute of this name; with a path only in files that imports link with it."""
        return self.mentions(attr, path)

    def component(self, path: str) -> str:
        """A name for the files that are linked by imports, directly or through others: objects stay among them."""
        if self._components is None:
            self._components = self._linked()
        return self._components.get(path, path)

    def _linked(self) -> dict[str, str]:
        parent = {path: path for path in self.files}

        def root(path: str) -> str:
            while parent[path] != path:
                parent[path] = parent[parent[path]]
                path = parent[path]
            return path

        for path in self.files:
            for other in self._imported(path)[0]:
                if other in parent:
                    parent[root(other)] = root(path)
        return {path: root(path) for path in self.files}

    def marks(self, info: FunctionInfo) -> frozenset[str]:
        """What rules may look at a function for: its words but the plain ones, its pseudo-words and those that only the
        linked project tells."""
        return info.own_marks() | self.linked(info)

    def linked(self, info: FunctionInfo) -> frozenset[str]:
        """The pseudo-words that only the linked project tells."""
        if self._linked_marks is None:
            self._linked_marks = Linked(self)
        return self._linked_marks.marks(info)

    def may_freeze(self, info: FunctionInfo) -> bool:
        """Does a function mention `requires_grad`, or a function that does, of a file that imports link with it?"""
        if self._freezers is None:
            self._freezers = {}
            functions = (f for file in self.files.values() for f in file.functions.values())
            for other in (f for f in functions if not _FREEZING.isdisjoint(f.words)):
                self._freezers.setdefault(self.component(other.path), set()).add(other.name)
        named = self._freezers.get(self.component(info.path), set()) - _CONSTRUCTORS - {"", "super"}
        return not info.words.isdisjoint(_FREEZING | named)

    # callers

    def callers(self, info: FunctionInfo) -> list[FunctionInfo]:
        """Functions that may call it: they mention it in a file that can mean it.

        Of a constructor those that mention the class. Over COMMON_CALLERS (see `is_common`) the name tells little."""
        if not info.name:
            return []
        owner = self.owner(info)
        names = {info.name}
        if owner is not None and info.name in CALLED_BY_CLASS:
            heirs = {sub.name for sub in self.heirs(owner, info)} if info.name in _CONSTRUCTORS else {info.name}
            names = {owner.name} | heirs
        homes = self.family(owner) if owner is not None else {info.path}
        target: Target = owner if owner is not None else info
        spelled = self._spelled(target, names)
        found = {
            (mention.path, mention.id): mention
            for name, path in spelled
            for mention in self.mentions(name)
            if (path is None and self.can_mean(mention.path, homes, target)) or mention.path == path
        }
        found |= {(other.path, other.id): other for other in self._overriding(info, owner)}
        found.pop((info.path, info.id), None)
        return list(found.values())

    def heirs(self, owner: ClassInfo, method: FunctionInfo) -> list[ClassInfo]:
        """The subclasses for which the method of `owner` is theirs too."""
        return [sub for sub in self.subclasses(owner) if self.method(sub, method.name) == method]

    def _overriding(self, info: FunctionInfo, owner: ClassInfo | None) -> list[FunctionInfo]:
        """The constructors of subclasses: `super().__init__(…)` names neither the class nor, but for itself, the
        method."""
        if owner is None or info.name not in _CONSTRUCTORS:
            return []
        found = (self.files[sub.path].functions.get(sub.methods.get(info.name, "")) for sub in self.subclasses(owner))
        return [other for other in found if other is not None]

    def is_common(self, info: FunctionInfo) -> bool:
        """Are its candidate callers too many to tell anything?"""
        return len(self.callers(info)) > COMMON_CALLERS

    def family(self, owner: ClassInfo) -> set[str]:
        """Files of the class, of its bases and of its subclasses: in each `self.name` may mean its method."""
        return {relative.path for relative in (*self.mro(owner), *self.subclasses(owner))}

    def _spelled(self, target: Target, names: set[str]) -> list[tuple[str, str | None]]:
        """The names with None, and (local name, path) where a file imports the target under another name."""
        name = getattr(target, "name", "")
        renamed = self._renames().get(name, ()) if name in names else ()
        return [(name, None) for name in sorted(names)] + [
            (local, file.path)
            for local, dotted, file in renamed
            if local not in names and self.resolver.chase(dotted, file)[0] == target
        ]

    def renamed(self) -> frozenset[str]:
        """The names that some file imports under another."""
        return frozenset(self._renames())

    def _renames(self) -> dict[str, list[tuple[str, str, FileIndex]]]:
        """`import name as local`, by name: (local, dotted, file)."""
        if self._renamed is None:
            self._renamed = {}
            for file in self.files.values():
                for local, dotted in file.imports.items():
                    name = dotted.rpartition(".")[2]
                    if name != local:
                        self._renamed.setdefault(name, []).append((local, dotted, file))
        return self._renamed

    def can_mean(self, path: str, homes: set[str], target: Target) -> bool:
        """Is the file one of `homes`, or does it import from one, or a package around one?"""
        if path in homes:
            return True
        reached, folders = self._imported(path)
        return not reached.isdisjoint(homes) or any(home.startswith(folders) for home in homes)

    def _imported(self, path: str) -> tuple[frozenset[str], tuple[str, ...]]:
        """(paths a file's imports lead to, folders of the packages it imports as a whole)."""
        if path not in self._reached:
            file = self.files[path]
            targets = (*file.imports.values(), *file.stars)
            found = [self.resolver.chase(target, file)[0] for target in targets]
            paths = {target.path for target in found if target is not None}
            folders = {folder_of(t.path) for t in found if isinstance(t, FileIndex) and t.is_package}
            self._reached[path] = frozenset(paths | self._starred(path)), tuple(sorted(folders))
        return self._reached[path]

    def _starred(self, path: str) -> set[str]:
        """Files reached by star imports, also those of the files they lead to."""
        found: set[str] = set()
        queue: list[Any] = [path]
        while queue:
            file = self.files[queue.pop()]
            for star in file.stars:
                target = self.resolver.chase(star, file)[0]
                if isinstance(target, FileIndex) and target.path not in found:
                    found.add(target.path)
                    queue.append(target.path)
        return found
