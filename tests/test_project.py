"""Files linked by their imports, on real small trees."""

from __future__ import annotations

import pickle
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from torchmemlint.flow.values import Fact
from torchmemlint.index.build import index_source, module_name
from torchmemlint.index.model import ClassInfo, FileIndex, FunctionInfo
from torchmemlint.index.project import COMMON_CALLERS, ProjectIndex
from torchmemlint.source import read

Tree = Callable[..., "Project"]


class Project(ProjectIndex):
    """A ProjectIndex whose files are found by their path below the tree."""

    def __init__(self, root: Path, roots: tuple[str, ...] = ()) -> None:
        self.root = root
        paths = sorted(str(path) for path in root.rglob("*.py"))
        super().__init__({path: index_source(read(path), *module_name(path, roots)) for path in paths})

    def at(self, path: str) -> FileIndex:
        return self.files[str(self.root / path)]

    def seen(self, path: str, name: str) -> str:
        """What a name means in a file: a project object as `kind qualname @ path`, else its dotted name."""
        found = self.lookup(self.at(path), name)
        if isinstance(found, str):
            return found
        what = getattr(found, "qualname", "")
        return (
            f"{type(found).__name__.removesuffix('Info')} {what} @ {Path(found.path).relative_to(self.root).as_posix()}"
        )

    def the(self, function_id: str) -> FunctionInfo:
        found = self.function(function_id)
        assert found is not None
        return found

    def caller_names(self, function_id: str) -> set[str]:
        info = self.the(function_id)
        return {f"{Path(c.path).stem}:{c.qualname}" for c in self.callers(info)}


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    def make(files: dict[str, str], roots: tuple[str, ...] = ()) -> Project:
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(textwrap.dedent(text), encoding="utf-8")
        return Project(tmp_path, tuple(str(tmp_path / root) for root in roots))

    return make


def test_re_exports_aliases_and_stars_are_followed(tree: Tree) -> None:
    project = tree(
        {
            "pkg/__init__.py": "from .core import build as make\nfrom .stars import *\nfrom . import nets\n",
            "pkg/core.py": "def build(): ...\nrun = build\nsize = 3\n",
            "pkg/stars.py": "from .hidden import *\nfrom torch.nn import functional as F\n",
            "pkg/hidden.py": "def deep(): ...\ndef _private(): ...\n",
            "pkg/nets/__init__.py": "from .net import Net\n",
            "pkg/nets/net.py": "class Net:\n    class Part: ...\n    def fit(self): ...\n",
            "main.py": "import pkg\nimport pkg.nets.net as n\nfrom pkg import F, make as m, deep, nets\n",
        }
    )
    assert project.seen("main.py", "m") == "Function build @ pkg/core.py"
    assert project.seen("main.py", "pkg.core.run") == "Function build @ pkg/core.py"
    assert project.seen("main.py", "deep") == "Function deep @ pkg/hidden.py"
    assert project.seen("main.py", "pkg.make") == "Function build @ pkg/core.py"
    assert project.seen("main.py", "nets") == "FileIndex  @ pkg/nets/__init__.py"
    assert project.seen("main.py", "nets.Net.fit") == "Function Net.fit @ pkg/nets/net.py"
    assert project.seen("main.py", "n.Net.Part") == "Class Net.Part @ pkg/nets/net.py"
    assert project.seen("main.py", "F.relu") == "torch.nn.functional.relu"
    assert project.seen("main.py", "pkg._private") == "pkg._private"
    assert project.dotted(project.at("main.py"), "m") == "pkg.core.build"
    assert project.resolve("pkg.nets.Net.fit") is project.function("pkg.nets.net:Net.fit")
    assert project.resolve("pkg.nowhere") is None
    assert project.resolve("torch.nn.Linear", project.at("main.py")) is None


def test_names_the_project_does_not_define(tree: Tree) -> None:
    project = tree(
        {
            "a.py": "import numpy as np\nfrom torch.nn import *\nlocal = 1\ndef f(): ...\n",
            "b.py": "from a import f\n",
            "c.py": "from torch import *\nfrom numpy import *\n",
        }
    )
    assert project.seen("a.py", "np.zeros") == "numpy.zeros"
    assert project.seen("a.py", "Linear") == "torch.nn.Linear"
    assert project.seen("a.py", "print") == "print"
    assert project.seen("a.py", "local.item") == "a.local.item"
    assert project.seen("a.py", "f.cache") == "a.f.cache"
    assert project.seen("b.py", "Linear") == "Linear"
    assert project.seen("c.py", "zeros") == "zeros"  # of which library?


