"""Abstract values: small immutable records, joined where branches meet. Unknown is a value, not an error."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from enum import Enum, IntEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torchmemlint.flow.graph import Op


class Fact(IntEnum):
    """A three-valued fact; only `YES` may be reported above hint."""

    NO = 0
    MAYBE = 1
    YES = 2

    def join(self, other: Fact) -> Fact:
        """The fact after two branches: certain only where both agree."""
        return self if self is other else Fact.MAYBE

    def either(self, other: Fact) -> Fact:
        """The fact of a result that holds as soon as one operand holds."""
        return max(self, other)


class Form(Enum):
    """A choice that is compared and looked up all the time: its hash is that of the object, not of its name."""

    __hash__ = object.__hash__


class Kind(Form):
    """What sort of object a value is."""

    TENSOR = "tensor"
    MODULE = "module"
    OPTIMIZER = "optimizer"
    SCALER = "scaler"
    LOADER = "loader"
    HOST = "host"  # number, str, NumPy array, bool, None
    CONTAINER = "container"  # list, dict, set, tuple, deque
    FUNCTION = "function"
    CLASS = "class"
    INSTANCE = "instance"  # an object of a class of this project that is none of the above
    EXTERNAL = "external"  # a name of a library: module, class or function
    UNKNOWN = "unknown"


CONTEXTUAL = frozenset(
    {Kind.MODULE, Kind.INSTANCE, Kind.OPTIMIZER, Kind.SCALER, Kind.LOADER, Kind.FUNCTION, Kind.CLASS}
)
"""What a function does to a parameter hangs on these: given one, it is interpreted anew."""


class Layout(Form):
    """How a tensor's elements lie in its storage."""

    CONTIGUOUS = "contiguous"
    STRIDED = "strided"  # sliced, transposed, permuted or expanded: not contiguous, whatever the shape
    UNKNOWN = "unknown"


@dataclass(eq=False)
class Value:
    """What is known of an expression's result.

    `graph`: does it carry an autograd graph when it is made; `params`: indexes of the analysed function's parameters
    whose attachment it inherits (the fact is then decided at the call); `defs`: the operations that may have made it.
    """

    kind: Kind = Kind.UNKNOWN
    graph: Fact = Fact.MAYBE
    params: frozenset[int] = frozenset()
    defs: tuple[Op, ...] = ()
    name: str | None = None  # dotted name of the class (MODULE, INSTANCE, CLASS), function or library object
    elements: tuple[Value, ...] | dict[Any, Value] | None = None  # of a tuple / list / dict whose members are known
    layout: Layout = Layout.UNKNOWN
    shares: tuple[Op, ...] = ()  # operations whose storage it shares (it is a view or an alias of them)
    dtype: str | None = None  # "float", "int", "bool" or an exact torch dtype name; None: unknown
    device: str | None = None  # "cpu", "cuda"; None: unknown
    scalar: Fact = Fact.MAYBE  # has it a single element?
    trainable: Fact = Fact.MAYBE  # MODULE: has it parameters that require grad?
    const: Any = None  # a literal's value
    shared: bool = False  # a class attribute: one for all objects
    weak: bool = False  # the kind rests on names alone
    given: tuple[Any, ...] = ()  # FUNCTION, CLASS, MODULE: arguments that functools.partial has bound

    if not TYPE_CHECKING:

        def __init__(self, kind=Kind.UNKNOWN, graph=Fact.MAYBE, params=frozenset(), **facts: Any) -> None:
            """Of the rest only what is told is kept, else read off the class: values are small and quick to copy."""
            self.kind, self.graph, self.params = kind, graph, params
            if facts:
                self.__dict__.update(facts)

    @property
    def fact(self) -> Fact:
        """Does it carry an autograd graph, as far as this function alone can tell?"""
        if self.graph is not Fact.YES and self.params:
            return Fact.MAYBE
        return self.graph


_DEFAULTS = {field.name: field.default for field in fields(Value)}


def replace(value: Value, **changes: Any) -> Value:
    """A copy with some fields changed; values are never changed in place. (`dataclasses.replace` costs ten times as
    much, and this is the interpreter's most frequent step. A union of dicts is the quickest way, and as small.)"""
    new = object.__new__(Value)
    new.__dict__ = value.__dict__ | changes
    return new


def facts(value: Value) -> dict[str, Any]:
    """All that is known of a value, by field."""
    return _DEFAULTS | value.__dict__


def same(a: Value, b: Value) -> bool:
    """Is the same known of both?"""
    mine, other = a.__dict__, b.__dict__
    return mine == other or mine.keys() != other.keys() and facts(a) == facts(b)


