"""Check the tables, words and pictures of `lookalike curve`."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

import lookalike
from lookalike.theory.amplify import Curve
from tests.commands import Commands, complaint, left_in


def test_curve(run: Commands) -> None:
    outcome = run("curve", "--bands", 20, "--rows", 5)
    found = dict(re.findall(r"^(\d\.\d) +([\d.e-]+)", outcome.out, re.M))
    expected = {f"{s / 10:.1f}": 1 - (1 - (s / 10) ** 5) ** 20 for s in range(1, 11)}
    assert found.keys() == expected.keys()
    assert all(float(found[s]) == pytest.approx(p, abs=6e-5) for s, p in expected.items())
    assert "20 bands of 5 rows, 100 minhashes" in outcome.out
    assert "(1/b)^(1/r) = 0.549" in outcome.out
    assert (outcome.code, outcome.err) == (0, "")


@pytest.mark.slow
@pytest.mark.parametrize(("suffix", "start"), [(".png", b"\x89PNG"), (".svg", b"<?xml"), (".pdf", b"%PDF")])
def test_curve_as_a_picture(run: Commands, out: Path, suffix: str, start: bytes) -> None:
    path = out / f"curve{suffix}"
    assert run("curve", "--bands", 20, "--rows", 5, "--plot", path).code == 0
    assert path.read_bytes().startswith(start)
    assert left_in(out) == {path.name}


def test_curve_that_cannot_be_drawn(run: Commands, out: Path) -> None:
    for extra, code, message in (
        (("--plot", out / "curve.gif"), 2, "plot must end in .png, .svg or .pdf"),
        (("--plot", out / "no" / "curve.png"), 1, f"cannot be written: there is no folder {out / 'no'}."),
        (("--bands", 0), 2, "bands must be an integer of at least 1; got 0."),
    ):
        outcome = run("curve", "--bands", 20, "--rows", 5, *extra)
        assert (outcome.code, outcome.out) == (code, "")
        assert message in complaint(outcome)
    assert left_in(out) == set()


@pytest.mark.parametrize(
    ("options", "values", "curve", "collision"),
    [
        (("--cascade", "And(4) >> Or(4) >> Or(4) >> And(4)"), 10, "And(4) >> Or(4) >> Or(4) >> And(4)", lambda s: s),
        (("--cascade", "or(3)"), 10, "Or(3)", lambda s: s),
        (("--bands", 3, "--rows", 2, "--family", "hyperplanes"), 13, "And(2) >> Or(3)", lambda d: 1 - d / 180),
        (("--bands", 3, "--rows", 2, "--family", "bits:64"), 12, "And(2) >> Or(3)", lambda d: 1 - d / 64),
        (
            ("--bands", 3, "--rows", 2, "--family", "lines:4"),
            12,
            "And(2) >> Or(3)",
            lambda d: lookalike.families.RandomLines(4).collision(d),
        ),
    ],
)
def test_curve_of_any_cascade_and_family(
    run: Commands, options: tuple[object, ...], values: int, curve: str, collision: Callable[[float], float]
) -> None:
    outcome = run("curve", *options)
    found = re.findall(r"^([\d.]+) +([\d.e-]+)", outcome.out, re.M)
    assert len(found) == values
    for value, p in found:
        assert float(p) == pytest.approx(Curve.parse(curve)(collision(float(value))), abs=6e-5)
    half = re.search(r"half of the pairs at \w+ ([\d.]+) become candidates", outcome.out)
    assert half
    assert Curve.parse(curve)(collision(float(half[1]))) == pytest.approx(0.5, abs=0.02)
    assert (outcome.code, outcome.err) == (0, "")


def test_curve_with_a_fixed_point_says_so(run: Commands) -> None:
    assert "fixed point at 0.724" in run("curve", "--bands", 4, "--rows", 4).out
    assert "fixed" not in run("curve", "--cascade", "And(4)").out


def test_curve_of_many_lines(run: Commands) -> None:
    """Even with many lines there is a distance at which half of the pairs become candidates."""
    outcome = run("curve", "--cascade", "Or(1000)", "--family", "lines:1")
    half = re.search(r"half of the pairs at distance ([\d.]+) ", outcome.out)
    assert half
    assert 100 < float(half[1]) < 1000


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "give either --bands and --rows, or a --cascade such as 'And(4) >> Or(4)'."),
        (("--bands", 3), "give either --bands and --rows, or a --cascade such as 'And(4) >> Or(4)'."),
        (("--bands", 3, "--rows", 3, "--cascade", "And(1)"), "give either --bands and --rows, or a --cascade"),
        (("--cascade", "5x20"), "a cascade must be ANDs and ORs such as 'And(4) >> Or(4)'; got '5x20'."),
        (("--cascade", "And(4) >>"), "a cascade must be ANDs and ORs such as 'And(4) >> Or(4)'; got 'And(4) >>'."),
        (("--cascade", "And(x)"), "the number in And must be an integer of at least 1; got 'x'."),
        (("--cascade", "Or(0)"), "the number in Or must be an integer of at least 1; got 0."),
        (("--cascade", "Or(2)", "--family", "simhash"), "family must be minhash, hyperplanes, bits:DIMENSIONS"),
        (("--cascade", "Or(2)", "--family", "hyperplane"), "got 'hyperplane'. Did you mean 'hyperplanes'?"),
        (("--cascade", "Or(2)", "--family", "bits"), "family must be minhash, hyperplanes, bits:DIMENSIONS"),
        (("--cascade", "Or(2)", "--family", "minhash:3"), "family must be minhash, hyperplanes, bits:DIMENSIONS"),
        (
            ("--cascade", "Or(9)", "--family", "bits:5"),
            "Or(9): this needs 9 functions, but family bits:5 has only 5 functions.",
        ),
        (("--cascade", "Or(2)", "--family", "lines:x"), "family must have a number after its colon; got 'lines:x'."),
        (("--cascade", "Or(2)", "--family", "lines:0"), "width must be a positive number; got 0.0."),
        (("--cascade", "Or(2)", "--family", "bits:1.5"), "dimensions must be an integer of at least 1; got 1.5."),
    ],
)
def test_invalid_curve_options(run: Commands, options: tuple[object, ...], message: str) -> None:
    outcome = run("curve", *options)
    assert (outcome.code, outcome.out) == (2, "")
    assert message in complaint(outcome)
