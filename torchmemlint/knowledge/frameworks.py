"""How training frameworks run the methods that users override: the file `frameworks.toml`."""

from __future__ import annotations

from functools import cache, lru_cache

from torchmemlint.knowledge.tables import Names, data


@cache
def _hooks() -> list[tuple[Names, Names]]:
    return [
        (Names([(True, framework["bases"])]), Names(framework["hooks"].items()))
        for framework in data("frameworks.toml")["framework"]
    ]


@cache
def other_frameworks() -> frozenset[str]:
    """The packages of libraries that have modules like torch's."""
    return frozenset(data("frameworks.toml")["others"])


@lru_cache(maxsize=4096)
def framework_hook(base: str, method: str) -> str | None:
    """How a framework runs `method` of a subclass of `base`: "no_grad", "returns_loss" (what it returns is
    backpropagated), "after_backward"; None: nothing known."""
    for bases, hooks in _hooks():
        if bases.get(base) and (found := hooks.get(method)):
            return str(found)
    return None


@cache
def _handed_modules() -> list[tuple[Names, dict[str, str]]]:
    return [
        (Names([(True, framework["bases"])]), framework.get("modules", {}))
        for framework in data("frameworks.toml")["framework"]
    ]


@lru_cache(maxsize=4096)
def framework_module(base: str, method: str) -> str | None:
    """The parameter in which a framework hands its model to `method` of a subclass of `base`; None: not known."""
    return next((given[method] for bases, given in _handed_modules() if method in given and bases.get(base)), None)


@cache
def _batches() -> list[tuple[Names, Names, dict[str, str]]]:
    return [
        (Names([(True, framework["bases"])]), Names([(True, framework["batches"])]), framework.get("epochs", {}))
        for framework in data("frameworks.toml")["framework"]
        if "batches" in framework
    ]


@lru_cache(maxsize=4096)
def framework_batch(base: str, method: str) -> str | None:
    """Does a framework run `method` of a subclass of `base` once a batch? The name of the method that it hands all the
    results to, if the class has one; empty where there is no such method; None: not once a batch, or not known."""
    return next((ends.get(method, "") for bases, run, ends in _batches() if run.get(method) and bases.get(base)), None)


@cache
def epoch_ends() -> dict[str, str]:
    """Methods that some framework runs once a batch, with the name of the one that it hands all their results to."""
    return {method: end for _, _, ends in _batches() for method, end in ends.items()}


def stepper(dotted: str) -> bool:
    """Does the class run a function on each batch without a backward on what that returns?"""
    return dotted in data("frameworks.toml")["steppers"]["names"]


def _call(table: str, method: str) -> int | None:
    position = data("frameworks.toml")[table].get(method)
    return None if position is None else int(position)


def backward_call(method: str) -> int | None:
    """Position of the argument a method of that name backpropagates; -1: its receiver (Tensor.backward); None: none.
    Where the receiver of `backward` is no tensor, ask `engine_backward`."""
    return _call("backward", method)


def engine_backward(method: str) -> int | None:
    """As `backward_call`, for receivers that are not tensors: `accelerator.backward(loss)` is 0."""
    return _call("engine_backward", method)


def scales_loss(method: str) -> int | None:
    """Position of the loss that a method hands on scaled, for backward: `scaler.scale(loss)` is 0."""
    return _call("scales", method)


def detaching_call(method: str) -> bool:
    """Does a framework method of that name detach what it is given before keeping it (`self.log`)?"""
    return method in data("frameworks.toml")["detaching"]["methods"]
