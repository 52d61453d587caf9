"""Calls of library functions and classes, by the role that the knowledge tables give them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import libcst as cst

from torchmemlint import knowledge
from torchmemlint.flow import backward, bindings, contexts, distributions, holders, modules, tensors, threads
from torchmemlint.flow.dispatch import invoke, unknown
from torchmemlint.flow.frame import Frame
from torchmemlint.flow.graph import Argument, Sink
from torchmemlint.flow.values import HOST, UNKNOWN, Fact, Kind, Layout, Value, known_members, replace
from torchmemlint.knowledge.diagnostics import diagnostic

Args = list[Argument]
CARRYING = ("einops.", "opt_einsum.", "torch.nn.utils.rnn.")  # all that is returned carries what came in
EINOPS = frozenset({"einops.rearrange", "einops.repeat", "einops.reduce"})
MAKERS = frozenset({"collections.defaultdict", "collections.deque", "queue.Queue", "collections.OrderedDict"})


def call(f: Frame, node: cst.Call, callee: Value, args: Args) -> Value:
    """Call the library object `callee.name`."""
    name = callee.name or ""
    if callee.const is not None:
        return contexts.wrap(f, node, callee, args) if callee.name == "context" and args else UNKNOWN
    special = SPECIAL.get(name)
    if special is not None:
        return special(f, node, args)
    group = diagnostic(name)
    if group is not None:
        return _diagnostic(f, node, name, group, args)
    stored = knowledge.container_function(name)
    if stored is not None and (stored.holder or 0) < len(args):
        return holders.function(f, node, stored, args)
    effect = knowledge.context_effect(name)
    if effect in ("off", "on", "argument"):
        return contexts.context(f, node, effect, name, args)
    fact = knowledge.module_fact(name)
    if fact is not None:
        return _module(f, node, name, fact.parameters, args)
    if knowledge.role(name) == "factory":
        return _factory(f, node, name, args)
    operator = knowledge.canonical(name)
    if operator is not None:
        return tensors.call(f, node, operator, args)
    handler = ROLES.get(knowledge.role(name) or "")
    if handler is not None:
        return handler(f, node, name, args)
    if distributions.is_one(name):
        return distributions.make(f, node, name, args)
    if name.startswith("torch.") and name.split(".")[1] in ("cuda", "distributed", "backends"):
        return f.op("torch." + name.split(".", 1)[1], node, UNKNOWN, arguments=args, passes=False, callee=name).value
    if name.partition(".")[0] in knowledge.libraries():
        return _library(f, node, name, args)
    return unknown(f, node, args, callee)


def _diagnostic(f: Frame, node: cst.Call, name: str, group: str, args: Args) -> Value:
    """A call that asks or steers the allocator or a debugger; what it reads becomes Python data."""
    op = f.op(f"diagnostic.{group}", node, UNKNOWN, arguments=args, passes=False, sunk=[Sink.HOST], callee=name)
    return replace(op.value, graph=Fact.NO) if group in ("profiler", "shell") else HOST


def _library(f: Frame, node: cst.Call, name: str, args: Args) -> Value:
    """A function of a library that runs no backward itself: its result may carry its arguments' graphs."""
    graph, params = f.derived([a.value for a in args])
    value = Value(graph=min(graph, Fact.MAYBE), params=params)
    return f.op("?call", node, value, arguments=args, sunk=[Sink.LIBRARY], callee=name).value


def _tensor_function(f: Frame, node: cst.Call, name: str, args: Args) -> Value:
    """A function of tensors: what carries its arguments' graphs for sure, and may be a view of them, or may only."""
    if not name.startswith(CARRYING):
        return _library(f, node, name, args)
    graph, params = f.derived([a.value for a in args])
    value = Value(graph=graph, params=params)
    if name in EINOPS:
        shared = args[0].value.defs if args and name != "einops.reduce" else ()
        value = replace(value, kind=Kind.TENSOR, shares=shared)
    return f.op("?call", node, value, arguments=args, callee=name).value


