"""Bounds for exact similarity joins: what a set of a given size must be compared with.

A set is a string of its elements in a fixed order, each once. Two strings of Jaccard similarity J
or more cannot differ much in length, and must share a symbol early on, at nearly the same position.
All bounds are computed in fractions: J is the decimal that was typed, and `(1 - 0.9) * 10` is 1.
"""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import ceil, floor
from typing import Any

from lookalike.core.errors import DataError, choice, whole
from lookalike.measures import exact_fraction

__all__ = ["as_string", "longest", "prefix", "probes", "shortest"]

Threshold = float | str | Fraction


def as_string(elements: Iterable[Any], order: Sequence[Any] | None = None) -> list[Any]:
    """Return the elements of a set in their own order, or in that of a sequence that has them all.

    >>> as_string({"d", "a", "b"}), as_string({"d", "a", "b"}, order="dcba")
    (['a', 'b', 'd'], ['d', 'b', 'a'])
    """
    distinct = set(elements)
    if order is None:
        return sorted(distinct)
    places = {element: place for place, element in enumerate(order)}
    if len(places) < len(order):
        raise DataError("the order must hold each element once.")
    missing = sorted(map(repr, distinct - places.keys()))
    if missing:
        raise DataError(f"the order must hold all elements; {missing[0]} is not in it.")
    return sorted(distinct, key=places.__getitem__)


def longest(length: int, J: Threshold) -> int:
    """Return floor(length / J), the greatest length of a string with similarity of at least J.

    If t is longer than s, their similarity is at most len(s) / len(t).

    >>> longest(9, 0.9), longest(8, 0.9)
    (10, 8)
    """
    return floor(whole("length", length) / _similarity(J))


def shortest(length: int, J: Threshold) -> int:
    """Return ceil(length * J), the least length of a string with similarity of at least J.

    >>> shortest(10, 0.9)
    9
    """
    return ceil(whole("length", length) * _similarity(J))


def prefix(length: int, J: Threshold) -> int:
    """Return floor((1 - J) * length) + 1, the number of first symbols to index a string under.

    A string with none of the first p symbols of s shares at most length - p symbols with s, so its
    similarity is at most (length - p) / length. Hence if two strings have a similarity of J or
    more, the first symbol that they share is in both prefixes.

    >>> [prefix(length, 0.9) for length in (9, 10, 19, 20, 29)]
    [1, 2, 2, 3, 3]
    """
    return floor((1 - _similarity(J)) * whole("length", length)) + 1


def probes(length: int, J: Threshold, by: str = "position") -> list[tuple[int, ...]]:
    """Return the index buckets in which to look for strings t similar to a string s of this length.

    by="position": (i, j) for each position i of the prefix of s and each position j at which t can
    have the same symbol, if no symbols before them agree. Then t shares at most length - i + 1
    symbols with s and has j - 1 others, so (length - i + 1) / (length + j - 1) >= J.

    by="length": (i, j, q) with q the number of symbols of t after position j. With p = length - i
    symbols of s after position i, t shares at most min(p, q) + 1 symbols, and the union has at
    least i - 1 + j - 1 + max(p, q) + 1.

    >>> probes(10, 0.9)
    [(1, 1), (1, 2), (2, 1)]
    >>> probes(10, 0.9, by="length")
    [(1, 1, 8), (1, 1, 9), (1, 2, 9), (1, 1, 10), (2, 1, 8)]
    """
    choice("by", by, ("position", "length"))
    length, similarity = whole("length", length), _similarity(J)
    found: list[tuple[int, ...]] = []
    for i in range(1, prefix(length, J) + 1):
        p = length - i
        if by == "position":
            last = floor((p + 1) / similarity) - length + 1
            found += [(i, j) for j in range(1, last + 1)]
            continue
        for q in range(longest(length, J)):
            shared = min(p, q) + 1
            last = floor(shared / similarity) - i - max(p, q) + 1
            found += [(i, j, q) for j in range(1, last + 1)]
    return found


def _similarity(J: Threshold) -> Fraction:
    return Fraction(*exact_fraction(J, "J"))