def test_scripts_side_by_side(tree: Tree) -> None:
    project = tree(
        {
            "mnist/main.py": "from utils import Meter\nimport model\n",
            "mnist/utils.py": "class Meter: ...\n",
            "mnist/model.py": "def make(): ...\n",
            "imagenet/main.py": "from utils import Meter\nfrom model import make\n",
            "imagenet/utils.py": "class Meter: ...\n",
        },
        roots=(".",),
    )
    assert project.seen("mnist/main.py", "Meter") == "Class Meter @ mnist/utils.py"
    assert project.seen("imagenet/main.py", "Meter") == "Class Meter @ imagenet/utils.py"
    assert project.seen("mnist/main.py", "model.make") == "Function make @ mnist/model.py"
    assert project.seen("imagenet/main.py", "make") == "model.make"  # another program's file
    ids = [key for file in project.files.values() for key in file.functions]
    assert len(ids) == len(set(ids))


def test_scripts_of_one_name_are_told_apart_by_path(tree: Tree) -> None:
    text = "class Net:\n    def fit(self): ...\n\ndef run(): Net().fit()\n"
    project = tree({"a/main.py": text, "b/main.py": text})
    for folder in ("a", "b"):
        file = project.at(f"{folder}/main.py")
        net = file.classes["main:Net"]
        assert project.file_of(net) is file
        method = project.method(net, "fit")
        assert method is file.functions["main:Net.fit"]
        assert {caller.path for caller in project.callers(method)} == {file.path}


@pytest.mark.parametrize("package", [True, False])
@pytest.mark.parametrize("roots", [(), (".",)])
def test_a_source_folder_seen_from_above(tree: Tree, package: bool, roots: tuple[str, ...]) -> None:
    files = {
        "src/foo/utils.py": "def helper(): ...\n",
        "src/foo/train.py": """
            from foo.utils import helper as a
            from utils import helper as b
            from .utils import helper as c
            """,
        "tests/test_foo.py": "from foo.utils import helper\nimport foo.utils\n",
    }
    if package:
        files["src/foo/__init__.py"] = ""
    project = tree(files, roots)
    for name in "abc":
        assert project.seen("src/foo/train.py", name) == "Function helper @ src/foo/utils.py"
    assert project.seen("tests/test_foo.py", "helper") == "Function helper @ src/foo/utils.py"
    assert project.seen("tests/test_foo.py", "foo.utils.helper") == "Function helper @ src/foo/utils.py"


def test_a_file_named_as_a_library_does_not_replace_it(tree: Tree) -> None:
    project = tree(
        {
            "pkg/__init__.py": "",
            "pkg/logging.py": "def getLogger(): ...\n",
            "pkg/torch.py": "def zeros(): ...\n",
            "pkg/accelerate.py": "from accelerate import Accelerator\nimport torch\n",
            "pkg/train.py": "import logging\nimport torch\nfrom accelerate import Accelerator\n",
        }
    )
    assert project.seen("pkg/train.py", "logging.getLogger") == "logging.getLogger"
    assert project.seen("pkg/train.py", "torch.zeros") == "torch.zeros"
    assert project.seen("pkg/train.py", "Accelerator") == "accelerate.Accelerator"
    assert project.seen("pkg/accelerate.py", "Accelerator") == "accelerate.Accelerator"


def test_a_function_named_as_its_module(tree: Tree) -> None:
    project = tree(
        {
            "pkg/__init__.py": "from .nms import nms, batched\n",
            "pkg/nms.py": "from torchvision.ops import nms\ndef batched(): ...\n",
            "pkg/gelu.py": "def gelu(): ...\n",
            "pkg/sub/__init__.py": "from ..gelu import gelu\nfrom .act import act\n",
            "pkg/sub/act.py": "def act(): ...\n",
            "main.py": "from pkg import nms, batched\nfrom pkg.sub import act, gelu\nimport pkg.sub.act as module\n",
        }
    )
    assert project.seen("main.py", "batched") == "Function batched @ pkg/nms.py"
    assert project.seen("main.py", "nms") == "torchvision.ops.nms"
    assert project.seen("main.py", "gelu") == "Function gelu @ pkg/gelu.py"
    assert project.seen("main.py", "act") == "Function act @ pkg/sub/act.py"