def known_members(value: Value) -> tuple[Value, ...]:
    """The members that a tuple, list or dict was made with, as far as they are known."""
    return tuple(value.elements.values()) if isinstance(value.elements, dict) else value.elements or ()


def mapped(value: Value, change: Callable[[Value], Value]) -> Value:
    """The value with each of its known members changed."""
    if isinstance(value.elements, tuple):
        return replace(value, elements=tuple(change(e) for e in value.elements))
    if isinstance(value.elements, dict):
        return replace(value, elements={k: change(e) for k, e in value.elements.items()})
    return value


CHOICES = 4  # modules of different classes that are told apart where branches made one of them
INTEGRAL = frozenset("int long short byte char bool uint8 uint16 uint32 uint64 int8 int16 int32 int64".split())
"""The dtypes of labels, indices, counts and masks: no graph, and few bytes beside the activations they come from."""


def may_carry_graph(holder: Value) -> bool:
    """May a value that is written into a tensor bring its graph along? Into integers and booleans it does not."""
    return holder.dtype not in INTEGRAL


UNKNOWN = Value()
HOST = Value(kind=Kind.HOST, graph=Fact.NO)


def _joined_elements(a: Value, b: Value) -> Any:
    if a.kind is b.kind is Kind.CLASS or a.kind is b.kind is Kind.FUNCTION and _differ(a, b):  # any of them
        return tuple({(m.name, id(m.const)): m for m in (*alternatives(a), *alternatives(b))}.values())
    if a.kind is b.kind is Kind.MODULE and a.name != b.name:
        chosen = {m.name: m for m in (*alternatives(a), *alternatives(b))}
        return None if None in chosen or len(chosen) > CHOICES else tuple(chosen.values())
    if isinstance(a.elements, tuple) and isinstance(b.elements, tuple) and len(a.elements) == len(b.elements):
        return tuple(join(x, y) for x, y in zip(a.elements, b.elements))
    if a.elements == () or b.elements == ():  # the list before it is filled
        return b.elements if a.elements == () else a.elements
    if isinstance(a.elements, dict) and isinstance(b.elements, dict) and a.elements.keys() == b.elements.keys():
        return {key: join(x, b.elements[key]) for key, x in a.elements.items()}
    return None


def _differ(a: Value, b: Value) -> bool:
    return a.name != b.name or a.const is not b.const


def alternatives(value: Value) -> tuple[Value, ...]:
    """The functions, classes or modules one of which a branch has chosen; the value itself if there was no choice."""
    members = value.elements if isinstance(value.elements, tuple) and value.name is None else ()
    return members if members and all(m.kind is value.kind for m in members) else (value,)


def _joined_kind(a: Value, b: Value) -> Kind:
    if a.kind is b.kind:
        return a.kind
    if a.kind is Kind.HOST and a.const is None or b.kind is Kind.HOST and b.const is None:
        return b.kind if a.kind is Kind.HOST else a.kind  # `x = None` before the branch that makes it
    return Kind.UNKNOWN


def _joined_graph(a: Value, b: Value) -> Fact:
    """A literal on the other branch (`0.0`, `None`) only stands in: the value's own fact holds where it is a tensor."""
    if a.kind is Kind.HOST and not a.defs and b.kind is not Kind.HOST:
        return b.graph
    if b.kind is Kind.HOST and not b.defs and a.kind is not Kind.HOST:
        return a.graph
    return a.graph.join(b.graph)


def united(a: frozenset[int], b: frozenset[int]) -> frozenset[int]:
    """The union of two sets; one of them itself where the other is empty, as most are: a new set takes 216 bytes."""
    return a | b if a and b else a or b


def union(a: tuple[Op, ...], b: tuple[Op, ...]) -> tuple[Op, ...]:
    """Both tuples' operations, each once, in order."""
    return a if a == b else tuple(dict.fromkeys(a + b))


def join(a: Value, b: Value) -> Value:
    """The value after two branches that gave `a` and `b`."""
    if a is b or same(a, b):
        return a
    return Value(
        kind=_joined_kind(a, b),
        graph=_joined_graph(a, b),
        params=united(a.params, b.params),
        defs=union(a.defs, b.defs),
        name=a.name if a.name == b.name else None,
        elements=_joined_elements(a, b),
        layout=a.layout if a.layout is b.layout else Layout.UNKNOWN,
        shares=union(a.shares, b.shares),
        dtype=a.dtype if a.dtype == b.dtype else None,
        device=a.device if a.device == b.device else None,
        scalar=a.scalar.join(b.scalar),
        trainable=a.trainable.join(b.trainable),
        const=a.const if a.const == b.const else None,
        weak=a.weak or b.weak,
        shared=a.shared or b.shared,
    )
