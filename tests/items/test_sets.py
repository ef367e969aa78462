"""Check the hashes of elements, which must never change."""

from lookalike.items.sets import Sets

# Values of format 1; the hash of the integer 0 is the value published for splitmix64.
STRINGS = [7548481514061301999, 17653579546828544110]
INTEGERS = [0xE220A8397B1DCDAF, 16490336266968443936, 3055647633038352039]


def test_format_1_elements_of_sets():
    assert Sets.of([["a"], ["\u00e9clair"], []]).elements.tolist() == STRINGS
    assert Sets.of([[0], [-1], [2**63 - 1]]).elements.tolist() == INTEGERS