def test_cycles_end(tree: Tree) -> None:
    project = tree(
        {
            "a.py": "from b import x, f\nfrom b import *\nclass A(B): ...\nname = other\nother = name\n",
            "b.py": "from a import x\nfrom a import *\nfrom a import A\nclass B(A): ...\ndef f(): ...\n",
            "pkg/__init__.py": "from . import name\nfrom .name import name\n",
            "pkg/name.py": "from . import name\n",
        }
    )
    assert project.seen("a.py", "x") in ("b.x", "a.x")
    assert project.seen("a.py", "f") == "Function f @ b.py"
    assert project.seen("a.py", "nothing") == "nothing"
    assert project.seen("a.py", "name").startswith("a.")
    assert isinstance(project.lookup(project.at("pkg/__init__.py"), "name"), (str, FileIndex))
    assert [info.name for info in project.mro("b:B")] == ["B", "A"]
    assert [info.name for info in project.mro("a:A")] == ["A", "B"]
    assert [info.name for info in project.subclasses("a:A")] == ["B"]
    assert project.is_module_class("a:A") is Fact.NO
    assert project.method("a:A", "missing") is None


HIERARCHY = {
    "base.py": """
        import torch
        from torch import nn
        class Root(nn.Module):
            def forward(self): ...
            def step(self): self.forward()
            def fit(self): self.step()
        """,
    "nets.py": """
        import base
        from base import Root as R
        class Left(R):
            def left(self): ...
        class Right(base.Root):
            def step(self): ...
        class Both(Left, Right): ...
        """,
}


def test_hierarchy(tree: Tree) -> None:
    project = tree(HIERARCHY)
    assert [info.name for info in project.mro("nets:Both")] == ["Both", "Left", "Right", "Root"]
    assert project.external_bases("nets:Both") == {"torch.nn.Module"}
    assert project.method("nets:Both", "step") is project.function("nets:Right.step")
    assert project.method("nets:Both", "forward") is project.function("base:Root.forward")
    assert [info.name for info in project.subclasses("base:Root")] == ["Left", "Right", "Both"]
    assert project.is_module_class("nets:Both") is Fact.YES
    assert project.resolve("nets.Both.forward") is project.function("base:Root.forward")
    owner = project.owner(project.the("nets:Left.left"))
    assert owner is project.class_("nets:Left")


@pytest.mark.parametrize(
    ("bases", "expected"),
    [
        ("", Fact.NO),
        ("object", Fact.NO),
        ("Exception", Fact.NO),
        ("abc.ABC", Fact.NO),
        ("torch.nn.Module", Fact.YES),
        ("torch.nn.Linear", Fact.YES),
        ("torch.nn.Parameter", Fact.NO),
        ("torch.jit.ScriptModule", Fact.YES),
        ("torch.utils.data.Dataset", Fact.NO),
        ("torch.autograd.Function", Fact.NO),
        ("torch.optim.Optimizer, abc.ABC", Fact.NO),
        ("pytorch_lightning.LightningModule", Fact.YES),
        ("pytorch_lightning.LightningDataModule", Fact.NO),
        ("transformers.PreTrainedModel", Fact.YES),
        ("flax.linen.Module", Fact.NO),
        ("library.Thing", Fact.MAYBE),
        ("library.Thing, torch.nn.Module", Fact.YES),
        ("factory()", Fact.MAYBE),
        ("Base if flag else object", Fact.MAYBE),
        ("types.Generic[int], Mixin", Fact.NO),
    ],
)
def test_is_it_a_module(tree: Tree, bases: str, expected: Fact) -> None:
    imports = "import abc, library, torch, pytorch_lightning, transformers, flax, types\n"
    project = tree({"m.py": f"{imports}class Mixin: ...\nclass A({bases}): ...\n"})
    assert project.is_module_class("m:A") is expected
    assert project.is_module_class("m:Unknown") is Fact.MAYBE


def test_names_given_by_star_imports(tree: Tree) -> None:
    project = tree(
        {
            "m.py": """
                import numpy as np
                from torch.nn import *
                from own import *
                class A(Module): ...
                class B(np.ndarray): ...
                class C(Exception): ...
                class D(Own): ...
                """,
            "own.py": "class Own: ...\n",
        }
    )
    file = project.at("m.py")
    bases = [project.canonical(file, info.bases[0]) for info in file.classes.values()]
    assert bases == ["torch.nn.Module", "numpy.ndarray", "Exception", "own.Own"]
    assert project.is_module_class("m:A") is Fact.YES
    assert [info.id for info in project.subclasses("own:Own")] == ["m:D"]


