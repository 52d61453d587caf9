"""The storage tracker of `verify`, under the name by which the tests know it."""

from torchmemlint.verify.ledger import Ledger
from torchmemlint.verify.meter_cpu import Tracker
from torchmemlint.verify.usage import Usage

__all__ = ["Ledger", "Tracker", "Usage"]
