"""How the time of a run grows with a project: CPU seconds over synthetic projects, along four axes.

    python benchmarks/growth.py [--image docs/images/growth.png] [--axes modules functions depth findings]

An axis is doubled three times while the others stay. The slope is that of the logarithms, start-up taken off: 1 is
linear. The image needs matplotlib (requirements.txt); the table needs nothing."""

from __future__ import annotations

import argparse
import math
import statistics
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from measure import QUIET, check, timed
from synthetic import Shape, write

AXES = {
    "modules": Shape(modules=25),
    "functions": Shape(modules=10, functions=10),
    "depth": Shape(modules=10, depth=500),
    "findings": Shape(modules=10, findings=20),
}


@dataclass(frozen=True)
class Point:
    """A size along an axis, its lines and the CPU seconds without start-up."""

    size: int
    lines: int
    cpu: float


def seconds(folder: Path) -> float:
    """CPU seconds of a cold run in one process."""
    return timed([*check(1, *QUIET), str(folder)], 600).cpu


def start_up() -> float:
    """CPU seconds of a run over one small file of torch: what is taken off must be surer than what is left."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "a.py").write_text("import torch\n\n\ndef f(x):\n    return torch.relu(x)\n", encoding="utf-8")
        return statistics.median(seconds(Path(folder)) for _ in range(5))


def points(axis: str, idle: float) -> list[Point]:
    """The axis' four sizes."""
    found = []
    for factor in (1, 2, 4, 8):
        shape = replace(AXES[axis], **{axis: getattr(AXES[axis], axis) * factor})
        with tempfile.TemporaryDirectory() as folder:
            total = write(Path(folder), shape)
            found.append(Point(getattr(shape, axis), total, max(seconds(Path(folder)) - idle, 1e-3)))
    return found


def slope(found: Sequence[Point]) -> float:
    """Of log CPU seconds over log lines, by least squares."""
    xs, ys = [math.log(p.lines) for p in found], [math.log(p.cpu) for p in found]
    x, y = sum(xs) / len(xs), sum(ys) / len(ys)
    return sum((a - x) * (b - y) for a, b in zip(xs, ys)) / sum((a - x) ** 2 for a in xs)


def draw(results: dict[str, list[Point]], image: Path) -> None:
    """Draw all axes into one picture, both scales logarithmic."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, area = pyplot.subplots(figsize=(7, 4.5))
    for axis, found in results.items():
        area.loglog([p.lines for p in found], [p.cpu for p in found], "o-", label=f"{axis}: slope {slope(found):.2f}")
    area.set_xlabel("lines of the project")
    area.set_ylabel("CPU seconds, one process, no cache")
    area.grid(which="both", alpha=0.3)
    area.legend()
    image.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(image, dpi=110, bbox_inches="tight")


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure growth over synthetic projects.")
    parser.add_argument("--axes", nargs="+", choices=AXES, default=list(AXES))
    parser.add_argument("--image", type=Path)
    arguments = parser.parse_args()
    idle = start_up()
    print(f"start-up {idle:.2f} CPU s, taken off below\n\n| axis | size | lines | CPU s | lines per CPU s | slope |")
    print("|---|---|---|---|---|---|")
    results = {}
    for axis in arguments.axes:
        results[axis] = points(axis, idle)
        for p in results[axis]:
            last = f"{slope(results[axis]):.2f}" if p is results[axis][-1] else ""
            print(f"| {axis} | {p.size} | {p.lines:,} | {p.cpu:.2f} | {p.lines / p.cpu:,.0f} | {last} |", flush=True)
    if arguments.image:
        draw(results, arguments.image)


if __name__ == "__main__":
    main()
