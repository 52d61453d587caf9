"""Plans into edits, rounds of fixes, the difference shown, and the file written."""

from __future__ import annotations

import ast
import cProfile
import os
import pickle
import pstats
import stat
import subprocess
import sys
import time
from pathlib import Path

import libcst as cst
import pytest
from fixing import marked, node_at, unit_at
from hypothesis import given, settings
from hypothesis import strategies as st

from torchmemlint.findings import Edit, Fix, Location
from torchmemlint.fixes import (
    FileChanged,
    Plan,
    apply,
    apply_checked,
    call_method,
    combine,
    insert_after,
    resolve,
    unified_diff,
    write_atomically,
)

NOWHERE = Location(1, 1)


def edit(start: int, end: int, content: str) -> Edit:
    return Edit(start, end, content, NOWHERE, NOWHERE)


def fix(*edits: tuple[int, int, str]) -> Fix:
    return Fix("", tuple(edit(*e) for e in edits), True)


def test_a_fix_is_plain_data_with_places_in_characters() -> None:
    source, spans = marked("a = 1\ns = 'äö𝄞'; y = «x + 1»\n")
    unit = unit_at(source, 0)
    node = node_at(unit, spans[0], (cst.BaseExpression,))
    found = resolve(call_method(node, "detach").unsafe("because").titled("so"), unit)
    assert found is not None
    assert pickle.loads(pickle.dumps(found)) == found
    assert (found.message, found.safe, found.reason) == ("so", False, "because")
    assert [(e.content, e.location, e.start) for e in found.edits] == [
        ("(", Location(2, 16), spans[0][0]),
        (").detach()", Location(2, 21), spans[0][1]),
    ]


def test_combined_plans_are_made_together_or_not_at_all() -> None:
    source, spans = marked("y = «a»\n«z» = b\n")
    unit = unit_at(source, 0)
    read, bound = (node_at(unit, span, (cst.BaseExpression,)) for span in spans)
    good, bad = call_method(read, "cpu"), call_method(bound, "cpu")
    assert resolve(good, unit) is not None
    assert resolve(combine([good, bad], "both"), unit) is None
    both = combine([good.unsafe("why"), good], "same")
    assert (both.safe, both.reason, len(both.steps)) == (False, "why", 1)
    assert resolve(Plan("nothing", ()), unit) is None


def test_two_insertions_at_one_place_are_refused() -> None:
    source, spans = marked("«a»\nb\n")
    unit = unit_at(source, 0)
    node = node_at(unit, spans[0], (cst.SimpleStatementLine,))
    first, second = insert_after(node, "c"), insert_after(node, "d")
    assert resolve(combine([first, second], ""), unit) is None
    assert resolve(combine([first, insert_after(node, "c")], ""), unit) == resolve(first.titled(""), unit)


@pytest.mark.parametrize(
    ("fixes", "result", "made"),
    [
        ([], b"abcdef", []),
        ([fix((1, 2, "X"))], b"aXcdef", [0]),
        ([fix((4, 5, "Y")), fix((1, 2, "X"))], b"aXcdYf", [1, 0]),
        ([fix((1, 3, "X")), fix((2, 4, "Y"))], b"aXdef", [0]),
        ([fix((1, 2, "X"), (4, 5, "Z")), fix((2, 4, "Y"))], b"aXcdZf", [0]),
        ([fix((1, 2, "X"), (4, 5, "Z")), fix((0, 0, "Y"), (5, 6, "V"))], b"Yabcd" + b"eV", [1]),
        ([fix((2, 2, "X")), fix((2, 2, "Y"))], b"abXcdef", [0]),
        ([fix((1, 2, "X")), fix((2, 2, "Y"))], b"aXcdef", [0]),
        ([fix((2, 2, ")")), fix((2, 2, ")"))], b"ab)cdef", [0]),
        ([fix((2, 2, "X\n"), (4, 5, "E")), fix((2, 2, "X\n"), (0, 1, "A"))], b"AbX\ncdEf", [1, 0]),
        ([fix((1, 2, "X")), fix((1, 2, "X"))], b"aXcdef", [0, 1]),
        ([fix((0, 0, "(")), fix((6, 6, ")"))], b"(abcdef)", [0, 1]),
        ([fix((0, 3, "")), fix((4, 6, "é"))], "dé".encode(), [0, 1]),
        ([fix((5, 7, "X"))], b"abcdef", []),
        ([fix((3, 2, "X"))], b"abcdef", []),
        ([fix((1, 4, "X"), (3, 5, "Y"))], b"abcdef", []),
        ([fix()], b"abcdef", []),
    ],
)
def test_one_round(fixes: list[Fix], result: bytes, made: list[int]) -> None:
    assert apply(b"abcdef", fixes) == (result, [fixes[i] for i in made])