def to_host(f: Frame, node: cst.CSTNode, args: Sequence[Argument], callee: str | None = None) -> Value:
    """A call that turns its arguments into Python or NumPy data, prints or logs them."""
    if any(a.value.defs for a in args):
        f.op("host", node, HOST, arguments=args, passes=False, sunk=[Sink.HOST], callee=callee)
    return HOST


def _host(f: Frame, node: cst.Call, name: str, args: Args) -> Value:
    to_host(f, node, args, name)
    read = name in ("float", "int") and any(a.value.defs and a.value.kind is not Kind.HOST for a in args)
    return tensors.read_out(f, node) if read else HOST


def _module(f: Frame, node: cst.Call, name: str, parameters: str, args: Args) -> Value:
    trainable = {"yes": Fact.YES, "no": Fact.NO}.get(parameters, Fact.MAYBE)
    if parameters not in ("yes", "no") and args:  # Sequential, ModuleList: trainable as soon as one member is
        facts = [m.trainable for a in args for m in _modules_in(a.value)]
        hidden = any(a.name == "*" or not _modules_in(a.value) for a in args)
        trainable = max([*facts, Fact.YES if hidden else Fact.NO])
    members = tuple(m for a in args for m in _modules_in(a.value)) or None
    value = Value(kind=Kind.MODULE, graph=Fact.NO, name=name, trainable=trainable, elements=members)
    return f.op("construct", node, value, arguments=args, callee=name).value


def _modules_in(value: Value) -> list[Value]:
    if value.kind is Kind.MODULE:
        return [value]
    if value.kind is Kind.CONTAINER:
        stored = [s.value for op in value.defs for s in op.stores]
        return [m for m in (*known_members(value), *stored) if m.kind is Kind.MODULE]
    return []


def _of_kind(kind: Kind, **facts: Fact) -> Callable[[Frame, cst.Call, str, Args], Value]:
    def make(f: Frame, node: cst.Call, name: str, args: Args) -> Value:
        value = Value(kind=kind, graph=Fact.NO, name=name, **facts)  # type: ignore[arg-type]
        return f.op("construct", node, value, arguments=args, passes=False, callee=name).value

    return make


def _wrapper(f: Frame, node: cst.Call, name: str, args: Args) -> Value:
    """DataParallel(model), torch.compile(model): the module itself, as far as memory goes."""
    if not args:
        return UNKNOWN
    return f.op("construct", node, args[0].value, arguments=args, callee=name).value


def _factory(f: Frame, node: cst.Call, name: str, args: Args) -> Value:
    """torch.zeros and its kin: a fresh leaf, with a graph only if requires_grad=True."""
    wanted = next((a.value.const for a in args if a.name == "requires_grad"), False)
    graph = Fact.NO if wanted is False else Fact.YES if wanted is True else Fact.MAYBE
    bare = name.rpartition(".")[2]
    layout = Layout.CONTIGUOUS
    if bare.endswith("_like"):  # they keep the model's strides
        layout = args[0].value.layout if args and not any(a.name == "memory_format" for a in args) else Layout.UNKNOWN
    fact = knowledge.operator(bare)
    foreign = fact is not None and fact.kind == "maybe_view"  # it may keep the strides of what it is given
    if layout is Layout.STRIDED or bare in ("empty_strided", "empty_permuted") or foreign:
        layout = Layout.UNKNOWN
    value = Value(
        kind=Kind.TENSOR,
        graph=graph,
        layout=layout,
        device=tensors.device_of(args),
        dtype=tensors.dtype_of(args),
    )
    return f.op(f"torch.{bare}", node, value, arguments=args, passes=False, callee=name).value


