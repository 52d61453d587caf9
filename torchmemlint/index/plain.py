"""The index of a file as lists of text and numbers, for JSON, and back. What does not look like one: ValueError."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from torchmemlint.index.model import NOTHING, ClassInfo, FileIndex, FunctionInfo, parameter
from torchmemlint.index.words import NO_WORDS, Words


def dumped(index: FileIndex) -> list[Any]:
    """All that an index holds."""
    names = [index.imports, list(index.stars), _joined(index.globals), _joined(index.assigned)]
    kinds = [index.is_package, index.mentions_torch, index.lines, index.checksum]
    functions = [_function(key, info) for key, info in index.functions.items()]
    classes = [_class(key, info) for key, info in index.classes.items()]
    return [index.path, index.module, kinds, names, index.constructed, index.aliases, functions, classes,
            _joined(index.words)]  # fmt: skip


def loaded(data: Any) -> FileIndex:
    """The index that `dumped` made these lists of. Raises ValueError."""
    try:
        path, module, kinds, names, constructed, aliases, functions, classes, words = data
        is_package, mentions_torch, lines, checksum = kinds
        imports, stars, bound, assigned = names
        return FileIndex(
            _text(path),
            _text(module),
            is_package is True,
            mentions_torch is True,
            _number(lines),
            _texts(imports),
            tuple(map(_text, stars)),
            frozenset(_words(bound)),
            frozenset(_words(assigned)),
            _texts(constructed),
            _texts(aliases),
            dict(_to_function(path, entry) for entry in functions),
            dict(_to_class(path, entry) for entry in classes),
            _words(words),
            _number(checksum),
        )
    except (TypeError, AttributeError) as error:
        raise ValueError(str(error)) from None


def _function(key: str, info: FunctionInfo) -> list[Any]:
    rows = [info.line, info.first_line, info.body_line, info.end_line, info.column, info.body_column]
    parameters = [[p.name, p.kind, p.annotation, p.number] for p in info.parameters]
    kinds = [info.is_async, info.is_generator]
    return [key, info.id, info.qualname, info.name, info.owner, rows, parameters, list(info.decorators), info.returns,
            kinds, _joined(info.words), _joined(info.plain), list(info.marks), info.made]  # fmt: skip


def _to_function(path: str, data: Any) -> tuple[str, FunctionInfo]:
    key, name, qualname, short, owner, rows, parameters, decorators, returns, kinds, words, unused, marks, made = data
    line, first_line, body_line, end_line, column, body_column = map(_number, rows)
    info = FunctionInfo(
        _text(name),
        path,
        _text(qualname),
        _text(short),
        _maybe(owner),
        line,
        first_line,
        body_line,
        end_line,
        column,
        body_column,
        tuple(parameter(_text(n), _text(k), _maybe(a), d is True) for n, k, a, d in parameters),
        tuple(map(_text, decorators)),
        _maybe(returns),
        kinds[0] is True,
        kinds[1] is True,
        _words(words),
        _words(unused),
        Words(map(_text, marks)),
        _texts(made) or NOTHING,
    )
    return _text(key), info


def _class(key: str, info: ClassInfo) -> list[Any]:
    rows = [info.line, info.end_line]
    return [key, info.id, info.qualname, info.name, rows, list(info.bases), list(info.decorators), info.methods,
            info.fields]  # fmt: skip


def _to_class(path: str, data: Any) -> tuple[str, ClassInfo]:
    key, name, qualname, short, rows, bases, decorators, methods, fields = data
    line, end_line = map(_number, rows)
    places = (_text(name), path, _text(qualname), _text(short), line, end_line)
    bases, decorators = tuple(map(_text, bases)), tuple(map(_text, decorators))
    return _text(key), ClassInfo(*places, bases, decorators, _texts(methods), _texts(fields))


def _joined(words: Iterable[str]) -> str:
    return " ".join(words)


def _words(data: Any) -> Words:
    return Words(_text(data).split()) if data != "" else NO_WORDS


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("not a text")
    return value


def _maybe(value: Any) -> str | None:
    return None if value is None else _text(value)


def _texts(value: Any) -> dict[str, str]:
    if not all(isinstance(text, str) for text in value.values()):
        raise ValueError("not a table of texts")
    return dict(value)


def _number(value: Any) -> int:
    if not isinstance(value, int):
        raise ValueError("not a number")
    return value
