"""Check labels: how they are read, that they correct probabilities and do no harm, and which pairs are chosen."""

import errno
from datetime import datetime, timedelta

import numpy as np
import pyarrow as pa
import pytest

import lookalike as la
from lookalike.core.errors import DataError, UsageError
from lookalike.core.run import Run
from lookalike.entities import labels as module
from lookalike.entities import pairs_to_label, resolve, two_companies
from lookalike.entities.labelling import (
    HEADER,
    LabelFile,
    SideBySide,
    in_parts,
    informative,
    side_by_side,
    spread,
    usefulness,
    written_ids,
)
from lookalike.entities.labels import (
    ENOUGH,
    KNOTS,
    SCORE_KNOTS,
    MatchLabels,
    at_knots,
    fit,
    log_odds,
    probability,
    read_labels,
    recalibrate,
)
from lookalike.entities.probabilities import Probabilities
from lookalike.entities.reading import read
from tests.entities.shared import FIELDS, PEOPLE, pairs_of

SHOP = [{"id": 1, "name": "Ann"}, {"id": 2, "name": "Bob"}]
CLUB = [{"id": "x", "name": "Ann"}, {"id": "2", "name": "Rob"}]


def labels_of(*rows):
    return [dict(zip(("left", "right", "match"), row, strict=True)) for row in rows]


def true_pairs(made):
    return list(zip(*(column.to_pylist() for column in made.truth.columns), strict=True))


def simulated(rng, count, shift, tilt):
    """Return log odds that a model states, and matches whose log odds are shift + tilt * those."""
    odds = np.concatenate([rng.normal(-5, 2, count), rng.normal(3, 2, count // 5)])
    return odds, (rng.random(len(odds)) < probability(shift + tilt * odds)).astype(float)


def corrected(rng, odds, match, count):
    """Return the probabilities after labels of the most useful pairs."""
    stated = probability(odds)
    order = np.argsort(-stated)
    rows = np.sort(order[spread(usefulness(stated[order]), count, rng)])
    places = np.arange(len(odds))
    labels = MatchLabels(np.zeros(count, np.int64), rows, match[rows], len(odds))
    every = np.ones(len(odds), bool)
    return recalibrate(Probabilities(stated, "a model"), labels, 0 * places, places, np.full(len(odds), 0.5), every)


# --- read ---


def test_ids_are_compared_as_texts_and_answers_without_case() -> None:
    tables = read(SHOP, CLUB, None, Run(1))
    given = [("1", "x", "YES"), ("2", "2", " no"), ("2", "x", "unsure"), ("1", "x", "yes"), ("2", "2", "Unsure")]
    found = read_labels(labels_of(*given), tables, Run(1))
    assert found.left.tolist() == [0, 1, 1]
    assert found.right.tolist() == [2, 2, 3]
    np.testing.assert_array_equal(found.match, [1, np.nan, 0])  # an answer counts more than unsure


def test_order_does_not_matter_within_one_table() -> None:
    found = read_labels(labels_of(("b", "a", "no"), ("a", "b", "no")), read(PEOPLE, None, None, Run(1)), Run(1))
    assert (found.left.tolist(), found.right.tolist(), found.match.tolist()) == ([0], [1], [0])


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            [("a", "z", "yes")],
            "labels must have ids of the table in the column 'right'; got 'z' in row 0. Its ids are ",
        ),
        ([("a", "b", "no"), ("a", "c", "ja")], "yes, no or unsure in the column 'match'; got 'ja' in row 1."),
        ([("a", "b", "yess")], "got 'yess' in row 0. Did you mean 'yes'?"),
        ([("a", "b", None)], "got None in row 0."),
        ([("a", None, "no")], "in the column 'right'; got None in row 0."),
        ([("c", "c", "no")], "labels must be of two records; row 0 has 'c' twice."),
        ([("a", "b", "yes"), ("d", "c", "no"), ("b", "a", "no")], "'a' and 'b' are a match by one row and none by"),
    ],
)
def test_wrong_labels(rows: list[tuple[str, str, str]], message: str) -> None:
    with pytest.raises(DataError) as error:
        resolve(PEOPLE, fields=["name=name", "phone"], labels=labels_of(*rows))
    assert message in str(error.value)