@st.composite
def separate_edits(draw: st.DrawFn) -> tuple[str, list[tuple[int, int, str]]]:
    """A text and ranges of it that do not touch one another."""
    text = draw(st.text(st.characters(codec="utf-8"), max_size=60))
    cuts = sorted(draw(st.sets(st.integers(0, len(text)), max_size=16)))
    pairs = list(zip(cuts[::2], cuts[1::2]))
    return text, [(a, b, draw(st.text(st.characters(codec="utf-8"), max_size=3))) for a, b in pairs]


@given(separate_edits(), st.randoms())
def test_edits_that_do_not_touch_are_all_made(case: tuple[str, list[tuple[int, int, str]]], random) -> None:  # type: ignore[no-untyped-def]
    text, ranges = case
    pieces, at = [], 0
    for start, end, content in ranges:
        pieces += [text[at:start], content]
        at = end
    expected = "".join(pieces) + text[at:]
    in_bytes = [(len(text[:a].encode()), len(text[:b].encode()), c) for a, b, c in ranges]
    fixes, waiting = [], in_bytes[:]
    random.shuffle(waiting)
    while waiting:  # several edits to a fix, in any order of place
        size = random.randint(1, 3)
        fixes.append(fix(*sorted(waiting[:size])))
        del waiting[:size]
    result, made = apply(text.encode(), fixes)
    assert result.decode() == expected
    assert sorted(map(id, made)) == sorted(map(id, fixes))


RANGES = st.tuples(st.integers(0, 12), st.integers(0, 3), st.sampled_from(["", "X", "Y\n"]))


@settings(max_examples=300)
@given(st.lists(st.lists(RANGES, min_size=1, max_size=3), max_size=8))
def test_a_round_is_what_its_fixes_do_one_by_one(cases: list[list[tuple[int, int, str]]]) -> None:
    """Whatever is asked for: made fixes have all their edits in the result, and the first one that is sound is made."""
    data = b"0123456789abc"
    fixes = [fix(*sorted((a, a + n, c) for a, n, c in case)) for case in cases]
    result, made = apply(data, fixes)
    edits = {(e.start, e.end, e.content) for f in made for e in f.edits}
    expected = data
    for start, end, content in sorted(edits, reverse=True):
        expected = expected[:start] + content.encode() + expected[end:]
    assert result == expected
    assert bool(made) == any(apply(data, [f])[1] for f in fixes)
    assert all(not apply(data, [f])[1] or f in made or _conflicts(f, made) for f in fixes)


def _conflicts(one: Fix, others: list[Fix]) -> bool:
    return any(a.start <= b.end and b.start <= a.end for a in one.edits for o in others for b in o.edits)


def test_deletions_at_one_place_become_one_line() -> None:
    text = b"def f():\n    a()\n    b()\n"
    first, second, wide = fix((17, 17, "    del x\n")), fix((17, 17, "    del y, z\n")), fix((17, 17, "    del x, w\n"))
    data, made = apply(text, [second, first, wide])
    assert data == b"def f():\n    a()\n    del x, w, y, z\n    b()\n"
    assert len(made) == 3
    assert set(made) == {first, second, wide}
    outer = fix((25, 25, "del q\n"))
    assert apply(text, [outer, fix((25, 25, "    del x\n"))])[1] == [fix((25, 25, "    del x\n"))]
    assert apply(text, [first, fix((17, 17, "    c()\n"))])[1] == [fix((17, 17, "    c()\n"))]


def test_fixes_that_break_the_program_are_left_out() -> None:
    data = b"if a:\n    b\n    # -\n    c\nd = 1\n"
    gone_b, gone_c, other = fix((6, 12, "")), fix((20, 26, "")), fix((30, 31, "2"))
    result, made, broken = apply_checked(data, [gone_b, gone_c, other])
    assert result in (b"if a:\n    # -\n    c\nd = 2\n", b"if a:\n    b\n    # -\nd = 2\n")
    assert len(made) == 2
    assert len(broken) == 1
    assert apply_checked(data, [fix((0, 2, "("))]) == (data, [], [fix((0, 2, "("))])
    assert apply_checked(data, [other]) == (data.replace(b"1", b"2"), [other], [])


