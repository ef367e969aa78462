"""MinHash, the family for Jaccard similarity: two sets collide with a probability equal to it."""

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

import numpy as np

from lookalike.core.errors import LARGEST_SEED, DataError, UsageError, whole, within
from lookalike.families.base import Family
from lookalike.items.sets import Sets
from lookalike.kernels.hashing import EMPTY
from lookalike.kernels.sketch import sketch_rows

PRIME = (1 << 61) - 1  # modulus of universal hash functions: a Mersenne prime
BASES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37)  # enough for all numbers below 2**64


class JaccardFamily(Family):
    """The base of all minhash families: the collision probability is the Jaccard similarity."""

    measure = "jaccard"

    def _law(self, distance: np.ndarray) -> np.ndarray:
        return 1 - distance

    def chance(self, threshold: float) -> float:
        """Return the probability that one function agrees on sets of this similarity: the same number."""
        # Not 1 - (1 - threshold), which is rounded.
        return float(within("threshold", threshold, self.farthest))

    def estimate(self, a: np.ndarray, b: np.ndarray) -> float:
        """Estimate the Jaccard similarity of two sets by the share of positions that agree.

        Empty sets are similar to nothing.
        """
        return self.agreement(a, b)


class MinHash(JaccardFamily):
    """`hashes` minhash functions by Fast Similarity Sketching (Dahlgaard, Knudsen, Thorup 2017).

    Each function agrees on two sets with probability equal to their Jaccard similarity, as minima
    under random permutations do, but a whole signature needs about one hash per element, not one
    per element and function: O(n + K log K) for n elements and K functions. Estimates are unbiased,
    with a standard error of at most sqrt(s (1 - s) / hashes). `from_functions`, `from_permutations`
    and `universal` make the functions of *Mining of Massive Datasets*.

    >>> family = MinHash(hashes=512, seed=1)
    >>> a, b = family.signatures(Sets.of([set("abcdef"), set("bcdefg")]))
    >>> abs(family.estimate(a, b) - 5 / 7) < 0.06
    True
    """

    def __init__(self, hashes: int = 128, seed: int = 1):
        self.hashes = whole("hashes", hashes)
        self.seed = whole("seed", seed, least=0, most=LARGEST_SEED)

    def signatures(self, sets: Sets | Iterable[Any]) -> np.ndarray:
        """Return the signatures of sets, one row per set and one column per function.

        An empty set has the value EMPTY (2**64 - 1) in all columns; no other set has it anywhere.
        """
        if not isinstance(sets, Sets):
            sets = Sets.of(sets)
        return self.sketch(sets.indptr, sets.elements)

    def sketch(self, indptr: np.ndarray, elements: np.ndarray) -> np.ndarray:
        """Return the signatures of sets of 64-bit hashes: set i is elements[indptr[i]:indptr[i + 1]].

        The order of the hashes and repeated ones make no difference.
        """
        made: np.ndarray = sketch_rows(indptr, elements, np.uint64(self.seed), self.hashes)
        return made

    @classmethod
    def from_functions(cls, functions: Sequence[Callable[[Any], Any]]) -> "TextbookMinHash":
        """Return a family of your own functions; a minhash is the least value of one on a set.

        >>> family = MinHash.from_functions([lambda x: (x + 1) % 5, lambda x: (3 * x + 1) % 5])
        >>> family.signatures([{0, 3}, {2}, {1, 3, 4}, {0, 2, 3}]).tolist()
        [[1, 0], [3, 2], [0, 0], [1, 0]]
        """
        return TextbookMinHash(functions)

    @classmethod
    def from_permutations(cls, permutations: Sequence[Sequence[Any]]) -> "TextbookMinHash":
        """Return a family of permutations of all elements.

        A minhash is the position in a permutation, from 0, of the first element that the set has.

        >>> MinHash.from_permutations(["beadc"]).signatures([{"a", "d"}, {"c"}]).tolist()
        [[2], [4]]
        """
        return TextbookMinHash([_place_in(order) for order in permutations])

    @classmethod
    def universal(cls, hashes: int = 128, seed: int = 1, prime: int = PRIME) -> "TextbookMinHash":
        """Return a family of random functions (a x + b) mod p, as in *Mining of Massive Datasets*.

        They apply to sets of integers from 0 to p - 1, where p is `prime`. On large sets without a
        pattern they agree about as often as random orders do. On small sets or consecutive numbers
        they do not: a share of 0.29 agrees on range(10) and range(5, 15), whose similarity is 1/3.
        """
        rng = np.random.default_rng(whole("seed", seed, least=0, most=LARGEST_SEED))
        if not is_prime(whole("prime", prime, least=2, most=PRIME)):
            raise UsageError(f"prime must be a prime number; got {prime}.")
        a = rng.integers(1, prime, whole("hashes", hashes)).tolist()
        b = rng.integers(0, prime, hashes).tolist()

        def function(slope: int, start: int) -> Callable[[int], int]:
            def linear(x: int) -> int:
                if not isinstance(x, int | np.integer) or not 0 <= x < prime:
                    raise DataError(f"elements must be integers in range({prime}); got {x!r}.")
                return (slope * int(x) + start) % prime

            return linear

        return TextbookMinHash([function(slope, start) for slope, start in zip(a, b, strict=True)])