def test_wrong_tables_of_labels() -> None:
    with pytest.raises(DataError, match=r"no column .match.; it has left, right, matches\. Did you mean"):
        resolve(PEOPLE, fields=["name=name"], labels=[{"left": "a", "right": "b", "matches": "yes"}])
    with pytest.raises(UsageError, match="labels must be a table, a data frame, a list of dictionaries or a path"):
        resolve(PEOPLE, fields=["name=name"], labels=3)


# --- correct ---


def test_labelled_pairs_get_their_label() -> None:
    """One of them is no candidate otherwise."""
    given = {"fields": ["name=name", "phone"], "nearest": 0}
    before = resolve(PEOPLE, **given)
    assert ("a", "e") not in pairs_of(before.every)
    found = resolve(PEOPLE, **given, labels=labels_of(("e", "a", "yes"), ("d", "c", "no"), ("a", "b", "unsure")))
    stated = dict(zip(pairs_of(found.every), found.every.probability, strict=True))
    assert (stated["a", "e"], stated["c", "d"]) == (1, 0)
    assert 0 < stated["a", "b"] < 1
    assert ("a", "e") in pairs_of(found)
    assert ("c", "d") in pairs_of(before)
    assert ("c", "d") not in pairs_of(found)
    assert found.basis == "a Fellegi-Sunter mixture model, recalibrated by 1 label"


def test_unsure_changes_nothing() -> None:
    given = {"fields": ["name=name", "phone"]}
    before, found = (resolve(PEOPLE, **given, labels=some) for some in (None, labels_of(("a", "b", "unsure"))))
    assert before.every.to_arrow() == found.every.to_arrow()
    assert (before.basis, before.lines()) == (found.basis, found.lines())


def test_known_matches_alone_say_nothing_on_other_pairs() -> None:
    made = two_companies(300)
    sure = labels_of(*[(*pair, "yes") for pair in true_pairs(made)][:60])
    before, found = (resolve(made.left, made.right, fields=FIELDS, labels=some) for some in (None, sure))
    known = {(row["left"], row["right"]) for row in sure}
    then, now = (dict(zip(pairs_of(one.every), one.every.probability, strict=True)) for one in (before, found))
    assert all(now[pair] == then[pair] for pair in then if pair not in known)
    assert all(now[pair] == 1 for pair in known)
    assert "all labels of candidates are yes" in found.stats["note"]


def test_a_labelled_pair_has_priority_one_to_one() -> None:
    given = {"fields": ["name=name", "phone"], "one_to_one": True}
    assert ("a", "b") in pairs_of(resolve(PEOPLE, **given))
    found = resolve(PEOPLE, **given, labels=labels_of(("a", "e", "yes"), ("c", "d", "no")))
    assert ("a", "e") in pairs_of(found)
    assert ("a", "b") not in pairs_of(found)


@pytest.mark.parametrize(("shift", "tilt"), [(2, 1), (-3, 1), (0, 0.4), (0, 2)])
def test_fifty_labels_correct_a_wrong_model(shift: float, tilt: float) -> None:
    errors, stated = [], []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        odds, match = simulated(rng, 4000, shift, tilt)
        before, found = probability(odds), corrected(rng, odds, match, 50).values
        errors.append(((found - match) ** 2).sum() / ((before - match) ** 2).sum())
        stated.append([abs(values.sum() - match.sum()) / match.sum() for values in (before, found)])
    assert np.mean(errors) < 1
    assert max(errors) < 1.02
    before, after = np.mean(stated, axis=0)
    assert after < before


@pytest.mark.parametrize("count", [5, 20, 50, 200])
def test_labels_do_not_hurt_a_true_model(count: int) -> None:
    errors = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        odds, match = simulated(rng, 4000, 0, 1)
        found = corrected(rng, odds, match, count).values
        errors.append(((found - match) ** 2).sum() / ((probability(odds) - match) ** 2).sum())
    assert np.mean(errors) < 1.005
    assert max(errors) < 1.04


