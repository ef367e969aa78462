"""Predict how long work takes from what it costs on one core."""

from typing import NamedTuple

from lookalike.core.wording import counted


class Effort(NamedTuple):
    """What any method must do with the items, and the threads that do it."""

    read: float = 0.0  # nanoseconds on one core, to read and check all items
    shingle: float = 0.0  # to shingle all texts once
    threads: int = 1
    speed: float = 1.0  # how many times as long this machine takes as stated
    waited: float = 0.0  # seconds that the user has waited already
    rest: float = 0.0  # seconds that what comes after takes, however large the work

    def seconds(self, cost: float) -> str:
        """Return how long the user waits in all, if the work costs `cost` nanoseconds on one core."""
        total = self.total(cost)
        return f"{total:.2g} s" if total < 100 else f"{total:,.0f} s"

    def total(self, cost: float) -> float:
        """Return the seconds that the user waits in all, if the work costs `cost` nanoseconds on one core.

        >>> Effort(threads=2, speed=3, waited=1.0, rest=0.5).total(4e9)
        7.5
        """
        return self.waited + cost * self.speed / self.threads / 1e9 + self.rest

    def reason(self, way: str, cost: float, other: str, others: float, over: str = "") -> str:
        """Return the reason for choosing a way over another, with the time that both would take.

        >>> Effort(threads=2).reason("an exact join", 5e9, "10 bands", 9e9)
        'chosen: an exact join, about 2.5 s with 2 threads; 10 bands would take 4.5 s'
        """
        return f"{self.choice(way, cost)}; {other} would take {over}{self.seconds(others)}"

    def choice(self, way: str, cost: float) -> str:
        """Return which way was chosen, and the time it takes."""
        return f"chosen: {way}, about {self.seconds(cost)} with {counted(self.threads, 'thread')}"


ONE_CORE = Effort()