def is_prime(number: int) -> bool:
    """Return whether a number below 2**64 is prime, by Miller and Rabin's test.

    >>> [number for number in range(20) if is_prime(number)], is_prime(PRIME)
    ([2, 3, 5, 7, 11, 13, 17, 19], True)
    """
    if number < 2 or any(number % base == 0 for base in BASES):
        return number in BASES
    halvings = ((number - 1) & -(number - 1)).bit_length() - 1
    for base in BASES:
        power = pow(base, number - 1 >> halvings, number)
        squares = [power]
        for _ in range(halvings - 1):
            squares.append(squares[-1] ** 2 % number)
        if power != 1 and number - 1 not in squares:
            return False
    return True


def _place_in(order: Sequence[Any]) -> Callable[[Any], int]:
    places = {element: place for place, element in enumerate(order)}
    if len(places) < len(order):
        raise DataError("a permutation must hold each element once.")

    def place(element: Any) -> int:
        if element not in places:
            raise DataError(f"the permutation must hold all elements; {element!r} is not in it.")
        return places[element]

    return place


class TextbookMinHash(JaccardFamily):
    """Minhashes under given functions of an element: for teaching, small data and tests.

    Collision probabilities are right as far as the functions resemble random orders.
    """

    def __init__(self, functions: Sequence[Callable[[Any], Any]]):
        self.functions = list(functions)
        self.hashes = whole("hashes", len(self.functions))

    def signatures(self, items: Sets | Iterable[Any]) -> np.ndarray:
        """Return the signatures of sets, one row per set: the least value of each function."""
        if isinstance(items, Sets):
            if items.named is None:
                raise DataError("functions of elements need the elements; these sets hold only hashes of them.")
            rows: list[list[Any]] = [list(one) for one in items.named(np.arange(len(items)))]
        else:
            sets = list(items)
            if not all(isinstance(one, Collection) for one in sets):
                raise DataError("sets must be collections of elements.")
            rows = [list(one) for one in sets]
        minima = [[self._least(function, row) for function in self.functions] for row in rows]
        return np.array(minima, dtype=np.uint64).reshape(len(rows), self.hashes)

    @staticmethod
    def _least(function: Callable[[Any], Any], row: list[Any]) -> int:
        values = [function(x) for x in row]
        for value in values:
            if isinstance(value, str) or not (value >= 0 and value < EMPTY and value == int(value)):
                raise DataError(f"hash functions must return whole numbers from 0 to 2**64 - 2; got {value!r}.")
        return int(min(values, default=EMPTY))