def test_the_fit_maximises_the_posterior() -> None:
    """A small step in any direction is no better."""
    rng = np.random.default_rng(1)
    odds, share = rng.normal(0, 4, 80), rng.random(80)
    match = (rng.random(80) < probability(2 + odds / 2)).astype(float)
    bends = module.SHIFT**2 + module.TILT**2 * np.outer(KNOTS, KNOTS)
    bends += module.BEND**2 * module.smooth(KNOTS, module.BEND_WIDTH)
    priors = bends, 0.5**2 * module.smooth(SCORE_KNOTS, module.SCORE_WIDTH)

    def loss(*curves: np.ndarray) -> float:
        fitted = odds + at_knots(odds.clip(-12, 12), KNOTS) @ curves[0] + at_knots(share, SCORE_KNOTS) @ curves[1]
        wrong = -np.log(np.where(match == 1, probability(fitted), 1 - probability(fitted))).sum()
        return wrong + sum(one @ np.linalg.solve(prior, one) for one, prior in zip(curves, priors, strict=True)) / 2

    best = fit(odds, share, match, 0.5)
    for at, prior in enumerate(priors):
        for step in np.linalg.cholesky(prior).T:
            for sign in (-0.01, 0.01):
                curves = [*best]
                curves[at] = best[at] + sign * step
                assert loss(*curves) > loss(*best)


def test_log_odds_and_probabilities_are_inverse() -> None:
    values = np.array([1e-4, 0.2, 0.5, 0.999])
    np.testing.assert_allclose(probability(log_odds(values)), values)


@pytest.mark.parametrize("count", [ENOUGH - 1, ENOUGH])
def test_enough_labels_make_an_estimate_of_a_guess(count: int) -> None:
    """Two fields alone cannot show how many of their matches are true."""
    made = two_companies(400)
    both = pa.concat_tables([made.left, made.right.rename_columns(made.left.column_names)])
    given = {"fields": ["name=name", "address"], "id": "id"}
    guess = resolve(both, **given)
    assert guess.guess
    truth = {*true_pairs(made)}
    chosen = pairs_to_label(guess, count)
    answers = labels_of(*((*pair, "yes" if {pair, pair[::-1]} & truth else "no") for pair in chosen))
    found = resolve(both, **given, labels=answers)
    assert found.guess == (count < ENOUGH)
    assert found.basis.endswith(f", recalibrated by {count} labels")
    assert ("only a guess" in found.stats["note"]) == found.guess
    true = sum(pair in truth for pair in pairs_of(found))
    if not found.guess:
        assert f"{found.probability.sum():,.0f} of them expected to be true" in " ".join(found.lines())
        assert abs(found.probability.sum() - true) < 0.15 * true


def test_labels_of_two_tables_by_a_file(tmp_path) -> None:
    made = two_companies(500)
    truth = {*true_pairs(made)}
    before = resolve(made.left, made.right, fields=FIELDS)
    file = LabelFile(tmp_path / "labels.csv")
    for pair in pairs_to_label(before, 60):
        file.add(*pair, "yes" if pair in truth else "no")
    found = resolve(made.left, made.right, fields=FIELDS, labels=tmp_path / "labels.csv")
    assert found.basis == f"{before.basis}, recalibrated by 60 labels"
    errors = [
        sum((p - (pair in truth)) ** 2 for pair, p in zip(pairs_of(one.every), one.every.probability, strict=True))
        for one in (before, found)
    ]
    assert errors[1] < errors[0]
    assert not {*pairs_to_label(found, 60)} & {*pairs_to_label(before, 60)}


def test_labels_with_a_validation_column() -> None:
    """A match that the largest lag would exclude is one if someone says so."""
    made = two_companies(300)
    lag = {"fields": FIELDS, "validate": "created", "max_lag": 90}
    before = resolve(made.left, made.right, **lag)
    every = {*pairs_of(resolve(made.left, made.right, fields=FIELDS).every)}
    outside = min(every - {*pairs_of(before.every)})
    found = resolve(made.left, made.right, **lag, labels=labels_of((*outside, "yes")))
    assert outside in pairs_of(found)
    assert found.stats["note"].startswith(before.stats["note"])


