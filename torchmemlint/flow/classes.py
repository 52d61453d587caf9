"""What the project's classes and module levels say of attributes and names: kinds from where they are assigned."""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import libcst as cst

from torchmemlint import knowledge
from torchmemlint.flow.graph import Op, Store
from torchmemlint.flow.holders import members_of
from torchmemlint.flow.summary import elsewhere
from torchmemlint.flow.threads import POOLS
from torchmemlint.flow.types import declares_data
from torchmemlint.flow.values import (
    HOST,
    UNKNOWN,
    Fact,
    Kind,
    Value,
    alternatives,
    join,
    known_members,
    mapped,
    replace,
)
from torchmemlint.index.constructors import COLLECTION, CONSTANT, PARAMETER
from torchmemlint.index.marks import CALLS, HANDS
from torchmemlint.index.model import ClassInfo, FileIndex, FunctionInfo

if TYPE_CHECKING:
    from torchmemlint.flow.function import FunctionFlow
    from torchmemlint.flow.program import Program

PLAIN_BASES = frozenset({"torch.nn.Module", "torch.nn.modules.module.Module", "object", "abc.ABC"})
PARAMETERS = frozenset({"torch.nn.Parameter", "torch.nn.parameter.Parameter"})
TRAINABLE = {"yes": Fact.YES, "no": Fact.NO}
_BEHIND = rb"(?=[ \t\r\n]*[,)\]:=+*/@%&|^<>-])"  # tells most reads apart at once
_ASSIGNED = rb"\s*(?:,\s*[\w.*()\[\]]{1,80}\s*){0,8}[)\]]?\s*(?::[^\n=]*)?(?:[-+*/@%&|^]|//|\*\*|<<|>>)?=(?!=)"
"""What follows a target of an assignment: further targets (not all of a long list), an annotation, the operator."""
MODULE_METHODS = frozenset({"parameters", "named_parameters", "eval", "modules", "named_modules"})
WORDS = re.compile(rb"[^\W\d]\w*")
EMPTIED = re.compile(rb"\.(\w+)\b(?=[^\n]{0,200}\bNone\b)")
USED_AS_MODULES = re.compile(rb"\b(\w+)\.(\w+)\.(?:" + "|".join(sorted(MODULE_METHODS)).encode() + rb")\(")
LASTING = frozenset({Kind.MODULE, Kind.INSTANCE, Kind.OPTIMIZER})
"""What stays what it is in a list or dict while methods come and go."""
ASSIGNING_METHODS = 6  # methods looked through for the assignment of an attribute


