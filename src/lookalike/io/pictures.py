"""Turns pictures into vectors of grey levels or into difference hashes, with Pillow.

A picture is rotated by its EXIF orientation, put on white, converted to grey and shrunk to a few
pixels, so that copies of another size or quality are nearly equal. Only the first frame counts.
"""

import warnings
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lookalike.core.errors import DataError, UsageError, whole
from lookalike.core.run import Run
from lookalike.io.remote import place_of
from lookalike.items.bits import Bits

if TYPE_CHECKING:
    from PIL.Image import Image

PICTURE_SUFFIXES = frozenset((".png", ".jpg", ".jpeg", ".gif", ".bmp", ".webp", ".tif", ".tiff"))
KINDS = ("PNG", "JPEG", "GIF", "BMP", "WEBP", "TIFF")  # the only ones Pillow may try, since some others run programs
VECTOR_SIZE = 16  # pixels per side of a picture as a vector
HASH_SIZE = 8  # bits per side of a difference hash
MANY = 1024  # pictures read at a time


def picture_vectors(paths: Iterable[str | Path], size: int = VECTOR_SIZE) -> np.ndarray:
    """Return pictures as float32 vectors of `size` * `size` grey levels, 0 (black) to 1 (white)."""
    size = whole("size", size)
    greys = _all_readable(paths, size, size)
    return greys.reshape(len(greys), size * size)


def difference_hashes(paths: Iterable[str | Path], size: int = HASH_SIZE) -> Bits:
    """Return pictures as codes of `size` * `size` bits: is each pixel brighter than its left one?

    A picture is shrunk to `size` + 1 by `size` pixels. Brightness and contrast hardly matter.
    """
    size = whole("size", size)
    return hash_greys(_all_readable(paths, size + 1, size))


def hash_greys(greys: np.ndarray) -> Bits:
    """Return the difference hashes of small grey pictures, an array pictures x rows x columns."""
    pictures, rows, columns = greys.shape
    brighter = greys[:, :, 1:] > greys[:, :, :-1]
    return Bits.of(brighter.reshape(pictures, rows * (columns - 1)))


def read_greys(paths: Iterable[str | Path], columns: int, rows: int, run: Run) -> Iterator[list[np.ndarray | str]]:
    """Yield lists of small grey pictures; one that cannot be read is replaced by the reason."""
    need_pillow()
    from PIL import Image

    waiting = iter(paths)
    while some := list(islice(waiting, MANY)):
        with warnings.catch_warnings():  # here, not in the threads, which share the filters
            warnings.filterwarnings("ignore", module="PIL")  # a picture with an odd tag is still good
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            found = list(run.map(partial(_grey_or_why, columns=columns, rows=rows), some))
        yield found


def need_pillow() -> None:
    """Raise an error unless Pillow is installed."""
    try:
        import PIL.Image  # noqa: F401
    except ImportError:
        raise UsageError("pictures need Pillow, which is not installed: pip install 'lookalike[pictures]'") from None


def _all_readable(paths: Iterable[str | Path], columns: int, rows: int) -> np.ndarray:
    """Return one small grey picture per path, or raise an error for the first unreadable one."""
    given = [paths] if isinstance(paths, str | Path) else list(paths)
    greys = np.zeros((len(given), rows, columns), np.float32)
    found = (one for some in read_greys(given, columns, rows, Run()) for one in some)
    for at, grey in enumerate(found):
        if isinstance(grey, str):
            raise DataError(f"{given[at]}: {grey}.")
        greys[at] = grey
    return greys


def _grey_or_why(path: str | Path, columns: int, rows: int) -> np.ndarray | str:
    """Return a small grey picture, float32 from 0 to 1, or the reason it cannot be read."""
    from PIL import Image, ImageOps, UnidentifiedImageError

    try:
        with opened(path) as file, Image.open(file, formats=KINDS) as picture:
            small = _on_white(ImageOps.exif_transpose(picture)).resize((columns, rows), Image.Resampling.LANCZOS)
    except UnidentifiedImageError:
        return "is not a picture in a supported format"
    except (DataError, MemoryError):
        raise
    except Exception as error:  # Pillow raises nearly anything for a broken file
        reason = " ".join(str(error).split()).rstrip(".") or type(error).__name__
        return f"cannot be read as a picture: {reason}"
    return np.asarray(small, np.float32) / np.float32(255)


def opened(path: str | Path) -> Any:
    """Open a local or remote file."""
    return place_of(path).open("rb")


def _on_white(picture: "Image") -> "Image":
    """Return the picture in 256 levels of grey, with white where it is transparent."""
    from PIL import Image

    if picture.mode.startswith(("I", "F")):
        whites = (1, 255, 65535) if picture.mode == "F" else (65535,)
        return Image.fromarray(_levels(np.asarray(picture, np.float64), whites))
    if picture.mode in ("RGBA", "LA", "PA", "RGBa", "La") or "transparency" in picture.info:
        opaque = Image.new("RGBA", picture.size, "white")
        opaque.alpha_composite(picture.convert("RGBA"))
        picture = opaque
    return picture if picture.mode == "L" else picture.convert("RGB").convert("L")


def _levels(values: np.ndarray, whites: tuple[int, ...]) -> np.ndarray:
    """Return 8-bit grey levels; white is the first of `whites` that no value exceeds."""
    if not np.isfinite(values).all():
        raise ValueError("a pixel is nan or infinite")
    most = float(values.max())
    white = next((level for level in whites if most <= level), most)
    return np.rint(values.clip(0, white) * (255 / white)).astype(np.uint8)