# --- choose ---


def test_the_choice_is_spread_and_prefers_doubt() -> None:
    stated = np.sort(np.concatenate([np.full(900, 1e-6), np.full(50, 0.5), np.full(50, 1 - 1e-6)]))[::-1]
    rows = spread(usefulness(stated), 40, np.random.default_rng(0))
    assert len({*rows.tolist()}) == 40
    kinds = [int(np.count_nonzero(np.isclose(stated[rows], value, rtol=1e-3))) for value in (1e-6, 0.5, 1)]
    assert kinds[1] > 20
    assert kinds[0] >= 5
    assert kinds[2] >= 5


@pytest.mark.parametrize("count", [0, 1, 7, 30])
def test_each_pair_is_drawn_once(count: int) -> None:
    weight = np.array([50.0, *range(1, 30)])
    rows = spread(weight, count, np.random.default_rng(3))
    assert len({*rows.tolist()}) == len(rows) == count


def test_the_choice_depends_on_the_seed_only() -> None:
    made = two_companies(200)
    found = resolve(made.left, made.right, fields=FIELDS)
    one, same, other = (pairs_to_label(found, 20, seed=seed) for seed in (1, 1, 2))
    assert one == same
    assert one != other
    everything = informative(found.every, 10**6, 1)
    assert sorted(everything.tolist()) == list(range(len(found.every)))
    with pytest.raises(UsageError, match="count must be an integer of at least 1"):
        pairs_to_label(found, 0)


def test_nothing_to_choose_from() -> None:
    assert pairs_to_label(resolve(PEOPLE.slice(0, 1), fields=["name=name"])) == []


def test_side_by_side() -> None:
    left = [{"id": 1, "name": "Ann Lee", "town": "Ansel", "note": None}]
    right = [{"id": 7, "who": "Lee, Ann", "town": "Tarrow", "age": 40}]
    every = resolve(left, right, fields=["name:who=name"]).every
    assert [tuple(one) for one in side_by_side(every, 0)] == [
        ("name / who", "Ann Lee", "Lee, Ann", True), ("town", "Ansel", "Tarrow", None), ("age", None, "40", None),
    ]  # fmt: skip


# --- the file ---


def test_answers_are_added_and_taken_back(tmp_path) -> None:
    path = tmp_path / "labels.csv"
    file = LabelFile(path)
    file.add("a,b", "1", "yes")
    file.add("c", 'say "x"', "no")
    assert path.read_text() == f'{HEADER}\n"a,b",1,yes\nc,"say ""x""",no\n'
    file.undo()
    assert path.read_text() == f'{HEADER}\n"a,b",1,yes\n'
    again = LabelFile(path)
    again.add("d", "2", "unsure")
    assert len(again) == 1
    assert path.read_text() == f'{HEADER}\n"a,b",1,yes\nd,2,unsure\n'


IDS = {
    "float": pa.array([1.0, 2.5, 1e20, 1e-7, -3.0]),
    "single": pa.array([0.1, 0.2, 0.3, 4, 5], pa.float32()),
    "time of day": pa.array([datetime(2020, 1, 1, hour, microsecond=5000) for hour in range(5)], pa.timestamp("ms")),
    "with a zone": pa.array([datetime(2020, 1, 1, hour) for hour in range(5)], pa.timestamp("us", "Europe/Berlin")),
    "duration": pa.array([timedelta(hours=hour) for hour in range(5)]),
    "bytes": pa.array([b"a", b"b", b"c", b"d", b"e"]),
    "lines": pa.array(["a\nb", "a\rb", 'a,"b"', " a", ""]),
}


@pytest.mark.parametrize("ids", IDS.values(), ids=IDS)
def test_ids_of_any_type_are_found_again(tmp_path, ids) -> None:
    """They are written in a file as they are read from it; those of `pairs_to_label` are found as they are."""
    table = PEOPLE.set_column(0, "id", ids)
    found = resolve(table, fields=["name=name", "phone"])
    file = LabelFile(tmp_path / "labels.csv")
    for row in range(len(found.every)):
        file.add(*written_ids(found.every, row), "no")
    given = labels_of(*((*pair, "no") for pair in pairs_to_label(found, 50)))
    for labels in (file.path, given):
        again = resolve(table, fields=["name=name", "phone"], labels=labels)
        assert len(again.labels.match) == len(found.every) > 0