class Classes:
    """Facts about attributes, made on demand."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self._found: dict[tuple[re.Pattern[bytes], str, str], frozenset[Any]] = {}

    def _matches(self, pattern: re.Pattern[bytes], method: FunctionInfo) -> frozenset[Any]:
        """What a pattern finds in a method's text, looked for once. (One for each name would be compiled each time.)"""
        self.program.project.seen(method)
        key = (pattern, method.path, method.id)
        if key not in self._found:
            self._found[key] = frozenset(pattern.findall(self._text(method)))
        return self._found[key]

    def attribute(self, key: str | None, name: str) -> Value:
        """The value of attribute `name` of an object of the class of that key."""
        info = self.program.class_(key)
        if info is None or key is None:
            return UNKNOWN
        return self.program.questions.ask(("attribute", key, name), lambda: self._find(info, name), UNKNOWN)

    def held(self, method: FunctionInfo, base: Value, name: str) -> Value:
        """The same as a method finds it when it is entered: nothing, where it is the constructor that puts it there. Of
        an object of one of several classes the module that each of them has there."""
        choices = alternatives(base)
        if len(choices) > 1:
            found = [self.attribute(choice.name, name) for choice in choices]
            return functools.reduce(join, found) if all(v.kind is Kind.MODULE for v in found) else UNKNOWN
        value, info = self.attribute(base.name, name), self.program.class_(base.name)
        if method.name != "__init__" or info is None or value.kind in (Kind.UNKNOWN, Kind.FUNCTION):
            return value
        return UNKNOWN if next(self.assigners(info, name), None) is method else value

    def _find(self, info: ClassInfo, name: str) -> Value:
        method = self.program.project.method(info, name)
        if method is not None:
            return UNKNOWN
        values = []
        room: list[Value] = []  # `self.x = None` in the constructor only makes room for what another method puts there
        for assigner in self.assigners(info, name):
            value = self._made(assigner, name) or self._assigned(assigner, name)
            if value is None:
                continue
            if assigner.name == "__init__" and value.kind is Kind.HOST and self._assigns_none(assigner, name):
                room.append(value)
                continue
            values.append(value)
            if assigner.name == "__init__":
                break
        values = values or room
        declared = self._declared(info, name)
        if not values:
            shared = self.on_class(info, name) if declared.kind is Kind.UNKNOWN else None
            return declared if shared is None else replace(shared, shared=True)
        value = values[0]
        for other in values[1:]:
            value = join(value, other)
        empty = value.kind in (Kind.UNKNOWN, Kind.HOST)  # None at first, or what a method that is overridden gives
        if empty and declared.kind is Kind.UNKNOWN and self._used_as_module(info, name):
            return Value(kind=Kind.MODULE, trainable=Fact.YES)
        return declared if value.kind is Kind.UNKNOWN and declared.kind is not Kind.UNKNOWN else value

    def _used_as_module(self, info: ClassInfo, name: str) -> bool:
        """Does a method of the class, or of its bases, call what only modules have on the attribute? Read off the text:
        to interpret the methods would ask for this attribute again."""
        for owner in self.program.project.mro(info):
            for method in map(self.program.project.seen, self.program.project.methods_naming(owner, name)):
                if method.parameters and not method.words.isdisjoint(MODULE_METHODS):
                    own = method.parameters[0].name
                    if (own.encode(), name.encode()) in self._matches(USED_AS_MODULES, method):
                        return True
        return False

    def _text(self, method: FunctionInfo) -> bytes:
        source = self.program.text(method.path)
        starts = source.line_starts
        end = starts[method.end_line] if method.end_line < len(starts) else len(source.data)
        return source.data[starts[method.line - 1] : end]

    def on_class(self, info: ClassInfo, name: str) -> Value | None:
        """The value of a class-level name that no constructor binds on the object."""
        for owner in self.program.project.mro(info):
            top = self.program.project.body(self.program.project.header(owner.path))
            body = self.program.flow(top) if top is not None and name in top.words else None
            if body is not None and name in body.frame.classes.get(owner.qualname, {}):
                return self._outside(body.frame.classes[owner.qualname][name])
        return None

    def _declared(self, info: ClassInfo, name: str) -> Value:
        for owner in self.program.project.mro(info):
            if name in owner.fields:
                return self.program.annotation(self.program.project.header(owner.path), owner.fields[name])
        return UNKNOWN

    def assigners(self, info: ClassInfo, name: str) -> Iterator[FunctionInfo]:
        """Methods that may assign the attribute, `__init__` first, the class's own before its bases'."""
        count = 0
        for owner in self.program.project.mro(info):
            methods = [m for m in self.program.project.methods_naming(owner, name) if self._may_assign(m, name)]
            for method in sorted(methods, key=lambda m: (m.name != "__init__", m.line)):
                count += 1
                if count > ASSIGNING_METHODS:
                    return
                yield method

    def _may_assign(self, method: FunctionInfo, name: str) -> bool:
        """Does a line look like an assignment to that attribute of the object? Saves parsing, decides nothing."""
        if not method.parameters or not name.isascii():
            return bool(method.parameters)
        return name.encode() in self._matches(_targets_of(method.parameters[0].name), method)

    def targets(self, method: FunctionInfo, own: str | None = None) -> frozenset[str]:
        """The attributes of its object, or of another parameter, that a method's lines look to assign."""
        found = self._matches(_targets_of(own or method.parameters[0].name), method)
        return frozenset(name.decode() for name in found)

    def read(self, method: FunctionInfo) -> frozenset[str]:
        """The words of a method but the attributes of its object that its lines do nothing to but to assign them."""
        text = self._text(method)
        found = Counter(WORDS.findall(text))
        if method.parameters:
            found.subtract(_targets_of(method.parameters[0].name).findall(text))
        return frozenset(word.decode() for word, count in found.items() if count > 0)

    def _assigns_none(self, method: FunctionInfo, name: str) -> bool:
        """Does a line look like `self.name = … None`?"""
        return name.encode() in self._matches(EMPTIED, method)

    def _made(self, method: FunctionInfo, name: str) -> Value | None:
        """What a method puts into an attribute, as the index alone tells: a module, plain data, an empty list."""
        callee = method.made.get(name)
        if callee is None:
            return None
        told = self._plain(callee)
        if told is not None:
            return told
        if callee.startswith(PARAMETER):
            return self._handed(method, callee.removeprefix(PARAMETER))
        if self.program.project.may_freeze(method):
            return None
        made = self.program.global_value(self.program.project.header(method.path), callee)
        if made.kind is Kind.CLASS:
            info = self.program.class_(made.name)
            is_module = info is not None and self.program.project.is_module_class(info) is Fact.YES
            return self.program.instance(info) if info is not None and is_module else None
        if made.name in POOLS:
            return Value(graph=Fact.NO, name=made.name)
        fact = knowledge.module_fact(made.name or "") if made.kind is Kind.EXTERNAL else None
        if fact is None or fact.parameters not in TRAINABLE:
            return None
        return Value(kind=Kind.MODULE, graph=Fact.NO, name=made.name, trainable=TRAINABLE[fact.parameters])

    def _assigned(self, method: FunctionInfo, name: str) -> Value | None:
        flow = self.program.flow(method)
        if flow is None or not method.parameters:
            return None
        path = f"{method.parameters[0].name}.{name}"
        stores = [s for op in flow.named("load") if op.path == path for s in op.stores if s.how == "assign"]
        if not stores:
            return None
        value = stores[0].value
        for store in stores[1:]:
            value = join(value, store.value)
        if value.kind is Kind.UNKNOWN:  # a list at first, which becomes a module: what the attribute holds in the end
            value = flow.frame.state.env.get(path, value)
        elif method.name == "__init__" and isinstance(value.elements, dict):  # and what is put under its keys since
            value = replace(flow.frame.state.env.get(path, value), defs=value.defs)
        value = self._settled(method, value, stores)
        if value.kind is Kind.UNKNOWN and (
            Kind.MODULE in _proofs(flow, path, value) or flow.frame.uses.get(path) and self._is_called(method, name)
        ):
            value = replace(value, kind=Kind.MODULE, trainable=Fact.YES)
        if path in flow.frame.frozen:
            value = replace(value, trainable=Fact.NO)
        elif isinstance(value.elements, dict) and self._may_freeze(method, name):
            value = mapped(value, _perhaps_frozen)
        return self._outside(value)

    def _may_freeze(self, method: FunctionInfo, name: str) -> bool:
        """Does a method of the class that names the attribute perhaps freeze what is in it?"""
        owner = self.program.project.owner(method)
        methods = self.program.project.methods_naming(owner, name) if owner is not None else [method]
        return any(map(self.program.project.may_freeze, methods))

    def _is_called(self, method: FunctionInfo, name: str) -> bool:
        """Does a method of the class call what the attribute holds? With one use that optimizers have as well, as
        `state_dict`, it is a module."""
        project = self.program.project
        owner = project.owner(method)
        methods = project.methods_naming(owner, name) if owner is not None else ()
        calls = {kind + dot + name for kind in (CALLS, HANDS) for dot in ("", ".")}
        return any(not project.marks(m).isdisjoint(calls) for m in methods)

    def _settled(self, method: FunctionInfo, value: Value, stores: list[Store]) -> Value:
        """A parameter stored on the object: what the constructors' callers pass."""
        if value.kind not in (Kind.UNKNOWN, Kind.CONTAINER) or len(value.params) != 1 or method.name != "__init__":
            return value
        (position,) = value.params
        if declares_data(method.parameters[position].annotation):
            return value
        if not all(_is_parameter(op) for s in stores for op in s.value.defs):
            return value
        known = self.program.callers.argument(method, position)
        return known if known.kind is not Kind.UNKNOWN else value

    @staticmethod
    def _outside(value: Value) -> Value:
        """The value as another method meets it: its parameters are not that method's, its members may have changed."""
        if value.kind is Kind.CONTAINER:
            members = known_members(value) if isinstance(value.elements, dict) else members_of(value)
            lasting = bool(members) and all(m.kind in LASTING for m in members)
            known = value.elements if isinstance(value.elements, dict) else tuple(members)
            value = replace(value, elements=known if lasting else None)
        elif value.kind is Kind.MODULE and any(op.stores for op in value.defs):  # `layers.append(Block())`
            value = replace(value, elements=tuple(m for m in members_of(value) if m.kind is Kind.MODULE) or None)
        elif value.kind is Kind.INSTANCE:
            value = replace(value, elements=None)  # by then a backward may have walked them
        return replace(elsewhere(value), const=None)

    def trainable(self, info: ClassInfo) -> Fact:
        """Has a module of this class parameters that require grad? NO where it has none or freezes them all."""
        key = ("trainable", self.program.key(info))
        return self.program.questions.ask(key, lambda: self._has_parameters(info), Fact.YES)

    def _has_parameters(self, info: ClassInfo) -> Fact:
        facts = [Fact.NO if _plain_base(base) else Fact.YES for base in self.program.project.external_bases(info)]
        for owner in self.program.project.mro(info):
            method = self.program.project.at(owner.path, owner.methods.get("__init__"))
            known = Fact.YES in facts and method is not None and not self.program.project.may_freeze(method)
            if known or method is not None and self._makes_parameters(method):
                facts.append(Fact.YES)
                continue
            flow = self.program.flow(method) if method is not None else None
            if flow is None:
                facts += [Fact.MAYBE] if method is not None else []
            elif method is not None and method.parameters and method.parameters[0].name in flow.frame.frozen:
                return Fact.NO
            else:
                facts.append(self._constructed(flow))
        return max(facts, default=Fact.NO)

    @staticmethod
    def _plain(form: str | None) -> Value | None:
        """What the form of an assignment tells by itself."""
        if form is not None and form.startswith(COLLECTION):
            return Value(kind=Kind.CONTAINER, graph=Fact.NO, name=form.removeprefix(COLLECTION))
        return HOST if form == CONSTANT else None

    def _handed(self, method: FunctionInfo, name: str) -> Value | None:
        """What an attribute holds that is a parameter of the method, where the annotation tells: plain data, an
        object of a class of the project."""
        annotation = next((p.annotation for p in method.parameters if p.name == name), None)
        value = self.program.annotation(self.program.project.header(method.path), annotation)
        if value.kind is Kind.INSTANCE:
            return replace(value, graph=Fact.MAYBE) if self.program.is_record(value) else value
        if declares_data(annotation):
            return replace(value, graph=Fact.NO)
        return HOST if value.kind is Kind.HOST else None

    def _makes_parameters(self, method: FunctionInfo) -> bool:
        """Does the index alone tell that a constructor makes a module with parameters?"""
        made = (self._made(method, name) for name in method.made)
        return any(value is not None and value.trainable is Fact.YES for value in made)

    @staticmethod
    def _constructed(flow: FunctionFlow) -> Fact:
        """Does a constructor make parameters: a Parameter, or a submodule that has some?"""
        if flow.named("register_parameter") or any(op.callee in PARAMETERS for op in flow.ops):
            return Fact.YES
        if not flow.frame.frozen and any(op.value.trainable is Fact.YES for op in flow.named("construct")):
            return Fact.YES  # whatever it is put into: a list, `add_module`
        values = [s.value for op in flow.named("load") for s in op.stores]
        facts = [v.trainable for v in values if v.kind is Kind.MODULE]
        facts += [Fact.MAYBE for v in values if v.kind is Kind.UNKNOWN and any(op.name == "?call" for op in v.defs)]
        return max(facts, default=Fact.NO)

    # -- module level -------------------------------------------------------------------------------------------

    def module_variable(self, index: FileIndex, name: str) -> Value:
        """What a module-level variable holds after the module's body has run."""
        running = self.program.live.get(index.path)
        if running is not None:  # the body is being interpreted and calls us: what the name holds by now
            self.program.questions.lean_on(("flow", running.program.key(running.info), ()))
            value = running.state.env.get(name)
            return self._outside(value) if value is not None else UNKNOWN
        return self.program.questions.ask(("variable", index.path, name), lambda: self._variable(index, name), UNKNOWN)

    def _variable(self, index: FileIndex, name: str) -> Value:
        body = self.program.project.body(index)
        told = self._plain(body.made.get(name)) if body is not None else None
        if told is not None:
            return told
        flow = self.program.flow(body) if body is not None else None
        value = flow.frame.state.env.get(name) if flow is not None else None
        if value is not None and isinstance(value.elements, dict) and body and self.program.project.may_freeze(body):
            value = mapped(value, _perhaps_frozen)
        return self._outside(value) if value is not None else UNKNOWN