def _passthrough(f: Frame, node: cst.Call, name: str, args: Args) -> Value:
    """list(x), sorted(x), zip(a, b), copy.copy(x): a container of the same members."""
    if not args or name in MAKERS:
        return f.op("literal.dict" if "ict" in name else "literal.list", node, _empty(name), arguments=args).value
    values = [a.value for a in args]
    if all(v.kind is Kind.HOST for v in values):
        return HOST
    graph, params = f.derived(values)
    if name in ("next", "sum", "min", "max", "iter"):
        return _reduced(f, node, name, args)
    elements: tuple[Value, ...] | None = None
    if name == "enumerate":
        elements = (HOST, holders.element_of(f, args[0].node, args[0].value))
    elif name == "zip" and all(a.name is None for a in args):
        elements = tuple(holders.element_of(f, a.node, a.value) for a in args)
    if elements is not None:
        item = Value(kind=Kind.CONTAINER, graph=graph, params=params, elements=elements, name="tuple")
        item = f.op("item", node, item, inputs=values).value
        return f.op(
            "literal.list",
            node,
            Value(kind=Kind.CONTAINER, graph=graph, params=params, elements=(item,)),
            arguments=args,
            inputs=[item],
        ).value
    if name in ("copy.deepcopy", "copy.copy", "reversed", "list", "tuple", "sorted") and len(args) >= 1:
        kept = args[0].value
        kind = kept.kind if name.startswith("copy.") else Kind.CONTAINER
        value = replace(kept, kind=kind, graph=graph, params=params, shares=())
        return f.op("copy" if name.startswith("copy.") else "read", node, value, arguments=args, callee=name).value
    value = Value(kind=Kind.CONTAINER, graph=graph, params=params)
    return f.op("read", node, value, arguments=args, callee=name).value


def _copied(f: Frame, node: cst.Call, name: str, args: Args) -> Value:
    """copy.deepcopy(x): an object of the same kind on memory of its own; asdict and pickle copy what they hold, too."""
    graph, params = f.derived([a.value for a in args])
    value = Value(graph=graph, params=params, kind=Kind.CONTAINER if name.startswith("dataclasses.") else Kind.UNKNOWN)
    if name == "copy.deepcopy" and args:
        value = replace(args[0].value, graph=graph, params=params, shares=(), const=None)
    return f.op("copy", node, value, arguments=args, callee=name).value


def _saved(f: Frame, node: cst.Call, name: str, args: Args) -> Value:
    """torch.save(x, path): written to a file."""
    if name.endswith("make_grid"):
        return unknown(f, node, args)
    f.op("save", node, HOST, arguments=args, passes=False, sunk=[Sink.HOST], callee=name)
    return HOST


def _empty(name: str) -> Value:
    return Value(kind=Kind.CONTAINER, graph=Fact.NO, elements={} if name == "dict" else None, name=name)


def _reduced(f: Frame, node: cst.Call, name: str, args: Args) -> Value:
    """sum / min / max / next of a container's members."""
    source = args[0].value
    member = holders.element_of(f, args[0].node, source) if len(args) == 1 else source
    if all(a.value.kind is Kind.HOST for a in args):
        return HOST
    graph, params = f.derived([member, source, *(a.value for a in args)])
    if name == "sum" and member.kind is source.kind is Kind.UNKNOWN:  # mostly of lengths and counts
        graph = min(graph, Fact.MAYBE)
    value = Value(kind=member.kind, graph=graph, params=params, scalar=member.scalar)
    kind = "read" if name in ("next", "iter") else "arith"
    return f.op(kind, node, value, arguments=args, inputs=[member], callee=name).value


def _loaded(f: Frame, node: cst.Call, name: str, args: Args) -> Value:
    value = Value(graph=Fact.NO, name="checkpoint")
    return f.op("torch.load", node, value, arguments=args, passes=False, callee=name).value


def _checkpointed(f: Frame, node: cst.Call, name: str, args: Args) -> Value:
    """checkpoint(fn, *inputs): the function is called with the rest."""
    inputs = [a for a in args[1:] if a.name is None]
    return invoke(f, node, args[0].value, inputs) if args else UNKNOWN


