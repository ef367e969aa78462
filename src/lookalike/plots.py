"""Pictures of curves, by matplotlib."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lookalike.errors import DataError, UsageError

if TYPE_CHECKING:
    from lookalike.entities.validation import Validation

BLUE, ORANGE, GREEN, GREY, INK = "#1f6feb", "#d9730d", "#2da44e", "#8b949e", "#57606a"
SUFFIXES = (".png", ".svg", ".pdf")


def check_picture(path: Path) -> None:
    """An error if a picture cannot be written there."""
    if path.suffix not in SUFFIXES:
        raise UsageError(f"plot must end in {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}; got {str(path)!r}.")
    if not path.absolute().parent.is_dir():
        raise DataError(f"{path}: cannot be written: No such file or directory")


@contextmanager
def picture(path: Path, panels: tuple[int, int] = (1, 1), size: tuple[float, float] = (6.4, 4.2)) -> Iterator[Any]:
    """Axes to draw on, panels rows x columns of them; the picture is written when all went well."""
    check_picture(path)
    import matplotlib  # which is slow to import, as is pyarrow

    from lookalike.write import replacing

    matplotlib.use("Agg")
    from matplotlib import pyplot

    style: Any = {"svg.fonttype": "none", "svg.hashsalt": "lookalike", "font.size": 10, "axes.edgecolor": GREY}
    with matplotlib.rc_context(style):
        figure, axes = pyplot.subplots(*panels, figsize=size, layout="constrained")
        try:
            for one in np.atleast_1d(axes).flat:
                one.spines[["top", "right"]].set_visible(False)
            yield axes
            metadata = {"Date": None} if path.suffix == ".svg" else {}
            with replacing(str(path)) as file:
                figure.savefig(file, format=path.suffix[1:], dpi=150, metadata=metadata)
        finally:
            pyplot.close(figure)


def draw_curve(axes: Any, probability: Callable[[np.ndarray], np.ndarray], end: float, half: float | None) -> None:
    """The probability of becoming a candidate over [0, end], and where it is one half."""
    x = np.linspace(0, end, 501)
    axes.plot(x, probability(x), color=BLUE, linewidth=2.2)
    axes.set(xlim=(0, end), ylim=(0, 1.01), ylabel="probability of becoming a candidate")
    if half is not None:
        axes.plot([half, half, 0], [0, 0.5, 0.5], color=GREY, linewidth=1, linestyle="--")
        axes.annotate(f"{half:.3g}", (half, 0.5), xytext=(10, -4), textcoords="offset points", color=INK)


def draw_shares(axes: Any, validation: "Validation", cut_off: float) -> None:
    """The share of true matches by score with its interval, and the cut-off."""
    middle = (validation.low_scores + validation.high_scores) / 2
    errors = np.abs(np.stack((validation.shares - validation.low, validation.high - validation.shares)))
    axes.errorbar(middle, validation.shares, errors, color=BLUE, linewidth=1.8, elinewidth=1, ecolor=GREY, marker=".")
    axes.set(ylim=(-0.02, 1.02), xlabel="score", ylabel="share of true matches")
    if np.isfinite(cut_off):
        axes.axhline(cut_off, color=ORANGE, linewidth=1, linestyle="--")
        at = (axes.get_xlim()[0], cut_off)
        axes.annotate(f"cut-off {cut_off:.3g}", at, xytext=(5, 4), textcoords="offset points", color=INK)
