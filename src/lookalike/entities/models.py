"""Keep what `resolve` learned from some tables, to use it on others of the same kind.

A model holds all that the probability of a pair depends on, besides the pair itself and its rivals:

- the fields with their kinds and weights, and how dates and numbers without a clear form are read;
- in how many values each word of a text is;
- the basis of the probabilities: the shares of true matches by score, the mixture model with the
  common values, or for two tables what the evidence counted (chance agreement, rarities, which words
  matter, the mixture of the fields, how much the weights for few matches count) and a digest of the
  learned weights;
- the correction by labels.

So the same two records get the same probability, whatever other rows a table has. Candidates, and
with them the rivals of a pair of two tables, are found anew in each run.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any, Self

from lookalike import __version__
from lookalike.core.errors import DataError, UsageError, argument, parameter, remedy
from lookalike.core.run import Run
from lookalike.core.storage import IN_MEMORY, Storage
from lookalike.entities.agreeing import FieldLevels
from lookalike.entities.fields import Column, Field, shown_style
from lookalike.entities.labels import Correction
from lookalike.entities.learned import by_evidence, weights_digest
from lookalike.entities.mixture import Mixture
from lookalike.entities.model_json import BASES, OF_JSON, TO_JSON, Basis, Json, rarities_json, rarities_of_json
from lookalike.entities.probabilities import Probabilities, levels_for
from lookalike.entities.rarities import Rarities
from lookalike.entities.reading import RecordTables
from lookalike.entities.scores import FULL_POINTS, FieldComparison, ScoredPairs, rarities_of
from lookalike.entities.validation import Validation
from lookalike.io.remote import place_of
from lookalike.io.write import replacing
from lookalike.items.sides import Sides

FORMAT = 2  # also when the same values would score other points
KIND = "lookalike resolve model"
SETTINGS = ("threshold", "nearest", "seed", "max_lag")
DAMAGE = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)


@dataclass(frozen=True, eq=False)
class ResolveModel:
    """What was learned from one table or two, with the settings under which it was learned.

    >>> import lookalike as la
    >>> people = ["Ann Lee/9 Elm Street/Ansel", "Bill Smith/3 Oak Road/Holm", "Smith, William/3 Oak Rd/Holm"]
    >>> people.append("Carla Diaz/12 High Street/Ansel")
    >>> records = [dict(zip(("name", "address", "town"), one.split("/"))) for one in people]
    >>> model = la.entities.resolve(records, fields=["name=name", "address", "town"]).model()
    >>> [str(field) for field in model.fields], model.tables
    (['name=name', 'address=address', 'town=text'], 1)
    >>> again = la.entities.resolve(records, model=model)
    >>> len(again)
    1
    """

    fields: list[Field]  # with their kinds
    tables: int  # one or two
    validate: Field | None
    settings: Mapping[str, Any]  # SETTINGS
    styles: list[list[bool | None]]  # of each field, per table: see `fields.shown_style`
    rarities: Mapping[str, Rarities]  # of the words of fields of kind text
    basis: Basis
    described: str  # what the probabilities are based on, in words
    guess: bool
    correction: Correction | None

    @classmethod
    def of(
        cls, tables: RecordTables, fields: Sequence[Field], validate: Field | None, settings: Mapping[str, Any],
        columns: Sequence[Column], found: Probabilities,
    ) -> Self:  # fmt: skip
        """Gather what was learned."""
        basis = found.validation or found.mixture or found.experience
        assert basis is not None
        styles = [[shown_style(side, one.kind) for side in tables.columns(one)] for one in fields]
        rarities = {column.name: rarities_of(column) for column in columns if column.kind == "text"}
        return cls(
            list(fields), len(tables.tables), validate, {name: settings[name] for name in SETTINGS}, styles, rarities,
            basis, found.basis, found.guess, found.correction,
        )  # fmt: skip

    def estimate(
        self, columns: Sequence[Column], comparisons: Sequence[FieldComparison], pairs: ScoredPairs, sides: Sides,
        run: Run, storage: Storage = IN_MEMORY,
    ) -> Probabilities:  # fmt: skip
        """Return the probabilities of pairs, without learning from them."""
        if isinstance(self.basis, Validation):
            found = Probabilities(self.basis.probability(pairs.score), "", validation=self.basis)
        elif isinstance(self.basis, Mixture):
            of_fields = FieldLevels(comparisons, self.basis.rarities, run)
            levels = levels_for(self.basis, of_fields.levels(pairs.points, pairs.left, pairs.right))
            found = Probabilities(self.basis.probability(levels), "", mixture=self.basis)
        else:
            found = by_evidence(columns, comparisons, pairs, sides, self.settings["seed"], run, self.basis, storage)
        if self.correction is not None:
            share = pairs.score / (FULL_POINTS * sum(field.weight for field in self.fields))
            found = replace(found, values=self.correction.apply(found.values, share), correction=self.correction)
        return replace(found, basis=f"{self.described}, as saved", guess=self.guess)

    def settled(self, given: Mapping[str, Any], defaults: Mapping[str, Any], fields: list[Field] | None) -> Json:
        """Return the settings of the model; raise an error for one that was given and differs.

        The validation column is needed only if it rules pairs out.
        """
        if fields is not None and not self._same(fields):
            raise contradiction("fields", ", ".join(map(str, self.fields)), ", ".join(map(str, fields)))
        kept = {**self.settings, "validate": self.validate}
        for name, value in given.items():
            if value != defaults[name] and value != kept[name]:
                raise contradiction(name, kept[name], value)
        return kept if self.settings["max_lag"] is not None else {**kept, "validate": None}

    def _same(self, fields: list[Field]) -> bool:
        """Return whether fields are those of the model; kinds may be left out."""
        if len(fields) != len(self.fields):
            return False
        return all(
            one == replace(mine, kind=one.kind and mine.kind) for one, mine in zip(fields, self.fields, strict=True)
        )

    def check_tables(self, tables: int) -> None:
        """Raise an error unless the model is for this number of tables."""
        if tables != self.tables:
            names = {1: "one table", 2: "two tables"}
            raise UsageError(f"the model was learned from {names[self.tables]}; got {names[tables]}.")

    # --- JSON ---

    def to_json(self) -> Json:
        """Return the model as values that JSON can hold."""
        kind = next(name for name, one in BASES.items() if isinstance(self.basis, one))
        facts = {
            "kind": KIND,
            "format": FORMAT,
            "version": __version__,
            "tables": self.tables,
            "fields": [str(field) for field in self.fields],
            "validate": None if self.validate is None else str(self.validate),
            **self.settings,
            "styles": self.styles,
            "basis": self.described,
            "guess": self.guess,
            "learned": {"as": kind, **TO_JSON[kind](self.basis)},
            "weights": weights_digest() if kind == "evidence" else None,
            "labels": None if self.correction is None else self.correction.to_json(),
            "words": {name: rarities_json(one) for name, one in self.rarities.items()},
        }
        return {**facts, "digest": digest(facts)}

    @classmethod
    def of_json(cls, facts: Json, name: str) -> Self:
        """Restore a model; `name` says in errors where it was read."""
        if not isinstance(facts, dict) or facts.get("kind") != KIND:
            raise DataError(f"{name}: this is not a model; {how_to_save()}.")
        if facts.get("format") != FORMAT:
            raise DataError(
                f"{name}: the model has format {facts.get('format')}, but this version reads {FORMAT}; save it again."
            )
        facts = dict(facts)
        if facts.pop("digest", None) != digest(facts):
            raise DataError(f"{name}: the model is damaged, or was changed after it was saved; save it again.")
        try:
            kind = facts["learned"]["as"]
            if facts["weights"] not in (None, mine := weights_digest()):
                raise DataError(
                    f"{name}: the model was saved with learned weights {facts['weights']}, but this version of "
                    f"lookalike has {mine}; save it again."
                )
            return cls(
                [Field.parse(field) for field in facts["fields"]],
                facts["tables"],
                None if facts["validate"] is None else Field.parse(facts["validate"]),
                {name: facts[name] for name in SETTINGS},
                facts["styles"],
                {name: rarities_of_json(one) for name, one in facts["words"].items()},
                OF_JSON[kind](facts["learned"]),
                facts["basis"],
                facts["guess"],
                None if facts["labels"] is None else Correction.of_json(facts["labels"]),
            )
        except DAMAGE as error:
            if isinstance(error, DataError):
                raise
            raise DataError(f"{name}: the model is damaged ({' '.join(str(error).split())}); save it again.") from error

    def save(self, path: str | Path) -> None:
        """Write the model to a file of JSON."""
        with replacing(str(path)) as file:
            file.write((json.dumps(self.to_json(), ensure_ascii=False, indent=1) + "\n").encode())

    @classmethod
    def load(cls, given: Any) -> Self:
        """Return a model, or read it from a file."""
        if isinstance(given, cls):
            return given
        if not isinstance(given, str | Path):
            raise UsageError(f"model must be a path or a ResolveModel; got {type(given).__name__}.")
        try:
            with place_of(given).open("rb") as file:
                facts = json.loads(file.read())
        except FileNotFoundError:
            raise DataError(f"{given}: no such file; {how_to_save()}.") from None
        except OSError as error:
            raise DataError(f"{given}: cannot be read: {error.strerror or error}.") from error
        except ValueError as error:
            raise DataError(f"{given}: the model is damaged, or is not JSON ({error}); save it again.") from error
        return cls.of_json(facts, str(given))


def how_to_save() -> str:
    """Return how a model is made."""
    return f"save a model with {remedy('found.save_model(path)', '`lookalike resolve ... --save-model FILE`')}"


def contradiction(name: str, kept: object, given: object) -> UsageError:
    """Return the error for a setting that differs from that of the model."""
    rule = f"{parameter(name)} must match the model, which has {kept}; got {given}."
    return UsageError(f"{rule} Leave out {argument(name)}, or the model.")


def digest(facts: Json) -> str:
    """Return a digest of the contents of a model, by which damage is noticed."""
    return blake2b(json.dumps(facts, sort_keys=True).encode(), digest_size=8).hexdigest()
