"""The markers and the tracker, on which all tests of meaning stand."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from markers import MarkerError, parse
from runner import shows
from tracker import Tracker, Usage

MIB = 1 << 20


def test_markers_are_comments_only() -> None:
    text = 'a = "# expect: TML101"\nb()  # expect: TML101, TML201\nc()  # note  # allow: TML202\n'
    markers = parse(text)
    assert sorted(markers.expected.elements()) == [(2, "TML101"), (2, "TML201")]
    assert markers.allowed == {(3, "TML202")}


@pytest.mark.parametrize("comment", ["# expect TML101", "# expect: TML1O1", "# Expect: TML101", "# expect:"])
def test_a_misspelt_marker_is_an_error(comment: str) -> None:
    with pytest.raises(MarkerError):
        parse(f"x = 1  {comment}\n")


def test_comparison_counts() -> None:
    markers = parse("f()  # expect: TML101, TML101\ng()  # allow: TML201\n")
    assert markers.compare([(1, "TML101"), (1, "TML101"), (2, "TML201")]) == ""
    assert "expected, not found" in markers.compare([(1, "TML101")])
    assert "found, not expected" in markers.compare([(1, "TML101")] * 3)


def measure(program: Callable[[torch.device, Callable[[], None]], object]) -> Usage:
    with Tracker() as tracker:
        program(tracker.device, tracker.probe)
    return tracker.usage


def mib(size: float, device: torch.device | str) -> torch.Tensor:
    return torch.zeros(int(size * MIB) // 4, device=device)


def test_views_share_and_copies_count() -> None:
    def program(device: torch.device, probe: Callable[[], None]) -> object:
        x = mib(2, device)
        views = [x.view(2, -1), x[5:], x.detach()]
        probe()
        copy = x.clone()
        probe()
        return views, copy

    usage = measure(program)
    assert usage.samples == [2 * MIB, 4 * MIB]


def test_host_memory_is_another_account() -> None:
    def program(device: torch.device, probe: Callable[[], None]) -> object:
        host = mib(4, "cpu")
        probe()
        moved = host.to(device)
        probe()
        back = moved.cpu()
        del moved
        probe()
        return host, back

    assert measure(program).samples == [0, 4 * MIB, 0]


def test_saved_tensors_count_until_backward() -> None:
    def program(device: torch.device, probe: Callable[[], None]) -> object:
        w = mib(1, device).requires_grad_()
        loss = w.exp().sum()
        probe()
        loss.backward()
        w.grad = None
        probe()
        return loss

    held, freed = measure(program).samples
    assert held >= 2 * MIB
    assert freed < 1.1 * MIB


def test_construction_from_a_tensor_is_seen() -> None:
    def program(device: torch.device, probe: Callable[[], None]) -> object:
        x = mib(1, device)
        y = torch.tensor(x.tolist(), device=device)
        probe()
        return x, y

    assert measure(program).samples == [2 * MIB]


def test_growth_is_told_from_warm_up() -> None:
    grown = Usage([MIB * n for n in range(8)], [8 * MIB], 8 * MIB)
    steady = Usage([MIB, 5 * MIB, 5 * MIB, 5 * MIB, 5 * MIB], [5 * MIB], 9 * MIB)
    assert shows("grows", grown, steady)
    assert not shows("grows", steady, steady)
    assert shows("none", steady, steady)
    with pytest.raises(ValueError, match="no such effect"):
        shows("leaks", grown, steady)
