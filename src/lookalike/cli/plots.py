"""Write plots to picture files, with matplotlib."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lookalike.core.errors import DataError, UsageError

SUFFIXES = (".png", ".svg", ".pdf")


def check_picture(path: Path) -> None:
    """Raise an error if a picture cannot be written to this path."""
    from lookalike.io.remote import must_be_local

    must_be_local(path, "a picture")
    if path.suffix not in SUFFIXES:
        raise UsageError(f"plot must end in {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}; got {str(path)!r}.")
    if not path.absolute().parent.is_dir():
        raise DataError(f"{path}: cannot be written: there is no folder {path.absolute().parent}.")


@contextmanager
def picture(path: Path, panels: tuple[int, int] = (1, 1), size: tuple[float, float] = (6.4, 4.2)) -> Iterator[Any]:
    """Yield axes to draw on, `panels` rows x columns; write the picture unless an error occurs."""
    check_picture(path)
    import matplotlib
    import numpy as np

    from lookalike.core.drawing import GREY
    from lookalike.io.write import replacing

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
