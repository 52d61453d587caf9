"""The public names for rules and programs that use torchmemlint as a library."""

from torchmemlint.findings import Diagnostic, Edit, Finding, Fix, Place, Severity
from torchmemlint.registry import Rule, on

__all__ = ["Diagnostic", "Edit", "Finding", "Fix", "Place", "Rule", "Severity", "on"]