def _super(f: Frame, node: cst.Call, args: Args) -> Value:
    owner = f.program.project.owner(f.info)
    for info in f.program.project.mro(owner)[1:] if owner is not None else ():
        return f.program.instance(info)
    return Value(kind=Kind.EXTERNAL, graph=Fact.NO, name="super", const="super")


def _getattr(f: Frame, node: cst.Call, args: Args) -> Value:
    graph, params = f.derived([args[0].value] if args else [])
    return f.op("load", node, Value(graph=graph, params=params), arguments=args).value


def _partial(f: Frame, node: cst.Call, args: Args) -> Value:
    """functools.partial(fn, …): the function with its first arguments, which it keeps."""
    if not args:
        return UNKNOWN
    target, kept = args[0].value, [a.value for a in args[1:]]
    known = target.kind in (Kind.CLASS, Kind.FUNCTION, Kind.MODULE)
    value = replace(target, given=(*target.given, *args[1:])) if known else UNKNOWN
    graph, params = f.derived(kept)
    if graph is Fact.NO and not params:
        return value
    kind = target.kind if known else Kind.FUNCTION
    return f.op("function", node, replace(value, kind=kind, graph=graph, params=params), inputs=kept).value


def _thread(name: str) -> Callable[[Frame, cst.Call, Args], Value]:
    """A function that another thread is to run."""

    def make(f: Frame, node: cst.Call, args: Args) -> Value:
        threads.start(f, node, name, args)
        return unknown(f, node, args, Value(kind=Kind.EXTERNAL, graph=Fact.NO, name=name))

    return make


def _device(f: Frame, node: cst.Call, args: Args) -> Value:
    """torch.device("cpu"): host data that names a device."""
    return replace(HOST, device=tensors.device_of(args))


def _grad(f: Frame, node: cst.Call, args: Args) -> Value:
    return backward.grad(f, node, args)


def _backward(f: Frame, node: cst.Call, args: Args) -> Value:
    if args:
        backward.walk(f, node, args[0].value, args)
    return HOST


def _distributed_backward(f: Frame, node: cst.Call, args: Args) -> Value:
    """`backward(context_id, roots)`."""
    return _backward(f, node, args[1:])


def _transformed(f: Frame, node: cst.Call, name: str, args: Args) -> Value:
    """torch.func.grad(fn), jacobian(fn, x), …: fn is called, and the graph of its result is walked."""
    if args and args[0].value.kind is Kind.FUNCTION:
        result = invoke(f, node, args[0].value, [a for a in args[1:] if a.name is None])
        f.op("transformed", node, HOST, inputs=[result], passes=False, sunk=[Sink.BACKWARD], callee=name)
    return unknown(f, node, args, Value(kind=Kind.EXTERNAL, graph=Fact.NO, name=name))


def _map(f: Frame, node: cst.Call, args: Args) -> Value:
    """map(fn, xs): fn is called with the members."""
    members = [Argument(None, holders.element_of(f, a.node, a.value), a.node) for a in args[1:]]
    value = invoke(f, node, args[0].value, members) if args else UNKNOWN
    item = Value(kind=Kind.CONTAINER, graph=value.graph, params=value.params, elements=(value,))
    return f.op("literal.list", node, item, inputs=[value]).value


def _variable(f: Frame, node: cst.Call, args: Args) -> Value:
    """autograd.Variable(x): the tensor itself, since PyTorch 0.4. `volatile=True` does nothing since then."""
    if any(a.name == "volatile" and a.value.const is True for a in args):
        f.op("volatile", node, HOST, inputs=[args[0].value], passes=False)
    return replace(args[0].value, kind=Kind.TENSOR) if args else UNKNOWN


def _parameter(f: Frame, node: cst.Call, args: Args) -> Value:
    """nn.Parameter(data): a leaf that requires grad."""
    off = any(a.name == "requires_grad" and a.value.const is False for a in args)
    value = Value(kind=Kind.TENSOR, graph=Fact.NO if off else Fact.YES, layout=Layout.CONTIGUOUS)
    return f.op("parameter", node, value, arguments=args, passes=False, callee="torch.nn.Parameter").value