@functools.lru_cache(maxsize=64)
def _targets_of(own: str) -> re.Pattern[bytes]:
    """What looks like an assignment to an attribute of the variable: methods call their object by few names."""
    return re.compile(rb"(?<![\w.])" + re.escape(own.encode()) + rb"\.(\w+)" + _BEHIND + rb"(?=" + _ASSIGNED + rb")")


def _proofs(flow: FunctionFlow, path: str, value: Value) -> set[Kind]:
    """The kinds that uses of the attribute, or of the parameter that is stored in it, prove."""
    names = [path] + [op.path or "" for op in value.defs if op.name == "param"]
    return {kind for name in names if (kind := flow.frame.evidence.get(name)) is not None}


def _perhaps_frozen(member: Value) -> Value:
    return replace(member, trainable=min(member.trainable, Fact.MAYBE))


def _is_parameter(op: Op) -> bool:
    """Is it a parameter of the function, perhaps moved to a device?"""
    if op.name in ("torch.to", "torch.cuda", "torch.cpu") and op.receiver is not None:
        return all(maker.name == "param" for maker in op.receiver.defs)
    if op.name == "read" and op.callee in ("list", "tuple"):
        return bool(op.inputs) and all(maker.name == "param" for maker in op.inputs)
    return op.name == "param"


def loads(flow: FunctionFlow, attribute: str) -> list[Op]:
    """The operations of a function that read an attribute of that name, of whatever object."""
    return [op for op in flow.named("load") if _loaded(op) == attribute]


def _loaded(op: Op) -> str | None:
    """The attribute's name, or the variable's: of `self.out`, and of `layers[key][0].out`, which has no path."""
    if op.path is not None:
        return op.path.rpartition(".")[2]
    return op.node.attr.value if isinstance(op.node, cst.Attribute) else None


def _plain_base(base: str) -> bool:
    """Has a class of that name no parameters, as the loss functions of PyTorch have none?"""
    fact = knowledge.module_fact(base)
    return base in PLAIN_BASES or fact is not None and fact.parameters == "no"
