"""Check how well values agree: by points, by rarity, and by the numbers in texts."""

import numpy as np
import pytest

from lookalike.core.run import Run
from lookalike.entities import resolve
from lookalike.entities.agreeing import SAME, FieldLevels, levels_of
from lookalike.entities.patterns import MISSING_LEVEL
from lookalike.entities.pipeline import as_fields, normalise_fields, read
from lookalike.entities.rarities import Rarity
from lookalike.entities.scores import comparisons_of, points_of_pairs


def levels_of_pairs(values, pairs, kind="text", rarities=None):
    """Return the levels of pairs of values in one field."""
    run = Run(1)
    columns = normalise_fields(read([{"x": value} for value in values], None, None, run), as_fields([f"x={kind}"]), run)
    comparisons = comparisons_of(columns, run)
    left, right = np.array(pairs).T
    known = [Rarity.of(one.texts, one.codes) for one in comparisons] if rarities is None else rarities
    return FieldLevels(comparisons, known, run).levels(points_of_pairs(comparisons, left, right, run), left, right)[
        :, 0
    ]


def test_levels_by_points():
    points = np.array([0, 39, 40, 75, 98, 99, 100, np.nan], np.float32)
    assert levels_of(points).tolist() == [0, 0, 1, 2, 2, SAME, SAME, MISSING_LEVEL]


def test_common_values_say_less():
    """150 discs by "various", 20 by one artist, two by another: the rarest has the top level."""
    values = ["various"] * 150 + ["the band"] * 20 + ["ann lee", "ann lee", None]
    pairs = [(0, 1), (150, 151), (170, 171), (0, 150), (0, 172)]
    assert levels_of_pairs(values, pairs, "name").tolist() == [SAME, SAME + 1, SAME + 2, 0, MISSING_LEVEL]
    assert levels_of_pairs(values[150:], [(0, 1), (20, 21)], "name").tolist() == [SAME, SAME + 1]
    assert levels_of_pairs(["ann lee"] * 10, [(0, 1)], "name").tolist() == [SAME]


def test_what_was_common_in_other_tables():
    """A value is as common as it was there, whatever this table has."""
    known = [Rarity({"various": 200}, [50, 0, 200])]
    levels = levels_of_pairs(["various"] * 2 + ["ann lee"] * 30, [(0, 1), (2, 3)], "name", known)
    assert levels.tolist() == [SAME, SAME + 2]


def test_shares_of_classes():
    codes = np.array([-1] + [0] * 150 + [1] * 20 + [2, 2])
    found = Rarity.of(np.array(["various", "the band", "ann lee"], object), codes)
    assert found == ({"various": 150, "the band": 20}, [2, 20, 150])
    np.testing.assert_allclose(found.shares, np.array([150, 20, 2]) / 172, atol=0.01)
    assert Rarity.of(np.array(["ann"], object), np.array([0, 0, -1])).shares.tolist() == [1]


@pytest.mark.parametrize(
    ("one", "other", "differ"),
    [
        ("Bravo Hits Vol. 2", "Bravo Hits Vol. 12", True),
        ("Collection 2 (CD 1)", "Collection 2 (CD 2)", True),
        ("Lumix DMC W810 camera", "Lumix DMC W830 camera", True),
        ("Bravo Hits Vol. 2", "Bravo Hits Vol. 02", False),
        ("Bravo Hits Vol. 2", "Bravo Hits", False),
        ("Bravo Hits Vol. 2", "Brvo Hits Vol. 2", False),
        ("0151496437", "0151496438", False),
    ],
)
def test_texts_with_other_numbers_differ(one, other, differ):
    level = levels_of_pairs([one, other], [(0, 1)])[0]
    assert (level == 0) == differ


def test_discs_by_various_artists_and_parts_of_series():
    """Nearly all pairs that agree are siblings; the few copies are found, and hardly more is stated."""
    draw = np.random.default_rng(4)
    words = [
        "".join(draw.choice(list("bdfgklmnprstvz")) + draw.choice(list("aeiou")) for _ in range(3)) for _ in range(900)
    ]
    discs = []
    for number in range(1500):
        various = number % 3 == 0
        title = f"{words[number % 40]} hits {draw.integers(1, 30)}" if various else " ".join(draw.choice(words, 3))
        artist = "Various" if various else f"{words[number % 350]} {words[number % 349]}"
        discs.append(
            {"artist": artist, "title": title, "year": str(draw.integers(1980, 2005)), "genre": words[number % 7]}
        )
    copies = [disc | {"title": disc["title"].replace("a", "e", 1)} for disc in discs[::20]]
    found = resolve(discs + copies, fields=["artist=name", "title=text", "year=category", "genre=category"])
    truth = {(20 * place, 1500 + place) for place in range(len(copies))}
    right = sum((left, right) in truth for left, right, _ in found)
    assert right >= 0.9 * len(truth)
    assert found.probability.sum() == pytest.approx(right, rel=0.15)
