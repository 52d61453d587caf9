"""Methods that a framework runs once a batch, and those that it hands all their results to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchmemlint import knowledge

if TYPE_CHECKING:
    from torchmemlint.flow.function import FunctionFlow
    from torchmemlint.flow.graph import Op
    from torchmemlint.index.model import FunctionInfo


def _batch(flow: FunctionFlow) -> str | None:
    project = flow.program.project
    owner = project.owner(flow.info)
    bases = project.all_bases(owner) if owner is not None and flow.info.name else ()
    return next((end for base in bases if (end := knowledge.framework_batch(base, flow.info.name)) is not None), None)


def per_batch(flow: FunctionFlow) -> bool:
    """Does the function's framework run it once a batch?"""
    return _batch(flow) is not None


def epoch_end(flow: FunctionFlow) -> FunctionInfo | None:
    """The method that is given all that this one has returned in the epoch; None where the class has none."""
    name = _batch(flow)
    owner = flow.program.project.owner(flow.info)
    found = flow.program.project.method(owner, name) if name and owner is not None else None
    return found if found is not None and len(found.parameters) == 2 else None


def written_dict(op: Op) -> bool:
    """Is it a dict whose keys are all written down?"""
    return op.name == "literal.dict" and bool(op.inputs) and not op.stores
