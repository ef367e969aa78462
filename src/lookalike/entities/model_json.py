"""Write what `resolve` learned as JSON, and restore it: shares by score, mixtures, and what the evidence counted."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lookalike.entities.evidence import Experience, Tallies
from lookalike.entities.mixture import Mixture, Relatives
from lookalike.entities.rarities import Rarities, Rarity
from lookalike.entities.validation import Validation

Basis = Validation | Mixture | Experience
Json = dict[str, Any]


def lists(arrays: Sequence[np.ndarray]) -> list[list[Any]]:
    """Return arrays as lists."""
    return [one.tolist() for one in arrays]


def arrays(rows: Sequence[Sequence[float]]) -> tuple[np.ndarray, ...]:
    """Return lists as arrays."""
    return tuple(np.array(row, float) for row in rows)


def rarities_json(some: Rarities) -> Json:
    """Return rarities by the hash of each element, in hexadecimal."""
    named = zip(map("{:016x}".format, some.elements.tolist()), some.counts.tolist(), strict=True)
    return {"texts": some.texts, "counts": dict(named)}


def rarities_of_json(facts: Json) -> Rarities:
    """Restore rarities."""
    return Rarities(facts["texts"], hashes(facts["counts"]), np.array([*facts["counts"].values()], np.int64))


def hashes(names: Any) -> np.ndarray:
    """Return hashes that were written in hexadecimal."""
    return np.array([int(name, 16) for name in names], np.uint64)


def validation_json(one: Validation) -> Json:
    """Return shares by score as JSON."""
    return {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in vars(one).items()}


def validation_of_json(facts: Json) -> Validation:
    """Restore shares by score."""
    values = {name: value for name, value in facts.items() if name != "as"}
    restored: Json = {name: np.array(one) if isinstance(one, list) else one for name, one in values.items()}
    return Validation(**restored)


def mixture_json(one: Mixture) -> Json:
    """Return a mixture model as JSON."""
    relatives = [{"field": some.field, "levels": lists(some.levels)} for some in one.relatives]
    levels = {name: lists(getattr(one, name)) for name in ("m", "u", "v")}
    plain = {"share": one.share, "log_likelihood": one.log_likelihood, "steps": one.steps}
    rarities = [some._asdict() for some in one.rarities]
    return {**levels, **plain, "picked": one.picked.tolist(), "relatives": relatives, "rarities": rarities}


def mixture_of_json(facts: Json) -> Mixture:
    """Restore a mixture model."""
    relatives = tuple(Relatives(some["field"], arrays(some["levels"])) for some in facts["relatives"])
    m, u, v = (arrays(facts[name]) for name in ("m", "u", "v"))
    picked = np.array(facts["picked"], float)
    rarities = tuple(Rarity(**some) for some in facts["rarities"])
    return Mixture(m, u, v, facts["share"], picked, facts["log_likelihood"], facts["steps"], relatives, rarities)


def experience_json(one: Experience) -> Json:
    """Return what the evidence counted as JSON; a word has four counts: best and runners-up, apart and both."""
    tallies = one.tallies
    counts = tallies.counts.reshape(4, -1).T.tolist()
    words = dict(zip(map("{:016x}".format, tallies.words.tolist()), counts, strict=True))
    return {
        "records": one.records,
        "turned": one.turned,
        "chances": lists(one.chances),
        "rarities": {"words": rarities_json(one.words), "trigrams": rarities_json(one.grams)},
        "lessons": {"top": tallies.top, "usual": tallies.usual.tolist(), "words": words},
        "mixture": None if one.mixture is None else mixture_json(one.mixture),
        "few": one.few,
        "siblings": one.siblings,
    }


def experience_of_json(facts: Json) -> Experience:
    """Restore what the evidence counted."""
    lessons = facts["lessons"]
    counts = np.array([*lessons["words"].values()], np.int64).reshape(-1, 4).T.reshape(2, 2, -1)
    tallies = Tallies(hashes(lessons["words"]), counts, np.array(lessons["usual"], float), lessons["top"])
    words, grams = (rarities_of_json(facts["rarities"][name]) for name in ("words", "trigrams"))
    mixture = None if facts["mixture"] is None else mixture_of_json(facts["mixture"])
    chances = [*arrays(facts["chances"])]
    counted = chances, words, grams, tallies, mixture
    return Experience(facts["records"], facts["turned"], *counted, facts["few"], facts["siblings"])


BASES: dict[str, type[Basis]] = {"validation": Validation, "mixture": Mixture, "evidence": Experience}
TO_JSON: dict[str, Callable[[Any], Json]] = {
    "validation": validation_json,
    "mixture": mixture_json,
    "evidence": experience_json,
}
OF_JSON: dict[str, Callable[[Json], Basis]] = {
    "validation": validation_of_json,
    "mixture": mixture_of_json,
    "evidence": experience_of_json,
}
