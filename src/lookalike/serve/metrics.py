"""Count and time what the server does, in the text format that Prometheus reads."""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from threading import Lock

BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)  # seconds
COUNTS = {
    "queries": "Items looked up.",
    "candidates": "Items compared with these.",
    "matches": "Similar items found.",
    "added": "Items added.",
    "removed": "Items removed.",
}
GAUGES = {
    "requests_in_flight": "Requests in progress.",
    "items": "Items in the index.",
    "index_bytes": "Bytes of the index on disk.",
}

Labels = tuple[tuple[str, str], ...]


@dataclass
class Times:
    """Response times: how many lie between each two bounds, and their sum."""

    within: list[int] = field(default_factory=lambda: [0] * (len(BOUNDS) + 1))
    sum: float = 0.0


class Metrics:
    """Requests by route, method and status, their times, and counts that the handlers add to."""

    def __init__(self) -> None:
        self.requests: Counter[Labels] = Counter()
        self.times: defaultdict[str, Times] = defaultdict(Times)
        self.counts = Counter(dict.fromkeys(COUNTS, 0))
        self.in_flight = 0
        self._lock = Lock()

    def request(self, route: str, method: str, status: int, seconds: float) -> None:
        """Record a finished request."""
        with self._lock:
            self.requests[("route", route), ("method", method), ("status", str(status))] += 1
            times = self.times[route]
            times.within[bisect_left(BOUNDS, seconds)] += 1
            times.sum += seconds

    def add(self, **counts: int) -> None:
        """Add to counts by their names."""
        with self._lock:
            self.counts.update(counts)

    def text(self, gauges: Mapping[str, float]) -> str:
        """Return all metrics, with the current values of the gauges."""
        with self._lock:
            blocks = [
                _block("requests", "counter", "Requests answered.", dict(self.requests)),
                *self._times(),
                *(_block(name, "counter", COUNTS[name], {(): n}) for name, n in self.counts.items()),
            ]
        gauges = {"requests_in_flight": self.in_flight, **gauges}
        blocks += [_block(name, "gauge", GAUGES[name], {(): n}) for name, n in gauges.items()]
        return "\n".join(blocks) + "\n"

    def _times(self) -> list[str]:
        lines = ["# HELP lookalike_request_seconds Time to answer.", "# TYPE lookalike_request_seconds histogram"]
        for route, times in self.times.items():
            label = ("route", route)
            for bound, count in zip([*map(str, BOUNDS), "+Inf"], accumulate(times.within), strict=True):
                lines.append(_line("request_seconds_bucket", (label, ("le", bound)), count))
            lines.append(_line("request_seconds_sum", (label,), times.sum))
            lines.append(_line("request_seconds_count", (label,), sum(times.within)))
        return ["\n".join(lines)] if self.times else []


def _block(name: str, kind: str, about: str, values: dict[Labels, float]) -> str:
    name = f"{name}_total" if kind == "counter" else name
    head = [f"# HELP lookalike_{name} {about}", f"# TYPE lookalike_{name} {kind}"]
    return "\n".join([*head, *(_line(name, labels, value) for labels, value in values.items())])


def _line(name: str, labels: Labels, value: float) -> str:
    shown = ",".join(f'{key}="{label}"' for key, label in labels)
    return f"lookalike_{name}{f'{{{shown}}}' if shown else ''} {value!r}"