@given(st.lists(st.booleans(), min_size=1, max_size=20))
def test_every_good_fix_is_made_whatever_is_broken_beside_it(good: list[bool]) -> None:
    data = b"a = 1\n" * len(good)
    fixes = [fix((6 * i + 4, 6 * i + 5, "2" if ok else ")")) for i, ok in enumerate(good)]
    result, made, broken = apply_checked(data, fixes)
    assert made == [f for f, ok in zip(fixes, good) if ok]
    assert broken == [f for f, ok in zip(fixes, good) if not ok]
    assert result == b"".join(b"a = 2\n" if ok else b"a = 1\n" for ok in good)
    ast.parse(result)


def test_many_fixes_take_work_in_proportion() -> None:
    def steps(count: int) -> int:
        """The calls that are made to apply so many fixes."""
        fixes = [fix((10 * i, 10 * i + 2, "x")) for i in range(count)]
        profile = cProfile.Profile()
        applied = profile.runcall(apply, b"0123456789" * count, fixes)[1]
        assert len(applied) == count
        return pstats.Stats(profile).total_calls  # type: ignore[attr-defined, no-any-return]

    assert 0 < steps(2_000) < 11 * steps(200)


def test_unified_diff_can_be_applied(tmp_path: Path) -> None:
    before, after = "a\r\né\f\u2028\nc\nd", "a\r\ne\f\u2028\nc\nd\n"
    (tmp_path / "m.py").write_bytes(before.encode())
    patch = unified_diff("m.py", before, after)
    assert patch.startswith("--- m.py\n+++ m.py\n@@")
    subprocess.run(["git", "apply", "-p0"], input=patch.encode(), cwd=tmp_path, check=True)
    assert (tmp_path / "m.py").read_bytes() == after.encode()
    assert unified_diff("m.py", before, before) == ""


def test_writing_keeps_mode_and_links(tmp_path: Path) -> None:
    real, link = tmp_path / "real.py", tmp_path / "link.py"
    real.write_bytes(b"old")
    real.chmod(0o751)
    link.symlink_to("real.py")
    write_atomically(str(link), b"new\r\n", b"old")
    assert link.is_symlink()
    assert real.read_bytes() == b"new\r\n"
    assert stat.S_IMODE(real.stat().st_mode) == 0o751
    assert sorted(p.name for p in tmp_path.iterdir()) == ["link.py", "real.py"]


def test_a_file_changed_meanwhile_is_left(tmp_path: Path) -> None:
    path = tmp_path / "m.py"
    path.write_bytes(b"theirs")
    with pytest.raises(FileChanged, match="changed by another program"):
        write_atomically(str(path), b"ours", b"old")
    assert [(p.name, p.read_bytes()) for p in tmp_path.iterdir()] == [("m.py", b"theirs")]


def test_what_cannot_be_written_says_why(tmp_path: Path) -> None:
    path = tmp_path / "m.py"
    path.write_bytes(b"old")
    path.chmod(0o444)
    with pytest.raises(PermissionError, match="file is read-only"):
        write_atomically(str(path), b"new")
    assert path.read_bytes() == b"old"
    with pytest.raises(FileNotFoundError):
        write_atomically(str(tmp_path / "none.py"), b"new")
    with pytest.raises(OSError, match="not a regular file"):
        write_atomically(str(tmp_path), b"new")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="a superuser may write anywhere")
def test_a_read_only_folder_says_why(tmp_path: Path) -> None:
    path = tmp_path / "m.py"
    path.write_bytes(b"old")
    tmp_path.chmod(0o555)
    try:
        with pytest.raises(PermissionError, match="folder is read-only"):
            write_atomically(str(path), b"new")
    finally:
        tmp_path.chmod(0o755)


WRITER = """
import sys
from torchmemlint.fixes import write_atomically
print("go", flush=True)
others = [c for c in b"abc" if c != open(sys.argv[1], "rb").read(1)[0]]
for i in range(10**9):
    write_atomically(sys.argv[1], bytes([others[i % 2]]) * 300_000)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_killed_writer_leaves_a_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "m.py"
    path.write_bytes(b"_" * 300_000)
    for i in range(12):
        before = path.read_bytes()
        writer = subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE)
        assert writer.stdout is not None
        writer.stdout.readline()
        deadline = time.monotonic() + 60
        while path.read_bytes() == before and time.monotonic() < deadline:
            time.sleep(0.001)
        time.sleep(0.002 * i)
        writer.kill()
        writer.wait()
        writer.stdout.close()
        content = path.read_bytes()
        assert content != before
        assert len(content) == 300_000
        assert len(set(content)) == 1


def test_applying_needs_no_parser() -> None:
    """Fixes kept in the cache are applied without libcst; its import alone takes longer than a warm run may."""
    code = "import sys, torchmemlint.fixes as f; f.apply; f.write_atomically; sys.exit('libcst' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
