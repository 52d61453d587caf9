"""The index of a file as plain data: what is defined where, what is imported, which words occur in which function.

Made from `ast` and the text alone, cacheable and picklable; it never reports anything."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

from torchmemlint.index.words import NO_WORDS, Words


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a function, in order of declaration."""

    name: str
    kind: str  # "positional" | "keyword" | "vararg" | "kwarg"
    annotation: str | None = None  # dotted and resolved through the file's imports, else the source text
    number: bool = False  # its default is a number that is written down


@lru_cache(maxsize=10_000)
def parameter(name: str, kind: str, annotation: str | None, number: bool) -> Parameter:
    """A parameter; most functions have some that others have too, and each is one object."""
    return Parameter(name, kind, annotation, number)


NOTHING: dict[str, str] = {}
"""What a function makes that makes nothing, as most do."""


@dataclass(frozen=True, slots=True)
class FunctionInfo:
    """A top-level function or a method of a top-level class. Functions nested in it belong to it."""

    id: str  # "<module>:<qualname>", e.g. "pkg.train:Trainer.step"; the module body is "<module>:"
    path: str  # the file's path, a key of ProjectIndex.files
    qualname: str
    name: str
    owner: str | None  # id of the class for a method, else None
    line: int  # 1-based line of `def` (decorators above it: first_line)
    first_line: int
    body_line: int  # first line of the first body statement
    end_line: int
    column: int  # 0-based column of `def`
    body_column: int = 0  # byte offset of the first body statement in its line
    parameters: tuple[Parameter, ...] = ()
    decorators: tuple[str, ...] = ()  # dotted, resolved through imports; of a call its callee
    returns: str | None = None
    is_async: bool = False
    is_generator: bool = False
    words: Words = NO_WORDS  # every identifier in its text and some in comments, but for its own `def` and docstring
    plain: Words = NO_WORDS  # those of the words that name operators, but not here: variables, keywords
    marks: Words = NO_WORDS  # pseudo-words, see `marks`
    made: dict[str, str] = field(default_factory=dict)  # of a method: attribute -> callee, see `constructors`

    def own_marks(self) -> frozenset[str]:
        """Its words but the plain ones, with its pseudo-words."""
        return self.words.without(self.plain, self.marks)


@dataclass(frozen=True, slots=True)
class ClassInfo:
    """A top-level class (or one nested in a class, by qualname)."""

    id: str  # "<module>:<qualname>"
    path: str
    qualname: str
    name: str
    line: int
    end_line: int
    bases: tuple[str, ...] = ()  # dotted, resolved through the file's imports
    decorators: tuple[str, ...] = ()
    methods: dict[str, str] = field(default_factory=dict)  # name -> function id
    fields: dict[str, str] = field(default_factory=dict)  # annotated class-level names -> dotted annotation


@dataclass(frozen=True, slots=True)
class FileIndex:
    """All that later phases need to know of a file without parsing it again."""

    path: str
    module: str  # dotted module name; relative to the package root found by `__init__.py` files
    is_package: bool  # the file is an __init__.py
    mentions_torch: bool
    lines: int
    imports: dict[str, str] = field(default_factory=dict)  # local name -> absolute dotted target
    stars: tuple[str, ...] = ()  # modules star-imported
    globals: frozenset[str] = frozenset()  # names bound at module level
    assigned: frozenset[str] = frozenset()  # names that an assignment binds at module level
    constructed: dict[str, str] = field(default_factory=dict)  # module-level name -> dotted callee that made it
    aliases: dict[str, str] = field(default_factory=dict)  # module-level `name = other.name` -> dotted
    functions: dict[str, FunctionInfo] = field(default_factory=dict)  # id -> info, the module body ("m:") included
    classes: dict[str, ClassInfo] = field(default_factory=dict)  # id -> info
    words: Words = NO_WORDS
    checksum: int | None = None  # of the text, as `source.checksum` gives it

    def spelling(self, dotted: str) -> str | None:
        """How this file can write `dotted` with the names it imports ("torch.no_grad" -> "th.no_grad"), or None."""
        parts = dotted.split(".")
        for cut in range(len(parts), 0, -1):
            prefix = ".".join(parts[:cut])
            for local, target in self.imports.items():
                if target == prefix:
                    return ".".join([local, *parts[cut:]])
        return None
