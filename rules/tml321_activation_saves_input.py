from __future__ import annotations

from collections.abc import Iterator

from torchmemlint.api import Finding, Rule, Severity, on
from torchmemlint.fixes import Plan, set_keyword
from torchmemlint.flow.events import OpClosed
from torchmemlint.flow.graph import Op
from torchmemlint.flow.handed import runs_with_grad
from torchmemlint.flow.patterns import flag, is_module, maker, only_reader

LAYERS = ("Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d", "Linear")
NORMS = ("BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d", "GroupNorm")
OPERATORS = frozenset(f"torch.{n}" for n in "conv1d conv2d conv3d linear batch_norm instance_norm group_norm".split())


class ActivationSavesInput(Rule):
    """A leaky or exponential activation out of place keeps its input, which nothing else needs, beside its result.

    ## What it does
    Reports, as a hint, `F.leaky_relu`, `F.elu` and their like on the output of a convolution, linear or normalisation
    layer that nothing else reads, where grad may be on.

    ## Why it costs memory
    Their backward formulas read the input; in place they read the result. The layer before does not need its output,
    and the next layer saves the activation's result anyway: out of place both stay until the backward, in a chain of
    convolutions twice the activations. `relu` and `dropout` save no input, and gain nothing in place.

    ## Known limits
    A hint: in place, a hook that keeps the layer's output sees the activation instead. Activations that are modules are
    not looked at; `elu` in place needs a positive alpha.

    ## Fix safety
    `inplace=True` is added. Values and gradients stay. Unsafe: hooks and traces of the layer see its output changed.

    ## References
    - PyTorch documentation, `torch.nn.functional.leaky_relu`; derivative formulas in the torch distribution
    """

    code = "TML321"
    name = "activation-saves-input"
    severity = Severity.HINT
    words = frozenset({"leaky_relu", "elu", "celu", "rrelu", "hardtanh", "relu6"})

    @on(OpClosed, "torch.leaky_relu", "torch.elu", "torch.celu", "torch.rrelu", "torch.hardtanh", "torch.relu6")
    def check(self, event: OpClosed) -> Iterator[Finding]:
        """One finding an activation."""
        op = event.op
        made = maker(op.receiver) if op.receiver is not None else None
        if made is None or only_reader(made) is not op or not _layer(made) or made.loops != op.loops:
            return
        given = op.argument(None, "inplace")
        if given is not None and flag(op, "inplace") is not False or not runs_with_grad(event.function, op):
            return
        what = (
            "the layer's output is kept for the backward beside the activation's result, though nothing else reads it: "
            "in place only the result is kept"
        )
        plan = set_keyword(op.node, "inplace", "True")
        reason = "hooks and traces of the layer see its output changed"
        yield self.finding(event, op.node, what, fix=Plan("write in place", plan.steps, False, reason))


def _layer(op: Op) -> bool:
    """Does the operation give a tensor of its own that its backward does not read?"""
    return op.name in OPERATORS or is_module(op, *LAYERS, *NORMS)