def test_mentions(tree: Tree) -> None:
    project = tree(HIERARCHY)
    assert [f.id for f in project.mentions("forward")] == ["base:Root.step"]
    assert project.attribute_readers("fit") == []  # defined, read by none
    assert project.attribute_readers("step") == [project.the("base:Root.fit")]
    assert [f.id for f in project.mentions("Right")] == ["nets:"]  # as a base
    assert project.mentions("absent") == []


def test_callers_of_functions(tree: Tree) -> None:
    project = tree(
        {
            "pkg/__init__.py": "from .loop import train\n",
            "pkg/loop.py": "def train(): ...\ndef again(): train()\n",
            "pkg/star.py": "from .loop import *\ndef star(): train()\n",
            "by_name.py": "from pkg import train\ndef direct(): train()\ndef idle(): ...\n",
            "renamed.py": "from pkg.loop import train as fit\ndef renamed(): fit()\n",
            "by_module.py": "import pkg.loop as l\nl.train()\n",
            "by_package.py": "import pkg\ndef package(): pkg.loop.train()\n",
            "lazy.py": "def lazy():\n    from pkg.loop import train\n    train()\n",
            "other.py": "def train(): ...\ndef unrelated(): train()\n",
        }
    )
    assert project.caller_names("pkg.loop:train") == {
        "loop:again",
        "star:star",
        "by_name:direct",
        "renamed:renamed",
        "by_module:",
        "by_package:package",
        "lazy:lazy",
    }


def test_callers_of_methods_and_constructors(tree: Tree) -> None:
    project = tree(
        {
            **HIERARCHY,
            "use.py": "from nets import Both\ndef make():\n    return Both()\ndef use(b):\n    b.step()\n",
            "far.py": "def far(x):\n    x.step()\n",
            "cls.py": "class P:\n    def __init__(self): ...\ndef build(): return P()\n",
            "sub.py": "from cls import P as Q\ndef renamed(): return Q()\n",
        }
    )
    assert project.caller_names("nets:Right.step") == {"base:Root.fit", "use:use"}
    assert project.caller_names("base:Root.step") == {"base:Root.fit", "use:use"}
    assert project.caller_names("cls:P.__init__") == {"cls:build", "sub:renamed"}
    assert project.callers(project.at("cls.py").functions["cls:"]) == []


def test_names_too_common_are_flagged(tree: Tree) -> None:
    calls = "".join(f"def f{at}(x): x.update()\n" for at in range(COMMON_CALLERS + 1))
    project = tree({"m.py": f"class A:\n    def update(self): ...\n    def rare(self): ...\n{calls}"})
    update = project.the("m:A.update")
    assert len(project.callers(update)) == COMMON_CALLERS + 1
    assert project.is_common(update)
    assert not project.is_common(project.the("m:A.rare"))


def test_what_made_an_imported_variable(tree: Tree) -> None:
    project = tree(
        {
            "models.py": "from torch import nn\nnet = nn.Linear(1, 1)\nsize = 2\n",
            "main.py": "from models import net as n, size\nimport models\nown = models.make()\n",
        }
    )
    main = project.at("main.py")
    assert project.constructed(main, "n") == "torch.nn.Linear"
    assert project.constructed(main, "models.net") == "torch.nn.Linear"
    assert project.constructed(main, "own") == "models.make"
    assert project.constructed(main, "size") is None
    assert project.constructed(main, "undefined") is None


def test_pickling_leaves_lookups_behind(tree: Tree) -> None:
    project = ProjectIndex(tree(HIERARCHY).files)
    project.mro("nets:Both")
    project.mentions("step")
    small = pickle.dumps(ProjectIndex(project.files))
    again = pickle.loads(pickle.dumps(project))
    assert len(pickle.dumps(project)) == len(small)
    assert again.files == project.files
    assert isinstance(again.resolve("nets.Both"), ClassInfo)


def test_relative_paths_resolve_alike(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    project = tree({"main.py": "from utils import f\n", "utils.py": "def f(): ...\n", "__init__.py": ""})
    monkeypatch.chdir(project.root)
    for start in ("", "./"):
        names = [f"{start}{name}" for name in ("main.py", "utils.py", "__init__.py")]
        files = {name: index_source(read(name), *module_name(name)) for name in names}
        found = ProjectIndex(files).lookup(files[names[0]], "f")
        assert isinstance(found, FunctionInfo)
        assert found.path == names[1]