def test_an_answer_that_cannot_be_written_is_no_answer(tmp_path, monkeypatch) -> None:
    """Half a line would damage the file, so it is removed."""
    file = LabelFile(tmp_path / "labels.csv")
    file.add("a", "b", "yes")
    kept = file.path.read_bytes()

    def fail(descriptor: int) -> None:
        assert file.path.read_bytes() != kept
        raise OSError(errno.EIO, "the disk failed")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(OSError, match="the disk failed"):
        file.add("c", "d", "no")
    assert (file.path.read_bytes(), len(file)) == (kept, 1)
    file.undo()
    assert (file.path.read_bytes(), len(file)) == (b"", 0)


def test_answers_of_others_are_not_taken_back(tmp_path) -> None:
    file, other = LabelFile(tmp_path / "labels.csv"), LabelFile(tmp_path / "labels.csv")
    file.add("a", "b", "yes")
    other.add("c", "d", "no")
    with pytest.raises(DataError, match="another program has changed the file"):
        file.undo()
    other.undo()
    file.undo()
    assert file.path.read_bytes() == b""


def test_differences_of_values() -> None:
    """Words are compared without case; nothing is marked in values that count as the same or stand alone."""
    long = "shared words " * 100
    cases = {
        ("Ann  M. Lee", "ann Leigh"): (["Ann  ", "M.", " ", "Lee"], ["ann ", "Leigh"]),
        ("", "x y"): ([], ["x", " ", "y"]),
        (f"{long}red", f"{long}blue"): (
            [long[:240], f"{len(long) - 480} shared characters", long[-240:], "red"],
            [long[:240], f"{len(long) - 480} shared characters", long[-240:], "blue"],
        ),
    }
    for (left, right), expected in cases.items():
        for same in (False, None):
            sides = in_parts(SideBySide("name", left, right, same))
            assert tuple([part.text for part in side] for side in sides) == expected
            other = {part.text for part in sides[0] if part.style == "different"}
            assert not other & {part.text for part in sides[1]}
    assert {part.style for side in in_parts(SideBySide("n", "Lee, Ann", "Ann Lee", True)) for part in side} == {""}
    assert in_parts(SideBySide("n", None, "x y")) == ([], [("x y", "")])
    assert [part.style for part in in_parts(SideBySide("n", long, None))[0]] == ["", "note", ""]
    assert in_parts(SideBySide("n", long, None))[0][1].text == f"{len(long) - 480} characters"


def test_a_file_that_others_wrote(tmp_path) -> None:
    path = tmp_path / "labels.csv"
    path.write_text(f"\ufeff{HEADER}\r\na,b,yes")
    LabelFile(path).add("c", "d", "no")
    assert path.read_text(encoding="utf-8-sig").split() == [HEADER, "a,b,yes", "c,d,no"]
    assert read_labels(path, read(PEOPLE, None, None, Run(1)), Run(1)).match.tolist() == [1, 0]
    path.write_bytes("left,right,gr\u00fc\u00df\n".encode("latin-1"))
    with pytest.raises(DataError, match="must be CSV and begin with the line"):
        LabelFile(path)
    path.write_text("left;right;match\n")
    with pytest.raises(DataError, match="must be CSV and begin with the line left,right,match; got 'left;right;match'"):
        LabelFile(path)


def test_a_file_without_answers(tmp_path) -> None:
    path = tmp_path / "labels.csv"
    path.write_text(f"{HEADER}\n")
    found = resolve(PEOPLE, fields=["name=name", "phone"], labels=path)
    assert found.every.to_arrow() == resolve(PEOPLE, fields=["name=name", "phone"]).every.to_arrow()


def test_it_is_exported() -> None:
    assert la.entities.pairs_to_label is pairs_to_label
