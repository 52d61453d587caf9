"""Pseudo-words that only linked files tell: who keeps what it is handed, who is handed something live, what aids a
forward."""

from __future__ import annotations

from indexing import index

from torchmemlint.index.build import index_source
from torchmemlint.index.marks import AIDS, ATTRIBUTE, COLLECTS, KEEPERS, KEEPS
from torchmemlint.index.project import ProjectIndex
from torchmemlint.source import Source

LINKED = {AIDS, ATTRIBUTE, COLLECTS, KEEPERS}


def linked(text: str) -> dict[str, frozenset[str]]:
    """The marks in question of each function of a file."""
    file = index(text)
    project = ProjectIndex({file.path: file})
    return {info.qualname: project.marks(info) & LINKED for info in file.functions.values() if info.name}


def test_who_hands_its_own_value_to_a_function_that_keeps_it() -> None:
    marks = linked(
        """
        LOSSES = []
        def note(loss): LOSSES.append(loss)
        def through(loss): return note(loss)
        def run(net, x):
            note(net(x))
            return x
        def far(net, x): return through(net(x))
        def counts(net, x): return note(3)
        """
    )
    assert marks["note"] == {ATTRIBUTE, COLLECTS}
    assert KEEPERS in marks["run"]
    assert KEEPERS in marks["far"]
    assert KEEPERS not in marks["counts"]
    assert KEEPERS not in marks["through"]


def test_what_is_kept_of_a_parameter_counts_where_something_live_may_be_given() -> None:
    source = """
        class Meter:
            def add(self, value): self.values.append(value)
            def reset_to(self, value): self.value = value
            def again(self, value): self.reset_to(value)
        """
    assert linked(source)["Meter.add"] == set()
    assert linked(source)["Meter.reset_to"] == set()
    live = source + "\n        def run(meter, net, x): meter.again(net(x))\n"
    assert linked(live)["Meter.reset_to"] == {ATTRIBUTE}  # through `again`
    assert linked(live)["Meter.add"] == set()
    hooked = source + "\n        def watch(meter, layer): layer.register_forward_hook(meter.add)\n"
    assert linked(hooked)["Meter.add"] == {ATTRIBUTE, COLLECTS}


def test_a_container_that_the_function_makes_keeps_in_loops_alone() -> None:
    marks = linked(
        """
        def once(net, x):
            found = []
            found.append(net(x))
            return found
        def looped(net, xs):
            found = []
            for x in xs: found.append(net(x))
            return found
        def alias(net, x, state):
            found = state.items
            found.append(net(x))
        """
    )
    assert marks["once"] == set()
    assert marks["looped"] == {COLLECTS}
    assert marks["alias"] == {ATTRIBUTE, COLLECTS}


def test_methods_of_one_name_are_told_apart_where_they_are_called_on_the_same_object() -> None:
    marks = linked(
        """
        class Keeping:
            def features(self, x):
                self.last = x
                return x
            def run(self, x): return self.features(self.net(x))
        class Plain:
            def features(self, x): return x
            def run(self, x): return self.features(self.net(x))
        class Heir(Plain):
            def features(self, x):
                self.last = x
                return x
        class Other:
            def features(self, x): return x
            def run(self, x): return self.features(self.net(x))
        """
    )
    assert KEEPERS in marks["Keeping.run"]
    assert KEEPERS in marks["Plain.run"]
    assert KEEPERS not in marks["Other.run"]
    assert ATTRIBUTE in marks["Heir.features"]


def test_methods_that_forwards_use_are_parts_of_them() -> None:
    marks = linked(
        """
        from torch import nn
        class Net(nn.Module):
            def forward(self, x): return self.head(self.features(x))
            def features(self, x): return self.stage(x)
            def stage(self, x): return x
            def predict(self, xs): return [self.features(x) for x in xs]
        class Wrapper(nn.Module):
            def forward(self, x): return self.net.encode(x)
        class Encoder(nn.Module):
            def encode(self, x): return x
        class Trainer:
            def features(self, x): return x
        """
    )
    aids = {name for name, found in marks.items() if AIDS in found}
    assert aids == {"Net.features", "Net.stage", "Encoder.encode"}


def test_a_function_keeps_what_it_is_given_only_where_it_outlives_the_call() -> None:
    file = index("def f(x):\n    row = {}\n    row['x'] = x\n    return row\ndef g(x, row):\n    row['x'] = x\n")
    assert [KEEPS in info.marks for info in file.functions.values() if info.name] == [False, True]


def test_a_function_of_unlinked_files_freezes_nothing_here() -> None:
    texts = {
        "here": "def train(net): net.train()",
        "other": "def train(net): net.requires_grad_(False)",
        "user": "from other import train\ndef run(net): train(net)",
    }
    files = [index_source(Source(f"{name}.py", text.encode()), name, False) for name, text in texts.items()]
    project = ProjectIndex({file.path: file for file in files})
    may = {key: project.may_freeze(info) for file in files for key, info in file.functions.items() if info.name}
    assert may == {"here:train": False, "other:train": True, "user:run": True}
