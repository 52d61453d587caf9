"""What one run of a fixture used. All sizes are bytes on the device; nothing here needs torch."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from statistics import median
from typing import Any

GRANULE = 512  # the CUDA allocator's rounding
WARM_UP = 2  # probes before growth is judged: gradients and optimizer state appear in the first steps
MAX_POINTS = 240  # of a timeline, after thinning


def rounded(size: int) -> int:
    """A size as the caching allocator books it."""
    return -(-size // GRANULE) * GRANULE


@dataclass
class Usage:
    """What was measured, counted from what was alive when the fixture's function was called."""

    samples: list[int] = field(default_factory=list)  # alive at each probe
    peaks: list[int] = field(default_factory=list)  # highest since the probe before
    peak: int = 0
    allocated: int = 0  # sum of all allocations
    allocations: int = 0
    returned: int = 0  # alive after the function returned
    settled: int = 0  # the same after garbage collection: what is less was held by reference cycles
    reserved: int | None = None  # highest that the caching allocator took from the device; None where there is none
    timeline: list[int] = field(default_factory=list)  # alive after each allocation and release, thinned
    marks: list[int] = field(default_factory=list)  # where the probes lie on the timeline

    @property
    def held(self) -> int:
        """Alive at the last probe."""
        return self.samples[-1] if self.samples else 0

    @property
    def slope(self) -> float:
        """Growth per probe: the median difference of neighbours after the warm-up."""
        steady = self.samples[WARM_UP:] if len(self.samples) > WARM_UP + 1 else self.samples
        return median(b - a for a, b in zip(steady, steady[1:])) if len(steady) > 1 else 0.0

    def probe(self, live: int, peak: int) -> None:
        """Take one sample."""
        self.samples.append(live)
        self.peaks.append(peak)
        self.marks.append(len(self.timeline))

    def thinned(self, points: int = MAX_POINTS) -> Usage:
        """A copy whose timeline has at most `points` values, each the highest of its stretch."""
        width = max(1, -(-len(self.timeline) // points))
        line = [max(self.timeline[i : i + width]) for i in range(0, len(self.timeline), width)]
        return Usage(**{**asdict(self), "timeline": line, "marks": [m // width for m in self.marks]})

    def as_dict(self) -> dict[str, Any]:
        """The fields and the two derived figures, for JSON."""
        return {**asdict(self), "held": self.held, "slope": self.slope}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Usage:
        """The reverse of `as_dict`; derived and unknown keys are ignored."""
        return cls(**{key: value for key, value in data.items() if key in cls.__dataclass_fields__})
