"""Check that copies of a picture come out similar, and that other files are reported."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from lookalike.core.errors import DataError, UsageError
from lookalike.core.run import Run
from lookalike.io import pictures
from lookalike.io.pictures import PICTURE_SUFFIXES, difference_hashes, picture_vectors
from lookalike.io.vectors import VectorSource
from lookalike.items.bits import Bits
from lookalike.items.vectors import Vectors

SKIP = r"; remove such rows first\.$"


def scene(seed: int = 1, width: int = 96, height: int = 64) -> Image.Image:
    """Return a random smooth grey picture."""
    grid = np.random.default_rng(seed).integers(0, 256, (5, 6), dtype=np.uint8)
    return Image.fromarray(grid).resize((width, height), Image.Resampling.BICUBIC)


def save(path: Path, picture: Image.Image, **options: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    picture.save(path, **options)
    return path


def distance(path: Path, other: Path) -> int:
    words = difference_hashes([path, other]).words
    return int(np.bitwise_count(words[0] ^ words[1]).sum())


def test_vectors_are_grey_levels_row_by_row(tmp_path: Path) -> None:
    levels = np.arange(256, dtype=np.uint8).reshape(16, 16)
    path = save(tmp_path / "a.png", Image.fromarray(levels))
    vectors = picture_vectors([path, str(path)])
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(vectors, np.tile(levels.ravel() / 255, (2, 1)), atol=1e-6)
    assert picture_vectors(path, size=3).shape == (1, 9)
    assert picture_vectors([]).shape == (0, 256)
    white = picture_vectors([save(tmp_path / "w.png", Image.new("L", (50, 40), "white"))])
    assert (white == 1).all()


def test_hashes_are_their_plain_twin(tmp_path: Path) -> None:
    for size in (1, 4, 8, 9):
        levels = np.random.default_rng(size).integers(0, 256, (size, size + 1), dtype=np.uint8)
        path = save(tmp_path / f"{size}.png", Image.fromarray(levels))
        codes = difference_hashes([path], size=size)
        bright = [[row[x + 1] > row[x] for x in range(size)] for row in levels.astype(int)]
        assert codes.length == size * size
        assert codes.words.tolist() == Bits.of([[bit for row in bright for bit in row]]).words.tolist()
    flat = difference_hashes([save(tmp_path / "flat.png", Image.new("RGB", (300, 200), (90, 160, 33)))])
    assert flat.words.tolist() == [[0]]


@pytest.mark.parametrize("suffix", sorted(PICTURE_SUFFIXES))
def test_every_kind(tmp_path: Path, suffix: str) -> None:
    plain = save(tmp_path / "plain.png", scene())
    path = save(tmp_path / f"a{suffix.upper()}", scene())
    assert np.abs(picture_vectors([path]) - picture_vectors([plain])).max() < 0.05
    assert distance(path, plain) <= 2
    vectors = VectorSource(path).read(Run(1))
    assert vectors.ids.to_pylist() == [path.as_posix()]


def test_copies_are_near_and_others_far(tmp_path: Path) -> None:
    plain = save(tmp_path / "plain.png", scene())
    small = save(tmp_path / "small.jpg", scene().resize((40, 30), Image.Resampling.LANCZOS), quality=60)
    coloured = save(tmp_path / "colour.png", scene().convert("RGB"))
    other = save(tmp_path / "other.png", scene(2))
    assert distance(plain, coloured) == 0
    assert distance(plain, small) <= 4
    assert distance(plain, other) > 15


@pytest.mark.parametrize("orientation", range(1, 9))
def test_orientation(tmp_path: Path, orientation: int) -> None:
    steps = Image.Transpose
    undo = {
        1: None, 2: steps.FLIP_LEFT_RIGHT, 3: steps.ROTATE_180, 4: steps.FLIP_TOP_BOTTOM, 5: steps.TRANSPOSE,
        6: steps.ROTATE_90, 7: steps.TRANSVERSE, 8: steps.ROTATE_270,
    }[orientation]  # fmt: skip
    turned = scene() if undo is None else scene().transpose(undo)
    exif = Image.Exif()
    exif[0x0112] = orientation
    plain = save(tmp_path / "plain.png", scene())
    np.testing.assert_array_equal(
        picture_vectors([save(tmp_path / "turned.png", turned, exif=exif)]), picture_vectors([plain])
    )


def test_what_is_transparent_is_white(tmp_path: Path) -> None:
    solid = Image.new("RGBA", (32, 32), (0, 0, 0, 0))
    solid.paste((0, 0, 0, 255), (0, 0, 32, 16))
    half = picture_vectors([save(tmp_path / "rgba.png", solid)], size=2)
    np.testing.assert_allclose(half, [[0, 0, 1, 1]], atol=0.1)
    paths = [
        save(tmp_path / "la.png", solid.convert("LA")),
        save(tmp_path / "a.webp", solid, lossless=True),
        save(tmp_path / "index.gif", solid),
        save(tmp_path / "index.png", solid.convert("P"), transparency=b"\x00\xff"),
    ]
    grey = Image.new("L", (32, 32), 7)
    grey.paste(0, (0, 0, 32, 16))
    paths.append(save(tmp_path / "trns.png", grey, transparency=7))
    for vector in picture_vectors(paths, size=2):
        np.testing.assert_allclose(vector, half[0], atol=0.02)


def test_of_an_animated_picture_the_first_frame_counts(tmp_path: Path) -> None:
    plain = save(tmp_path / "plain.gif", scene())
    for name in ("a.gif", "a.webp", "a.png", "a.tif"):
        path = save(tmp_path / name, scene(), save_all=True, append_images=[scene(3), scene(4)])
        assert np.abs(picture_vectors([path]) - picture_vectors([plain])).max() < 0.05


def test_deep_grey(tmp_path: Path) -> None:
    plain = save(tmp_path / "plain.png", scene())
    levels = np.asarray(scene())
    fractions = Image.fromarray((levels / 255).astype(np.float32))
    for name, picture in {
        "16.png": Image.fromarray(levels.astype(np.uint16) * 257),
        "16.tif": Image.fromarray(levels.astype(np.uint16) * 257),
        "32.tif": Image.fromarray(levels.astype(np.int32) * 257),
        "fractions.tif": fractions,
        "float.tif": Image.fromarray(levels.astype(np.float32)),
        "1e6.tif": Image.fromarray((levels * (1e6 / levels.max())).astype(np.float32)),
    }.items():
        vector = picture_vectors([save(tmp_path / name, picture)])
        tolerance = 0.01 if name != "1e6.tif" else 0.1
        assert np.abs(vector - picture_vectors([plain])).max() < tolerance, name
    dark = Image.fromarray(np.full((9, 9), 200, np.uint16))
    assert picture_vectors([save(tmp_path / "dark.png", dark)]).max() < 0.01
    black = Image.fromarray(np.zeros((9, 9), np.float32))
    assert picture_vectors([save(tmp_path / "black.tif", black)]).max() == 0


def test_other_modes(tmp_path: Path) -> None:
    plain = picture_vectors([save(tmp_path / "plain.png", scene())])
    for name, mode in (("cmyk.jpg", "CMYK"), ("cmyk.tif", "CMYK"), ("colour.jpg", "YCbCr")):
        path = save(tmp_path / name, scene().convert("RGB").convert(mode))
        assert np.abs(picture_vectors([path]) - plain).max() < 0.05
    two = picture_vectors([save(tmp_path / "two.png", Image.new("1", (8, 8), 1))])
    assert (two == 1).all()


# --- unreadable files ---


def broken(folder: Path) -> dict[str, str]:
    """Write files that are not pictures or are incomplete; return {name: fault}."""
    folder.mkdir(exist_ok=True)
    whole = save(folder / "whole.jpg", scene(1, 400, 300)).read_bytes()
    (folder / "short.jpg").write_bytes(whole[: len(whole) // 2])
    (folder / "whole.jpg").unlink()
    (folder / "text.png").write_text("no picture")
    (folder / "empty.gif").write_bytes(b"")
    save(folder / "nan.tif", Image.fromarray(np.full((4, 4), np.nan, np.float32)))
    return {
        "empty.gif": "is not a picture in a supported format",
        "nan.tif": "cannot be read as a picture: a pixel is nan or infinite",
        "short.jpg": r"cannot be read as a picture: image file is truncated",
        "text.png": "is not a picture in a supported format",
    }


def test_pictures_that_cannot_be_read(tmp_path: Path) -> None:
    for name, why in broken(tmp_path).items():
        for read in (picture_vectors, difference_hashes):
            with pytest.raises(DataError, match=rf"{name}: {why}.*\.$") as error:
                read([tmp_path / name])
            assert "\n" not in str(error.value)
        with pytest.raises(DataError, match=rf"^{re.escape(str(tmp_path / name))}: {why}.*{SKIP}"):
            VectorSource(tmp_path / name).read(Run(1))
    with pytest.raises(DataError, match=r"gone\.png: cannot be read as a picture: .*No such file"):
        picture_vectors([tmp_path / "gone.png"])
    with pytest.raises(UsageError, match="size must be an integer of at least 1; got 0"):
        difference_hashes([], size=0)


@pytest.mark.parametrize("pixels", [3000, 10_000])
def test_a_bomb_is_an_error_not_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pixels: int) -> None:
    bomb = save(tmp_path / "bomb.png", Image.new("1", (pixels // 50, 50)))
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 2000)
    for threads in (1, 3):
        with pytest.raises(DataError, match=rf"bomb\.png: cannot be read as a picture: Image size \({pixels} pixels\)"):
            VectorSource(bomb).read(Run(threads))


def test_an_odd_tag_is_no_fault(tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    odd = save(tmp_path / "odd.jpg", scene(), exif=exif.tobytes()[:-5])
    assert picture_vectors([odd]).shape == (1, 256)
    assert not recwarn.list


def test_a_folder_of_pictures(tmp_path: Path) -> None:
    folder = tmp_path / "photos"
    paths = [save(folder / name, scene(at)) for at, name in enumerate(("a.png", "b/c.jpg", "b/d.GIF", "e.bmp"))]
    names = ["a.png", "b/c.jpg", "b/d.GIF", "e.bmp"]
    for threads in (1, 4):
        vectors = VectorSource(folder).read(Run(threads))
        assert isinstance(vectors, Vectors)
        assert vectors.ids.to_pylist() == names
        np.testing.assert_array_equal(vectors.values, picture_vectors(paths))
        codes = VectorSource(str(folder), bits=True).read(Run(threads))
        assert isinstance(codes, Bits)
        assert (codes.ids.to_pylist(), codes.length) == (names, 64)
        np.testing.assert_array_equal(codes.words, difference_hashes(paths).words)
    assert VectorSource(f"{folder}/*.png").read(Run(1)).ids.to_pylist() == ["a.png"]
    assert VectorSource(paths[:2]).read(Run(1)).ids.to_pylist() == [path.as_posix() for path in paths[:2]]
    assert VectorSource(folder, id="-").read(Run(1)).ids is None


def test_bad_pictures_of_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "photos"
    bad = broken(folder)
    save(folder / "b.png", scene(1))
    save(folder / "z.png", scene(2))
    (folder / "notes.txt").write_text("taken in June")
    with pytest.raises(DataError, match=rf"empty\.gif: is not a picture in a supported format{SKIP}"):
        VectorSource(folder).read(Run(1))
    for many in (1, 2, 100):
        monkeypatch.setattr(pictures, "MANY", many)
        for bits in (False, True):
            source = VectorSource(folder, bits=bits, on_error="skip")
            found = source.read(Run(2))
            assert found.ids.to_pylist() == ["b.png", "z.png"]
            assert source.skipped == found.skipped == len(bad) + 1
    assert VectorSource(folder, id="-", on_error="skip").read(Run(1)).ids.to_pylist() == [0, 6]


def test_a_black_picture_has_no_direction(tmp_path: Path) -> None:
    save(tmp_path / "black.png", Image.new("L", (9, 9)))
    save(tmp_path / "white.png", Image.new("L", (9, 9), 255))
    with pytest.raises(DataError, match=rf"black\.png: a zero vector has no direction{SKIP}"):
        VectorSource(tmp_path, directions=True).read(Run(1))
    source = VectorSource(tmp_path, directions=True, on_error="skip")
    assert source.read(Run(1)).ids.to_pylist() == ["white.png"]
    assert source.skipped == 1
    assert len(VectorSource(tmp_path, directions=True, bits=True).read(Run(1))) == 2


def test_files_named_otherwise(tmp_path: Path) -> None:
    save(tmp_path / "a.png", scene()).rename(tmp_path / "upload-1")
    message = r"upload-1: cannot infer the format from the name; pass Vectors\.of\(matrix\)\.$"
    with pytest.raises(DataError, match=message):
        VectorSource(tmp_path)
    for given in (tmp_path, tmp_path / "upload-1"):
        assert len(VectorSource(given, format="pictures").read(Run(1))) == 1
    with pytest.raises(DataError, match=r"id='name' names a column or array, but pictures has no names\.$"):
        VectorSource(tmp_path, format="pictures", id="name").read(Run(1))


def test_without_pillow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = save(tmp_path / "a.png", scene())
    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    for read in (VectorSource, lambda path: picture_vectors([path]), lambda path: difference_hashes([path])):
        with pytest.raises(UsageError, match=r"pip install 'lookalike\[pictures\]'$"):
            read(path)
