"""The program under analysis: units, interpretations and summaries on demand, each made once."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING

import libcst as cst

from torchmemlint import knowledge, source
from torchmemlint.flow.callers import Callers
from torchmemlint.flow.classes import Classes
from torchmemlint.flow.function import Assumption, FunctionFlow, interpret
from torchmemlint.flow.graph import Argument, Mode, Op
from torchmemlint.flow.interpretations import Interpretations
from torchmemlint.flow.questions import Questions
from torchmemlint.flow.summary import Settings, Summary, alike, plain
from torchmemlint.flow.types import annotation_value, is_open, is_property
from torchmemlint.flow.units import KEPT, Slices, Unit, dotted, function_unit, module_unit
from torchmemlint.flow.values import CONTEXTUAL, UNKNOWN, Fact, Kind, Value, alternatives, replace
from torchmemlint.index.model import ClassInfo, FileIndex, FunctionInfo
from torchmemlint.index.view import View

if TYPE_CHECKING:
    from torchmemlint.flow.frame import Frame
    from torchmemlint.index.project import ProjectIndex

CONTEXTS = 8  # a function with more possible callers is interpreted once, whatever they pass
ROOM = 100_000  # operations of the interpretations that are kept in memory: some hundred megabytes
RECORDS = frozenset({"dict", "collections.OrderedDict", "types.SimpleNamespace"})
TEXTS = 64  # of files, kept in memory
MODES = {"off": Mode.OFF, "on": Mode.ON, "no_grad": Mode.OFF}

Signature = tuple[tuple[Kind, str | None, Fact] | None, ...]


class Program:
    """Interpretations of a project's functions. Not picklable; each process has its own over the same index."""

    def __init__(
        self,
        project: ProjectIndex,
        no_grad: frozenset[str] = frozenset(),
        slices: Slices | None = None,
        noted: bool = False,
    ) -> None:
        self.project = View(project)
        self.slices = slices if slices is not None else Slices()
        self.no_grad = no_grad  # functions known to run without grad, from the configuration
        self.questions = Questions(ROOM, alike, Interpretations())
        if noted:
            self.questions.noting, self.project.note = True, self.questions.note
        self.callers = Callers(self)
        self.classes = Classes(self)
        self._infos: dict[str, FunctionInfo | ClassInfo] = {}
        self._sources: OrderedDict[str, source.Source] = OrderedDict()
        self._given: dict[str, source.Source] = {}  # texts that are not the disk's
        self._units: OrderedDict[str, Unit] = OrderedDict()
        self.live: dict[str, Frame] = {}  # module bodies that are being interpreted, by path
        self._globals: dict[tuple[str, str], Value] = {}

    # -- names --------------------------------------------------------------------------------------------------

    def key(self, info: FunctionInfo | ClassInfo) -> str:
        """A name for a function or class that is unique over the project."""
        key = f"{info.path}|{info.id}"
        self._infos[key] = info
        return key

    def function(self, key: str | None) -> FunctionInfo | None:
        """The function of that key."""
        info = self._infos.get(key or "")
        return info if isinstance(info, FunctionInfo) else None

    def called(self, op: Op) -> FunctionInfo | None:
        """The function of the project that the operation calls."""
        return self.function(f"{op.target}|{op.callee}")

    def is_abstract(self, info: FunctionInfo) -> bool:
        """Is it a method whose body does nothing and that a subclass of the project has anew?"""
        owner = self.project.owner(info)
        if owner is None or not any(info.name in sub.methods for sub in self.project.subclasses(owner)):
            return False
        flow = self.flow(info)
        body = flow.node.body if flow is not None else None
        return isinstance(body, cst.BaseSuite) and all(map(_does_nothing, body.body))

    def sole_override(self, info: FunctionInfo) -> FunctionInfo | None:
        """The only method of the project that does something in the place of an abstract one."""
        owner = self.project.owner(info)
        heirs = self.project.subclasses(owner) if owner is not None else ()
        found = [self.project.method(sub, info.name) for sub in heirs if info.name in sub.methods]
        written = [method for method in found if method is not None and not self.is_abstract(method)]
        return written[0] if len(written) == 1 else None

    def is_record(self, value: Value) -> bool:
        """Is it an object of a dataclass, a named tuple, a dict with a name of its own, or a class that attrs
        writes?"""
        info = self.class_(value.name) if value.kind is Kind.INSTANCE else None
        if info is None:
            return False
        written = any(d.rpartition(".")[2] in ("dataclass", "define", "frozen", "attrs", "s") for d in info.decorators)
        bases = self.project.external_bases(info)
        plain = not RECORDS.isdisjoint(bases) and self.method(value.name, "__init__") is None
        return written or plain or any(base.endswith("NamedTuple") for base in bases)

    def class_(self, key: str | None) -> ClassInfo | None:
        """The class of that key."""
        info = self._infos.get(key or "")
        return info if isinstance(info, ClassInfo) else None

    def method(self, key: str | None, name: str) -> FunctionInfo | None:
        """The project's method `name` of the class of that key."""
        info = self.class_(key)
        return self.project.method(info, name) if info is not None else None

    def common_base(self, keys: Sequence[str | None]) -> str | None:
        """The nearest class of the project from which all of these inherit."""
        infos = [self.class_(key) for key in keys]
        orders = [[self.key(c) for c in self.project.mro(info)] for info in infos if info is not None]
        if not orders or len(orders) < len(infos):
            return None
        return next((key for key in orders[0] if all(key in order for order in orders)), None)

    def is_module(self, key: str | None) -> Fact:
        """Is the class of that key an nn.Module?"""
        info = self.class_(key)
        return self.project.is_module_class(info) if info is not None else Fact.MAYBE

    def is_project_method(self, base: Value, name: str) -> bool:
        """Does `base.name(…)` call a method of the project?"""
        return self.method(base.name, name) is not None

    def only_of_tensors(self, name: str, path: str) -> bool:
        """Has no class of the project such a method, and every tensor?"""
        return knowledge.tensor_method(name) and not self.project.definitions(name, path)

    def global_value(self, index: FileIndex, name: str) -> Value:
        """What a dotted name means at a file's module level, functions, classes and library objects only."""
        key = (index.path, name)
        value = self._globals.get(key)
        if value is None:
            value = self._globals[key] = self._global(index, name)
        elif self.project.note is not None:
            self.project.note(("lookup", *key))
        return value

    def member(self, index: FileIndex, module: str, name: str) -> Value:
        """`module.name` for the absolute dotted name of a module, class or object of a library or of the project."""
        holder = self.project.resolve(module, index)
        if isinstance(holder, FileIndex):
            value = self.global_value(holder, name)
            if value.kind is not Kind.UNKNOWN:
                return value
        return self.global_value(index, f"{module}.{name}")

    def _global(self, index: FileIndex, name: str) -> Value:
        found = self.project.lookup(index, name)
        if isinstance(found, FunctionInfo):
            return Value(kind=Kind.FUNCTION, graph=Fact.NO, name=self.key(found))
        if isinstance(found, ClassInfo):
            return Value(kind=Kind.CLASS, graph=Fact.NO, name=self.key(found))
        if isinstance(found, FileIndex):
            return Value(kind=Kind.EXTERNAL, graph=Fact.NO, name=found.module)
        head = name.partition(".")[0]
        if head in index.globals and head not in index.imports:
            return UNKNOWN
        if not isinstance(found, str) or (head not in index.imports and not index.stars and "." not in name):
            return UNKNOWN
        return Value(kind=Kind.EXTERNAL, graph=Fact.NO, name=found)

    def instance(self, info: ClassInfo) -> Value:
        """A new object of a project class."""
        if self.project.is_module_class(info) is not Fact.YES:
            return Value(kind=Kind.INSTANCE, graph=Fact.NO, name=self.key(info))
        return Value(kind=Kind.MODULE, graph=Fact.NO, name=self.key(info), trainable=self.classes.trainable(info))

    # -- values from declarations -------------------------------------------------------------------------------

    def annotation(self, index: FileIndex, text: str | None) -> Value:
        """What an annotation (dotted text) says of a value; UNKNOWN where it says nothing."""
        return annotation_value(self, index, text)

    def parameter(self, index: FileIndex, info: FunctionInfo, position: int) -> Value:
        """What is known of a parameter without looking at calls: self, cls, the annotation."""
        parameter = info.parameters[position]
        if position == 0 and info.owner is not None and "staticmethod" not in info.decorators:
            owner = self.project.owner(info)
            if owner is not None:
                if "classmethod" in info.decorators:
                    return Value(kind=Kind.CLASS, graph=Fact.NO, name=self.key(owner))
                module = self.project.is_module_class(owner) is Fact.YES
                return Value(
                    kind=Kind.MODULE if module else Kind.INSTANCE,
                    graph=Fact.NO,
                    name=self.key(owner),
                    trainable=Fact.YES,
                )
        if parameter.kind in ("vararg", "kwarg"):
            return Value(kind=Kind.CONTAINER)
        declared = self.annotation(index, parameter.annotation)
        if declared.kind is Kind.UNKNOWN and self._is_framework_module(info, parameter.name):
            return Value(kind=Kind.MODULE, graph=Fact.NO, trainable=Fact.YES)
        return declared

    def _is_framework_module(self, info: FunctionInfo, name: str) -> bool:
        """Does the method's framework hand it its model by that parameter?"""
        owner = self.project.owner(info)
        bases = self.project.all_bases(owner) if owner is not None else ()
        return any(knowledge.framework_module(base, info.name) == name for base in bases)

    def path_value(self, f: Frame, path: str, base: Value | None) -> Value:
        """What a path holds when the function is entered: a module-level name, or an attribute."""
        head, _, attribute = path.rpartition(".")
        if not head:
            return self.classes.module_variable(f.unit.index, path)
        value = UNKNOWN
        if base is not None and base.kind in (Kind.INSTANCE, Kind.MODULE, Kind.CLASS):
            method = self.method(base.name, attribute)
            value = self.bound(method, base) if method is not None else self.classes.held(f.info, base, attribute)
        elif base is not None:
            off = f.state.mode is Mode.OFF  # what is read was made before, perhaps with grad on
            graph, params = (min(base.graph, Fact.MAYBE), base.params) if off else f.derived([base])
            value = Value(graph=graph, params=params)
        proven = f.evidence.get(path)
        if value.kind is Kind.UNKNOWN and proven is not None:
            value = replace(value, kind=proven, trainable=Fact.YES)
        return replace(value, trainable=Fact.NO) if path in f.frozen else value

    def bound(self, method: FunctionInfo, base: Value) -> Value:
        """`obj.method` as a value: the function with the object that it is called on; of a property an object."""
        if is_property(method):
            return self._computed(method, base)
        return Value(kind=Kind.FUNCTION, graph=Fact.NO, name=self.key(method), elements=(base,))

    def _computed(self, method: FunctionInfo, base: Value) -> Value:
        """The module or other object that a property gives; of other values nothing."""
        summary = self.summary(method, [base])
        value = summary.value if summary is not None else UNKNOWN
        if value.kind is Kind.UNKNOWN:  # what is returned may be known to be frozen, what is declared is not
            value = self.annotation(self.project.header(method.path), method.returns)
        return replace(plain(value), params=frozenset()) if value.kind in (Kind.MODULE, Kind.INSTANCE) else UNKNOWN

    @staticmethod
    def path_of(argument: Argument | None) -> str | None:
        """The variable or attribute path of an argument."""
        return dotted(argument.node) if argument is not None else None

    # -- grad mode ----------------------------------------------------------------------------------------------

    def effect(self, name: str) -> str | None:
        """The grad-mode effect of a library context manager."""
        effect = knowledge.context_effect(name)
        return effect if effect in ("off", "on", "argument") else None

    def entry_mode(self, info: FunctionInfo) -> Mode:
        """Grad mode in the function's body as its decorators, its framework and the configuration set it."""
        if info.name in self.no_grad or info.qualname in self.no_grad:
            return Mode.OFF
        if not info.is_async:
            for decorator in info.decorators:
                canonical = self.project.canonical(self.project.header(info.path), decorator)
                mode = MODES.get(self.effect(canonical) or "") or self._decorator_mode(info, decorator)
                if mode is not None:
                    return mode
        owner = self.project.owner(info)
        for base in self.project.all_bases(owner) if owner is not None else ():
            mode = MODES.get(knowledge.framework_hook(base, info.name) or "")
            if mode is not None:
                return mode
        return Mode.ENTERED

    def _decorator_mode(self, info: FunctionInfo, decorator: str) -> Mode | None:
        """The grad mode under which a decorator of the project calls what it decorates."""
        key = ("decorator", info.path, decorator)
        return self.questions.ask(key, lambda: self._calling_mode(info, decorator), None)

    def _calling_mode(self, info: FunctionInfo, decorator: str) -> Mode | None:
        found = self.project.resolve(decorator, self.project.header(info.path))
        flow = self.flow(found) if isinstance(found, FunctionInfo) and self._may_switch(found) else None
        return self.callers.mode_of_parameter_calls(flow) if flow is not None else None

    def _may_switch(self, decorator: FunctionInfo) -> bool:
        """Does its file name something that switches grad mode, or one from which the decorator uses an import?"""
        file = self.project.header(decorator.path)
        used = (self.project.lookup(file, name) for name in sorted(decorator.words & file.imports.keys()))
        paths = [file.path, *(target.path for target in used if not isinstance(target, str))]
        return any(self.project.names_any(self.project.header(path), knowledge.mode_words()) for path in paths)

    def entered_mode(self, value: Value) -> Mode | None:
        """The grad mode inside `with value:` for a context manager of the project."""
        for op in value.defs:
            made = self.called(op) if op.name == "call" else None
            inner = self.summary(made, ()) if made is not None and made.is_generator else None
            if inner is not None and inner.yield_mode is not Mode.ENTERED:
                return inner.yield_mode
        enter = self.method(value.name, "__enter__") if value.kind is Kind.INSTANCE else None
        summary = self.summary(enter, [value]) if enter is not None else None
        return summary.exit_mode if summary is not None and summary.exit_mode is not Mode.ENTERED else None

    # -- interpretations ----------------------------------------------------------------------------------------

    def text(self, path: str) -> source.Source:
        """The source of a file. Raises SourceError."""
        if path in self._given:
            return self._given[path]
        if path not in self._sources:
            index = self.project.project.files.get(path)
            self._sources[path] = source.read(path, index.checksum if index is not None else None)
            if len(self._sources) > TEXTS:
                self._sources.popitem(last=False)
        else:
            self._sources.move_to_end(path)
        return self._sources[path]

    def provide(self, text: source.Source) -> None:
        """Use this text for its path instead of reading the file."""
        self._given[text.path] = text

    def unit(self, info: FunctionInfo) -> Unit:
        """The parsed slice of a function or module body. Raises libcst.ParserSyntaxError, SourceError."""
        key = self.key(info)
        self.project.seen(info)
        self.project.header(info.path)
        if key not in self._units:
            index = self.project.project.files[info.path]
            parse = function_unit if info.name else module_unit
            self._units[key] = parse(self.text, index, info, self.slices)
            if len(self._units) > KEPT:
                self._units.popitem(last=False)
        return self._units[key]

    def flow(
        self, info: FunctionInfo, values: Sequence[Value | None] = (), settings: Settings = ()
    ) -> FunctionFlow | None:
        """The interpretation of a function; None inside itself (recursion) or where it can't be parsed."""
        signature = self._signature(info, values)
        key = ("flow", self.key(info), signature, *settings)
        given = values if signature else ()
        return self.questions.ask(key, lambda: self._interpreted(info, given, settings), None, bulky=True)

    def _interpreted(
        self, info: FunctionInfo, values: Sequence[Value | None], settings: Settings
    ) -> FunctionFlow | None:
        try:
            return interpret(self, info, Assumption(values, settings=settings))
        except (cst.ParserSyntaxError, source.SourceError, TypeError):
            return None

    def _signature(self, info: FunctionInfo, values: Sequence[Value | None]) -> Signature:
        """The assumption that is worth an interpretation of its own; the plain one where there would be too many."""
        bound = info.owner is not None and "staticmethod" not in info.decorators
        known = bound and values and not is_open(self, info, values[0])
        given = [None, *values[1:]] if known else values  # self is known anyway
        signature = tuple(
            (v.kind, v.name or _chosen_of(v), v.trainable) if v is not None and v.kind in CONTEXTUAL else None
            for v in given
        )
        if not any(signature) or self.project.has_more_callers(info, CONTEXTS):
            return ()
        return signature

    def summary(self, info: FunctionInfo, values: Sequence[Value | None], settings: Settings = ()) -> Summary | None:
        """The function's summary under these argument values and settings; None where there is none."""
        given = [replace(plain(v), const=None) if v is not None else None for v in values]
        key = ("summary", self.key(info), self._signature(info, given), *settings)
        return self.questions.ask(key, lambda: self._summarised(info, given, settings), None)

    def _summarised(self, info: FunctionInfo, values: Sequence[Value | None], settings: Settings) -> Summary | None:
        flow = self.flow(info, values, settings)
        return flow.summary if flow is not None else None

    def returns_loss(self, info: FunctionInfo) -> bool:
        """Does the function's framework backpropagate what it returns?"""
        owner = self.project.owner(info)
        bases = self.project.all_bases(owner) if owner is not None else ()
        return any(knowledge.framework_hook(base, info.name) == "returns_loss" for base in bases)


def _chosen_of(value: Value) -> str | None:
    """The names of the functions, classes or modules that a value is one of."""
    choices = alternatives(value) if value.kind in (Kind.FUNCTION, Kind.CLASS, Kind.MODULE) else ()
    return "|".join(choice.name or "" for choice in choices) if len(choices) > 1 else None


def _does_nothing(statement: cst.CSTNode) -> bool:
    """A docstring, `...`, `pass`, or a `raise` such as that of NotImplementedError."""
    parts = statement.body if isinstance(statement, cst.SimpleStatementLine) else (statement,)
    idle = [p.value if isinstance(p, cst.Expr) else p for p in parts]
    return all(
        isinstance(p, (cst.SimpleString, cst.ConcatenatedString, cst.Ellipsis, cst.Pass, cst.Raise)) for p in idle
    )
