"""Check the bound on the cost of parsing a page against its plain twin, and against a parser."""

from random import Random

import numpy as np
import pytest
from selectolax.lexbor import LexborHTMLParser

from lookalike.kernels.markup import NODE, page_costs
from tests import reference_markup as reference
from tests.hostile_pages import soup, tag

LIMITS = (10**8, 128 << 20)


def costs(page: str) -> tuple[int, int, int, bool]:
    return page_costs(np.frombuffer(page.encode(), np.uint8), *LIMITS)


def test_the_twin_finds_the_same_costs() -> None:
    for seed in range(1000):
        random = Random(seed)
        page = "".join(tag(random) for _ in range(random.randint(1, 60)))
        assert costs(page) == reference.page_costs(page.encode()), page


@pytest.mark.parametrize(
    ("page", "deepest"),
    [
        ("<p>one<p>two<div><div></div></div>", 2),
        ("<ul><li>one<li>two<p>three<li>four</ul>", 3),
        ("<table><tr><td>1<td>2<tr><td>3</table><div>", 3),
        ("<svg><g><path/><path/><title>one</title><path/></g></svg><div>", 3),
        ("<br><img><input><hr><br/>", 0),
        ("<script>'<div><div>'</script><!-- <div><div> --><style><div></style><title><div></title>", 1),
        ("<div title='<div><div>'></div><div data-x=</div>></div>", 1),
        ("<b><div></b></div>", 2),
    ],
)
def test_pages_with_few_errors_have_close_bounds(page: str, deepest: int) -> None:
    assert costs(page)[2:] == (deepest, True)


def test_a_page_within_the_limits_has_few_elements() -> None:
    """At most one for every two bytes, as in <a>, and the copies that the bound allows."""
    passed = 0
    for seed in range(300):
        page = soup(Random(seed), 4000)
        steps, copied, _, known = costs(page)
        if known and steps <= LIMITS[0] and copied <= LIMITS[1]:
            root = LexborHTMLParser(page, scripting=True).root
            assert root is not None
            nodes = sum(1 for _ in root.traverse(include_text=True))
            assert nodes <= len(page) // 2 + copied // NODE + 10, page[:200]
            passed += 1
    assert passed > 200
