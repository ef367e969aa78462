"""Read the settings of an index; if they are damaged, the error says what to do."""

import json
from fractions import Fraction
from typing import Any

from lookalike.core.errors import LARGEST_SEED, StoreError, choice, fraction, whole
from lookalike.index.codings import VectorCoding, coding_of
from lookalike.index.store import Store
from lookalike.index.tables import FORMAT
from lookalike.items.shingles import Shingles
from lookalike.measures.table import BANDED, TABLED

LONGEST_CODE = 1 << 31
MOST_FUNCTIONS = 1 << 24
DAMAGE = (ArithmeticError, AssertionError, AttributeError, LookupError, MemoryError, TypeError, ValueError)


def read_settings(store: Store) -> dict[str, Any]:
    """Return the settings that an index keeps, all of them checked."""
    try:
        with store.reading() as reader:
            settings = reader.settings()
        got = None if settings is None else settings["format"]
        if settings is not None and (got in (2, FORMAT) or (got == 1 and settings["shingles"]["unit"] == "char")):
            check_settings(settings)  # format 1 hashed texts of fewer words than a shingle in another way
            return settings
    except StoreError:
        raise
    except DAMAGE as error:
        raise StoreError(
            f"{store.path}: the settings of the index are damaged; restore it from a backup, or build it again."
        ) from error
    raise StoreError(
        f"{store.path}: the index has format {got}, but this version reads up to {FORMAT}; build it again."
    )


def check_settings(settings: dict[str, Any]) -> None:
    """Raise some error for settings that `Index.create` and `Index.add` cannot have written."""
    wanted, coding = settings["wanted"], settings["coding"]
    choice("measure", wanted["measure"], (*BANDED, *TABLED))
    Fraction(wanted["threshold"])
    fraction("recall", wanted["recall"])
    whole("seed", wanted["seed"], least=0, most=LARGEST_SEED)
    whole("expected", settings["expected"])
    _check_shingles(settings["shingles"])
    _check_types(settings, {"version": str, "store_text": bool, "notes": dict})
    if coding is not None:
        _check_coding(coding, wanted)


def _check_coding(settings: dict[str, Any], wanted: dict[str, Any]) -> None:
    """Raise some error unless a coding with these settings would save them again."""
    coding = coding_of(settings)
    again = json.loads(json.dumps(coding.settings()))
    for name in settings.keys() - {"measure", "shingles"}:  # which older versions wrote differently
        _check_same(settings[name], again[name])
    _check_same(settings["seed"], wanted["seed"])
    choice("measure", coding.plan.measure, [wanted["measure"]])
    choice("sketch", coding.plan.sketch, ("minhash", "simhash"))
    if coding.plan.bands is not None:
        bands, rows, _ = coding.plan.bands
        whole("functions", whole("bands", bands) * whole("rows", rows), most=MOST_FUNCTIONS)
    if isinstance(coding, VectorCoding):
        size = whole("size", coding.size, most=LONGEST_CODE)
        choice("dtype", coding.dtype.str, ("<u8",) if coding.kind == "bits" else ("<f2", "<f4", "<f8"))
        whole("parts", coding.plan.parts, coding.plan.bands is None, size if coding.kind == "bits" else 0)
        if coding.centre is not None and (coding.centre.shape != (size,) or coding.centre.dtype != float):
            raise ValueError("centre")
    elif settings["shingles"] is not None:
        _check_shingles(settings["shingles"])


def _check_shingles(settings: dict[str, Any]) -> None:
    Shingles(**settings)
    flags = settings.keys() & {"bag", "lowercase", "skip_stops"}
    _check_types(settings, dict.fromkeys(flags, bool))


def _check_same(one: Any, other: Any) -> None:
    if repr(one) != repr(other):  # 1 == True
        raise ValueError(one)


def _check_types(settings: dict[str, Any], types: dict[str, type]) -> None:
    for name, kind in types.items():
        if type(settings[name]) is not kind:
            raise TypeError(name)
