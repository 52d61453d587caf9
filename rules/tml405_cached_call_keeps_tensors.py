from __future__ import annotations

from collections.abc import Iterator

from torchmemlint.api import Finding, Rule, Severity, on
from torchmemlint.flow.caches import Cached, cached, memoised
from torchmemlint.flow.events import FunctionClosed
from torchmemlint.flow.values import Kind
from torchmemlint.index.marks import ATTRIBUTE, KEEPS


class CachedCallKeepsTensors(Rule):
    """A cache around a function or method keeps modules or tensors alive that the program has dropped.

    ## What it does
    Reports `functools.lru_cache` and `functools.cache` on methods of modules, on functions that take a module or a
    tensor, and on data sets' methods that return tensors; and dicts on objects or of a file in which a function looks
    a tensor up before it makes it, and from which nothing is ever taken out.

    ## Why it costs memory
    The cache belongs to the function and lives as long as the process. Its keys hold the arguments, `self` among them,
    its values hold the results: `del model` frees nothing of a model in a key. Tensors are compared by identity, so a
    tensor in a key never hits and each call adds an entry with all its bytes.

    ## Known limits
    A table that depends on numbers and strings alone is a hint: it grows with the number of different arguments only.
    So is a dict of tensors, unless its keys are the `id()` of objects, which never come again.

    ## Fix safety
    No fix: the table has to move into the object, with an end to its entries, or the key to sizes and devices.

    ## References
    - Python documentation, "Programming FAQ": how do I cache method calls?
    """

    code = "TML405"
    name = "cached-call-keeps-tensors"
    severity = Severity.WARNING
    words = frozenset({"lru_cache", "cache", "alru_cache", ATTRIBUTE, KEEPS})
    loud = (frozenset({"lru_cache", "cache", "alru_cache", "id"}),)

    @on(FunctionClosed)
    def memos(self, event: FunctionClosed) -> Iterator[Finding]:
        """One finding a dict that a function fills."""
        for memo in memoised(event.function):
            what = "object that was ever passed, also when it is gone" if memo.by_identity else "key that ever came"
            message = f"`{memo.name}` keeps the tensors of every {what}: nothing takes an entry out"
            severity = self.severity if memo.by_identity else Severity.HINT
            yield self.finding(event, memo.op.node, message, severity=severity)

    @on(FunctionClosed)
    def check(self, event: FunctionClosed) -> Iterator[Finding]:
        """One finding a cached function."""
        cache = cached(event.function)
        if cache is None:
            return
        told = self._told(event, cache)
        if told is not None:
            severity, what = told
            limit = "until the process ends" if cache.entries is None else f"for up to {cache.entries} calls"
            message = f"the cache of `{event.function.info.name}` keeps {what} {limit}"
            yield self.finding(event, cache.decorator, message, severity=severity)

    def _told(self, event: FunctionClosed, cache: Cached) -> tuple[Severity, str] | None:
        if cache.tensors:
            severity = Severity.ERROR if cache.entries is None else self.severity
            return severity, f"`{cache.tensors[0]}` of every call, which never hits again,"
        if cache.modules:
            return self.severity, f"every `{cache.modules[0]}` that it was called with, weights included,"
        if cache.of_module:
            return self.severity, "`self` of every instance, its weights included,"
        if cache.returns is None:
            return None
        if cache.of_dataset:
            return (Severity.ERROR if cache.entries is None else Severity.HINT), "the tensors of every item"
        numbers = [p for p in event.function.info.parameters if p.name != "self"]
        if cache.returns is Kind.TENSOR and numbers:
            return Severity.HINT, "the returned tensor of each different argument"
        return None