def _namespace(f: Frame, node: cst.Call, args: Args) -> Value:
    """types.SimpleNamespace(name=value): an object with these attributes."""
    graph, params = f.derived([a.value for a in args])
    known = {a.name: a.value for a in args if a.name and not a.name.startswith("*")}
    elements = known if len(known) == len(args) else None
    value = Value(kind=Kind.CONTAINER, graph=graph, params=params, elements=elements, name="types.SimpleNamespace")
    return f.op("literal.dict", node, value, arguments=args).value


def _setattr(f: Frame, node: cst.Call, args: Args) -> Value:
    """setattr(obj, "name", value) is an assignment."""
    if len(args) == 3 and isinstance(args[1].value.const, str) and args[1].value.const.isidentifier():
        target = cst.Attribute(args[0].node, cst.Name(args[1].value.const))
        bindings.store_attribute(f, target, args[2].value, args[2].node, node)
    return HOST


def _type(f: Frame, node: cst.Call, args: Args) -> Value:
    """type(obj): its class."""
    known = args and args[0].value.kind in (Kind.INSTANCE, Kind.MODULE) and f.program.class_(args[0].value.name)
    return Value(kind=Kind.CLASS, graph=Fact.NO, name=args[0].value.name) if known else UNKNOWN


def _functional_call(f: Frame, node: cst.Call, args: Args) -> Value:
    """torch.func.functional_call(module, parameters, args): the module's forward with other parameters."""
    if not args:
        return UNKNOWN
    module = args[0].value
    known = module if module.kind is Kind.MODULE else replace(module, kind=Kind.MODULE, trainable=Fact.YES)
    weights = holders.members_of(args[1].value) if len(args) > 1 else []
    if weights and all(w.defs and all(op.name in ("torch.detach", "torch.data") for op in w.defs) for w in weights):
        known = replace(known, trainable=Fact.NO)
    return modules.forward(f, node, known, args[1:])


def _exception(f: Frame, node: cst.Call, args: Args) -> Value:
    """sys.exc_info(): the class of the exception at hand, the exception, its traceback."""
    error = f.op("exception", node, Value(graph=Fact.NO, name="exception")).value
    return replace(error, elements=(HOST, error, error))


SPECIAL: dict[str, Callable[[Frame, cst.Call, Args], Value]] = {
    "torch.autograd.Variable": _variable,
    "setattr": _setattr,
    "types.SimpleNamespace": _namespace,
    "argparse.Namespace": _namespace,
    "type": _type,
    "torch.func.functional_call": _functional_call,
    "torch.nn.utils.stateless.functional_call": _functional_call,
    "torch.nn.Parameter": _parameter,
    "torch.nn.parameter.Parameter": _parameter,
    "super": _super,
    "getattr": _getattr,
    "functools.partial": _partial,
    "torch.device": _device,
    "torch.autograd.grad": _grad,
    "torch.autograd.backward": _backward,
    "torch.distributed.autograd.backward": _distributed_backward,
    "map": _map,
    "sys.exc_info": _exception,
    **{name: _thread(name) for name in threads.STARTERS},
}
ROLES: dict[str, Callable[[Frame, cst.Call, str, Args], Value]] = {
    "host": _host,
    "optimizer": _of_kind(Kind.OPTIMIZER),
    "scheduler": _of_kind(Kind.OPTIMIZER),
    "scaler": _of_kind(Kind.SCALER),
    "loader": _of_kind(Kind.LOADER),
    "module_factory": _of_kind(Kind.MODULE, trainable=Fact.YES),
    "parameterless": _of_kind(Kind.MODULE, trainable=Fact.NO),
    "wrapper": _wrapper,
    "tensor_function": _tensor_function,
    "passthrough": _passthrough,
    "checkpoint_load": _loaded,
    "checkpoint_save": _saved,
    "copy": _copied,
    "checkpointing": _checkpointed,
    "gradient": _transformed,
}
