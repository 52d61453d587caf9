"""The mend of TML402 to TML404: `del` of a name behind the statement that reads it last."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from torchmemlint.fixes import Plan, insert_after, replace_statement
from torchmemlint.flow.deletable import deletable, swallows
from torchmemlint.flow.function import FunctionFlow
from torchmemlint.flow.graph import Op
from torchmemlint.flow.liveness import liveness
from torchmemlint.flow.timeline import parts

LEAVES = (cst.Return, cst.Raise, cst.Break, cst.Continue)
Parents = dict[cst.CSTNode, cst.CSTNode]


def retire(flow: FunctionFlow, binds: Sequence[Op], work: Op) -> Plan | None:
    """Delete the names of `binds`, bound in one block, before `work` runs; None where no place is surely right."""
    parents = dict(_parents(flow.node))
    block = _block_of_all(flow, binds, parents)
    if block is None:
        return None
    place = _last_use(flow, binds, work, block, parents)
    if place is None or _leaves(block[place]):
        return None
    names = list(dict.fromkeys(bind.path or "" for bind in binds))
    if not _may_go(flow, block[place], names):
        return None
    plan = _deletion(block, place, names).titled("delete it once it is no longer read")
    return plan if flow.info.name else plan.unsafe("another module may import the name")


def _deletion(block: list[cst.CSTNode], place: int, names: list[str]) -> Plan:
    """The new line, or the one that is there already with the names in front."""
    following = block[place + 1] if place + 1 < len(block) else None
    old = following.body[0] if isinstance(following, cst.SimpleStatementLine) and len(following.body) == 1 else None
    target = old.target if isinstance(old, cst.Del) else None
    parts = [element.value for element in target.elements] if isinstance(target, cst.Tuple) else [target]
    known = [part.value for part in parts if isinstance(part, cst.Name)]
    if following is None or not known or len(known) < len(parts):
        return insert_after(block[place], f"del {', '.join(names)}")
    return replace_statement(following, f"del {', '.join([*names, *known])}")


def _last_use(
    flow: FunctionFlow, binds: Sequence[Op], work: Op, block: list[cst.CSTNode], parents: Parents
) -> int | None:
    """The place in the block of the statement that uses the values last: in the same pass through the block, or in the
    next one, if they are carried there. None where the work begins before it ends."""

    def place(node: cst.CSTNode) -> int:
        return block.index(_in_block(node, block, parents))

    bound = [place(bind.node) for bind in binds]
    readers = [place(node) for bind in binds for node in liveness(flow).readers(bind)]
    carried = [at for at in readers if at < min(bound)]
    there = _in_block(work.node, block, parents)
    at_work = place(there) if any(there is s for s in block) else None
    last = max(carried or [*bound, *readers])
    same_pass = not carried and binds[0].order < work.order
    return None if at_work is not None and at_work <= last and (carried or same_pass) else last


def _leaves(statement: cst.CSTNode) -> bool:
    return isinstance(statement, cst.SimpleStatementLine) and isinstance(statement.body[-1], LEAVES)


def _may_go(flow: FunctionFlow, statement: cst.CSTNode, names: list[str]) -> bool:
    body = flow.node.body if isinstance(flow.node, cst.FunctionDef) else flow.node
    return deletable(body, {parameter.name for parameter in flow.info.parameters}, statement, names)


def _parents(node: cst.CSTNode) -> Iterator[tuple[cst.CSTNode, cst.CSTNode]]:
    todo = [node]
    while todo:
        current = todo.pop()
        for part in parts(current):
            yield part, current
            todo.append(part)


def _chain(node: cst.CSTNode, parents: Parents) -> Iterator[cst.CSTNode]:
    while node in parents:
        yield node
        node = parents[node]


def _in_block(node: cst.CSTNode, block: list[cst.CSTNode], parents: Parents) -> cst.CSTNode:
    """The statement of the block that `node` is part of; `node` itself where it is in none."""
    return next((s for s in _chain(node, parents) if any(s is known for known in block)), node)


def _block_of_all(flow: FunctionFlow, binds: Sequence[Op], parents: Parents) -> list[cst.CSTNode] | None:
    """The innermost block in which all bindings are surely made and all their readers stand."""
    readers = [node for bind in binds for node in liveness(flow).readers(bind)]
    for block in _sure_blocks(binds[0].node, parents):
        inside = [_in_block(node, block, parents) for node in readers]
        if any(s is node for s, node in zip(inside, readers)):
            continue
        if all(_same(block, bind.node, parents) for bind in binds):
            return block
    return None


def _same(block: list[cst.CSTNode], node: cst.CSTNode, parents: Parents) -> bool:
    return any([*map(id, block)] == [*map(id, other)] for other in _sure_blocks(node, parents))


def _sure_blocks(node: cst.CSTNode, parents: Parents) -> Iterator[list[cst.CSTNode]]:
    """The blocks that run to their end if `node` runs: its own, and those around `with` statements it is in."""
    for outer in _chain(node, parents):
        parent = parents[outer]
        if isinstance(parent, (cst.Module, cst.IndentedBlock)):
            yield list(parent.body)
            holder = parents.get(parent)
            if not isinstance(holder, cst.With) or any(swallows(item.item) for item in holder.items):
                return
