"""Plots of memory over time as inline SVG. Colours are classes, so that the page's style sheet decides them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from html import escape

from torchmemlint.verify.judge import human
from torchmemlint.verify.usage import Usage

WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 560, 190, 64, 10, 22
MIB = 1 << 20


def timelines(usages: Mapping[str, Usage]) -> str:
    """Bytes alive after each allocation and release, one line for each variant, drawn over one another. The horizontal
    axis is the program's course: each variant is stretched to the full width."""
    drawn = {name: usage for name, usage in usages.items() if len(usage.timeline) > 1}
    if not drawn:
        return ""
    top = _nice(max(max(usage.timeline) for usage in drawn.values()))
    parts = [*_grid(top), *(_line(name, usage, top) for name, usage in drawn.items()), *_steps(drawn)]
    legend = "".join(f'<span class="key {escape(name)}">{escape(name)}</span>' for name in drawn)
    label = "Memory in use over the course of the program"
    svg = f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{label}">{"".join(parts)}</svg>'
    return f"<figure class=timeline>{svg}<figcaption>{legend}</figcaption></figure>"


def _nice(value: float) -> float:
    """The next round number of MiB that is not below."""
    step = 1.0
    while step * 4 * MIB < value:
        step *= 2
    return max(1.0, -(-value // (step * MIB)) * step) * MIB


def _y(value: float, top: float) -> float:
    return round(TOP + (HEIGHT - TOP - BOTTOM) * (1 - max(value, 0.0) / top), 1)


def _x(share: float) -> float:
    return round(LEFT + (WIDTH - LEFT - 6) * share, 1)


def _grid(top: float) -> list[str]:
    lines = []
    for quarter in range(5):
        value = top * quarter / 4
        y = _y(value, top)
        lines.append(f'<line class=grid x1="{LEFT}" x2="{WIDTH - 6}" y1="{y}" y2="{y}"/>')
        lines.append(f'<text x="{LEFT - 6}" y="{y + 3}" text-anchor="end">{human(value)}</text>')
    return lines


def _line(name: str, usage: Usage, top: float) -> str:
    last = len(usage.timeline) - 1
    points = [f"{_x(i / last)},{_y(value, top)}" for i, value in enumerate(usage.timeline)]
    return f'<polyline class="{escape(name)}" points="{" ".join(points)}"/>'


def _steps(drawn: Mapping[str, Usage]) -> list[str]:
    """Where the first variant called `probe()`."""
    usage = next(iter(drawn.values()))
    base, last = HEIGHT - BOTTOM, len(usage.timeline) - 1
    marks = [
        f'<line class=step x1="{_x(m / last)}" x2="{_x(m / last)}" y1="{base}" y2="{base + 5}"/>'
        for m in usage.marks
        if m <= last
    ]
    return [*marks, f'<text x="{LEFT}" y="{HEIGHT - 4}">ends of steps of {next(iter(drawn))}</text>'] if marks else []


def bars(usages: Mapping[str, Usage]) -> str:
    """Peak, what is held at the end and growth per step as bars, each figure to its own scale."""
    groups: tuple[tuple[str, Callable[[Usage], float]], ...] = (
        ("peak", lambda u: u.peak),
        ("held", lambda u: u.held),
        ("per step", lambda u: u.slope),
    )
    rows = []
    for title, figure in groups:
        highest = max(figure(usage) for usage in usages.values()) or 1
        for name, usage in usages.items():
            width = max(figure(usage), 0) / highest * 100
            rows.append(
                f"<tr><th>{title if name == next(iter(usages)) else ''}</th><td>{escape(name)}</td>"
                f'<td class=bar><span class="{escape(name)}" style="width:{width:.1f}%"></span></td>'
                f"<td>{human(figure(usage))}</td></tr>"
            )
    return f"<table class=bars>{''.join(rows)}</table>"
