"""What the name of a library's class tells of it as a base: is it an nn.Module?"""

from __future__ import annotations

import builtins
import sys

from torchmemlint.flow.values import Fact

# Below these, classes are modules unless listed as something else.
_MODULES = ("torch.nn.", "torch.ao.nn.", "torchvision.models.", "torchaudio.models.")
_OTHERS = ("torch.nn.Parameter", "torch.nn.parameter.", "torch.nn.utils.", "torch.nn.init.", "torch.nn.Buffer")
_MODULE_NAMES = ("Module", "PreTrainedModel")  # what a module class of any library may end in
_OTHER_NAMES = ("DataModule",)
# Packages and classes that hold no modules.
_NEVER = (
    "torch.utils.",
    "torch.optim.",
    "torch.autograd.",
    "torch.fx.",
    "torch.distributions.",
    "torch.Tensor",
    "numpy.",
    "pandas.",
    "pydantic.",
    "typing_extensions.",
    "pytest.",
    "yaml.",
    "flax.",  # its own nn.Module holds no torch parameters
    "haiku.",
    "equinox.",
)
_BUILTINS = frozenset(name for name, value in vars(builtins).items() if isinstance(value, type))


def is_module_base(dotted: str) -> Fact:
    """Does a class become an nn.Module by this external base? MAYBE where the name does not tell."""
    head, _, rest = dotted.partition(".")
    if head == "torch" and dotted.endswith(_MODULE_NAMES):
        return Fact.YES
    if dotted.startswith((*_OTHERS, *_NEVER)) or dotted.endswith(_OTHER_NAMES):
        return Fact.NO
    if head in sys.stdlib_module_names or (not rest and head in _BUILTINS):
        return Fact.NO
    return Fact.YES if dotted.startswith(_MODULES) or dotted.endswith(_MODULE_NAMES) else Fact.MAYBE
